//! What goes back to the caller.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use yesgate_core::intent::{ResultKind, StoredResult};
use yesgate_core::oauth::Scopes;
use yesgate_core::refusal::{Refusal, WireForm};

use crate::base::{Base, Whereabouts};
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
    /// An answer of the gateway's own: its front has yet to put it into the caller's words.
    Own(Box<Own>),
    /// An error, as the JSON text of the `error` member.
    Error(Bytes),
    /// The caller gave up: no answer is due.
    Silent,
}

/// What the gateway itself has to say about a call.
///
/// INVARIANT: nothing that a server answers is ever one of these, so a front that shows them differently cannot
/// be deceived by a server that imitates our words.
#[derive(Clone, Debug, PartialEq)]
pub enum Own {
    /// A human is asked: the payload of the held answer.
    Held(Map<String, Value>),
    /// It goes on as a task, which this describes. Only clients that declared tasks get one.
    Task(Map<String, Value>),
    /// One of the gateway's own tools answers.
    Told(Map<String, Value>),
    /// It does not run; the policy gives the form that it has on the wire of MCP.
    Refused(Refusal, WireForm),
    /// The token does not allow it. All scopes that would: those that it has, and what it lacks.
    Unscoped(Scopes),
    /// It is no call that can be judged.
    Unreadable {
        /// The code of JSON-RPC for what is wrong.
        code: i64,
        /// What is wrong.
        words: String,
    },
    /// The server has no such tool.
    NoSuchTool,
    /// One of the others, where the tool's schema has no room for its structure: clients of MCP get its text.
    InWords(Box<Self>),
}

/// The JSON-RPC code of a refused consent (H6).
pub const CONSENT_ERROR: i64 = -32015;

