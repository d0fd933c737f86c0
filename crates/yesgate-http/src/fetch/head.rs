//! How the head of an answer is read.
//!
//! INVARIANT: how long an answer is follows from its head alone, and where two lengths disagree there is no answer.

use std::mem::MaybeUninit;

use bytes::{Buf as _, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING};
use http::{Method, StatusCode};
use httparse::{ParserConfig, Status};

use super::error::Broken;

/// The head of an answer.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    pub(super) afterwards: Afterwards,
}

/// Where an answer ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Framing {
    /// After this many bytes.
    Length(u64),
    /// After its last chunk.
    Chunked,
    /// With its connection.
    Close,
}

/// What becomes of the connection when the answer has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Afterwards {
    /// It can be used again.
    Free,
    /// It is closed.
    Closed,
}

/// Takes the head of an answer out of what has come. `None`: there is more to come of it.
pub(super) fn read(buffer: &mut BytesMut, asked: &Method) -> Result<Option<Head>, Broken> {
    let mut room = [const { MaybeUninit::uninit() }; MOST_HEADERS];
    let mut parsed = httparse::Response::new(&mut []);
    let parser = ParserConfig::default();
    let length = match parser.parse_response_with_uninit_headers(&mut parsed, buffer, &mut room) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if buffer.len() >= MOST_BYTES => return Err(Broken::TooLarge),
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Broken::TooLarge),
        Err(_) => return Err(Broken::NotHttp),
    };
    let status = parsed.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or(Broken::NotHttp)?;
    let is_current = parsed.version == Some(1);
    let mut headers = HeaderMap::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).map_err(|_| Broken::NotHttp)?;
        let value = HeaderValue::from_bytes(header.value).map_err(|_| Broken::NotHttp)?;
        headers.append(name, value);
    }
    let framing = framing(status, &headers, asked)?;
    let afterwards = match (is_current, framing) {
        (true, Framing::Length(_) | Framing::Chunked) => after(&headers),
        (false, _) | (true, Framing::Close) => Afterwards::Closed,
    };
    // Not taken apart: a buffer in two hands cannot be filled again.
    buffer.advance(length);
    Ok(Some(Head { status, headers, framing, afterwards }))
}

/// What becomes of a connection by the head of a request or an answer (RFC 9112 §9.6).
pub(super) fn after(headers: &HeaderMap) -> Afterwards {
    if says(headers, &CONNECTION, "close") { Afterwards::Closed } else { Afterwards::Free }
}

/// RFC 9112 §6.3.
fn framing(status: StatusCode, headers: &HeaderMap, asked: &Method) -> Result<Framing, Broken> {
    let is_empty = status.is_informational()
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
        || asked == Method::HEAD;
    if is_empty {
        return Ok(Framing::Length(0));
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        // Two statements about one length are how answers are smuggled (RFC 9112 §6.3, rule 3).
        if headers.contains_key(CONTENT_LENGTH) {
            return Err(Broken::NotHttp);
        }
        let last = headers.get_all(TRANSFER_ENCODING).into_iter().next_back();
        let last = last.and_then(|value| value.as_bytes().rsplit(|byte| *byte == b',').next());
        let is_chunked = last.is_some_and(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"));
        return Ok(if is_chunked { Framing::Chunked } else { Framing::Close });
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).into_iter().map(length);
    match lengths.next() {
        None => Ok(Framing::Close),
        Some(first) => {
            let first = first.ok_or(Broken::NotHttp)?;
            let agree = lengths.all(|other| other == Some(first));
            if agree { Ok(Framing::Length(first)) } else { Err(Broken::NotHttp) }
        }
    }
}

fn length(value: &HeaderValue) -> Option<u64> {
    // Rust's own numbers may begin with a plus.
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

/// Whether a word is in the list that a header is.
fn says(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
}

/// How much a head may be.
const MOST_BYTES: usize = 256 * 1024;
const MOST_HEADERS: usize = 100;
