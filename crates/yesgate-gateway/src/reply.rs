//! What goes back to the caller.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use yesgate_core::intent::{ResultKind, StoredResult};
use yesgate_core::refusal::{Refusal, WireForm};

/// The answer to one request.
#[derive(Debug)]
#[must_use = "a caller that is not answered waits for ever"]
pub enum Reply {
    /// The server answers by itself, in its own bytes.
    Relayed,
    /// A result, as JSON text.
    Result(String),
    /// An error, as the JSON text of the `error` member.
    Error(String),
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
        Self::Error(Value::Object(error).to_string())
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
            // Clients of 2026-07-28 demand it, older ones ignore it.
            "resultType": "complete",
            "content": [{"type": "text", "text": payload.to_string()}],
            "structuredContent": payload,
        });
        if let (IsError::Yes, Some(result)) = (is_error, result.as_object_mut()) {
            result.insert("isError".into(), true.into());
        }
        Self::Result(result.to_string())
    }

    /// What a server answered earlier.
    pub fn stored(stored: StoredResult) -> Self {
        match stored.kind {
            ResultKind::Result => Self::Result(stored.json),
            ResultKind::Error => Self::Error(stored.json),
        }
    }

    /// The whole message under the caller's own id, or nothing where none is due.
    pub fn into_message(self, id: &RawValue) -> Option<String> {
        let id = id.get();
        match self {
            Self::Relayed | Self::Silent => None,
            Self::Result(result) => Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)),
            Self::Error(error) => Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)),
        }
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
