//! What goes back to the caller.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use yesgate_core::intent::{ResultKind, StoredResult};
use yesgate_core::refusal::{Refusal, WireForm};

use crate::bridge;
use crate::era::Era;
use crate::upstream::Answer;

/// The answer to one request.
#[derive(Debug)]
#[must_use = "a caller that is not answered waits for ever"]
pub enum Reply {
    /// The server answers by itself, in its own bytes.
    Relayed,
    /// A result, as JSON text.
    Result(Bytes),
    /// A result of the gateway's own, as JSON text: it has yet to be put into the words of the caller's era.
    Own(Bytes),
    /// An error, as the JSON text of the `error` member.
    Error(Bytes),
    /// The caller gave up: no answer is due.
    Silent,
}

/// The JSON-RPC code of a refused consent (H6).
pub const CONSENT_ERROR: i64 = -32015;

impl Reply {
    /// A JSON-RPC error.
    pub fn error(code: i64, message: &str, data: Option<Value>) -> Self {
        let mut error = Map::new();
        error.insert("code".into(), code.into());
        error.insert("message".into(), message.into());
        if let Some(data) = data {
            error.insert("data".into(), data);
        }
        Self::Error(Value::Object(error).to_string().into())
    }

    /// A refusal, in the form that the policy gives it.
    pub fn refuse(refusal: &Refusal, form: WireForm) -> Self {
        let payload = refusal.payload();
        match form {
            WireForm::ConsentError => {
                Self::error(CONSENT_ERROR, &refusal.why.message(), Some(Value::Object(payload)))
            }
            WireForm::ToolError => Self::tool_result(payload, IsError::Yes),
        }
    }

    /// A tool result of our own: the payload as text and as structure.
    pub fn tool_result(payload: Map<String, Value>, is_error: IsError) -> Self {
        let payload = Value::Object(payload);
        let mut result = json!({
            "content": [{"type": "text", "text": payload.to_string()}],
            "structuredContent": payload,
        });
        if let (IsError::Yes, Some(result)) = (is_error, result.as_object_mut()) {
            result.insert("isError".into(), true.into());
        }
        Self::Own(result.to_string().into())
    }

    /// The same in the words of the caller's era: each modern result has a type, and no other one has.
    pub fn in_era(self, era: Era) -> Self {
        match (self, era) {
            (Self::Own(json), Era::Modern) => Self::Result(bridge::complete("tools/call", &json)),
            (Self::Own(json), Era::Legacy) => Self::Result(json),
            (reply @ (Self::Relayed | Self::Result(_) | Self::Error(_) | Self::Silent), _) => reply,
        }
    }

    /// What a server answered.
    pub fn answer(answer: Answer) -> Self {
        match answer.kind {
            ResultKind::Result => Self::Result(answer.json),
            ResultKind::Error => Self::Error(answer.json),
        }
    }

    /// What a server answered earlier.
    pub fn stored(stored: StoredResult) -> Self {
        match stored.kind {
            ResultKind::Result => Self::Result(stored.json.into()),
            ResultKind::Error => Self::Error(stored.json.into()),
        }
    }

    /// The whole message under the caller's own id, in parts that need not be copied; nothing where no
    /// answer is due.
    pub fn into_parts(self, id: &RawValue) -> Option<[Bytes; 3]> {
        let (member, value) = match self {
            Self::Relayed | Self::Silent => return None,
            Self::Result(result) | Self::Own(result) => ("result", result),
            Self::Error(error) => ("error", error),
        };
        let head = format!(r#"{{"jsonrpc":"2.0","id":{},"{member}":"#, id.get());
        Some([head.into(), value, Bytes::from_static(b"}")])
    }

    /// The whole message under the caller's own id, in one piece.
    pub fn into_message(self, id: &RawValue) -> Option<Vec<u8>> {
        self.into_parts(id).map(|parts| parts.concat())
    }
}

/// Whether a tool result is an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IsError {
    /// `isError: true`.
    Yes,
    /// No `isError`.
    No,
}
