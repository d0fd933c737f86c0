//! Erasing what questions were about once they are over, and their time to be kept with them.
//!
//! INVARIANT: what is erased is counted by an audit row in the same transaction, and [`Ledger::verify`] finds
//! contents that went without one. What may still run, what a human has to settle, and what the agent may
//! still fetch is never erased.

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;

use crate::change::{Effects, Found, Target};
use crate::error::LedgerError;
use crate::ledger::Ledger;

/// What a purge did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Purged {
    /// How many questions lost their contents.
    pub questions: u64,
    /// Whether no trace of them is left in the ledger's files; where another process was reading just then,
    /// the log that they went through is overwritten later.
    pub wiped: bool,
}

impl Ledger {
    /// Erases the contents of all questions that are over and to which nothing has happened since a moment:
    /// arguments, previews, results and the words that people read.
    ///
    /// Id, state, digest, times, who decided and how well that was proven stay, and so does the audit trail.
    ///
    /// # Errors
    /// When a part of it is not durable; what was erased before that stays erased.
    pub async fn purge(&self, before: Timestamp, by: &str) -> Result<Purged, LedgerError> {
        let mut questions = 0;
        loop {
            let by = by.to_owned();
            let count = self
                .change(Target::Over(before), move |Found { intents, .. }, now| {
                    let purged: Vec<_> = intents.iter().filter_map(|intent| intent.purged(now)).collect();
                    let count = u64::try_from(purged.len()).unwrap_or(u64::MAX);
                    let row = AuditEvent::Purged { count, before, by };
                    let events = if count == 0 { Vec::new() } else { vec![row] };
                    (count, Effects { purged, events, ..Effects::default() })
                })
                .await?;
            if count == 0 {
                break;
            }
            questions += count;
        }
        if questions == 0 {
            return Ok(Purged { questions, wiped: true });
        }
        match self.store().empty_log().await {
            Ok(()) => Ok(Purged { questions, wiped: true }),
            Err(LedgerError::Busy) => Ok(Purged { questions, wiped: false }),
            Err(error) => Err(error),
        }
    }

    /// Counts the questions whose contents [`Self::purge`] would erase now.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn purgeable(&self, before: Timestamp) -> Result<u64, LedgerError> {
        self.store().purgeable(before, self.now()).await
    }
}

/// How many questions a row says were purged.
pub(crate) fn counted_by(event: &AuditEvent) -> u64 {
    if let AuditEvent::Purged { count, .. } = event { *count } else { 0 }
}
