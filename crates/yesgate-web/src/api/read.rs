//! What a request of a person brings: a JSON object with known members.

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};
use yesgate_core::json::{Limits, parse_strict};
use yesgate_http::edge::intake::is_json;

use super::Undone;

/// The members of a body, each of a known name.
#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Reads a body. Where no member is known, there may be none.
    pub(super) fn read(headers: &HeaderMap, body: &[u8], known: &[&str]) -> Result<Self, Undone> {
        if !is_json(headers) {
            let words = "The content type must be application/json. Nothing was changed.";
            return Err(Undone::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", words));
        }
        match parse_strict(body, Limits::default()) {
            Ok(Value::Object(fields)) => Self::of(fields, known),
            Ok(_) => Err(Undone::invalid("the body must be a JSON object")),
            Err(error) => Err(Undone::invalid(&error.to_string())),
        }
    }

    fn of(fields: Map<String, Value>, known: &[&str]) -> Result<Self, Undone> {
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(Undone::invalid(&format!("`{}` is not known", key.escape_debug()))),
            None => Ok(Self(fields)),
        }
    }

    /// A text.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Undone> {
        match self.0.get(key) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Undone::invalid(&format!("`{key}` must be a string"))),
            None => Ok(None),
        }
    }

    /// A text that somebody wrote, without the white space around it; `None` where there is none.
    pub(super) fn words(&self, key: &str) -> Result<Option<String>, Undone> {
        let words = self.text(key)?.map(|words| words.trim().to_owned());
        match words {
            Some(words) if words.chars().count() > LONGEST => {
                Err(Undone::invalid(&format!("`{key}` is longer than {LONGEST} characters")))
            }
            words => Ok(words.filter(|words| !words.is_empty())),
        }
    }

    /// A whole number from 1 to this one.
    pub(super) fn number(&self, key: &str, most: u32) -> Result<Option<u32>, Undone> {
        let Some(value) = self.0.get(key) else { return Ok(None) };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        match number.filter(|number| (1..=most).contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(Undone::invalid(&format!("`{key}` must be a whole number from 1 to {most}"))),
        }
    }

    /// An object within.
    pub(super) fn object(&self, key: &str, known: &[&str]) -> Result<Option<Self>, Undone> {
        match self.0.get(key) {
            Some(Value::Object(fields)) => Self::of(fields.clone(), known).map(Some),
            Some(_) => Err(Undone::invalid(&format!("`{key}` must be an object"))),
            None => Ok(None),
        }
    }
}

/// The longest reason, in characters.
pub(super) const LONGEST: usize = 2_000;
