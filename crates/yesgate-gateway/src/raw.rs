//! Editing JSON objects without touching what is not edited: members keep their order, and
//! values keep their own bytes.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::scan;

/// A JSON value that was read, in its sender's own characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Raw<'a>(&'a str);

impl<'a> Raw<'a> {
    /// An object without members.
    pub(crate) const EMPTY: Self = Self("{}");

    /// Takes a text that is JSON for certain.
    pub(crate) const fn rehydrate(text: &'a str) -> Self {
        Self(text)
    }

    /// The text.
    pub(crate) const fn get(self) -> &'a str {
        self.0
    }

    /// The value.
    pub(crate) fn value(self) -> &'a RawValue {
        // INVARIANT: it was read before, so it always reads.
        serde_json::from_str(self.0).unwrap_or(RawValue::NULL)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a RawValue>::deserialize(deserializer).map(Self::from)
    }
}

impl<'a> From<&'a RawValue> for Raw<'a> {
    fn from(value: &'a RawValue) -> Self {
        Self(value.get())
    }
}

/// The parameters of a message, in the sender's own bytes. Where they come from a message they are a slice of it,
/// not a copy.
#[derive(Clone, Debug)]
pub struct Params(Bytes);

impl Params {
    /// The parameters within a message that they were read from.
    pub(crate) fn within(message: &Bytes, params: Raw<'_>) -> Self {
        let text = params.get().as_bytes();
        let (whole, part) = (message.as_ptr_range(), text.as_ptr_range());
        let lies_within = whole.start <= part.start && part.end <= whole.end;
        Self(if lies_within { message.slice_ref(text) } else { Bytes::copy_from_slice(text) })
    }

    /// The parameters as JSON.
    pub(crate) fn raw(&self) -> &RawValue {
        // INVARIANT: it was a `RawValue` before, so it always reads.
        serde_json::from_slice(&self.0).unwrap_or(RawValue::NULL)
    }

    /// The same bytes.
    pub(crate) fn bytes(&self) -> Bytes {
        self.0.clone()
    }
}

impl From<Box<RawValue>> for Params {
    fn from(params: Box<RawValue>) -> Self {
        Self(bytes(params))
    }
}

/// An object whose values are still in the sender's own bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawObject(Vec<(String, Box<RawValue>)>);

impl RawObject {
    /// Reads an object; `None` where it is none.
    pub(crate) fn parse(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_ref())
    }

    /// All members, in their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_ref()))
    }

    /// Whether there is no member.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the members whose keys pass.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|(key, _)| keep(key));
    }

    /// The text of a string member.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?.get()).ok()
    }

    /// Takes a key out.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Box<RawValue>> {
        let index = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(index).1)
    }

    /// Sets a key in its place, or at the end.
    pub(crate) fn set(&mut self, key: &str, value: Box<RawValue>) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// The object as JSON text.
    pub(crate) fn to_raw(&self) -> Box<RawValue> {
        let members: Vec<String> = self
            .0
            .iter()
            .map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), value.get()))
            .collect();
        raw(format!("{{{}}}", members.join(",")))
    }
}

/// Makes one line of a JSON text. Within its strings no line break can stand as it is, so each is white
/// space between tokens, and a blank says the same.
pub(crate) fn unbreak(json: &mut [u8]) {
    for byte in json.iter_mut().filter(|byte| b"\r\n".contains(byte)) {
        *byte = b' ';
    }
}

/// One member of an object, in its own bytes, without building the others. `None` where it is no object, or
/// has the key twice.
pub(crate) fn member<'a>(object: &'a RawValue, key: &str) -> Option<&'a RawValue> {
    let object = object.get();
    let place = scan::member(object.as_bytes(), key).ok().flatten()?;
    serde_json::from_str(object.get(place)?).ok()
}

/// The text of one string member.
pub(crate) fn member_text(object: &RawValue, key: &str) -> Option<String> {
    serde_json::from_str(member(object, key)?.get()).ok()
}

/// A raw value as bytes.
pub(crate) fn bytes(raw: Box<RawValue>) -> Bytes {
    String::from(Box::<str>::from(raw)).into()
}

/// JSON text that we wrote ourselves, as a raw value.
pub(crate) fn raw(text: String) -> Box<RawValue> {
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// The elements of an array in their own bytes; `None` where it is none.
pub(crate) fn elements(raw: &RawValue) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(raw.get()).ok()
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawObject, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawObject(members))
            }
        }

        deserializer.deserialize_map(Members)
    }
}
