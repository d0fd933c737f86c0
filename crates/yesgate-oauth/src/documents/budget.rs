//! How much is fetched in a minute, for each and for all.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::fault::DocumentFault;

/// What may be spent in a minute, and what has been.
#[derive(Debug)]
pub(super) struct Budget {
    each: u32,
    all: u32,
    since: Timestamp,
    /// INVARIANT: has no more entries than `all`: who is in it has spent something.
    spent: HashMap<String, u32>,
}

impl Budget {
    /// So much for each, and so much for all.
    pub(super) fn new(each: u32, all: u32) -> Self {
        Self { each, all, since: Timestamp::UNIX_EPOCH, spent: HashMap::new() }
    }

    /// Spends one for somebody, or says that there is nothing left.
    pub(super) fn take(&mut self, whom: &str, now: Timestamp) -> Result<(), DocumentFault> {
        let age = now.duration_since(self.since);
        if age >= MINUTE || age.is_negative() {
            self.since = now;
            self.spent.clear();
        }
        let by_all: u32 = self.spent.values().sum();
        let by_this = self.spent.get(whom).copied().unwrap_or_default();
        if by_all >= self.all || by_this >= self.each {
            return Err(DocumentFault::TooOften);
        }
        self.spent.insert(whom.to_owned(), by_this.saturating_add(1));
        Ok(())
    }
}

/// For how long a budget is.
pub(super) const MINUTE: SignedDuration = SignedDuration::from_mins(1);
