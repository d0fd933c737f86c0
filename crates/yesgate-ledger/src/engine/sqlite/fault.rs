//! What goes wrong inside, before it is put in the ledger's own words.

use rusqlite::ffi::ErrorCode;

use crate::error::LedgerError;

/// A failure of the store, or one that is in the ledger's words already.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Ledger(LedgerError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl From<Fault> for LedgerError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Sqlite(error) => in_our_words(&error),
            Fault::Ledger(error) => error,
        }
    }
}

fn in_our_words(error: &rusqlite::Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => LedgerError::Busy,
        Some(ErrorCode::DiskFull) => LedgerError::Full,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => LedgerError::ReadOnly,
        Some(ErrorCode::SystemIoFailure) => LedgerError::Disk(error.to_string()),
        Some(ErrorCode::DatabaseCorrupt) => LedgerError::Damaged("the file is malformed".to_owned()),
        Some(ErrorCode::NotADatabase) => LedgerError::NotALedger,
        // The store's own list, which may grow: the rest is nothing that we act upon.
        Some(_) | None => LedgerError::Store(error.to_string()),
    }
}
