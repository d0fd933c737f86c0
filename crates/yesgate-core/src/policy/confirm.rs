//! How a rule has its calls confirmed: not at all, by yes or no, after a preview, or by typing (M3).

use serde_json::Value;

use super::ConfigError;
use super::preview::Preview;
use super::reader::{Section, shown};
use super::rule::Then;
use super::template::Path;
use crate::verdict::ConfirmType;

/// What a rule says about confirming.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Confirm {
    /// How a human confirms; `None`: the rule does not say.
    pub(super) kind: Option<ConfirmType>,
    /// What is shown before, and in plan mode in place of the call.
    pub(super) preview: Option<Preview>,
    /// Where the text that the human must type stands.
    pub(super) typed: Option<Path>,
}

impl Confirm {
    pub(super) fn parse(section: &Section<'_>) -> Result<Self, ConfigError> {
        let kind = section.entry("confirm").map(|confirm| confirm.word(&KINDS)).transpose()?;
        let preview = section.entry("preview").map(|entry| Preview::parse(&entry)).transpose()?;
        let typed = section.entry("type");
        match (kind, &preview, &typed) {
            (Some(ConfirmType::Preview), None, _) => {
                return Err(section
                    .required("confirm")?
                    .error("`confirm = \"preview\"` needs a `preview`")
                    .with_hint("write preview = { args = { dry_run = true } }, or name a tool or a text"));
            }
            (Some(ConfirmType::Type), _, None) => {
                return Err(section
                    .required("confirm")?
                    .error("`confirm = \"type\"` needs to know what to type")
                    .with_hint("write type = \"args.name\", the argument that holds the resource's name"));
            }
            (Some(ConfirmType::None | ConfirmType::Simple | ConfirmType::Preview) | None, _, Some(entry)) => {
                return Err(entry.error("`type` belongs to `confirm = \"type\"`"));
            }
            (Some(_) | None, _, _) => {}
        }
        let typed = typed
            .map(|entry| {
                let text = entry.text()?;
                Path::parse_any(text).map_err(|error| {
                    entry
                        .error(format!("`{}` is not where a text stands", shown(text)))
                        .with_hint(error.hint.unwrap_or(error.message))
                })
            })
            .transpose()?;
        Ok(Self { kind, preview, typed })
    }

    /// What the rule wants done, where `confirm` says so.
    pub(super) const fn then(&self) -> Option<Then> {
        match self.kind {
            None => None,
            Some(ConfirmType::None) => Some(Then::Run),
            Some(ConfirmType::Simple | ConfirmType::Preview | ConfirmType::Type) => Some(Then::Ask),
        }
    }

    /// The text to type for one call.
    ///
    /// # Errors
    /// When there is none: then nobody could confirm.
    pub(super) fn text_to_type(&self, arguments: &Value, state: Option<&Value>) -> Result<String, String> {
        let Some(path) = &self.typed else { return Err("the rule names no text to type".to_owned()) };
        let found =
            if path.is_of_state() { state.and_then(|state| path.find(state)) } else { path.find(arguments) };
        match found {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
                Err(format!("`{path}`, which a human would have to type, is no text"))
            }
            None => Err(format!("`{path}`, which a human would have to type, is missing")),
        }
    }
}

const KINDS: [(&str, ConfirmType); 4] = [
    (ConfirmType::None.as_str(), ConfirmType::None),
    (ConfirmType::Simple.as_str(), ConfirmType::Simple),
    (ConfirmType::Preview.as_str(), ConfirmType::Preview),
    (ConfirmType::Type.as_str(), ConfirmType::Type),
];
