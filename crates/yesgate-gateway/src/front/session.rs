//! Sessions of clients of the old era over HTTP.
//!
//! INVARIANT: a session id is no proof of anything: it opens a session only for the caller that began it, at
//! the endpoint where it began (CVE-2026-33946). To anybody else it is unknown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use yesgate_core::caller::Caller;

use super::in_flight::InFlight;
use super::revision::Revision;
use super::share::{Full, Hold, Owner, Share, Shares};
use super::voice::Voice;
use crate::board::{Board, Scope};
use crate::metrics::Metrics;
use crate::talk::Party;

/// One session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) scope: Scope,
    pub(crate) revision: Revision,
    pub(crate) party: Arc<Party>,
    pub(crate) voice: Arc<Voice>,
    pub(crate) in_flight: Arc<InFlight>,
    /// When its client was last heard.
    heard: Mutex<Instant>,
    /// Counts it as long as it lasts.
    _hold: Hold,
}

impl Session {
    pub(crate) fn new(
        party: Arc<Party>,
        scope: Scope,
        revision: Revision,
        voice: Arc<Voice>,
        most_requests: usize,
        hold: Hold,
    ) -> Self {
        Self {
            scope,
            revision,
            party,
            voice,
            in_flight: InFlight::new(most_requests),
            heard: Mutex::new(Instant::now()),
            _hold: hold,
        }
    }

    /// Whether nobody has used it for this long, and nobody waits for anything from it.
    fn is_idle(&self, idle: Duration) -> bool {
        let silent = self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= idle;
        let is_read = || self.voice.streams().is_some_and(super::streams::Streams::is_read);
        silent && self.in_flight.is_empty() && !is_read()
    }

    fn touch(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Withdraws what is under way and lets all readers go.
    fn end(&self, board: &dyn Board) {
        self.in_flight.cancel_all();
        self.voice.close();
        board.leave(&self.party);
    }
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    shares: Arc<Shares>,
    open: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    pub(crate) fn new(share: Share, metrics: Metrics) -> Self {
        Self { shares: Shares::new(share, move || metrics.session()), open: Mutex::default() }
    }

    /// Makes room for one more.
    pub(crate) fn reserve(&self, caller: &Caller) -> Result<Hold, Full> {
        self.shares.take(Owner::of(caller))
    }

    /// Begins a session.
    pub(crate) fn begin(&self, id: String, session: Arc<Session>) {
        self.lock().insert(id, session);
    }

    /// The session of this id, if it is this caller's at this endpoint.
    pub(crate) fn find(&self, id: &str, caller: &Caller, scope: &Scope) -> Option<Arc<Session>> {
        let session = self.lock().get(id).cloned()?;
        if session.party.caller != *caller || session.scope != *scope {
            return None;
        }
        session.touch();
        Some(session)
    }

    /// Ends a session.
    pub(crate) fn end(&self, id: &str, board: &dyn Board) {
        let session = self.lock().remove(id);
        if let Some(session) = session {
            session.end(board);
        }
    }

    /// Ends the sessions that nobody uses, and forgets the streams of others that ended long ago.
    pub(crate) fn sweep(&self, idle: Duration, board: &dyn Board) {
        let (gone, kept): (Vec<_>, Vec<_>) = {
            let mut open = self.lock();
            let gone =
                open.extract_if(|_, session| session.is_idle(idle)).map(|(_, session)| session).collect();
            (gone, open.values().cloned().collect())
        };
        for session in gone {
            session.end(board);
        }
        for streams in kept.iter().filter_map(|session| session.voice.streams()) {
            streams.sweep();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
