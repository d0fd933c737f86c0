//! What clients send in forms and headers, read strictly.
//!
//! INVARIANT: a parameter counts once. One that came twice is refused, because two readers would take different ones.

use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::fault::{Fault, Word};

#[cfg(test)]
mod tests;

/// The parameters of one request.
#[derive(Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    /// O-T1: reads the body of a request. What has no value counts as not sent (RFC 6749 §3.1).
    ///
    /// # Errors
    /// When it is no form, is too long, or has a parameter twice. Only `resource` may come more than once (RFC 8707 §2).
    pub(crate) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, Fault> {
        if !has_type(headers, "application/x-www-form-urlencoded") {
            return Err(Fault::new(
                Word::InvalidRequest,
                "the body must be application/x-www-form-urlencoded, and say so",
            ));
        }
        if body.len() > LONGEST {
            return Err(Fault::too_long());
        }
        let pieces = body.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty());
        let pairs: Option<Vec<_>> = pieces
            .map(|piece| {
                let mut halves = piece.splitn(2, |byte| *byte == b'=');
                let (name, value) = (halves.next()?, halves.next().unwrap_or_default());
                Some((decode(name)?, decode(value)?))
            })
            .collect();
        let pairs =
            pairs.ok_or_else(|| Fault::new(Word::InvalidRequest, "the body is not a form in UTF-8"))?;
        Self::once(pairs).ok_or_else(|| Fault::new(Word::InvalidRequest, "a parameter came more than once"))
    }

    /// Takes parameters of which each came once; `None`: one came twice.
    pub(crate) fn once(pairs: Vec<(String, String)>) -> Option<Self> {
        let mut names: Vec<&str> =
            pairs.iter().map(|(name, _)| name.as_str()).filter(|name| *name != RESOURCE).collect();
        let sent = names.len();
        names.sort_unstable();
        names.dedup();
        let is_once = names.len() == sent;
        is_once.then(|| Self(pairs.into_iter().filter(|(_, value)| !value.is_empty()).collect()))
    }

    /// The value of a parameter.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a parameter that must be there.
    ///
    /// # Errors
    /// When it is not.
    pub(crate) fn needed(&self, name: &'static str) -> Result<&str, Fault> {
        self.value(name).ok_or_else(|| Fault::new(Word::InvalidRequest, format!("{name} is missing")))
    }

    /// All resources that are named.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(name, _)| name == RESOURCE).map(|(_, value)| value.as_str())
    }
}

/// Whether a request says exactly once that its body is of a type, with whatever parameters.
pub(crate) fn has_type(headers: &HeaderMap, expected: &str) -> bool {
    let mut said = headers.get_all(CONTENT_TYPE).iter();
    let (Some(first), None) = (said.next(), said.next()) else { return false };
    let essence = first.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(expected)
}

/// Takes one value out of its form encoding; `None`: it is no such encoding of a text.
pub(crate) fn decode(encoded: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

const RESOURCE: &str = "resource";
/// The longest body that is read.
pub(crate) const LONGEST: usize = 16 * 1024;
