//! The client's side of `serve`: Streamable HTTP and stdio, clients of both eras, one board behind.
//!
//! A front knows the wire and nothing else. What it reads it reads strictly (`message`); what it lets
//! through has a method that the era knows (`desk`); what it answers is what the board said.
//! - INVARIANT: nothing reaches the board that is not exactly one request or notification of a known method.
//! - INVARIANT: a modern request whose response is closed is withdrawn; a request within a session goes on.
//! - INVARIANT: a session, a parked request and a stream serve the caller that opened them, and nobody else.

mod answer;
mod asked;
mod desk;
mod errands;
mod exchange;
#[cfg(test)]
pub(crate) mod fixture;
mod headers;
mod hello;
mod in_flight;
pub(crate) mod inputs;
mod leg;
mod legacy;
mod listen;
pub(crate) mod mailbox;
pub(crate) mod message;
pub(crate) mod meta;
mod modern;
mod parked;
pub(crate) mod parties;
pub mod pipe;
mod post;
mod pulse;
pub(crate) mod reach;
mod resume;
pub(crate) mod revision;
mod session;
pub mod share;
pub mod streams;
mod voice;
mod wire;

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Response, StatusCode, request};
use yesgate_core::clock::Entropy;

use self::desk::Desk;
use self::pulse::Pulse;
use self::session::Sessions;
use self::share::{Share, Shares};
use self::streams::ReplayCaps;
use crate::base::Base;
use crate::board::{Board, Scope, Visitor};

/// The body of every response of the front.
pub type ResponseBody = yesgate_http::edge::body::Body;

/// Times and bounds.
#[derive(Clone, Copy, Debug)]
pub struct FrontSettings {
    /// How long a request may be silent before its answer becomes a stream that can be kept alive.
    pub silence: Duration,
    /// How often a stream says that it is alive, and how often what is old is swept away.
    pub beat: Duration,
    /// How long a client may think about a question; a parked request lives as long.
    pub ask_time: Duration,
    /// After how much silence a session ends.
    pub session_idle: Duration,
    /// How soon a client that was cut off should come back.
    pub retry: Duration,
    /// Sessions of clients of the old era.
    pub sessions: Share,
    /// Requests of modern clients that wait for the client's input.
    pub parked: Share,
    /// Streams that are open without a request to answer.
    pub streams: Share,
    /// Requests of one session, or over one pipe, at a time.
    pub requests: usize,
    /// Elements of a batch.
    pub batch: usize,
    /// Elements of a batch that are worked on at a time.
    pub batch_at_once: usize,
    /// Modern clients whose description is remembered.
    pub parties: usize,
    /// What is kept for clients that were cut off.
    pub replay: ReplayCaps,
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(10),
            beat: Duration::from_secs(15),
            ask_time: Duration::from_secs(600),
            session_idle: Duration::from_secs(30 * 60),
            retry: Duration::from_secs(3),
            sessions: Share { all: 10_000, each: 1_000 },
            parked: Share { all: 1_000, each: 100 },
            streams: Share { all: 20_000, each: 10_000 },
            requests: 128,
            batch: 64,
            batch_at_once: 8,
            parties: 4_096,
            replay: ReplayCaps {
                events: 256,
                bytes: 1 << 20,
                ended_bytes: 4 << 20,
                ended_for: Duration::from_secs(60),
            },
        }
    }
}

/// The front of one gateway for clients that come by HTTP.
#[derive(Debug)]
pub struct HttpFront {
    settings: FrontSettings,
    desk: Desk,
    sessions: Sessions,
    streams: Arc<Shares>,
    pulse: Pulse,
}

impl HttpFront {
    /// A front before this board.
    pub fn new(board: Arc<dyn Board>, settings: FrontSettings, entropy: Arc<dyn Entropy>) -> Self {
        let metrics = board.metrics();
        Self {
            settings,
            desk: Desk::new(board, &settings, entropy),
            sessions: Sessions::new(settings.sessions, metrics.clone()),
            streams: Shares::new(settings.streams, move || metrics.stream()),
            pulse: Pulse::new(),
        }
    }

    /// Clients reach it here, whatever they write in `Host`.
    #[must_use]
    pub fn at(self, public: Option<Base>) -> Self {
        Self { desk: self.desk.at(public), ..self }
    }

    /// Answers one HTTP request. Whoever calls has verified the visitor, `Host` and `Origin`, and has bounded the
    /// body.
    pub async fn handle(
        self: &Arc<Self>,
        scope: Scope,
        visitor: Visitor,
        parts: request::Parts,
        body: Bytes,
    ) -> Response<ResponseBody> {
        self.pulse.once(|| drop(tokio::spawn(tend(Arc::downgrade(self), self.settings.beat))));
        if !self.desk.board.has(&scope) {
            return answer::error(StatusCode::NOT_FOUND, -32600, "there is no such endpoint");
        }
        match parts.method {
            Method::POST => self.post(scope, visitor, parts.headers, body).await,
            Method::GET => self.open_stream(&scope, &visitor.caller, &parts.headers),
            Method::DELETE => self.end_session(&scope, &visitor.caller, &parts.headers),
            _ => answer::not_allowed("GET, POST, DELETE"),
        }
    }

    /// Begins to shut down: streams that only listen end in good order, parked requests are withdrawn, and
    /// no session begins any more. Requests under way are still answered.
    pub fn close(&self) {
        self.pulse.close();
        self.desk.parked.clear();
    }
}

/// Keeps streams alive and sweeps away what is old, as long as there is a front.
async fn tend(front: Weak<HttpFront>, beat: Duration) {
    let mut ticks = tokio::time::interval(beat);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The first tick comes at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Some(front) = front.upgrade() else { return };
        front.pulse.beat();
        front.desk.parked.sweep();
        front.sessions.sweep(front.settings.session_idle, &*front.desk.board);
    }
}

#[cfg(test)]
mod tests;
