//! Whether anything may be asked or let go while no checkpoint of the trail can be written elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Whether the trail is marked elsewhere as the operator wants it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Marks {
    /// It is, or nobody wants it.
    Kept,
    /// It is not, for too long.
    Missing,
}

/// Holds back what would begin while marks are missing. Clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brake(Arc<AtomicBool>);

impl Brake {
    /// Says whether anything may begin.
    pub(crate) fn refuse_if_set(&self) -> Result<(), LedgerError> {
        if self.0.load(Ordering::Relaxed) { Err(LedgerError::Unmarked) } else { Ok(()) }
    }
}

impl Ledger {
    /// FC-9: has this process ask and let go nothing while marks are missing. What was decided stays, and decisions are taken.
    pub fn heed_marks(&self, marks: Marks) {
        let is_set = match marks {
            Marks::Kept => false,
            Marks::Missing => true,
        };
        self.store().brake().0.store(is_set, Ordering::Relaxed);
    }
}
