//! Contents in clear become sealed ones, and a key is known to be the right one.
//!
//! INVARIANT: nothing of a ledger is read or changed with a key that it is not sealed under. What an older
//! Yesgate left in clear is sealed in the transaction that brings the schema; the pages it stood in are
//! written anew after it, as often as that takes.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, params};
use yesgate_core::audit::AuditEntry;

use super::connection;
use super::fault::Fault;
use crate::engine::Sql;
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::lock;
use crate::seal::{Place, Seal};

/// Whether a file is a ledger that is sealed already.
pub(crate) fn is_sealed(at: &Path) -> Result<bool, LedgerError> {
    if !at.exists() {
        return Ok(false);
    }
    let connection = connection::open(at)?;
    let version: i64 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(Fault::from)?;
    connection::close(connection);
    Ok(version >= super::schema::SEALED)
}

/// Seals all that is in clear, and drops the columns that it stood in.
pub(crate) fn seal_all(connection: &Connection, seal: &Seal, cleaning: Cleaning) -> Result<(), Fault> {
    lock::put_key(connection, seal, cleaning == Cleaning::NotNeeded)?;
    seal_table(connection, "intent", |id, text| seal.seal(Place::Intent(id), text))?;
    seal_table(connection, "remembered", |id, text| seal.seal(Place::Remembered(id), text))?;
    let mut touch = connection.prepare("UPDATE intent SET touched_at = ?2 WHERE id = ?1")?;
    for (id, at) in last_touched(connection)? {
        touch.execute(params![id, at])?;
    }
    connection.execute_batch(
        "ALTER TABLE intent DROP COLUMN body;
         ALTER TABLE remembered DROP COLUMN body;",
    )?;
    Ok(())
}

/// Whether pages of the file may hold contents in clear.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cleaning {
    /// An older Yesgate has written it.
    Needed,
    /// It is new.
    NotNeeded,
}

/// Writes the whole file anew if contents in clear may still stand in pages that nobody uses. Where that fails it is
/// tried again when the ledger is opened next.
pub(crate) fn clean(connection: &Connection) {
    match try_clean(connection).map_err(LedgerError::from) {
        Ok(()) => {}
        Err(error) => tracing::warn!(
            %error,
            "what an older Yesgate stored in clear is sealed, but its traces could not be wiped from the file yet: {error}"
        ),
    }
}

fn try_clean(connection: &Connection) -> Result<(), Fault> {
    let is_clean: bool = connection.query_row("SELECT is_clean FROM lock", [], |row| row.get(0))?;
    if is_clean {
        return Ok(());
    }
    connection.execute_batch("VACUUM")?;
    empty_log(connection)?;
    connection.execute("UPDATE lock SET is_clean = 1", [])?;
    Ok(())
}

/// Carries the write-ahead log over into the file and empties it: what was overwritten stands nowhere any more.
pub(crate) fn empty_log(connection: &dyn Sql) -> Result<(), LedgerError> {
    let busy = connection.number("PRAGMA wal_checkpoint(TRUNCATE)", &[])?;
    if busy == 0 { Ok(()) } else { Err(LedgerError::Busy) }
}

fn seal_table(
    connection: &Connection,
    table: &str,
    seal: impl Fn(&str, &[u8]) -> Result<Vec<u8>, LedgerError>,
) -> Result<(), Fault> {
    let mut select = connection.prepare(&format!(
        "SELECT number, id, body FROM {table} WHERE number > ?1 ORDER BY number LIMIT 1"
    ))?;
    let mut update =
        connection.prepare(&format!("UPDATE {table} SET sealed = ?2, body = '' WHERE number = ?1"))?;
    let mut last = i64::MIN;
    loop {
        let mut rows = select.query([last])?;
        let Some(row) = rows.next()? else { return Ok(()) };
        let id: String = row.get(1)?;
        // Whatever it is: what was damaged before stays damaged, and is found to be.
        let text = row.get_ref(2)?.as_bytes().map_err(rusqlite::Error::from)?;
        let sealed = seal(&id, text)?;
        last = row.get(0)?;
        drop(rows);
        update.execute(params![last, sealed])?;
    }
}

/// When something last happened to each question, by the audit trail.
fn last_touched(connection: &Connection) -> Result<HashMap<String, i64>, Fault> {
    let mut statement = connection
        .prepare("SELECT intent, body, max(sequence) FROM audit WHERE intent IS NOT NULL GROUP BY intent")?;
    let mut rows = statement.query([])?;
    let mut touched = HashMap::new();
    while let Some(row) = rows.next()? {
        let entry = row.get(1).ok().and_then(|body: String| serde_json::from_str::<AuditEntry>(&body).ok());
        // Of which nobody knows how old it is, that is kept.
        let at = entry.map_or(i64::MAX, |entry| nanoseconds(entry.at));
        touched.insert(row.get(0)?, at);
    }
    Ok(touched)
}
