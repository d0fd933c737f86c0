//! The way to one server, and the only function that sends it a `tools/call`.
//!
//! INVARIANT: [`Upstream::execute`] takes the [`PermittedCall`] by value and is the only place
//! where the method `tools/call` is written towards a server. Own requests are an enum that has no
//! word for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;
use yesgate_core::id::BootId;
use yesgate_core::intent::{ResultKind, StoredResult};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::permit::{Permit, PermittedCall};

use crate::book::Page;
use crate::cancel::Cancel;
use crate::envelope::Envelope;
use crate::era::Era;
use crate::stdio::writer::LineWriter;

/// The way to one server.
#[derive(Debug)]
pub struct Upstream {
    prefix: String,
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    writer: Option<LineWriter>,
    /// Our own requests, by our own ids.
    own: HashMap<String, oneshot::Sender<StoredResult>>,
    /// The caller's requests that passed, by the caller's ids.
    passed: HashMap<String, Watch>,
    era: Option<Era>,
}

/// How a permitted call is put on the wire.
#[derive(Debug)]
pub enum Form<'a> {
    /// The caller's own message, byte for byte, under the caller's own id.
    AsItCame {
        /// The whole message.
        line: &'a [u8],
        /// Its id.
        id: RequestKey,
    },
    /// The stored call in canonical form, with the transport's own keys of `_meta`.
    Canonical {
        /// Progress, tracing, protocol version.
        meta: Map<String, Value>,
    },
}

/// What became of a permitted call.
#[derive(Debug)]
pub enum Execution {
    /// It was passed on; the server answers the caller itself.
    Relayed,
    /// The server answered.
    Answered(StoredResult),
    /// We know that no byte of it left.
    NotSent(&'static str),
    /// It left, and the answer is lost.
    Lost(&'static str),
}

/// Requests that the gateway makes for itself. None of them runs a tool.
#[derive(Debug)]
pub enum OwnRequest<'a> {
    /// `tools/list`, from the start or from a cursor.
    ToolsList {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `initialize`, with the parameters that the host once sent.
    Initialize {
        /// Those parameters.
        params: &'a RawValue,
    },
    /// `server/discover`, to learn which era a server speaks.
    Discover,
}

/// What the gateway does with the answer to a request that it passed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Watch {
    /// Nothing.
    No,
    /// It opens the session.
    Initialize,
    /// It tells the era.
    Discover,
    /// It tells what tools there are, and how they are offered.
    ToolsList(Page),
}

/// Where a server's answer goes.
#[derive(Debug, Eq, PartialEq)]
pub enum Destination {
    /// To the caller, after the gateway has looked at it as it must.
    Caller(Watch),
    /// It was ours.
    Own,
    /// Nobody asked for it.
    Nobody,
}

/// The server is not there.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the server is not running")]
pub struct Down;

/// The caller used an id again while it was in use, or one of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PassError {
    /// The id is taken.
    #[error("the request id is already in use")]
    IdInUse,
    /// The server is not there.
    #[error(transparent)]
    Down(#[from] Down),
}

/// A request id in one spelling, so that `1` finds the answer to ` 1`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct RequestKey(String);

impl RequestKey {
    /// The id as JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The key of an id as it was written.
    pub fn of(id: &RawValue) -> Self {
        let text = id.get();
        let plain = text.bytes().all(|byte| byte.is_ascii_digit())
            || (text.starts_with('"') && text.is_ascii() && !text.contains('\\'));
        if plain {
            return Self(text.to_owned());
        }
        Self(
            parse_lenient(text.as_bytes(), Limits::default())
                .map_or_else(|_| text.to_owned(), |id| id.to_string()),
        )
    }
}

impl Upstream {
    /// A way to a server that is not there yet.
    pub fn new(boot: &BootId) -> Self {
        let prefix = format!("yesgate-{}-", boot.as_str().trim_start_matches(BootId::PREFIX));
        Self { prefix, next: AtomicU64::new(1), state: Mutex::default() }
    }

    /// The server is there and listens.
    pub fn up(&self, writer: LineWriter) {
        self.lock().writer = Some(writer);
    }

