//! Taking old rows of the audit trail out of the ledger, so that the rest is still proven.
//!
//! INVARIANT: the trail then begins with a signed checkpoint. What was redeemed is never redeemed again, whatever rows
//! are gone; and nothing is taken out without a row that says so.

use std::collections::BTreeMap;

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::digest::Digest;

use crate::change::{Effects, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Where the trail begins, once its first rows were taken out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Beginning {
    /// The last row that was taken out.
    pub sequence: u64,
    /// Its hash.
    pub hash: Digest,
    /// The digest of what stands in the place of those rows now.
    pub carried: Digest,
    /// The signed checkpoint, as it was given. Whoever has the key checks that it says the same.
    pub signed: String,
}

/// Rows that can be taken out, and what has to stay in their place.
#[derive(Debug)]
#[must_use = "nothing is taken out by planning it"]
pub struct Pruning {
    /// Where the trail begins before it.
    pub(crate) from: u64,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) carried: Vec<Carried>,
    pub(crate) past: BTreeMap<String, Past>,
}

impl Pruning {
    /// The new beginning, to be signed.
    pub const fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }
}

/// A row that was taken out and still matters.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) sequence: u64,
    pub(crate) rest: Rest,
    pub(crate) body: String,
}

/// Why a row still matters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Rest {
    /// The question that it belongs to was not settled.
    Question,
    /// It says what people set up, or what was used of it.
    Standing,
}

impl Rest {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Standing => "standing",
        }
    }
}

/// A question whose rows were taken out.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) intent: String,
    pub(crate) redeemed: bool,
    /// What its rows made of it; `None`: it was not settled.
    pub(crate) told: Option<Digest>,
}

impl Ledger {
    /// Where the trail begins. `None`: with its first row.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn beginning(&self) -> Result<Option<Beginning>, LedgerError> {
        self.store().beginning().await
    }

    /// The last row from before a moment that is still in the ledger, or the last that is not.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn last_row_before(&self, moment: Timestamp) -> Result<u64, LedgerError> {
        self.store().last_row_before(moment).await
    }

    /// Finds what has to stay when rows up to this one are taken out; perhaps not all of them at once. `None`: there are
    /// none to take out.
    ///
    /// # Errors
    /// When the ledger cannot be read, or its trail does not fit together.
    pub async fn plan_prune(&self, up_to: u64) -> Result<Option<Pruning>, LedgerError> {
        self.store().plan_prune(up_to, self.now()).await
    }

    /// Takes rows out. The signed text is that of [`Pruning::checkpoint`].
    ///
    /// # Errors
    /// When it is not durable. Rows that were to go after that go with the next time; they count for nothing.
    pub async fn prune(&self, pruning: Pruning, signed: String, by: &str) -> Result<(), LedgerError> {
        let Checkpoint { sequence, hash, .. } = pruning.checkpoint;
        let events = vec![AuditEvent::Pruned { up_to: sequence, hash, by: by.to_owned() }];
        let writes = vec![Write::BeginLater(Box::new(pruning), signed)];
        let effects = Effects { writes, events, ..Effects::default() };
        self.change(Target::Nothing, move |_, _| ((), effects)).await?;
        while self.store().left_before_the_beginning().await? > 0 {
            self.write(Write::DropPruned).await?;
        }
        Ok(())
    }
}
