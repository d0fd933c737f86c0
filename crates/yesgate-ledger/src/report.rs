//! What can be read off the audit trail, and what may be wrong with it.

use std::fmt;

use yesgate_core::audit::AuditEntry;
use yesgate_core::digest::Digest;
use yesgate_core::id::{
    ConnectionId, CredentialId, GrantId, IntentId, KeyId, PersonId, ServerName, ToolName,
};

use crate::error::LedgerError;
use crate::prune::Beginning;

/// One row of the audit trail.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AuditRow {
    /// Its number; the first is 1 and none is left out.
    pub sequence: u64,
    /// Its exact text: canonical JSON of an [`AuditEntry`].
    pub body: String,
    /// The hash over the row before it, its number and its text.
    pub hash: Digest,
}

impl AuditRow {
    /// Reads the text.
    ///
    /// # Errors
    /// When it is not the text of an entry.
    pub fn entry(&self) -> Result<AuditEntry, LedgerError> {
        serde_json::from_str(&self.body)
            .map_err(|_| LedgerError::Damaged(format!("audit row {} cannot be read", self.sequence)))
    }
}

/// What [`crate::Ledger::verify`] found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VerifyReport {
    /// How many audit rows there are.
    pub rows: u64,
    /// How many intents there are.
    pub intents: u64,
    /// How many checkpoints were held against it.
    pub checkpoints: u64,
    /// How many could not be: their rows were taken out of the ledger.
    pub unchecked: u64,
    /// Where it begins; `None`: with its first row. Whether it is what was signed is for whoever has the key.
    pub beginning: Option<Beginning>,
    /// The hash of the last row: whoever keeps it elsewhere can tell later that nothing before it changed.
    pub head: Digest,
    /// What is wrong; empty when all is well, and no longer than [`VerifyReport::MOST_FAULTS`].
    pub faults: Vec<Fault>,
}

impl VerifyReport {
    /// After so many faults nobody needs to hear of more.
    pub const MOST_FAULTS: usize = 100;

    /// Whether everything fits together.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Notes a fault, unless there are too many already.
    pub(crate) fn find(&mut self, fault: Fault) {
        if self.faults.len() < Self::MOST_FAULTS {
            self.faults.push(fault);
        }
    }
}

