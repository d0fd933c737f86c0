//! One connection to a server, and the place where it is kept while it lasts.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use yesgate_core::caller::Caller;

use super::aside::Aside;
use super::{Health, Hello, is_past};
use crate::era::Era;
use crate::gate::Naming;
use crate::hearing::LogLevel;
use crate::raw::RawObject;
use crate::talk::PartyKey;
use crate::upstream::Upstream;

/// For whom a link is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum LinkKey {
    /// For everybody: the server keeps nothing between two requests.
    Shared,
    /// For one client.
    Party(PartyKey),
}

/// One connection to a server.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) upstream: Arc<Upstream>,
    /// The era that the server is spoken to in.
    pub(crate) era: Era,
    pub(crate) hello: Hello,
    /// What the server says outside of any request.
    pub(crate) aside: Arc<Aside>,
    pub(crate) life: Arc<Life>,
    /// The level that the server was last told to log from.
    pub(crate) level: Mutex<Option<LogLevel>>,
}

impl Link {
    /// Whether the server says that it can do this.
    pub(crate) fn has(&self, capability: &str) -> bool {
        self.capabilities().get(capability).is_some()
    }

    /// Whether the server says that it does this.
    pub(crate) fn does(&self, capability: &str, detail: &str) -> bool {
        let capability = self.capabilities().get(capability).and_then(RawObject::parse);
        capability.is_some_and(|capability| capability.get(detail).is_some_and(|does| does.get() == "true"))
    }

    fn capabilities(&self) -> RawObject {
        let hello = RawObject::parse(&self.hello.result).unwrap_or_default();
        hello.get("capabilities").and_then(RawObject::parse).unwrap_or_default()
    }

    /// Whether the server has to be told that it shall log from another level on.
    pub(crate) fn levels(&self, level: LogLevel) -> bool {
        let mut told = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        self.has("logging") && told.replace(level) != Some(level)
    }

    /// Whether this caller's calls take this link.
    pub(crate) fn serves(&self, caller: &Caller, naming: Naming) -> bool {
        self.aside.party.as_ref().is_none_or(|party| party.known_as(naming) == *caller)
    }
}

/// Whether a link still lives, shared with whoever looks after its other end.
#[derive(Debug, Default)]
pub(crate) struct Life {
    ended: Mutex<Option<String>>,
    /// Told when the link is to end.
    pub(crate) close: Notify,
}

impl Life {
    /// The other end is gone.
    pub(crate) fn end(&self, why: String) {
        self.lock().get_or_insert(why);
    }

    fn why_ended(&self) -> Option<String> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is no link, and when there may be one.
#[derive(Debug)]
pub(crate) enum NoLink {
    /// After a while, by itself.
    Later(String),
    /// As soon as somebody has signed us in.
    NoCredentials(String),
}

impl From<String> for NoLink {
    fn from(why: String) -> Self {
        Self::Later(why)
    }
}

/// Where a link is kept: there, being made, or not to be had for a while.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    state: Mutex<State>,
    /// One connects, the others wait for it.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    Up {
        link: Arc<Link>,
        since: Instant,
        used: Instant,
        pause: Duration,
    },
    Down {
        why: String,
        until: Instant,
        pause: Duration,
    },
}

impl Slot {
    /// The link, if it is there and the server still knows it.
    pub(crate) fn up(&self) -> Option<Arc<Link>> {
        let mut state = self.lock();
        let State::Up { link, since, used, pause } = &mut *state else { return None };
        if link.upstream.is_forgotten() {
            // The server is there, and only wants to be greeted anew.
            link.life.end("it has forgotten the session".into());
            link.life.close.notify_one();
            let why = "it has forgotten the session".to_owned();
            *state = State::Down { why, until: Instant::now(), pause: FIRST_PAUSE };
            return None;
        }
        match link.life.why_ended() {
            None => {
                *used = Instant::now();
                Some(Arc::clone(link))
            }
            Some(why) => {
                // A server that lived for a while is tried again at once.
                let pause = if since.elapsed() > SETTLED { Duration::ZERO } else { *pause };
                *state = State::Down { why, until: Instant::now() + pause, pause: pause.max(FIRST_PAUSE) };
                None
            }
        }
    }

    /// The link, made by `connect` where it is not there; an error while it is too early to try again.
    pub(crate) async fn connect<F>(&self, connect: impl FnOnce() -> F) -> Result<Arc<Link>, String>
    where
        F: Future<Output = Result<Link, NoLink>>,
    {
        let _turn = self.turn.lock().await;
        if let Some(link) = self.up() {
            return Ok(link);
        }
        let pause = match &*self.lock() {
            State::Down { why, until, .. } if !is_past(*until) => return Err(why.clone()),
            State::Down { pause, .. } => (*pause * 2).min(LONGEST_PAUSE),
            State::New | State::Up { .. } => FIRST_PAUSE,
        };
        match connect().await {
            Ok(link) => {
                let link = Arc::new(link);
                let now = Instant::now();
                *self.lock() = State::Up { link: Arc::clone(&link), since: now, used: now, pause };
                Ok(link)
            }
            Err(NoLink::Later(why)) => {
                *self.lock() = State::Down { why: why.clone(), until: Instant::now() + pause, pause };
                Err(why)
            }
            Err(NoLink::NoCredentials(why)) => {
                // The server is there. Whoever has just signed in is not to wait.
                let down = State::Down { why: why.clone(), until: Instant::now(), pause: FIRST_PAUSE };
                *self.lock() = down;
                Err(why)
            }
        }
    }

    pub(crate) fn health(&self) -> Health {
        self.up();
        match &*self.lock() {
            State::New => Health::Idle,
            State::Up { .. } => Health::Up,
            State::Down { why, .. } => Health::Down(why.clone()),
        }
    }

    /// Whether nobody has used it for so long, and nobody does.
    pub(crate) fn is_idle(&self, long: Duration) -> bool {
        match &*self.lock() {
            State::New => false,
            State::Up { link, used, .. } => {
                let of_session = link.aside.party.as_ref().is_some_and(|party| party.session.is_some());
                !of_session && used.elapsed() > long && Arc::strong_count(link) == 1
            }
            State::Down { until, .. } => until.elapsed() > long,
        }
    }

    /// Ends the link.
    pub(crate) fn close(&self) {
        let state = std::mem::take(&mut *self.lock());
        match state {
            State::Up { link, .. } => {
                link.life.end("it was closed".into());
                link.life.close.notify_one();
            }
            State::New | State::Down { .. } => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const SETTLED: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
