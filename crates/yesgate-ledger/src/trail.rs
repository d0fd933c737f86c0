//! The audit trail as a whole: where it ends, and whether it holds.

use std::fmt;

use yesgate_core::checkpoint::Checkpoint;

use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::report::{AuditRow, VerifyReport};

/// What a look at the whole trail is held against, and who hears how far it has got.
#[derive(Default)]
pub struct Inspection {
    /// Marks that were kept elsewhere. Whoever gives them has checked their signatures.
    pub checkpoints: Vec<Checkpoint>,
    /// The rows that were taken out, from the first on, as they are kept elsewhere. Without them the trail is proven from
    /// its beginning on.
    pub rows: Option<Rows>,
    /// Hears after some rows each time.
    pub progress: Option<Tell>,
}

/// Rows that are kept elsewhere, or why they cannot be read.
pub type Rows = Box<dyn Iterator<Item = Result<AuditRow, String>> + Send>;

/// Somebody who hears how far it has got.
pub type Tell = Box<dyn FnMut(Progress) + Send>;

/// How far it has got.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// The rows that were looked at.
    pub rows: u64,
    /// All of them.
    pub of: u64,
}

impl fmt::Debug for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspection").field("checkpoints", &self.checkpoints).finish_non_exhaustive()
    }
}

impl Ledger {
    /// Checks that the audit trail is whole, and that every intent, pin, key and counted amount is what it
    /// says.
    ///
    /// Whoever may write the file can also write a new trail that fits. To notice that, keep checkpoints elsewhere and
    /// [inspect](Self::inspect) the trail with them.
    ///
    /// # Errors
    /// When the ledger cannot be read at all; what is wrong with it stands in the report.
    pub async fn verify(&self) -> Result<VerifyReport, LedgerError> {
        self.inspect(Inspection::default()).await
    }

    /// Checks the same, and that the trail still goes on from where it was marked.
    ///
    /// # Errors
    /// When the ledger cannot be read at all; what is wrong with it stands in the report.
    pub async fn inspect(&self, inspection: Inspection) -> Result<VerifyReport, LedgerError> {
        self.store().verify(inspection).await
    }

    /// Where the trail ends now, to be marked elsewhere. `None`: it has no row yet.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn checkpoint(&self) -> Result<Option<Checkpoint>, LedgerError> {
        let head = self.store().head().await?;
        let marked = Checkpoint { sequence: head.sequence, hash: head.hash, at: self.now(), carried: None };
        Ok((marked.sequence > 0).then_some(marked))
    }
}