/// One thing that does not fit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fault {
    /// A row is missing before this one.
    Gap {
        /// The number that should have come.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// The hash of a row does not follow from the row before it and its text.
    BrokenLink {
        /// The row.
        sequence: u64,
    },
    /// The text of a row is not that of an entry.
    UnreadableRow {
        /// The row.
        sequence: u64,
    },
    /// A row says that something happened which cannot have happened then.
    ImpossibleStep {
        /// The row.
        sequence: u64,
    },
    /// The trail ends elsewhere than the ledger remembers.
    WrongEnd,
    /// A checkpoint that was kept elsewhere says that this row was another one: the trail was written anew.
    Rewritten {
        /// The row.
        sequence: u64,
    },
    /// A checkpoint that was kept elsewhere tells of a row that is not there any more: the trail was cut off.
    CutOff {
        /// The row.
        sequence: u64,
    },
    /// Where the trail begins, or what stands in the place of the rows before that, is not what the ledger made it.
    BeginningDiffers,
    /// Rows that are kept elsewhere cannot be read.
    UnreadableFile {
        /// Why.
        problem: String,
    },
    /// A stored intent cannot be read, or its parts do not fit together.
    DamagedIntent {
        /// Its id, as far as it can be told.
        id: String,
    },
    /// A stored intent is not what its audit rows make of it.
    IntentDiffers {
        /// The intent.
        id: IntentId,
        /// Its state as stored.
        stored: &'static str,
        /// Its state by the audit trail, `nothing` where it knows none.
        audited: &'static str,
    },
    /// The audit trail knows an intent that is not stored.
    MissingIntent {
        /// The intent.
        id: IntentId,
    },
    /// A stored pin is not the one that was written down last.
    PinDiffers {
        /// The server.
        server: ServerName,
        /// The tool.
        tool: ToolName,
    },
    /// Whether a server was used before is not what was written down.
    FirstUseDiffers {
        /// The server.
        server: ServerName,
    },
    /// What counts in budgets is not what was written down.
    SpendDiffers {
        /// The call that it was counted for.
        id: IntentId,
    },
    /// A stored key is not the one that was written down, or is none that was.
    KeyDiffers {
        /// The key.
        id: KeyId,
    },
    /// A remembered yes is not the one that was written down, or was used otherwise.
    GrantDiffers {
        /// The grant.
        id: GrantId,
    },
    /// A person is not who was written down.
    PersonDiffers {
        /// The person.
        id: PersonId,
    },
    /// A key of somebody's was enrolled or revoked behind our back.
    CredentialDiffers {
        /// The key.
        id: CredentialId,
    },
    /// What somebody allowed a client is not what was written down, or ended otherwise.
    ConnectionDiffers {
        /// The connection.
        id: ConnectionId,
    },
    /// What humans set for callers is not what was written down.
    RegimeDiffers,
    /// Contents are gone that nobody purged, or there that were purged.
    PurgeDiffers,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { expected, found } => {
                write!(f, "audit row {expected} should come next, but {found} does")
            }
            Self::BrokenLink { sequence } => {
                write!(f, "audit row {sequence} does not follow from the one before it")
            }
            Self::UnreadableRow { sequence } => write!(f, "audit row {sequence} cannot be read"),
            Self::ImpossibleStep { sequence } => {
                write!(f, "audit row {sequence} tells of a step that was not possible then")
            }
            Self::WrongEnd => f.write_str("the audit trail does not end where the ledger says it does"),
            Self::Rewritten { sequence } => {
                write!(f, "audit row {sequence} is not the one that was marked: the trail was written anew")
            }
            Self::CutOff { sequence } => {
                write!(f, "audit row {sequence} was marked, but is not there: the trail was cut off")
            }
            Self::BeginningDiffers => {
                f.write_str("the beginning of the audit trail, or what stands before it, was changed")
            }
            Self::UnreadableFile { problem } => {
                write!(f, "the rows that are kept elsewhere cannot be read: {problem}")
            }
            Self::DamagedIntent { id } => write!(f, "the stored intent `{}` is damaged", id.escape_debug()),
            Self::IntentDiffers { id, stored, audited } if stored == audited => {
                write!(
                    f,
                    "`{id}` is {stored}, but its call, its yes or its gateway are not those of the audit trail"
                )
            }
            Self::IntentDiffers { id, stored, audited } => {
                write!(f, "`{id}` is stored as {stored}, the audit trail makes it {audited}")
            }
            Self::MissingIntent { id } => write!(f, "`{id}` is in the audit trail, but not stored"),
            Self::PinDiffers { server, tool } => {
                write!(f, "the pin of `{server}/{tool}` is not the one in the audit trail")
            }
            Self::FirstUseDiffers { server } => {
                write!(f, "the first use of `{server}` is not the one in the audit trail")
            }
            Self::RegimeDiffers => {
                f.write_str("a mode, a freeze or the stop of everything is not the one in the audit trail")
            }
            Self::PurgeDiffers => f.write_str(
                "the questions without contents are not those that the audit trail says were purged",
            ),
            Self::SpendDiffers { id } => {
                write!(f, "what counts in budgets for `{id}` is not what the audit trail says")
            }
            Self::GrantDiffers { id } => {
                write!(f, "the remembered yes `{id}` is not the one in the audit trail")
            }
            Self::CredentialDiffers { id } => {
                write!(f, "the key `{id}` of a person is not one that the audit trail has")
            }
            Self::ConnectionDiffers { id } => {
                write!(f, "the connection `{id}` of a client is not the one in the audit trail")
            }
            Self::PersonDiffers { id } => write!(f, "the person `{id}` is not the one in the audit trail"),
            Self::KeyDiffers { id } => write!(f, "the key `{id}` is not the one in the audit trail"),
        }
    }
}