    /// The server is gone. Own requests learn that their answer is lost; the caller's requests
    /// that were never answered are given back.
    pub fn down(&self) -> Vec<RequestKey> {
        let mut state = self.lock();
        state.writer = None;
        state.own.clear();
        state.passed.drain().map(|(id, _)| RequestKey(id)).collect()
    }

    /// The era that this server was last spoken to in.
    pub fn era(&self) -> Option<Era> {
        self.lock().era
    }

    /// Notes which era the server understands.
    pub fn speaks(&self, era: Era) {
        self.lock().era = Some(era);
    }

    /// Sends a permitted call. The only way to a tool.
    pub async fn execute(&self, permitted: PermittedCall, form: Form<'_>, cancel: &Cancel) -> Execution {
        match form {
            Form::AsItCame { line, id } => match permitted.permit() {
                Permit::Class(_) | Permit::Rule(_) => match self.pass(id, Watch::No, line) {
                    Ok(()) => Execution::Relayed,
                    Err(PassError::IdInUse) => Execution::NotSent("the request id is already in use"),
                    Err(PassError::Down(Down)) => Execution::NotSent(DOWN),
                },
                // What a human approved leaves only in the form the human approved.
                Permit::Intent(_) => Execution::NotSent("an approved call is sent in its stored form only"),
            },
            Form::Canonical { meta } => {
                let call = &permitted.call().binding;
                let mut params = format!(
                    r#"{{"name":{},"arguments":{}"#,
                    Value::from(call.tool.as_str()),
                    call.arguments.as_str()
                );
                if !meta.is_empty() {
                    params.push_str(r#","_meta":"#);
                    params.push_str(&Value::Object(meta).to_string());
                }
                params.push('}');
                self.send_and_wait("tools/call", &params, cancel).await
            }
        }
    }

    /// Makes a request of the gateway's own.
    ///
    /// # Errors
    /// When the server is not there, or goes before it answers.
    pub async fn request(&self, request: OwnRequest<'_>) -> Result<StoredResult, Down> {
        let meta = match self.era() {
            Some(Era::Modern) => Some(Era::own_meta()),
            Some(Era::Legacy) | None => None,
        };
        let (method, params) = match request {
            OwnRequest::ToolsList { cursor } => {
                let mut params = Map::new();
                if let Some(cursor) = cursor {
                    params.insert("cursor".into(), cursor.into());
                }
                if let Some(meta) = meta {
                    params.insert("_meta".into(), meta.into());
                }
                ("tools/list", Value::Object(params).to_string())
            }
            OwnRequest::Initialize { params } => ("initialize", params.get().to_owned()),
            OwnRequest::Discover => ("server/discover", json!({ "_meta": Era::own_meta() }).to_string()),
        };
        match self.send_and_wait(method, &params, &Cancel::new()).await {
            Execution::Answered(answer) => Ok(answer),
            Execution::Relayed | Execution::NotSent(_) | Execution::Lost(_) => Err(Down),
        }
    }

    /// Passes a caller's request on as it came. Never used for `tools/call` but by
    /// [`Self::execute`].
    ///
    /// # Errors
    /// When the id is in use, or the server is not there.
    pub fn pass(&self, id: RequestKey, watch: Watch, line: &[u8]) -> Result<(), PassError> {
        let mut state = self.lock();
        if self.is_own(&id) || state.passed.contains_key(&id.0) {
            return Err(PassError::IdInUse);
        }
        let writer = state.writer.as_ref().ok_or(Down)?;
        writer.send(line).map_err(|_| Down)?;
        state.passed.insert(id.0, watch);
        Ok(())
    }

    /// Passes a notification, or the caller's answer to a server's request, on as it came.
    ///
    /// # Errors
    /// When the server is not there.
    pub fn notify(&self, line: &[u8]) -> Result<(), Down> {
        let state = self.lock();
        state.writer.as_ref().ok_or(Down)?.send(line).map_err(|_| Down)
    }

    /// Finds out where a server's answer goes. Answers to own requests are delivered right here.
    pub fn answered(&self, answer: &Envelope<'_>) -> Destination {
        let Some(id) = answer.id.map(RequestKey::of) else { return Destination::Nobody };
        let mut state = self.lock();
        if self.is_own(&id) {
            let Some(waiting) = state.own.remove(id.0.trim_matches('"')) else { return Destination::Nobody };
            let stored = match (answer.result, answer.error) {
                (Some(result), None) => stored(ResultKind::Result, result),
                (None, Some(error)) => stored(ResultKind::Error, error),
                (Some(_), Some(_)) | (None, None) => return Destination::Nobody,
            };
            // Nobody waits any more: the answer has nowhere to go.
            if waiting.send(stored).is_err() {
                return Destination::Nobody;
            }
            return Destination::Own;
        }
        match state.passed.remove(&id.0) {
            Some(watch) => Destination::Caller(watch),
            None => Destination::Nobody,
        }
    }

    /// A server's answer was too long to be taken. Finds out whose it was by its two ends, and ends
    /// the wait for it.
    pub fn answer_dropped(&self, ends: [&[u8]; 2]) -> Option<RequestKey> {
        let mut state = self.lock();
        let ends = ends.map(|end| String::from_utf8_lossy(end).replace(' ', ""));
        let mentioned = |id: &str| {
            [format!("\"id\":{id},"), format!("\"id\":{id}}}")]
                .iter()
                .any(|member| ends.iter().any(|end| end.contains(member.as_str())))
        };
        if let Some(id) = state.passed.keys().find(|id| mentioned(id)).cloned() {
            state.passed.remove(&id);
            return Some(RequestKey(id));
        }
        let own = state.own.keys().find(|id| mentioned(&format!("\"{id}\""))).cloned()?;
        if let Some(waiting) = state.own.remove(&own) {
            let error = json!({"code": -32603, "message": TOO_LONG});
            let stored = StoredResult { kind: ResultKind::Error, json: error.to_string() };
            // The call ran and was answered, so this is its outcome; nobody may be waiting any more.
            if waiting.send(stored).is_err() {
                tracing::debug!("nobody waits for an answer that was too long");
            }
        }
        None
    }

    async fn send_and_wait(&self, method: &str, params: &str, cancel: &Cancel) -> Execution {
        let id = format!("{}{}", self.prefix, self.next.fetch_add(1, Ordering::Relaxed));
        let message = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":{params}}}"#);
        let (sender, mut receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            let Some(writer) = &state.writer else { return Execution::NotSent(DOWN) };
            // A line is taken whole or not at all, so an error here means that nothing left.
            if writer.send(message.as_bytes()).is_err() {
                return Execution::NotSent(DOWN);
            }
            state.own.insert(id.clone(), sender);
        }
        let answer = tokio::select! {
            answer = &mut receiver => answer,
            () = cancel.fired() => {
                self.withdraw(&id);
                match timeout(LATE_ANSWER, &mut receiver).await {
                    Ok(answer) => answer,
                    Err(_) => {
                        self.lock().own.remove(&id);
                        return Execution::Lost("the caller cancelled it, and the server did not answer");
                    }
                }
            }
        };
        match answer {
            Ok(answer) => Execution::Answered(answer),
            Err(_) => Execution::Lost("the server ended before it answered"),
        }
    }

    /// Tells the server that the caller gave up. It may answer all the same.
    fn withdraw(&self, id: &str) {
        let note = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "the caller cancelled the call"},
        });
        if self.notify(note.to_string().as_bytes()).is_err() {
            tracing::debug!("the server went before the cancellation reached it");
        }
    }

    fn is_own(&self, id: &RequestKey) -> bool {
        id.0.trim_start_matches('"').starts_with(&self.prefix)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock; a poisoned one still holds whole values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is said in place of an answer that was too long.
pub const TOO_LONG: &str = "The server answered, but its answer was larger than 4 MiB and was dropped.";

/// How long a server may take to answer a call that was cancelled. It owes no answer at all, so that
/// without an end to the wait such a call would run for ever.
const LATE_ANSWER: Duration = Duration::from_secs(5);

const DOWN: &str = "the server is not running";

fn stored(kind: ResultKind, json: &RawValue) -> StoredResult {
    StoredResult { kind, json: json.get().to_owned() }
}
