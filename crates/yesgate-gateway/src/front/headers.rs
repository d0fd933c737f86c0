//! The HTTP headers that a front looks at: what they say must be what the body says (SEP-2243).

use base64::Engine as _;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue};
use serde_json::value::RawValue;

use super::message::Fields;
use super::meta::text;

pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// A header and the body contradict each other, or a header is missing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the header `{header}` {fault}")]
pub(crate) struct Mismatch {
    header: HeaderName,
    fault: &'static str,
}

/// The only value of a header; `None` where it is absent.
pub(crate) fn single(headers: &HeaderMap, header: HeaderName) -> Result<Option<&str>, Mismatch> {
    let mut values = headers.get_all(&header).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) => return Err(Mismatch { header, fault: "occurs twice" }),
    };
    match value {
        Some(value) => Ok(Some(value.trim_matches([' ', '\t']))),
        None => Err(Mismatch { header, fault: "is not visible ASCII" }),
    }
}

/// Checks the headers of a modern message against its body.
pub(crate) fn check_headers(
    headers: &HeaderMap,
    method: &str,
    fields: &Fields<'_>,
    version: &str,
) -> Result<(), Mismatch> {
    equal(headers, PROTOCOL_VERSION, version)?;
    equal(headers, METHOD, method)?;
    let named = match method {
        "tools/call" | "prompts/get" => fields.name,
        "resources/read" => fields.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => fields.task_id,
        _ => return Ok(()),
    };
    match named.and_then(name) {
        Some(name) => equal(headers, NAME, &name),
        // There is nothing to mirror: the board will say what is missing from the body.
        None => Ok(()),
    }
}

fn name(value: &RawValue) -> Option<String> {
    text(value)
}

fn equal(headers: &HeaderMap, header: HeaderName, body: &str) -> Result<(), Mismatch> {
    let value = single(headers, header.clone())?
        .ok_or_else(|| Mismatch { header: header.clone(), fault: "is missing" })?;
    let same = match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => match base64::engine::general_purpose::STANDARD.decode(encoded) {
            Ok(decoded) => decoded == body.as_bytes(),
            Err(_) => return Err(Mismatch { header, fault: "is not valid Base64" }),
        },
        None => value == body,
    };
    if same { Ok(()) } else { Err(Mismatch { header, fault: "does not match the body" }) }
}

/// Whether the body is said to be JSON. Anything else could come from a web page without the browser asking.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    media_type(value).is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"))
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
        let first = headers.get(ACCEPT).and_then(media_type).and_then(|ranges| ranges.split(',').next());
        match first.map(str::trim) {
            Some(kind) if kind.eq_ignore_ascii_case("text/event-stream") => Self::Stream,
            Some(_) | None => Self::Whole,
        }
    }
}

fn media_type(value: &HeaderValue) -> Option<&str> {
    value.to_str().ok()?.split(';').next().map(str::trim)
}

#[cfg(test)]
mod tests;
