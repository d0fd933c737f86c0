//! Previews: what an operator declares to be shown before a dangerous call, and in its place in plan mode
//! (M3, M4).
//!
//! INVARIANT: only what the operator declared runs as a preview. That a tool has an argument called
//! `dry_run` proves nothing: a server that ignores it would do the real thing.

use serde_json::{Map, Value};

use super::condition::World;
use super::lookup::Lookup;
use super::reader::Entry;
use super::template::Template;
use super::{ConfigError, PREVIEW_KEYS};
use crate::call::ToolCall;
use crate::json::CanonicalJson;
use crate::mode::Mode;
use crate::permit::{Permit, PermittedCall};
use crate::verdict::PreviewSource;

/// How a rule previews its calls.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Preview {
    /// The tool itself does, with these arguments set.
    Arguments(Map<String, Value>),
    /// A read tool does.
    Tool(Lookup),
    /// The operator's own sentence.
    Text(Template),
}

impl Preview {
    /// Reads `preview = { args = … }`, `{ tool = …, args = … }` or `{ text = … }`.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&PREVIEW_KEYS)?;
        match (section.entry("tool"), section.entry("args"), section.entry("text")) {
            (Some(_), _, None) => Lookup::of_section(&section).map(Self::Tool),
            (None, Some(arguments), None) => {
                let arguments = arguments.json_object()?;
                if arguments.is_empty() {
                    return Err(entry.error("a preview that sets no argument would be the call itself"));
                }
                Ok(Self::Arguments(arguments))
            }
            (None, None, Some(text)) => super::rule::template(&text).map(Self::Text),
            (_, _, Some(text)) => Err(text.error("`text` stands alone in a preview")),
            (None, None, None) => Err(entry.error("the preview says nothing").with_hint(
                "write { args = { dry_run = true } }, { tool = \"server/tool\" } or { text = \"…\" }",
            )),
        }
    }

    /// Whether it shows what a lookup found.
    pub(super) fn shows_state(&self) -> bool {
        match self {
            Self::Text(text) => text.shows_state(),
            Self::Arguments(_) | Self::Tool(_) => false,
        }
    }

    /// Where the preview of one call comes from; `None`: it cannot be made.
    pub(super) fn source(&self, call: &ToolCall, rule: &str, world: &World<'_>) -> Option<PreviewSource> {
        match self {
            Self::Arguments(set) => {
                let mut arguments = call.binding.arguments.to_value();
                arguments.as_object_mut()?.extend(set.clone());
                let mut call = call.clone();
                call.binding.arguments = CanonicalJson::of(&arguments).ok()?;
                call.binding.mode = Mode::Plan;
                Some(PreviewSource::Call(PermittedCall::new(call, Permit::Preview(rule.to_owned()))))
            }
            Self::Tool(lookup) => Some(PreviewSource::Tool(lookup.clone())),
            Self::Text(text) => Some(PreviewSource::Text(text.fill(world))),
        }
    }
}
