//! Remembered yeses as rows.

use jiff::Timestamp;
use rusqlite::{Connection, Row, params};
use yesgate_core::grant::{Grant, GrantRecord};
use yesgate_core::id::{GrantId, ServerName};
use yesgate_core::intent::SlotKey;

use super::fault::Fault;
use super::rows::nanoseconds;
use super::seal::{Place, Seal};
use crate::error::LedgerError;

/// Stores a new one.
pub(super) fn add(connection: &Connection, seal: &Seal, grant: &Grant) -> Result<(), Fault> {
    let body = serde_json::to_vec(grant).map_err(|_| damaged())?;
    let sealed = seal.seal(Place::Remembered(grant.id.as_str()), &body)?;
    connection
        .prepare_cached(
            "INSERT INTO remembered (id, slot, server, sealed, uses, used, revoked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, 0, NULL)",
        )?
        .execute(params![
            grant.id.as_str(),
            slot(grant).0.as_bytes(),
            grant.server.as_str(),
            sealed,
            grant.limits.uses()
        ])?;
    Ok(())
}

/// Counts a use: one conditional write, which fails where there is none left.
pub(super) fn use_once(connection: &Connection, id: &GrantId) -> Result<(), Fault> {
    let changed = connection
        .prepare_cached(
            "UPDATE remembered SET used = used + 1
             WHERE id = ?1 AND revoked_at IS NULL AND (uses IS NULL OR used < uses)",
        )?
        .execute([id.as_str()])?;
    one(changed, || format!("`{id}` has no use left"))
}

/// Takes one back that counts; for another one the row would be untrue.
pub(super) fn revoke(connection: &Connection, id: &GrantId, now: Timestamp) -> Result<(), Fault> {
    let changed = connection
        .prepare_cached("UPDATE remembered SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL")?
        .execute(params![id.as_str(), nanoseconds(now)])?;
    one(changed, || format!("there is no grant `{id}` to take back"))
}

pub(super) fn all(connection: &Connection, seal: &Seal) -> Result<Vec<GrantRecord>, Fault> {
    select(connection, seal, "ORDER BY number", [])
}

/// Those that may still count for one operation of one caller.
pub(super) fn of_slot(
    connection: &Connection,
    seal: &Seal,
    slot: SlotKey,
) -> Result<Vec<GrantRecord>, Fault> {
    select(connection, seal, "WHERE slot = ?1 AND revoked_at IS NULL ORDER BY number", [slot.0.as_bytes()])
}

/// Those of one server that were not taken back.
pub(super) fn of_server(
    connection: &Connection,
    seal: &Seal,
    server: &ServerName,
) -> Result<Vec<GrantRecord>, Fault> {
    select(connection, seal, "WHERE server = ?1 AND revoked_at IS NULL ORDER BY number", [server.as_str()])
}

fn select(
    connection: &Connection,
    seal: &Seal,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<GrantRecord>, Fault> {
    let sql = format!("SELECT id, slot, server, sealed, uses, used, revoked_at FROM remembered {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(parameters)?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read(row, seal)?);
    }
    Ok(records)
}

/// Reads a grant, and refuses one whose parts do not fit together.
fn read(row: &Row<'_>, seal: &Seal) -> Result<GrantRecord, Fault> {
    let (id, stored_slot, server): (String, [u8; 32], String) = (row.get(0)?, row.get(1)?, row.get(2)?);
    let blob: Vec<u8> = row.get(3)?;
    let uses: Option<u32> = row.get(4)?;
    let body = seal.open(Place::Remembered(&id), &blob).ok_or_else(damaged)?;
    let grant: Grant = serde_json::from_slice(&body).map_err(|_| damaged())?;
    let fits = grant.id.as_str() == id
        && slot(&grant).0.as_bytes() == &stored_slot
        && grant.server.as_str() == server
        && grant.limits.uses() == uses;
    if !fits {
        return Err(damaged().into());
    }
    let revoked_at = row
        .get::<_, Option<i64>>(6)?
        .map(|at| Timestamp::from_nanosecond(i128::from(at)).map_err(|_| damaged()))
        .transpose()?;
    Ok(GrantRecord { grant, used: row.get(5)?, revoked_at })
}

/// Only calls of tools are ever remembered.
fn slot(grant: &Grant) -> SlotKey {
    SlotKey::of_call(&grant.caller, &grant.server, "tools/call", &grant.tool)
}

fn one(changed: usize, otherwise: impl FnOnce() -> String) -> Result<(), Fault> {
    if changed == 1 { Ok(()) } else { Err(LedgerError::Store(otherwise()).into()) }
}

fn damaged() -> LedgerError {
    LedgerError::Damaged("a remembered yes cannot be what was stored".to_owned())
}
