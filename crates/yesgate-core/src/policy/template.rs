//! Summaries: the operator's sentence with the call's values put in.
//!
//! INVARIANT: a value is always shown by the one renderer, strings in quotes that they cannot close,
//! so nothing a caller sends can pose as the operator's words.

use serde_json::Value;

use super::condition::World;
use super::error::hint_for;
use super::reader::shown;
use crate::render::{REVIEW_LIMIT_BYTES, Sanitized, render_call, render_inline};

/// A sentence with places for values: `Pay {{args.amount}} to {{args.to}}`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Words(String),
    Place(Place),
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Place {
    Argument(Path),
    State(Path),
    Org,
    Principal,
    Client,
    Tool,
    Server,
}

/// Where a value stands in the arguments, `args.to.name`, or in what was looked up, `state.plan`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Path {
    root: &'static str,
    keys: Vec<String>,
}

/// Why a text is no template or no path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct TemplateError {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Path {
    /// Reads `args.key.key`; a number is the place in a list.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        Self::parse_under("args", text)
    }

    /// Reads `args.key` or `state.key`.
    pub(super) fn parse_any(text: &str) -> Result<Self, TemplateError> {
        if text.starts_with("state.") { Self::parse_under("state", text) } else { Self::parse(text) }
    }

    /// Whether it stands in what was looked up.
    pub(super) fn is_of_state(&self) -> bool {
        self.root == "state"
    }

    fn parse_under(root: &'static str, text: &str) -> Result<Self, TemplateError> {
        let plain = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        let keys: Vec<String> = match text.strip_prefix(root).and_then(|keys| keys.strip_prefix('.')) {
            Some(keys) => keys.split('.').map(str::to_owned).collect(),
            None => Vec::new(),
        };
        if keys.is_empty() || !keys.iter().all(|key| plain(key)) {
            return Err(TemplateError {
                message: format!("`{}` names nothing in `{root}`", shown(text)),
                hint: Some(format!("write `{root}.` and the name")),
            });
        }
        Ok(Self { root, keys })
    }

    /// Whether the other one is the same place, or a place within it.
    fn holds(&self, other: &Self) -> bool {
        self.root == other.root && other.keys.starts_with(&self.keys)
    }

    /// The value there, if the call has one.
    pub(super) fn find<'v>(&self, arguments: &'v Value) -> Option<&'v Value> {
        self.keys.iter().try_fold(arguments, |value, key| match value {
            Value::Object(members) => members.get(key),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.root, self.keys.join("."))
    }
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((words, after)) = rest.split_once("{{") {
            let Some((place, after)) = after.split_once("}}") else {
                return Err(TemplateError { message: "a `{{` is not closed".to_owned(), hint: None });
            };
            pieces.push(Piece::Words(words.to_owned()));
            pieces.push(Piece::Place(Place::parse(place.trim())?));
            rest = after;
        }
        pieces.push(Piece::Words(rest.to_owned()));
        Ok(Self { pieces })
    }

    /// Whether it shows what a lookup found.
    pub(super) fn shows_state(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Place(Place::State(_)) => true,
            Piece::Words(_)
            | Piece::Place(
                Place::Argument(_)
                | Place::Org
                | Place::Principal
                | Place::Client
                | Place::Tool
                | Place::Server,
            ) => false,
        })
    }

    /// Whether it shows the value that stands there, alone or within another.
    pub(super) fn shows(&self, there: &Path) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Place(Place::Argument(path) | Place::State(path)) => path.holds(there),
            Piece::Words(_)
            | Piece::Place(Place::Org | Place::Principal | Place::Client | Place::Tool | Place::Server) => {
                false
            }
        })
    }

    pub(super) fn fill(&self, world: &World<'_>) -> Sanitized {
        let mut parts = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Words(words) => push_words(words, &mut parts),
                Piece::Place(place) => parts.push(place.render(world)),
            }
        }
        Sanitized::join(&parts)
    }
}

impl Place {
    fn parse(text: &str) -> Result<Self, TemplateError> {
        match text {
            "caller.org" => Ok(Self::Org),
            "caller.principal" => Ok(Self::Principal),
            "caller.client" => Ok(Self::Client),
            "tool" => Ok(Self::Tool),
            "server" => Ok(Self::Server),
            _ if text.starts_with("args.") => Path::parse(text).map(Self::Argument),
            _ if text.starts_with("state.") => Path::parse_under("state", text).map(Self::State),
            _ => Err(TemplateError {
                message: format!("`{{{{{}}}}}` is not known in a summary", shown(text)),
                hint: Some(hint_for(text, &PLACES)),
            }),
        }
    }

    fn render(&self, world: &World<'_>) -> Sanitized {
        let subject = world.subject();
        match self {
            Self::Argument(path) => {
                path.find(world.arguments()).map_or_else(|| Sanitized::fixed("(missing)"), render_inline)
            }
            Self::State(path) => subject
                .state
                .and_then(|state| path.find(state))
                .map_or_else(|| Sanitized::fixed("(missing)"), render_inline),
            Self::Org => text(subject.caller.org.as_str()),
            Self::Principal => text(subject.caller.principal.as_str()),
            Self::Client => text(subject.caller.client.as_str()),
            Self::Tool => text(subject.tool.as_str()),
            Self::Server => text(subject.server.as_str()),
        }
    }
}

/// Says in one line what a call would do: the rule's sentence, or the call itself.
pub(super) fn summarize(template: Option<&Template>, world: &World<'_>) -> Sanitized {
    let subject = world.subject();
    if subject.arguments.as_bytes().len() > REVIEW_LIMIT_BYTES {
        return Sanitized::join(&[
            render_inline(&Value::String(subject.tool.as_str().to_owned())),
            Sanitized::fixed(" with arguments too large to show, on "),
            Sanitized::line(subject.server.as_str()),
        ]);
    }
    match template {
        Some(template) => template.fill(world),
        None => Sanitized::join(&[
            render_call(subject.tool.as_str(), world.arguments()),
            Sanitized::fixed(" on "),
            Sanitized::line(subject.server.as_str()),
        ]),
    }
}

/// The operator's words between two values: escaped like any text, but for the spaces at their ends.
fn push_words(words: &str, parts: &mut Vec<Sanitized>) {
    let inner = words.trim_matches(' ');
    if words.starts_with(' ') {
        parts.push(Sanitized::fixed(" "));
    }
    if !inner.is_empty() {
        parts.push(Sanitized::line(inner));
    }
    if words.ends_with(' ') && !inner.is_empty() {
        parts.push(Sanitized::fixed(" "));
    }
}

fn text(words: &str) -> Sanitized {
    render_inline(&Value::String(words.to_owned()))
}

const PLACES: [&str; 7] =
    ["args.…", "state.…", "caller.org", "caller.principal", "caller.client", "tool", "server"];
