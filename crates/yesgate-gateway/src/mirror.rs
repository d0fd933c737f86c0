//! The HTTP headers that repeat what the body says (SEP-2243), so that machines on the way can
//! route a message without reading it.
//!
//! INVARIANT: nothing is ever decided on these headers. They are compared with the body, and a
//! request whose headers say something else is refused (A18): someone on the way may have let it
//! pass for what its headers said.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::value::RawValue;

use crate::scan;

pub mod params;

/// Repeats the method.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// Repeats what the method is about: a tool, a prompt, a resource or a task.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Repeats the protocol revision.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Names the session; legacy era only.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Names the last event that a client got; legacy era only.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A header does not repeat what the body says.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the header `{header}` {fault}")]
pub struct Mismatch {
    /// The header.
    pub header: HeaderName,
    /// What is wrong with it.
    pub fault: Fault,
}

impl Mismatch {
    /// The JSON-RPC error code; it goes with HTTP status 400.
    pub const CODE: i64 = -32020;
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Fault {
    /// It is not there.
    #[error("is missing")]
    Missing,
    /// It is there more than once.
    #[error("is there more than once")]
    Repeated,
    /// Its value is not ASCII, or not the Base64 of UTF-8 where it says that it is.
    #[error("is not encoded as it should be")]
    Garbled,
    /// The body says something else.
    #[error("does not say what the body says")]
    Different,
    /// The body has no such value.
    #[error("repeats something that the body does not say")]
    Surplus,
    /// The body says it more than once, or cannot be followed.
    #[error("cannot be compared: the body is ambiguous")]
    Ambiguous,
}

impl Fault {
    const fn of(self, header: HeaderName) -> Mismatch {
        Mismatch { header, fault: self }
    }
}

/// Writes a value as a header carries it: as it is where that survives the way, else in Base64.
pub fn encode(value: &str) -> HeaderValue {
    if survives(value)
        && let Ok(plain) = HeaderValue::from_str(value)
    {
        return plain;
    }
    let wrapped = format!("{OPENING}{}{CLOSING}", BASE64_STANDARD.encode(value));
    // Base64 is visible ASCII, so there is always a header value.
    HeaderValue::try_from(wrapped).unwrap_or(HeaderValue::from_static("=?base64??="))
}

/// Reads a value that a header carries. White space around it does not belong to it
/// (RFC 9110 §5.5).
///
/// # Errors
/// When it is not ASCII, or says that it is Base64 and is not the exact Base64 of UTF-8.
pub fn decode<'a>(header: &HeaderName, value: &'a HeaderValue) -> Result<Cow<'a, str>, Mismatch> {
    decode_text(trimmed(value)).ok_or_else(|| Fault::Garbled.of(header.clone()))
}

/// What the header [`NAME`] repeats of a request: nothing where the method has no such thing, or
/// where the parameters lack it.
///
/// # Errors
/// When the parameters have it more than once, or cannot be followed.
pub fn name_of<'a>(method: &str, params: Option<&'a RawValue>) -> Result<Option<Cow<'a, str>>, Mismatch> {
    let (Some(key), Some(params)) = (name_key(method), params) else { return Ok(None) };
    let params = params.get();
    if !params.starts_with('{') {
        return Ok(None);
    }
    let place = scan::member(params.as_bytes(), key).map_err(|_| Fault::Ambiguous.of(NAME))?;
    Ok(place.and_then(|place| params.get(place)).and_then(text))
}

/// Compares the headers of a modern request with its body. `version` is the revision that the
/// `_meta` of the body names; one that names none is refused elsewhere.
///
/// # Errors
/// When a header is missing, is there more than once, or does not say what the body says.
pub fn check(
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
    version: Option<&str>,
) -> Result<(), Mismatch> {
    check_with(headers, method, version, || name_of(method, params))
}

/// The same for whoever can tell without another look at the parameters what they are about.
pub(crate) fn check_with<'a>(
    headers: &HeaderMap,
    method: &str,
    version: Option<&str>,
    name: impl FnOnce() -> Result<Option<Cow<'a, str>>, Mismatch>,
) -> Result<(), Mismatch> {
    let said = single(headers, &PROTOCOL_VERSION)?;
    if let Some(version) = version {
        same(&PROTOCOL_VERSION, said, version)?;
    }
    // Neither of these two is ever encoded, so a wrapped value is a different one.
    same(&METHOD, single(headers, &METHOD)?, method)?;

    let said = single(headers, &NAME)?;
    if name_key(method).is_none() {
        return Ok(());
    }
    let said = decode(&NAME, said.ok_or_else(|| Fault::Missing.of(NAME))?)?;
    match name()? {
        Some(name) if name == said => Ok(()),
        Some(_) => Err(Fault::Different.of(NAME)),
        None => Err(Fault::Surplus.of(NAME)),
    }
}

/// What the headers of a request to a modern server say it is about.
pub(crate) fn headers(method: &str, name: Option<&str>) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let method = match method {
        // Hardly anything else is as frequent.
        "tools/call" => HeaderValue::from_static("tools/call"),
        other => encode(other),
    };
    std::iter::once((METHOD, method)).chain(name.map(|name| (NAME, encode(name))))
}

const OPENING: &str = "=?base64?";
const CLOSING: &str = "?=";

/// The parameter that [`NAME`] repeats (SEP-2243; SEP-2663 for tasks).
pub(crate) fn name_key(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Whether everyone on the way reads these characters as the value that they are.
fn survives(value: &str) -> bool {
    let visible = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    let looks_wrapped = value.starts_with(OPENING) && value.ends_with(CLOSING);
    visible && !padded && !looks_wrapped
}

fn trimmed(value: &HeaderValue) -> &[u8] {
    let mut bytes = value.as_bytes();
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

fn decode_text(value: &[u8]) -> Option<Cow<'_, str>> {
    let value = std::str::from_utf8(value).ok().filter(|value| value.is_ascii())?;
    match value.strip_prefix(OPENING).and_then(|rest| rest.strip_suffix(CLOSING)) {
        None => Some(Cow::Borrowed(value)),
        Some(wrapped) => {
            let bytes = BASE64_STANDARD.decode(wrapped).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

/// The value of a header that may be there only once: of two, someone on the way could have read
/// the other.
fn single<'a>(headers: &'a HeaderMap, header: &HeaderName) -> Result<Option<&'a HeaderValue>, Mismatch> {
    let mut values = headers.get_all(header).iter();
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(Fault::Repeated.of(header.clone())),
    }
}

fn same(header: &HeaderName, said: Option<&HeaderValue>, expected: &str) -> Result<(), Mismatch> {
    match said {
        None => Err(Fault::Missing.of(header.clone())),
        Some(said) if trimmed(said) == expected.as_bytes() => Ok(()),
        Some(_) => Err(Fault::Different.of(header.clone())),
    }
}

fn put(headers: &mut HeaderMap, header: &HeaderName, value: Option<HeaderValue>) {
    match value {
        // A map that is full takes no more; the server then misses the header, and refuses.
        Some(value) => drop(headers.try_insert(header, value)),
        None => drop(headers.remove(header)),
    }
}

/// A JSON string, borrowed where it is written without escapes.
pub(crate) fn text(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(json).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

#[cfg(test)]
mod tests;
