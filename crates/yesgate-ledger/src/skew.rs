//! How far the clock of this process is from the one that the ledger goes by.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};

use crate::head::nanoseconds;

/// The difference as it was seen last. None where both are the same clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Skew(Arc<AtomicI64>);

impl Skew {
    /// Takes note of what both clocks say at one moment.
    pub(crate) fn note(&self, own: Timestamp, ledgers: Timestamp) {
        self.0.store(nanoseconds(ledgers).saturating_sub(nanoseconds(own)), Ordering::Relaxed);
    }

    /// What the ledger's clock says when ours says this.
    pub(crate) fn correct(&self, own: Timestamp) -> Timestamp {
        own.checked_add(SignedDuration::from_nanos(self.0.load(Ordering::Relaxed))).unwrap_or(own)
    }
}
