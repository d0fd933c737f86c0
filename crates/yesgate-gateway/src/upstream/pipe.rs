//! A server at the other end of a pipe: who waits for which of its answers.
//!
//! One pipe carries everything, so our own requests have ids of our own. Where a single host's messages
//! pass as they came (`wrap`), its ids are kept apart from ours.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use yesgate_core::id::BootId;

use super::exchange::{Answer, Step};
use crate::book::Page;
use crate::envelope::{Envelope, Kind, RequestKey};
use crate::raw::{RawObject, raw};
use crate::stdio::writer::LineWriter;
use crate::talk::{InputMethod, Notice};

/// The way to a server that is a process of ours.
#[derive(Debug)]
pub struct Pipe {
    prefix: String,
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    writer: Option<LineWriter>,
    /// Our own requests, by our own ids.
    own: HashMap<String, Waiting>,
    /// The host's requests that passed, by the host's ids.
    passed: HashMap<String, Watch>,
}

/// Somebody who waits for an answer, and for what comes before it.
#[derive(Debug)]
struct Waiting {
    number: u64,
    answer: oneshot::Sender<Step>,
    /// Where the server's own words go meanwhile; `None`: nobody wants them.
    steps: Option<mpsc::Sender<Step>>,
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

/// Whether somebody wants to hear what a server says on the way to its answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Interest {
    /// Only the answer counts.
    AnswerOnly,
    /// All of it, with progress under our own token.
    All,
}

