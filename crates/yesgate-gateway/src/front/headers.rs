//! The HTTP headers that a front looks at.

use http::header::{ACCEPT, HeaderName};
use http::{HeaderMap, HeaderValue};

use crate::mirror::{Fault, Mismatch};

/// The only value of a header; `None` where it is absent.
pub(crate) fn single(headers: &HeaderMap, header: HeaderName) -> Result<Option<&str>, Mismatch> {
    let mut values = headers.get_all(&header).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) => return Err(Mismatch { header, fault: Fault::Repeated }),
    };
    match value {
        Some(value) => Ok(Some(value.trim_matches([' ', '\t']))),
        None => Err(Mismatch { header, fault: Fault::Garbled }),
    }
}

/// Whether the client understands both kinds of answers, as the protocol demands.
pub(crate) fn accepts_answers(headers: &HeaderMap) -> bool {
    headers.get(ACCEPT).is_some_and(|value| value == USUAL)
        || (accepts(headers, "application/json") && accepts(headers, "text/event-stream"))
}

/// Whether the client understands an answer of this kind; a client that names none understands all.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    if !headers.contains_key(ACCEPT) {
        return true;
    }
    let class = kind.split('/').next();
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|range| {
        let range = range.split(';').next().unwrap_or_default().trim();
        range == "*/*"
            || range.eq_ignore_ascii_case(kind)
            || range
                .strip_suffix("/*")
                .is_some_and(|wide| class.is_some_and(|class| wide.eq_ignore_ascii_case(class)))
    })
}

/// Which form of an answer a client would rather have: the one that it names first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wish {
    /// One message where that is possible, a stream where something is said before it.
    Whole,
    /// A stream in any case.
    Stream,
}

impl Wish {
    /// What the client's `Accept` says.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let accepted = headers.get(ACCEPT);
        if accepted.is_some_and(|value| value == USUAL) {
            return Self::Whole;
        }
        let first = accepted.and_then(media_type).and_then(|ranges| ranges.split(',').next());
        match first.map(str::trim) {
            Some(kind) if kind.eq_ignore_ascii_case("text/event-stream") => Self::Stream,
            Some(_) | None => Self::Whole,
        }
    }
}

/// What nearly every client accepts, in these very words.
const USUAL: &str = "application/json, text/event-stream";

fn media_type(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()?.split(';').next().map(str::trim)
}

#[cfg(test)]
mod tests;
