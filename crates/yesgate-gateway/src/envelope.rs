//! The JSON-RPC envelope: just enough of a message to know where it goes, the rest untouched.
//!
//! INVARIANT: two readers cannot disagree about `method`, `id` or `params`: a repeated key, or one
//! that only resembles a known one, is an error. Nor about where the message ends: a line that
//! another reader would take for several is an error too.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use yesgate_core::json::{Limits, fold_key, parse_lenient};

/// One JSON-RPC message, its parts still in the sender's own bytes.
#[derive(Debug, Default)]
pub struct Envelope<'a> {
    /// `id`, as it was written.
    pub id: Option<&'a RawValue>,
    /// `method`.
    pub method: Option<Cow<'a, str>>,
    /// `params`, as they were written.
    pub params: Option<&'a RawValue>,
    /// `result`, as it was written.
    pub result: Option<&'a RawValue>,
    /// `error`, as it was written.
    pub error: Option<&'a RawValue>,
}

/// What a message is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A method with an id.
    Request,
    /// A method without an id.
    Notification,
    /// A result or an error with an id.
    Response,
    /// Nothing of the three.
    Neither,
}

impl<'a> Envelope<'a> {
    /// Reads one message.
    ///
    /// # Errors
    /// When it is not one JSON object, is several lines to some readers, or its keys are ambiguous.
    pub fn parse(message: &'a [u8]) -> Result<Self, serde_json::Error> {
        // To JSON it is white space. To Python's text mode, in which its MCP servers read, it ends a
        // line: a call between two of them would be a message of its own there, and never judged.
        if memchr(b'\r', message).is_some() {
            return Err(serde_json::Error::custom(
                "it has a carriage return, which ends a line for some readers",
            ));
        }
        serde_json::from_slice(message)
    }

    /// Reads one message whose end the transport tells, so that no line break in it can mean anything.
    ///
    /// # Errors
    /// When it is not one JSON object, or its keys are ambiguous.
    pub fn parse_framed(message: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(message)
    }

    /// What the message is.
    pub const fn kind(&self) -> Kind {
        match (self.id.is_some(), self.method.is_some(), self.result.is_some() || self.error.is_some()) {
            (true, true, false) => Kind::Request,
            (false, true, false) => Kind::Notification,
            (true, false, true) => Kind::Response,
            (_, true, true) | (false, false, _) | (true, false, false) => Kind::Neither,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EnvelopeVisitor)
    }
}

/// A request id in one spelling, so that `1` finds the answer to ` 1`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RequestKey(String);

impl RequestKey {
    /// Takes a text that was a key's before.
    pub(crate) const fn rehydrate(json: String) -> Self {
        Self(json)
    }

    /// The id as JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The key of an id as it was written.
    pub fn of(id: &RawValue) -> Self {
        let text = id.get();
        let plain = text.bytes().all(|byte| byte.is_ascii_digit())
            || (text.starts_with('"') && text.is_ascii() && !text.contains('\\'));
        if plain {
            return Self(text.to_owned());
        }
        Self(
            parse_lenient(text.as_bytes(), Limits::default())
                .map_or_else(|_| text.to_owned(), |id| id.to_string()),
        )
    }
}

struct EnvelopeVisitor;

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one JSON-RPC message, an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope<'de>, A::Error> {
        let mut envelope = Envelope::default();
        while let Some(Text(key)) = map.next_key()? {
            match key.as_ref() {
                "jsonrpc" => {
                    if map.next_value::<Text<'_>>()?.0 != "2.0" {
                        return Err(A::Error::custom("`jsonrpc` is not \"2.0\""));
                    }
                }
                "id" => once(&mut envelope.id, map.next_value()?, "id")?,
                "method" => once(&mut envelope.method, map.next_value::<Text<'_>>()?.0, "method")?,
                "params" => once(&mut envelope.params, map.next_value()?, "params")?,
                "result" => once(&mut envelope.result, map.next_value()?, "result")?,
                "error" => once(&mut envelope.error, map.next_value()?, "error")?,
                other => {
                    let folded = fold_key(other);
                    if KEYS.contains(&folded.as_str()) {
                        return Err(A::Error::custom("a key resembles one of JSON-RPC's own"));
                    }
                    let _ignored: &RawValue = map.next_value()?;
                }
            }
        }
        Ok(envelope)
    }
}

const KEYS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

fn once<T, E: serde::de::Error>(slot: &mut Option<T>, value: T, name: &'static str) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(name)),
    }
}

/// A string that is borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(CowVisitor).map(Self)
    }
}

struct CowVisitor;

impl<'de> Visitor<'de> for CowVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
