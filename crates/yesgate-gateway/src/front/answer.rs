//! HTTP responses of the front, and which status goes with which JSON-RPC error.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use yesgate_core::oauth::Scopes;
use yesgate_http::edge::bearer::Lacking;

use super::ResponseBody;
use super::message::Unreadable;
use super::share::Full;
use super::wire;
use crate::reply::Reply;

/// A message in its pieces.
pub(crate) fn json(status: StatusCode, parts: impl IntoIterator<Item = Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::parts(parts));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The answer to a request; where none is due, none is given.
pub(crate) fn reply(status: StatusCode, reply: Reply, id: &RawValue) -> Response<ResponseBody> {
    let unscoped = reply.unscoped().cloned();
    match wire::answer(reply, id) {
        Some(parts) => needing(json(status, parts), unscoped),
        None => accepted(),
    }
}

/// The same, saying to the door which scopes were lacking.
pub(crate) fn needing(
    mut response: Response<ResponseBody>,
    unscoped: Option<Scopes>,
) -> Response<ResponseBody> {
    if let Some(needed) = unscoped {
        response.extensions_mut().insert(Lacking(needed));
    }
    response
}

/// The answer to a message that belongs to no request.
pub(crate) fn error(status: StatusCode, code: i64, words: &str) -> Response<ResponseBody> {
    reply(status, Reply::error(code, words, None), RawValue::NULL)
}

/// The answer to a message that could not be read.
pub(crate) fn unreadable(unreadable: Unreadable) -> Response<ResponseBody> {
    match unreadable.into_parts() {
        Some(parts) => json(StatusCode::BAD_REQUEST, parts),
        None => accepted(),
    }
}

/// The message was taken, and that is all.
pub(crate) fn accepted() -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Somebody holds too much.
pub(crate) fn full(full: Full, words: &str) -> Response<ResponseBody> {
    let status = match full {
        Full::All => StatusCode::SERVICE_UNAVAILABLE,
        Full::Each => StatusCode::TOO_MANY_REQUESTS,
    };
    let mut response = error(status, -32603, words);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    response
}

/// The HTTP method is none that is served here.
pub(crate) fn not_allowed(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, -32600, "the HTTP method is not allowed here");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A stream of events.
pub(crate) fn stream(events: mpsc::Receiver<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// How far a modern request came before it was answered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// It was not even handed on.
    Read,
    /// The board answered it.
    Handled,
}

/// The status that a modern answer has.
pub(crate) fn modern_status(reply: &Reply, stage: Stage) -> StatusCode {
    #[derive(Deserialize)]
    struct Error {
        code: i64,
    }
    // O-D8: for scopes, never 401.
    if reply.unscoped().is_some() {
        return StatusCode::FORBIDDEN;
    }
    match reply {
        Reply::Relayed | Reply::Own(_) | Reply::Result(_) | Reply::Silent => StatusCode::OK,
        Reply::Error(error) => match (serde_json::from_slice(error).map(|error: Error| error.code), stage) {
            (Ok(-32022..=-32020), _) | (Ok(-32602), Stage::Read) => StatusCode::BAD_REQUEST,
            (Ok(-32601), _) => StatusCode::NOT_FOUND,
            (Ok(_) | Err(_), Stage::Read | Stage::Handled) => StatusCode::OK,
        },
    }
}
