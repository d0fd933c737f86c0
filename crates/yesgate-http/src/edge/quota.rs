//! What one caller, and all callers together, may hold at a time: streams, sessions, bytes.
//!
//! INVARIANTS:
//! - What is taken is held by a [`Hold`], and given back by its drop, exactly once.
//! - A cap of 0 allows nothing. There is no "unlimited".
//! - A caller who holds nothing takes no memory. Callers are counted by organisation and principal: another
//!   client of the same user is the same caller here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use yesgate_core::caller::Caller;
use yesgate_core::id::{OrgId, PrincipalId};

#[cfg(test)]
mod tests;

/// The most that may be held at a time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Caps {
    /// Open event streams of all callers.
    pub streams: u64,
    /// Open event streams of one caller.
    pub streams_per_caller: u64,
    /// Sessions of all callers.
    pub sessions: u64,
    /// Sessions of one caller.
    pub sessions_per_caller: u64,
    /// Bytes that wait for all callers.
    pub bytes: u64,
    /// Bytes that wait for one caller.
    pub bytes_per_caller: u64,
}

/// What is held.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Event streams.
    Streams,
    /// Sessions.
    Sessions,
    /// Bytes that wait to be sent.
    Bytes,
}

/// Says that something cannot be had now.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Full {
    /// The caller has its share.
    #[error("the caller holds too many {}", .0.name())]
    Caller(Kind),
    /// All callers together have all there is.
    #[error("there are too many {}", .0.name())]
    Everyone(Kind),
}

impl Full {
    /// The HTTP status that says the same, and whose fault it is.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Caller(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Everyone(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Streams => "streams",
            Self::Sessions => "sessions",
            Self::Bytes => "bytes",
        }
    }
}

/// Who holds what. A clone counts in the same book.
#[derive(Clone, Debug)]
pub struct Quotas {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    caps: Caps,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: Amounts,
    by_caller: HashMap<Arc<Who>, Amounts>,
}

#[derive(Debug, Eq, Hash, PartialEq)]
struct Who {
    org: OrgId,
    principal: PrincipalId,
}

/// An amount of each kind.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Amounts {
    streams: u64,
    sessions: u64,
    bytes: u64,
}

/// Something that is held. Its drop gives it back.
#[derive(Debug)]
#[must_use = "what is not kept is given back at once"]
pub struct Hold {
    shared: Arc<Shared>,
    who: Arc<Who>,
    kind: Kind,
    amount: u64,
}

impl Quotas {
    /// Nobody holds anything yet.
    pub fn new(caps: Caps) -> Self {
        Self { shared: Arc::new(Shared { caps, held: Mutex::default() }) }
    }

    /// Takes an amount for a caller, or nothing of it.
    pub fn take(&self, kind: Kind, caller: &Caller, amount: u64) -> Result<Hold, Full> {
        let who = Arc::new(Who { org: caller.org.clone(), principal: caller.principal.clone() });
        let caps = &self.shared.caps;
        let mut held = self.shared.lock();
        let Held { all, by_caller } = &mut *held;
        let of_caller = by_caller.entry(Arc::clone(&who));
        let before = match &of_caller {
            Entry::Occupied(before) => *before.get(),
            Entry::Vacant(_) => Amounts::default(),
        };
        let after = before.with(kind, amount, caps.per_caller()).ok_or(Full::Caller(kind))?;
        *all = all.with(kind, amount, caps.all()).ok_or(Full::Everyone(kind))?;
        of_caller.insert_entry(after);
        drop(held);
        Ok(Hold { shared: Arc::clone(&self.shared), who, kind, amount })
    }

    /// How much of a kind is held by all callers.
    pub fn held(&self, kind: Kind) -> u64 {
        *self.shared.lock().all.of(kind)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.shared.lock();
        let all = held.all.of(self.kind);
        *all = all.saturating_sub(self.amount);
        let Entry::Occupied(mut of_caller) = held.by_caller.entry(Arc::clone(&self.who)) else { return };
        let left = of_caller.get_mut().of(self.kind);
        *left = left.saturating_sub(self.amount);
        if *of_caller.get() == Amounts::default() {
            of_caller.remove();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Amounts {
    const fn of(&mut self, kind: Kind) -> &mut u64 {
        match kind {
            Kind::Streams => &mut self.streams,
            Kind::Sessions => &mut self.sessions,
            Kind::Bytes => &mut self.bytes,
        }
    }

    /// More of one kind, if the cap allows it.
    fn with(mut self, kind: Kind, amount: u64, mut cap: Self) -> Option<Self> {
        let held = self.of(kind);
        *held = held.checked_add(amount).filter(|sum| *sum <= *cap.of(kind))?;
        Some(self)
    }
}

impl Caps {
    const fn all(&self) -> Amounts {
        Amounts { streams: self.streams, sessions: self.sessions, bytes: self.bytes }
    }

    const fn per_caller(&self) -> Amounts {
        Amounts {
            streams: self.streams_per_caller,
            sessions: self.sessions_per_caller,
            bytes: self.bytes_per_caller,
        }
    }
}
