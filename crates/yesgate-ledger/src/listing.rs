//! Lists of questions for people: those of one organisation, some at a time, however many there are.

use jiff::Timestamp;
use yesgate_core::caller::Caller;
use yesgate_core::id::OrgId;
use yesgate_core::intent::Intent;

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Which questions to list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listing {
    /// Whose.
    pub org: OrgId,
    /// Which of them.
    pub stage: Stage,
    /// After which one the list begins: the [`Listed::number`] of the last one before.
    pub after: Option<u64>,
    /// How many at most.
    pub most: u32,
}

/// How far questions have come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stage {
    /// They wait for a human, the oldest first.
    Waiting,
    /// They have a yes whose run has not ended, the oldest first.
    UnderWay,
    /// Their answer was lost and a human must settle them, the oldest first.
    Lost,
    /// Nothing more comes of them, the newest first.
    Over,
    /// All of them, the newest first.
    Any,
}

/// One question of a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listed {
    /// Its place among all questions.
    pub number: u64,
    /// The question.
    pub intent: Intent,
}

/// What one caller has asked, in all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asks {
    /// Who.
    pub caller: Caller,
    /// How many questions.
    pub count: u64,
    /// When the first was opened.
    pub first: Timestamp,
    /// When the last was.
    pub last: Timestamp,
}

impl Ledger {
    /// How much each caller has asked, as the audit trail tells it.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn asks(&self) -> Result<Vec<Asks>, LedgerError> {
        self.store().asks().await
    }

    /// Lists questions of one organisation.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn list(&self, listing: Listing) -> Result<Vec<Listed>, LedgerError> {
        self.store().list(listing).await
    }

    /// Counts the questions of one organisation at some stage that has no end to it, up to a bound.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn count(&self, org: &OrgId, stage: Stage, most: u32) -> Result<u32, LedgerError> {
        self.store().count(org.clone(), stage, most).await
    }
}