impl Pipe {
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
        state.passed.drain().map(|(id, _)| RequestKey::rehydrate(id)).collect()
    }

    /// Whether there is a server to talk to.
    pub fn is_up(&self) -> bool {
        self.lock().writer.is_some()
    }

    /// Passes a caller's request on as it came. Never used for `tools/call` but by
    /// [`super::Upstream::execute`].
    ///
    /// # Errors
    /// When the id is in use, or the server is not there.
    pub fn pass(&self, id: &RequestKey, watch: Watch, line: &[u8]) -> Result<(), PassError> {
        let mut state = self.lock();
        if self.is_own(id) || state.passed.contains_key(id.as_json()) {
            return Err(PassError::IdInUse);
        }
        let writer = state.writer.as_ref().ok_or(Down)?;
        writer.send(line).map_err(|_| Down)?;
        state.passed.insert(id.as_json().to_owned(), watch);
        Ok(())
    }

    /// Sends a message that nobody answers: a notification, or an answer to the server.
    ///
    /// # Errors
    /// When the server is not there.
    pub fn notify(&self, line: &[u8]) -> Result<(), Down> {
        let state = self.lock();
        state.writer.as_ref().ok_or(Down)?.send(line).map_err(|_| Down)
    }

    /// Makes a request under an id of our own. An error means that no byte of it left.
    pub(super) fn start(
        self: &Arc<Self>,
        method: &str,
        params: &Bytes,
        interest: Interest,
    ) -> Result<PipeExchange, Down> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}{number}", self.prefix);
        let params = match interest {
            Interest::AnswerOnly => params.clone(),
            Interest::All => under_own_token(params, &id),
        };
        let head = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"{method}","params":"#);
        let mut line = [head.as_bytes(), &params, b"}"].concat();
        crate::raw::unbreak(&mut line);
        let (answer, answered) = oneshot::channel();
        let (steps, heard) = match interest {
            Interest::AnswerOnly => (None, None),
            Interest::All => {
                let (steps, heard) = mpsc::channel(STEPS);
                (Some(steps), Some(heard))
            }
        };
        let mut state = self.lock();
        // A line is taken whole or not at all, so an error here means that nothing left.
        state.writer.as_ref().ok_or(Down)?.send(&line).map_err(|_| Down)?;
        state.own.insert(id.clone(), Waiting { number, answer, steps });
        drop(state);
        Ok(PipeExchange { pipe: Arc::clone(self), id, answered: Some(answered), heard })
    }

    /// Finds out where a server's answer goes. Answers to own requests are delivered right here.
    pub fn answered(&self, answer: &Envelope<'_>) -> Destination {
        let Some(id) = answer.id.map(RequestKey::of) else { return Destination::Nobody };
        let mut state = self.lock();
        if self.is_own(&id) {
            let Some(waiting) = state.own.remove(id.as_json().trim_matches('"')) else {
                return Destination::Nobody;
            };
            let Some(answer) = Answer::of(answer) else { return Destination::Nobody };
            // Nobody waits any more: the answer has nowhere to go.
            return match waiting.answer.send(Step::Answer(answer)) {
                Ok(()) => Destination::Own,
                Err(_) => Destination::Nobody,
            };
        }
        match state.passed.remove(id.as_json()) {
            Some(watch) => Destination::Caller(watch),
            None => Destination::Nobody,
        }
    }

    /// Takes one message of a server that serves nobody but us. What belongs to no request of ours is
    /// given back.
    pub(crate) fn hear(&self, message: &Envelope<'_>) -> Option<Step> {
        let step = match message.kind() {
            Kind::Response => {
                match self.answered(message) {
                    Destination::Own => {}
                    // An answer and our withdrawal may cross on their way; that is nobody's fault.
                    Destination::Caller(_) | Destination::Nobody if self.is_answer_to_us(message) => {
                        tracing::debug!("a server answered a request that was withdrawn, or answered twice");
                    }
                    Destination::Caller(_) | Destination::Nobody => {
                        tracing::warn!("a server answered a request that nobody made");
                    }
                }
                return None;
            }
            Kind::Notification | Kind::Request => Step::of(message)?,
            Kind::Neither => return None,
        };
        let steps = match &step {
            Step::Notice(notice) if notice.method == "notifications/progress" => {
                notice.params.as_deref().and_then(|params| self.by_token(params))
            }
            Step::Notice(notice) if notice.method == "notifications/message" => self.newest(),
            Step::Notice(notice) => notice.params.as_deref().and_then(|params| self.by_subscription(params)),
            Step::Request { method, .. } if InputMethod::named(method).is_some() => self.newest(),
            Step::Withdrawn { .. } => self.newest(),
            Step::Request { .. }
            | Step::Answer(_)
            | Step::TooLong
            | Step::Lost(_)
            | Step::Unsent(_)
            | Step::TurnedAway(_) => None,
        };
        match steps {
            // A client that is slower than the server's words misses some of them, but never the answer.
            Some(steps) => steps.try_send(step).err().and_then(|error| match error {
                mpsc::error::TrySendError::Full(_) => None,
                mpsc::error::TrySendError::Closed(step) => Some(step),
            }),
            None => Some(step),
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
            return Some(RequestKey::rehydrate(id));
        }
        let own = state.own.keys().find(|id| mentioned(&format!("\"{id}\""))).cloned()?;
        if let Some(waiting) = state.own.remove(&own) {
            // It was answered, if not for us; nobody may be waiting any more.
            if waiting.answer.send(Step::TooLong).is_err() {
                tracing::debug!("nobody waits for an answer that was too long");
            }
        }
        None
    }

    /// The request whose progress this is.
    fn by_token(&self, params: &RawValue) -> Option<mpsc::Sender<Step>> {
        self.lock().own.get(&RawObject::parse(params)?.text("progressToken")?)?.steps.clone()
    }

    /// The request that asked to be told of this.
    fn by_subscription(&self, params: &RawValue) -> Option<mpsc::Sender<Step>> {
        let meta = RawObject::parse(params)?.get("_meta").and_then(RawObject::parse)?;
        self.lock().own.get(&meta.text(crate::era::SUBSCRIPTION_ID)?)?.steps.clone()
    }

    /// The request that was made last: on a pipe, nothing tells which one a server's question belongs to.
    fn newest(&self) -> Option<mpsc::Sender<Step>> {
        let state = self.lock();
        let interested = state.own.values().filter(|waiting| waiting.steps.is_some());
        interested.max_by_key(|waiting| waiting.number).and_then(|waiting| waiting.steps.clone())
    }

    fn is_answer_to_us(&self, answer: &Envelope<'_>) -> bool {
        answer.id.map(RequestKey::of).is_some_and(|id| self.is_own(&id))
    }

    fn is_own(&self, id: &RequestKey) -> bool {
        id.as_json().trim_start_matches('"').starts_with(&self.prefix)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock; a poisoned one still holds whole values.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request on a pipe. Dropped before its answer, it is withdrawn.
#[derive(Debug)]
pub(crate) struct PipeExchange {
    pipe: Arc<Pipe>,
    id: String,
    /// `None` once it was taken.
    answered: Option<oneshot::Receiver<Step>>,
    heard: Option<mpsc::Receiver<Step>>,
}

impl PipeExchange {
    /// Waits for the server's next word. After the answer there is none.
    pub(super) async fn next(&mut self) -> Step {
        let Some(answered) = &mut self.answered else { return Step::Lost("it was answered already") };
        let heard = async {
            match &mut self.heard {
                Some(heard) => heard.recv().await,
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            // What was said before the answer is heard before it.
            biased;
            Some(step) = heard => return step,
            answer = answered => answer,
        };
        self.answered = None;
        match answer {
            Ok(answer) => answer,
            Err(_) => Step::Lost("the server ended before it answered"),
        }
    }

    /// Tells the server that the caller gave up. It may answer all the same.
    pub(super) fn withdraw(&self) {
        let note = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": self.id, "reason": "the caller cancelled the call"},
        });
        if self.pipe.notify(note.to_string().as_bytes()).is_err() {
            tracing::debug!("the server went before the cancellation reached it");
        }
    }
}

impl Drop for PipeExchange {
    fn drop(&mut self) {
        if self.answered.is_some() && self.pipe.lock().own.remove(&self.id).is_some() {
            self.withdraw();
        }
    }
}

/// How many of a server's words are kept for a request whose client is slower than the server.
const STEPS: usize = 64;

/// The parameters with our own progress token in place of the client's: other clients may use the same.
fn under_own_token(params: &Bytes, id: &str) -> Bytes {
    let edited = || {
        let mut fields: RawObject = serde_json::from_slice(params).ok()?;
        let mut meta = fields.get("_meta").and_then(RawObject::parse)?;
        meta.get("progressToken")?;
        meta.set("progressToken", raw(format!("\"{id}\"")));
        fields.set("_meta", meta.to_raw());
        Some(Bytes::from(fields.to_raw().get().to_owned()))
    };
    edited().unwrap_or_else(|| params.clone())
}

/// Gives a server's progress back the token that the client chose.
pub(crate) fn under_client_token(mut notice: Notice, token: &RawValue) -> Notice {
    if notice.method == "notifications/progress"
        && let Some(mut fields) = notice.params.as_deref().and_then(RawObject::parse)
    {
        fields.set("progressToken", token.to_owned());
        notice.params = Some(fields.to_raw());
    }
    notice
}