/// The JSON-RPC code of a call that its token does not allow.
pub const SCOPE_ERROR: i64 = -32016;

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
        Own::Refused(refusal.clone(), form).into()
    }

    /// The same in the words of the caller's era: each modern result has a type, and no other one has.
    pub fn in_era(self, era: Era) -> Self {
        match self {
            // Over HTTP it has a status of its own, which its words alone would not tell.
            unscoped @ Self::Own(_) if unscoped.unscoped().is_some() => unscoped,
            Self::Own(own) => own.in_era(era),
            reply @ (Self::Relayed | Self::Result(_) | Self::Error(_) | Self::Silent) => reply,
        }
    }

    /// A held answer with the addresses where it can be decided and looked up; any other as it is.
    pub fn linked(mut self, base: Option<&Base>) -> Self {
        if let (Self::Own(own), Some(base)) = (&mut self, base)
            && let Some(payload) = own.held()
        {
            base.link(payload);
        }
        self
    }

    /// The same with whatever address holds at this moment, which is looked up for held answers only.
    pub fn linked_by(self, pages: &dyn Whereabouts) -> Self {
        match &self {
            Self::Own(_) => self.linked(pages.base().as_ref()),
            Self::Relayed | Self::Result(_) | Self::Error(_) | Self::Silent => self,
        }
    }

    /// The scopes that a call would have needed, where that is all that kept it.
    pub(crate) fn unscoped(&self) -> Option<&Scopes> {
        match self {
            Self::Own(own) => match &**own {
                Own::Unscoped(needed) => Some(needed),
                Own::Held(_)
                | Own::Task(_)
                | Own::Told(_)
                | Own::Refused(_, _)
                | Own::Unreadable { .. }
                | Own::NoSuchTool
                | Own::InWords(_) => None,
            },
            Self::Relayed | Self::Result(_) | Self::Error(_) | Self::Silent => None,
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
            Self::Result(result) => (r#","result":"#, result),
            Self::Error(error) => (r#","error":"#, error),
            Self::Own(own) => return own.in_era(Era::Legacy).into_parts(id),
        };
        let head = [r#"{"jsonrpc":"2.0","id":"#, id.get(), member].concat();
        Some([head.into(), value, Bytes::from_static(b"}")])
    }

    /// The whole message under the caller's own id, in one piece.
    pub fn into_message(self, id: &RawValue) -> Option<Vec<u8>> {
        self.into_parts(id).map(|parts| parts.concat())
    }
}

impl From<Own> for Reply {
    fn from(own: Own) -> Self {
        Self::Own(Box::new(own))
    }
}

impl Own {
    /// The same without structured content, where it would have some.
    pub(crate) fn in_words(self) -> Self {
        match self {
            own @ (Self::Held(_) | Self::Told(_) | Self::Refused(_, WireForm::ToolError)) => {
                Self::InWords(Box::new(own))
            }
            own @ (Self::Task(_)
            | Self::Refused(_, WireForm::ConsentError)
            | Self::Unscoped(_)
            | Self::Unreadable { .. }
            | Self::NoSuchTool
            | Self::InWords(_)) => own,
        }
    }

    /// The payload of a held answer, where it is one.
    fn held(&mut self) -> Option<&mut Map<String, Value>> {
        match self {
            Self::Held(payload) => Some(payload),
            Self::InWords(own) => own.held(),
            Self::Task(_)
            | Self::Told(_)
            | Self::Refused(_, _)
            | Self::Unscoped(_)
            | Self::Unreadable { .. }
            | Self::NoSuchTool => None,
        }
    }

    /// What a client of MCP gets: a result or an error, never `Own`.
    fn in_era(self, era: Era) -> Reply {
        self.shaped(Shape::Structured, era)
    }

    fn shaped(self, shape: Shape, era: Era) -> Reply {
        match self {
            Self::Held(payload) | Self::Told(payload) => tool_result(payload, IsError::No, shape, era),
            Self::Task(task) => Reply::Result(Value::Object(task).to_string().into()),
            Self::Refused(refusal, form) => match form {
                WireForm::ConsentError => {
                    let payload = Value::Object(refusal.payload());
                    Reply::error(CONSENT_ERROR, &refusal.message(), Some(payload))
                }
                WireForm::ToolError => tool_result(refusal.payload(), IsError::Yes, shape, era),
            },
            Self::Unscoped(needed) => {
                let data = json!({"error": "insufficient_scope", "scope": needed.to_string()});
                Reply::error(SCOPE_ERROR, &unscoped(&needed), Some(data))
            }
            Self::InWords(own) => own.shaped(Shape::Words, era),
            Self::Unreadable { code, words } => Reply::error(code, &refused(&words), None),
            Self::NoSuchTool => Reply::error(-32602, &refused(NO_SUCH_TOOL), None),
        }
    }
}

/// A tool result of our own: the payload as text and, where there is room for it, as structure.
fn tool_result(payload: Map<String, Value>, is_error: IsError, shape: Shape, era: Era) -> Reply {
    let payload = Value::Object(payload);
    let mut result = Map::new();
    result.insert("content".into(), json!([{"type": "text", "text": payload.to_string()}]));
    match (shape, is_error) {
        (Shape::Structured, IsError::No) => {
            result.insert("structuredContent".into(), payload);
        }
        (Shape::Structured, IsError::Yes) => {
            result.insert("structuredContent".into(), payload);
            result.insert("isError".into(), true.into());
        }
        // Only an error may come without the structure that its tool promises.
        (Shape::Words, IsError::Yes | IsError::No) => {
            result.insert("isError".into(), true.into());
        }
    }
    let json = Bytes::from(Value::Object(result).to_string());
    Reply::Result(match era {
        Era::Modern => bridge::complete("tools/call", &json),
        Era::Legacy => json,
    })
}

/// The words for a call that was not even judged.
pub(crate) fn refused(problem: &str) -> String {
    format!("The call was refused and nothing ran: {problem}.")
}

/// The words for a call that its token does not allow.
pub(crate) fn unscoped(needed: &Scopes) -> String {
    format!(
        "The access token does not allow this call, and nothing ran. Connect again with these scopes: {needed}."
    )
}

/// What is wrong with a call of a tool that nobody has.
pub(crate) const NO_SUCH_TOOL: &str = "the server has no such tool";

/// How much of a payload a tool result has room for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    /// Text and structure.
    Structured,
    /// Text.
    Words,
}

/// Whether a tool result is an error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum IsError {
    /// `isError: true`.
    Yes,
    /// No `isError`.
    No,
}
