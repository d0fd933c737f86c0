//! `serve --stdio`: one client on a pipe, in either era or both, one message a line.
//!
//! A request that says its revision is modern; any other belongs to the session that `initialize` opened.
//! - INVARIANT: what is written is whole JSON-RPC messages, each on one line, and nothing else.
//! - INVARIANT: what can be answered at once is answered in the order of the client's messages.

mod listening;
mod session;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::timeout;
use yesgate_core::caller::Caller;
use yesgate_core::clock::Entropy;

use super::FrontSettings;
use super::desk::{Begun, Desk, Incoming, check_modern};
use super::errands::Errands;
use super::hello::pong;
use super::in_flight::{Busy, InFlight, Ticket};
use super::leg::Leg;
use super::message::{IdKey, Malformed, Message, Notification, Request, batch, is_handed_on, read};
use super::meta::{Meta, text};
use super::pulse::Pulse;
use super::revision::Revision;
use super::voice::Voice;
use super::wire;
use crate::board::{Board, Scope};
use crate::cancel::Cancel;
use crate::raw::{Raw, RawObject};
use crate::reply::Reply;
use crate::stdio::lines::{LineError, Lines};
use crate::stdio::writer::LineWriter;
use crate::talk::{Party, client_id};
use crate::wrap::Host;

/// Serves one client until it goes, or until `shutdown`.
pub async fn stdio<R, W>(
    board: Arc<dyn Board>,
    scope: Scope,
    caller: Caller,
    host: Host<R, W>,
    settings: FrontSettings,
    entropy: Arc<dyn Entropy>,
    shutdown: impl Future<Output = ()>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let front = Arc::new(PipeFront {
        desk: Desk::new(board, &settings, entropy),
        settings,
        scope,
        caller,
        output: LineWriter::new(host.output),
        in_flight: InFlight::new(settings.requests),
        session: Mutex::new(Stage::Before),
        pulse: Pulse::new(),
    });
    let mut tasks = JoinSet::new();
    let mut lines = Lines::new(host.input);
    let mut ticks = tokio::time::interval(settings.beat);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tokio::pin!(shutdown);
    loop {
        while tasks.try_join_next().is_some() {}
        tokio::select! {
            line = lines.next() => match line {
                Some(Ok(line)) => {
                    let line = Bytes::copy_from_slice(line);
                    front.hear(line, &mut tasks).await;
                }
                Some(Err(LineError::TooLong { .. })) => {
                    front.send_null(-32600, "the message is larger than 4 MiB and was not read");
                }
                Some(Err(LineError::Read(_))) | None => break,
            },
            () = &mut shutdown => break,
            _ = ticks.tick() => front.desk.parked.sweep(),
        }
    }
    front.end(tasks).await;
}

/// The front of one client on a pipe.
#[derive(Debug)]
struct PipeFront {
    desk: Desk,
    settings: FrontSettings,
    scope: Scope,
    caller: Caller,
    output: LineWriter,
    in_flight: Arc<InFlight>,
    session: Mutex<Stage>,
    pulse: Pulse,
}

/// How far the client came with a session of the old era.
#[derive(Clone, Debug)]
enum Stage {
    Before,
    Opening,
    Open(Arc<PipeSession>),
}

#[derive(Debug)]
struct PipeSession {
    party: Arc<Party>,
    voice: Arc<Voice>,
    revision: Revision,
}

impl PipeFront {
    async fn hear(self: &Arc<Self>, line: Bytes, tasks: &mut JoinSet<()>) {
        if let Some(elements) = batch(&line) {
            return match elements {
                Ok(elements) => self.hear_batch(&line, &elements, tasks).await,
                Err(unreadable) => self.send_parts(unreadable.into_parts()),
            };
        }
        match read(&line) {
            Ok(Message::Request(request)) => self.request(line.clone(), &request, tasks).await,
            Ok(Message::Notification(notification)) => self.notification(&notification),
            Ok(Message::Response { id, given }) => match self.session() {
                Some(session) => session.voice.asked.answered(id, given),
                None => tracing::debug!("the client answered though nobody asked; it is dropped"),
            },
            Err(unreadable) => self.send_parts(unreadable.into_parts()),
        }
    }

    async fn request(self: &Arc<Self>, line: Bytes, request: &Request<'_>, tasks: &mut JoinSet<()>) {
        let meta = match Meta::read(&request.fields) {
            Ok(meta) => meta,
            Err(Malformed(words)) => return self.answer(Reply::error(-32602, &words, None), request.id),
        };
        if meta.version().is_some() || request.method == "server/discover" {
            return self.modern(line, request, &meta, tasks).await;
        }
        match (request.method.as_ref(), self.session()) {
            ("ping", _) => self.answer(pong(), request.id),
            ("initialize", _) => self.initialize(line, request, tasks).await,
            (_, Some(session)) => match self.errand(&session, line, request) {
                Ok(errand) => {
                    let errands = Errands::new(Arc::clone(&session.voice.asked), vec![errand], 1);
                    at_once_or_later(Arc::clone(self).run(errands), tasks).await;
                }
                Err(reply) => self.answer(reply, request.id),
            },
            (_, None) => {
                let words = "there is no session yet, and the request does not say its protocol version";
                self.answer(Reply::error(-32600, words, None), request.id);
            }
        }
    }

