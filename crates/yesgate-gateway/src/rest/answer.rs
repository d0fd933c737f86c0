//! Responses of the REST front: JSON, never cached, and a problem (RFC 9457) for everything that went wrong.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, LOCATION};
use http::{Response, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::refusal::Refusal;

use crate::base::Base;
use crate::raw::{RawObject, bytes};
use crate::reply::{NO_SUCH_TOOL, Own, Reply, refused, unscoped};
use yesgate_http::edge::bearer::Lacking;
use yesgate_http::edge::body::Body;
use yesgate_http::problem::Problem;

/// A JSON document.
pub(crate) fn json(status: StatusCode, value: &Value) -> Response<Body> {
    text(status, value.to_string().into())
}

fn text(status: StatusCode, json: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::whole(json));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What went wrong, where it is no refusal of the gate.
pub(crate) fn failure(status: StatusCode, code: &str, words: &str) -> Response<Body> {
    Problem::new(status, code, words).response()
}

/// H6: the payload that is the same on every wire, with the status that goes with it.
pub(crate) fn refusal(refusal: &Refusal) -> Response<Body> {
    Problem::refusal(refusal).response()
}

/// A question is open: what the agent shows and brings back, and where it looks.
pub(crate) fn held(mut payload: Map<String, Value>, base: Option<&Base>) -> Response<Body> {
    if let Some(base) = base {
        base.link(&mut payload);
    }
    let id = payload.get("intent_id").and_then(Value::as_str).unwrap_or_default();
    let place = base.map_or_else(|| format!("/api/intents/{id}"), |base| base.polling(id));
    let mut response = json(StatusCode::ACCEPTED, &Value::Object(payload));
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

/// The answer to a call.
pub(crate) fn called(reply: Reply, base: Option<&Base>) -> Response<Body> {
    match reply {
        Reply::Result(result) => ran(result),
        Reply::Error(error) => failed(&error),
        Reply::Own(own) => match *own {
            Own::Held(payload) => held(payload, base),
            Own::Told(payload) | Own::Task(payload) => json(StatusCode::OK, &Value::Object(payload)),
            Own::Refused(why, _) => refusal(&why),
            Own::Unscoped(needed) => {
                let words = unscoped(&needed);
                let problem = Problem::new(StatusCode::FORBIDDEN, "insufficient_scope", &words);
                let mut response = problem.with("scope", needed.to_string()).response();
                response.extensions_mut().insert(Lacking(needed));
                response
            }
            Own::InWords(own) => called(Reply::Own(own), base),
            Own::Unreadable { code: _, words } => {
                failure(StatusCode::BAD_REQUEST, "invalid_call", &refused(&words))
            }
            Own::NoSuchTool => failure(StatusCode::NOT_FOUND, "no_such_tool", &refused(NO_SUCH_TOOL)),
        },
        // No server speaks to this client by itself, and whoever withdrew the call is gone.
        Reply::Relayed | Reply::Silent => {
            failure(StatusCode::BAD_GATEWAY, "server_error", "The answer was lost.")
        }
    }
}

/// What a tool answered: its structured content where it has some, else all of it.
fn ran(result: Bytes) -> Response<Body> {
    let Some(parts) = Parts::of(&result) else {
        return failure(StatusCode::BAD_GATEWAY, "server_error", "The server's answer is no result.");
    };
    let status = match parts.complaint {
        Complaint::None => StatusCode::OK,
        Complaint::Some => StatusCode::UNPROCESSABLE_ENTITY,
    };
    text(status, parts.content.unwrap_or(result))
}

/// The result of a tool, in the parts that matter here.
#[derive(Debug)]
pub(crate) struct Parts {
    complaint: Complaint,
    /// Its structured content, in the server's own bytes.
    pub(crate) content: Option<Bytes>,
}

/// Whether the tool did its work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Complaint {
    /// It did.
    None,
    /// It says that it did not, or wants more input, which nobody here can give.
    Some,
}

impl Parts {
    /// Takes a result apart; `None` where it is none.
    pub(crate) fn of(result: &[u8]) -> Option<Self> {
        let fields: RawObject = serde_json::from_slice(result).ok()?;
        let is = |key: &str, text: &str| fields.get(key).is_some_and(|value| value.get() == text);
        let complains = is("isError", "true") || is("resultType", "\"input_required\"");
        let content = fields.get("structuredContent").filter(|content| content.get() != "null");
        Some(Self {
            complaint: if complains { Complaint::Some } else { Complaint::None },
            content: content.map(|content| bytes(content.to_owned())),
        })
    }
}

/// A server, or the way to it, failed.
fn failed(error: &Bytes) -> Response<Body> {
    #[derive(Deserialize)]
    struct Error {
        message: String,
    }
    let message = serde_json::from_slice(error).map(|error: Error| error.message);
    let message = message.unwrap_or_else(|_| "The server answered with an error.".into());
    let details = parse_lenient(error, Limits::SERVER).unwrap_or_default();
    Problem::new(StatusCode::BAD_GATEWAY, "server_error", &message).with("details", details).response()
}

/// Somebody takes too much, for now.
pub(crate) fn busy(status: StatusCode) -> Response<Body> {
    Problem::new(status, "busy", "too much is under way; try again in a moment").response_after(1)
}
