//! The documents that are kept, and for how long each is good.
//!
//! INVARIANT: no more of them than [`MOST`]; the one that was not used for longest makes room.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::oauth::{OAuthClient, OAuthClientId};

/// A document that was good.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The client that it makes.
    pub(super) client: OAuthClient,
    /// When it was fetched.
    pub(super) fetched_at: Timestamp,
    /// Until when nobody need look at it anew, by its server's word.
    pub(super) good_until: Timestamp,
    /// Until when it counts where somebody was asked about it already.
    pub(super) kept_until: Timestamp,
}

impl Known {
    /// One that was fetched now, and that its server says is good for so long.
    pub(super) fn new(client: OAuthClient, good_for: SignedDuration, now: Timestamp) -> Self {
        let until = |time: SignedDuration| now.checked_add(time.min(LONGEST)).unwrap_or(now);
        Self { client, fetched_at: now, good_until: until(good_for), kept_until: until(LONGEST) }
    }
}

/// The documents that are kept.
#[derive(Debug, Default)]
pub(super) struct Kept(HashMap<OAuthClientId, (Known, Timestamp)>);

impl Kept {
    /// The one of a client.
    pub(super) fn find(&mut self, id: &OAuthClientId, now: Timestamp) -> Option<Known> {
        let (known, used) = self.0.get_mut(id)?;
        *used = now;
        Some(known.clone())
    }

    /// Keeps one.
    pub(super) fn keep(&mut self, known: Known, now: Timestamp) {
        let id = known.client.id.clone();
        if self.0.len() >= MOST && !self.0.contains_key(&id) {
            let oldest = self.0.iter().min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone());
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
        self.0.insert(id, (known, now));
    }

    /// Forgets one.
    pub(super) fn drop(&mut self, id: &OAuthClientId) {
        self.0.remove(id);
    }
}

/// O-C4: nothing is good for longer, whatever its server says.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);
/// How many are kept.
const MOST: usize = 1000;

#[cfg(test)]
mod tests;