    async fn modern(
        self: &Arc<Self>,
        line: Bytes,
        request: &Request<'_>,
        meta: &Meta<'_>,
        tasks: &mut JoinSet<()>,
    ) {
        let caller = named(&self.caller, meta.info.map(Raw::value));
        let party = check_modern(request, meta).and_then(|()| {
            self.desk.party(&caller, meta).map_err(|Malformed(words)| Reply::error(-32602, &words, None))
        });
        let party = match party {
            Ok(party) => party,
            Err(reply) => return self.answer(reply, request.id),
        };
        if request.method == "subscriptions/listen" {
            return self.listen(party, request, tasks).await;
        }
        let scope = self.scope.clone();
        let incoming = Incoming { scope, message: line, request, headers: None, scopes: None };
        // An id that is in use must not reach what is parked: a state is good for one request.
        let cancel = Cancel::new();
        let ticket = match self.begin(request.id, cancel.clone()) {
            Ok(ticket) => ticket,
            Err(reply) => return self.answer(reply, request.id),
        };
        match self.desk.begin(incoming, party, meta) {
            Begun::Leg(leg) => {
                let leg = Arc::clone(self).run_leg(leg, request.id.to_owned(), ticket, cancel);
                at_once_or_later(leg, tasks).await;
            }
            Begun::Answered(reply) => self.answer(reply, request.id),
        }
    }

    async fn run_leg(self: Arc<Self>, leg: Leg, id: Box<RawValue>, ticket: Ticket, cancel: Cancel) {
        let reply = leg.run(&cancel, |notice| self.send(&wire::notification(&notice))).await;
        drop(ticket);
        if let Some(reply) = reply {
            self.answer(reply, &id);
        }
    }

    fn begin(&self, id: &RawValue, cancel: Cancel) -> Result<Ticket, Reply> {
        self.in_flight.begin(IdKey::of(id), cancel).map_err(|busy| match busy {
            Busy::IdInUse => Reply::error(-32600, "the request id is already in use", None),
            Busy::TooMany => Reply::error(-32603, "too many requests are under way", None),
        })
    }

    fn notification(&self, notification: &Notification<'_>) {
        if notification.method == "notifications/cancelled" {
            if let Some(id) = notification.fields.request_id {
                self.in_flight.cancel(&IdKey::of(id));
            }
            return;
        }
        if !is_handed_on(&notification.method) {
            return;
        }
        let party = match Meta::read(&notification.fields) {
            Ok(meta)
                if meta.version().is_none()
                    && let Some(session) = self.session() =>
            {
                Some(Arc::clone(&session.party))
            }
            Ok(meta) => {
                let caller = named(&self.caller, meta.info.map(Raw::value));
                self.desk.parties.of(&caller, meta.capabilities.unwrap_or(Raw::EMPTY), meta.info).ok()
            }
            Err(_) => None,
        };
        match party {
            Some(party) => {
                self.desk.board.notify(&self.scope, &party, &notification.method, notification.params);
            }
            None => tracing::warn!("a notification could not be read and does not pass"),
        }
    }

    /// The client is gone, or we are told to go: what is under way may end by itself for a moment.
    async fn end(&self, mut tasks: JoinSet<()>) {
        self.pulse.close();
        self.desk.parked.clear();
        let session = self.session();
        if let Some(session) = &session {
            session.voice.close();
        }
        let last_words = async { while tasks.join_next().await.is_some() {} };
        if timeout(LAST_WORDS, last_words).await.is_err() {
            self.in_flight.cancel_all();
            tasks.shutdown().await;
        }
        if let Some(session) = &session {
            self.desk.board.leave(&session.party);
        }
        self.output.flushed().await;
    }

    fn session(&self) -> Option<Arc<PipeSession>> {
        match &*self.stage() {
            Stage::Open(session) => Some(Arc::clone(session)),
            Stage::Before | Stage::Opening => None,
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, reply: Reply, id: &RawValue) {
        self.send_parts(wire::answer(reply, id));
    }

    fn send_null(&self, code: i64, words: &str) {
        self.answer(Reply::error(code, words, None), RawValue::NULL);
    }

    fn send_parts(&self, parts: Option<[Bytes; 3]>) {
        if let Some(parts) = parts {
            self.send(&parts.concat());
        }
    }

    fn send(&self, message: &[u8]) {
        // Between the tokens of JSON a line break is as good as a blank, and within them there is none.
        let sent = if message.iter().any(|byte| b"\r\n".contains(byte)) {
            let line: Vec<u8> =
                message.iter().map(|byte| if b"\r\n".contains(byte) { b' ' } else { *byte }).collect();
            self.output.send(&line)
        } else {
            self.output.send(message)
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "the client is gone");
        }
    }
}

/// The caller, under the name that its program gives itself. Over a pipe there is nobody to verify it.
fn named(caller: &Caller, info: Option<&RawValue>) -> Caller {
    let name = info.and_then(RawObject::parse).and_then(|info| info.get("name").and_then(text));
    let mut caller = caller.clone();
    if let Some(client) = name.and_then(|name| client_id(&name)) {
        caller.client = client;
    }
    caller
}

/// Does now what can be done at once; the rest goes on by itself.
pub(crate) async fn at_once_or_later(
    work: impl Future<Output = ()> + Send + 'static,
    tasks: &mut JoinSet<()>,
) {
    let mut work = Box::pin(work);
    let at_once = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    if at_once.is_pending() {
        tasks.spawn(work);
    }
}

const LAST_WORDS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
