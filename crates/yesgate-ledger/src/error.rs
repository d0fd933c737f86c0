//! Why the ledger could not do it.
//!
//! `Display` is for the operator. An agent only ever sees [`LedgerError::public_reason`].

use jiff::Timestamp;
use yesgate_core::id::IntentId;

/// Why the ledger could not do it. Whatever it is: nothing may be sent on the strength of it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LedgerError {
    /// Another process is writing and does not let go. A retry can help.
    #[error("another process has kept the ledger locked for too long")]
    Busy,
    /// There is no room. A retry helps once there is.
    #[error("the disk that holds the ledger is full")]
    Full,
    /// The disk failed. It may not be asked again: a second try can report a success that is none.
    #[error("the disk failed under the ledger ({0}); check it and restart")]
    Disk(String),
    /// The file may not be written.
    #[error("the ledger cannot be written, the file or its directory is read-only")]
    ReadOnly,
    /// The file or its directory cannot be used as they are.
    #[error("{what}: {problem}")]
    File {
        /// What was tried.
        what: &'static str,
        /// What the operating system said.
        problem: String,
    },
    /// The store refused a statement.
    #[error("the ledger's store refused: {0}")]
    Store(String),
    /// What is stored cannot be what was written.
    #[error("the ledger is damaged: {0}; `yesgate audit verify` tells more")]
    Damaged(String),
    /// The file belongs to something else.
    #[error("the file is a database, but no ledger")]
    NotALedger,
    /// A newer Yesgate has written the file.
    #[error("the ledger has schema {found}, this Yesgate knows {known}; use the newer Yesgate")]
    NewerSchema {
        /// The schema of the file.
        found: i64,
        /// The newest that we know.
        known: i64,
    },
    /// The ledger is sealed under another key. Nothing was changed.
    #[error("the ledger is sealed under the key {sealed_under}, but the key at hand is {at_hand}")]
    WrongKey {
        /// What the ledger's key is called.
        sealed_under: String,
        /// What the key that was tried is called.
        at_hand: String,
    },
    /// The linked SQLite has known faults.
    #[error("SQLite {found} is too old, 3.51.3 is the oldest that will do")]
    OldStore {
        /// The version that is linked.
        found: &'static str,
    },
    /// The clock is far behind a time that was written down before.
    #[error("the clock says {now}, but {seen} is in the ledger already; set the clock right")]
    ClockWentBack {
        /// What the clock says.
        now: Timestamp,
        /// The latest time that was written down.
        seen: Timestamp,
    },
    /// Somebody changed the intent although we held the write lock.
    #[error("`{0}` was changed by somebody else at the same time")]
    Conflict(IntentId),
    /// A change came without audit rows that account for it.
    #[error("a change of `{0}` is not accounted for by its audit rows and was not stored")]
    Unexplained(IntentId),
    /// A human froze the caller, or stopped everything.
    #[error("a human has frozen this caller or stopped everything")]
    HeldBack,
    /// The code that was to change an intent panicked.
    #[error("the code that was to change the intent failed")]
    Panicked,
    /// A living process uses this boot id already.
    #[error("another process runs under the same boot id")]
    BootInUse,
    /// The database does not answer. A retry helps once it does.
    #[error("the ledger's database cannot be reached ({0})")]
    Unreachable(String),
    /// Nobody knows whether it was committed. A look at the ledger tells, once it can be reached.
    #[error("nobody knows whether it was written down ({0})")]
    InDoubt(String),
    /// Other nodes do not see that this one lives, so it may run nothing. It keeps trying to be seen.
    #[error("other nodes do not see that this one lives")]
    Unseen,
    /// A standby is to take over, and nobody can be sure that it has what was committed. A retry helps once it has.
    #[error("a standby that takes over could lack what was committed: {0}")]
    Unreplicated(String),
    /// No checkpoint of the trail could be written elsewhere for longer than the operator allows. A retry helps once one was.
    #[error("no checkpoint of the audit trail could be written for longer than `refuse_after` allows")]
    Unmarked,
    /// The ledger was closed.
    #[error("the ledger is closed")]
    Closed,
}

impl LedgerError {
    /// What an agent may be told: no path, no statement, no name.
    pub const fn public_reason(&self) -> &'static str {
        match self {
            Self::Busy => "the consent ledger is busy",
            Self::Unreachable(_) | Self::Unseen => "the consent ledger cannot be reached",
            Self::InDoubt(_) => "the consent ledger did not say whether it was written down",
            Self::Unreplicated(_) => "the consent ledger is not replicated as it must be",
            Self::Unmarked => "the audit trail cannot be marked off the machine as it must be",
            Self::Full => "the consent ledger has no room left",
            Self::ClockWentBack { .. } => "the clock of the gateway went back",
            Self::Damaged(_) => "the consent ledger is damaged",
            Self::HeldBack => "a human has frozen this client or stopped everything",
            Self::Disk(_)
            | Self::ReadOnly
            | Self::File { .. }
            | Self::Store(_)
            | Self::NotALedger
            | Self::NewerSchema { .. }
            | Self::WrongKey { .. }
            | Self::OldStore { .. }
            | Self::Conflict(_)
            | Self::Unexplained(_)
            | Self::Panicked
            | Self::BootInUse
            | Self::Closed => "the consent ledger cannot be used",
        }
    }

    /// Whether the same change can be written later, by the same process.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Busy
            | Self::Unreachable(_)
            | Self::InDoubt(_)
            | Self::Unseen
            | Self::Unreplicated(_)
            | Self::Unmarked => true,
            Self::Full
            | Self::Disk(_)
            | Self::ReadOnly
            | Self::File { .. }
            | Self::Store(_)
            | Self::Damaged(_)
            | Self::NotALedger
            | Self::NewerSchema { .. }
            | Self::WrongKey { .. }
            | Self::OldStore { .. }
            | Self::ClockWentBack { .. }
            | Self::Conflict(_)
            | Self::Unexplained(_)
            | Self::HeldBack
            | Self::Panicked
            | Self::BootInUse
            | Self::Closed => false,
        }
    }

    /// Wraps what the operating system said about a file.
    pub(crate) fn file(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |problem| Self::File { what, problem: problem.to_string() }
    }
}
