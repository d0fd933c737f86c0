//! Numbers about the gateway, for an operator's dashboards and alarms.
//!
//! They tell how much, how long and how it ended, and never who or what: no caller, no tool, no argument.
//!
//! INVARIANT: what happens for each request takes no lock and allocates nothing. All series are there from the
//! start, and only the operator's servers add any.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use yesgate_core::id::ServerName;
use yesgate_core::refusal::Why;

use self::labels::{Each, Front, Judged, Mail, Marked, MethodClass, Outcome, RefusalCode, Rejection};
use self::numbers::{Counter, Gauge, Histogram};

pub mod labels;
mod numbers;
mod text;

/// All numbers. Clones are the same numbers.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    requests: Each<Front, Each<MethodClass, Requests>>,
    refusals: Each<RefusalCode, Counter>,
    rejected: Each<Rejection, Counter>,
    unauthorized: Counter,
    mail: Each<Mail, Counter>,
    checkpoints: Each<Marked, Counter>,
    sessions: Gauge,
    streams: Gauge,
    connections: Gauge,
    children: Gauge,
    parked: Gauge,
    /// By the operator's names. It is locked when a server is added and when all is rendered.
    servers: Mutex<BTreeMap<String, ServerMetrics>>,
}

#[derive(Debug, Default)]
struct Requests {
    ended: Each<Outcome, Counter>,
    took: Histogram,
}

impl Metrics {
    /// Begins at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins to measure a request. It is counted when the returned value says how it ended, and as
    /// cancelled when that is dropped before.
    pub fn request(&self, front: Front, method: MethodClass) -> Timed {
        Timed { metrics: self.clone(), front, method, begun: Instant::now(), outcome: Outcome::Cancelled }
    }

    /// Counts a request that ended, and how long it took.
    pub fn requests(&self, front: Front, method: MethodClass, outcome: Outcome, took: Duration) {
        let Some(requests) = self.0.requests.at(front).and_then(|methods| methods.at(method)) else { return };
        if let Some(ended) = requests.ended.at(outcome) {
            ended.add_one();
        }
        requests.took.observe(took);
    }

    /// Counts a refusal that was given to an agent.
    pub fn refusal(&self, why: &Why) {
        if let Some(counter) = self.0.refusals.at(RefusalCode::from(why)) {
            counter.add_one();
        }
    }

    /// Counts a request whose caller could not be told.
    pub fn unauthorized(&self) {
        self.0.unauthorized.add_one();
    }

    /// Counts a letter, by what became of it.
    pub fn mail(&self, became: Mail) {
        if let Some(counter) = self.0.mail.at(became) {
            counter.add_one();
        }
    }

    /// Counts a checkpoint of the audit trail, by what became of it.
    pub fn checkpoint(&self, became: Marked) {
        if let Some(counter) = self.0.checkpoints.at(became) {
            counter.add_one();
        }
    }

    /// Counts an HTTP request that was turned away unread.
    pub fn rejected(&self, reason: Rejection) {
        if let Some(counter) = self.0.rejected.at(reason) {
            counter.add_one();
        }
    }

    /// Counts a session as long as the returned value is held.
    pub fn session(&self) -> Held {
        self.hold(|numbers| &numbers.sessions)
    }

    /// Counts an event stream as long as the returned value is held.
    pub fn stream(&self) -> Held {
        self.hold(|numbers| &numbers.streams)
    }

    /// Counts a connection of a client as long as the returned value is held.
    pub fn connection(&self) -> Held {
        self.hold(|numbers| &numbers.connections)
    }

    /// Counts a server's process as long as the returned value is held.
    pub fn child(&self) -> Held {
        self.hold(|numbers| &numbers.children)
    }

    /// Counts a request that waits for its client's next one as long as the returned value is held.
    pub fn parked(&self) -> Held {
        self.hold(|numbers| &numbers.parked)
    }

    /// The numbers of one server, to be kept beside it. The same name has the same numbers.
    pub fn server(&self, name: &ServerName) -> ServerMetrics {
        self.server_named(name.as_str())
    }

    /// All numbers as OpenMetrics text; its type is [`CONTENT_TYPE`].
    pub fn render(&self) -> String {
        text::render(self)
    }

    fn server_named(&self, name: &str) -> ServerMetrics {
        let mut servers = self.0.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.entry(name.to_owned()).or_default().clone()
    }

    fn servers(&self) -> BTreeMap<String, ServerMetrics> {
        self.0.servers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, which: fn(&Numbers) -> &Gauge) -> Held {
        which(&self.0).add_one();
        Held { numbers: Arc::clone(&self.0), which }
    }
}

/// The type of what [`Metrics::render`] gives, for the `Content-Type` header.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Something that is there, and is counted until this is dropped.
#[derive(Debug)]
#[must_use = "what is not held is not counted"]
pub struct Held {
    numbers: Arc<Numbers>,
    which: fn(&Numbers) -> &Gauge,
}

impl Drop for Held {
    fn drop(&mut self) {
        (self.which)(&self.numbers).take_one();
    }
}

/// A request that has not ended yet.
#[derive(Debug)]
#[must_use = "a request that is dropped at once counts as cancelled"]
pub struct Timed {
    metrics: Metrics,
    front: Front,
    method: MethodClass,
    begun: Instant,
    outcome: Outcome,
}

impl Timed {
    /// Says how it ended, now.
    pub fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        self.metrics.requests(self.front, self.method, self.outcome, self.begun.elapsed());
    }
}

/// The numbers of one server. Clones are the same numbers.
#[derive(Clone, Debug, Default)]
pub struct ServerMetrics(Arc<ServerNumbers>);

#[derive(Debug, Default)]
struct ServerNumbers {
    calls: Each<Judged, Counter>,
    took: Histogram,
    up: Gauge,
}

impl ServerMetrics {
    /// Counts a call that was judged.
    pub fn call(&self, verdict: Judged) {
        if let Some(counter) = self.0.calls.at(verdict) {
            counter.add_one();
        }
    }

    /// Counts an exchange with the server, and how long it took.
    pub fn took(&self, took: Duration) {
        self.0.took.observe(took);
    }

    /// Says that the server can be used.
    pub fn is_up(&self) {
        self.0.up.set(1);
    }

    /// Says that it cannot, which is how it begins.
    pub fn is_down(&self) {
        self.0.up.set(0);
    }
}

#[cfg(test)]
mod tests;
