//! Reading what a request carries, within bounds.
//!
//! INVARIANTS:
//! - A body above the cap is refused at the first sign of it: its announced length, or the byte too many.
//! - No more is kept than was really sent: an announced length reserves nothing, and a piece that waits for
//!   others does not keep the read buffer alive that it came in.

use std::future::poll_fn;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body::Body;

use super::{EdgeLimits, bell};
use crate::patience::within;

#[cfg(test)]
mod tests;

/// Says why a body was not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BodyError {
    /// It has, or announces, more bytes than allowed.
    #[error("the body is larger than {cap} bytes")]
    TooLarge {
        /// How many are allowed.
        cap: usize,
    },
    /// It was not complete in time.
    #[error("the body took too long")]
    TooSlow,
    /// It ended early, or its framing is wrong.
    #[error("the body is broken")]
    Broken,
}

impl BodyError {
    /// The HTTP status that says the same.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a whole body. What comes in one piece is handed on as it is, without a copy.
pub async fn read_body(body: impl Body<Data = Bytes>, limits: &EdgeLimits) -> Result<Bytes, BodyError> {
    let cap = limits.body_bytes;
    if body.size_hint().lower() > u64::try_from(cap).unwrap_or(u64::MAX) {
        return Err(BodyError::TooLarge { cap });
    }
    within(limits.body_time, collect(body, cap)).await.unwrap_or(Err(BodyError::TooSlow))
}

async fn collect(body: impl Body<Data = Bytes>, cap: usize) -> Result<Bytes, BodyError> {
    let mut body = pin!(body);
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while !body.is_end_stream()
        && let Some(frame) = poll_fn(|cx| bell::poll_frame(body.as_mut(), cx)).await
    {
        // A frame that is no data has trailers, which nobody asked for.
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        if first.len().saturating_add(all.len()).saturating_add(data.len()) > cap {
            return Err(BodyError::TooLarge { cap });
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        all.extend_from_slice(&std::mem::take(&mut first));
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Tells whether a body is announced as JSON: by one `Content-Type`, in UTF-8 or without a word on that.
///
/// It is what a page of another site cannot send without asking first: `application/json` is none of the
/// content types that `fetch` sends in `no-cors` mode.
pub fn is_json(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(CONTENT_TYPE).into_iter();
    let (Some(value), None) = (all.next(), all.next()) else { return false };
    let Ok(text) = value.to_str() else { return false };
    let mut pieces = text.split(';').map(str::trim);
    let essence = pieces.next().unwrap_or_default();
    essence.eq_ignore_ascii_case("application/json") && pieces.all(is_utf8_charset)
}

fn is_utf8_charset(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    name.eq_ignore_ascii_case("charset") && unquoted.eq_ignore_ascii_case("utf-8")
}
