//! Connections, and what is not left at SQLite's defaults.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use crate::error::LedgerError;

/// Opens the file to write.
pub(crate) fn open(path: &Path) -> Result<Connection, LedgerError> {
    check_version()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    prepare(Connection::open_with_flags(path, flags), JournalMode::WriteAhead).map_err(LedgerError::from)
}

/// Opens the file to read. It may write side files, not the ledger.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, LedgerError> {
    let connection = open(path)?;
    connection.pragma_update(None, "query_only", true).map_err(Fault::from)?;
    Ok(connection)
}

/// Makes a database that has no file.
pub(crate) fn open_in_memory() -> Result<Connection, LedgerError> {
    check_version()?;
    prepare(Connection::open_in_memory(), JournalMode::Memory).map_err(LedgerError::from)
}

/// Closes a connection; the last one on a file clears the write-ahead log away.
pub(crate) fn close(connection: Connection) {
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the ledger could not be closed properly");
    }
}

#[derive(Clone, Copy, Debug)]
enum JournalMode {
    WriteAhead,
    Memory,
}

fn prepare(opened: rusqlite::Result<Connection>, mode: JournalMode) -> Result<Connection, Fault> {
    let connection = opened?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(96);
    // What stands in a file that others may have written is data, never a program.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // A statement is planned once, whatever its parameters are: else it would be planned anew for every bound of a caller.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // What is purged is overwritten, and what is sorted goes to no other file.
    connection.execute_batch(
        "PRAGMA trusted_schema = OFF;
         PRAGMA foreign_keys = ON;
         PRAGMA cell_size_check = ON;
         PRAGMA mmap_size = 0;
         PRAGMA secure_delete = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -4096;",
    )?;
    match mode {
        JournalMode::Memory => {}
        JournalMode::WriteAhead => {
            let mode: String =
                connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
            if mode != "wal" {
                return Err(LedgerError::Store(format!("it keeps its journal as `{mode}`")).into());
            }
            // A commit that a power cut takes back would let a spent yes be spent again.
            connection.execute_batch(
                "PRAGMA synchronous = FULL;
                 PRAGMA fullfsync = ON;
                 PRAGMA checkpoint_fullfsync = ON;
                 PRAGMA wal_autocheckpoint = 2000;
                 PRAGMA journal_size_limit = 16777216;",
            )?;
        }
    }
    Ok(connection)
}

/// Versions before this one can lose a commit when a checkpoint and a writer meet.
fn check_version() -> Result<(), LedgerError> {
    if rusqlite::version_number() < OLDEST {
        return Err(LedgerError::OldStore { found: rusqlite::version() });
    }
    Ok(())
}

const OLDEST: i32 = 3_051_003;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
