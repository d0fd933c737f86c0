//! How a request is to be answered, before anything is said.

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::mock_server::protocol::RpcError;

/// An answer, ready to be given honestly or not.
#[derive(Debug)]
pub(super) enum Plan {
    /// At once and in one piece.
    Whole { status: u16, headers: Vec<(String, String)>, body: String },
    /// As events: one thing after the other, the answer last.
    Turns(Vec<Turn>),
    /// As events that may come at any time, until nobody can send any more.
    Stream { first: Vec<String>, rest: mpsc::UnboundedReceiver<String> },
}

/// One step of an answer that is a stream of events.
#[derive(Debug)]
pub(super) enum Turn {
    /// Says something.
    Say(String),
    /// Waits until the tool `slow` may answer.
    Gate,
    /// Asks the client, and answers the call under this id with what it said.
    Ask { question: String, answer: oneshot::Receiver<Value>, call: Value },
    /// Answers.
    Answer(String),
}

impl Plan {
    /// Nothing but a status.
    pub(super) fn status(status: u16) -> Self {
        Self::Whole { status, headers: Vec::new(), body: String::new() }
    }

    /// A message in one piece.
    pub(super) fn whole(body: String) -> Self {
        Self::json(200, body)
    }

    /// An error under a status of its own.
    pub(super) fn error(status: u16, id: &Value, error: &RpcError) -> Self {
        Self::json(status, error_text(id, error))
    }

    fn json(status: u16, body: String) -> Self {
        Self::Whole { status, headers: vec![("Content-Type".into(), "application/json".into())], body }
    }

    /// The message that answers the request; empty where it takes more than saying it.
    pub(super) fn answer(&self) -> String {
        match self {
            Self::Whole { body, .. } => body.clone(),
            Self::Turns(turns) => turns
                .iter()
                .find_map(|turn| match turn {
                    Turn::Answer(answer) => Some(answer.clone()),
                    Turn::Say(_) | Turn::Gate | Turn::Ask { .. } => None,
                })
                .unwrap_or_default(),
            Self::Stream { .. } => String::new(),
        }
    }
}

/// The message that answers a request with a result.
pub(super) fn result_text(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

/// The message that answers a request with an error.
pub(super) fn error_text(id: &Value, error: &RpcError) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": error.to_value()}).to_string()
}
