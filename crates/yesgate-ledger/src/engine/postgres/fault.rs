//! What PostgreSQL says, in the ledger's own words.

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::error::LedgerError;

/// What went wrong with a statement or a connection.
pub(super) fn in_our_words(error: &tokio_postgres::Error) -> LedgerError {
    match error.as_db_error() {
        Some(problem) => of_database(problem),
        None if error.is_closed() => LedgerError::Unreachable("the connection is closed".to_owned()),
        None => match std::error::Error::source(error) {
            Some(cause) if cause.is::<std::io::Error>() => LedgerError::Unreachable(cause.to_string()),
            Some(cause) => LedgerError::Store(format!("{error}: {cause}")),
            None => LedgerError::Store(error.to_string()),
        },
    }
}

/// Why there is no connection.
pub(super) fn unreachable(error: &tokio_postgres::Error) -> LedgerError {
    match error.as_db_error() {
        Some(problem) => LedgerError::Unreachable(problem.message().to_owned()),
        None => match std::error::Error::source(error) {
            Some(cause) => LedgerError::Unreachable(format!("{error}: {cause}")),
            None => LedgerError::Unreachable(error.to_string()),
        },
    }
}

/// Whether a commit that failed like this did certainly not happen.
pub(super) fn is_certain(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|problem| {
        // A constraint that is looked at last, or a conflict with somebody else. Whatever ends a connection may have
        // come after the commit.
        problem.parsed_severity() == Some(Severity::Error)
            && CERTAIN.iter().any(|class| problem.code().code().starts_with(class))
    })
}

fn of_database(problem: &DbError) -> LedgerError {
    let code = problem.code();
    // The detail of a problem may hold what was to be stored; its message does not.
    let said = || problem.message().to_owned();
    if UNREACHABLE.iter().any(|class| code.code().starts_with(class)) {
        LedgerError::Unreachable(said())
    } else if [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ]
    .contains(code)
    {
        LedgerError::Busy
    } else if *code == SqlState::DISK_FULL {
        LedgerError::Full
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        LedgerError::ReadOnly
    } else if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) {
        LedgerError::Damaged("the database says that its own files are".to_owned())
    } else {
        LedgerError::Store(said())
    }
}

/// Connection exceptions, shutdowns, a database that starts or is in recovery, and idle sessions that were ended.
const UNREACHABLE: [&str; 6] = ["08", "57P01", "57P02", "57P03", "57P05", "25P03"];

/// Integrity constraints, transaction rollbacks, and transactions that had failed before.
const CERTAIN: [&str; 3] = ["23", "40", "25P02"];
