//! Remembered yeses as rows.

use jiff::Timestamp;
use yesgate_core::grant::{Grant, GrantRecord};
use yesgate_core::id::{GrantId, ServerName};
use yesgate_core::intent::SlotKey;

use crate::engine::value::{Row, Value, values};
use crate::engine::{Expected, Sql};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::seal::{Place, Seal};

/// Stores a new one.
pub(super) fn add(connection: &dyn Sql, seal: &Seal, grant: &Grant) -> Result<(), LedgerError> {
    let body = serde_json::to_vec(grant).map_err(|_| damaged())?;
    let sealed = seal.seal(Place::Remembered(grant.id.as_str()), &body)?;
    connection.put(
        "INSERT INTO remembered (id, slot, server, sealed, uses, used, revoked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, 0, NULL)",
        values![
            grant.id.as_str(),
            slot(grant).0.as_bytes(),
            grant.server.as_str(),
            sealed,
            grant.limits.uses()
        ],
    )?;
    Ok(())
}

/// Counts a use: one conditional write, which fails where there is none left.
pub(super) fn use_once(connection: &dyn Sql, id: &GrantId) -> Result<(), LedgerError> {
    connection.write(
        USE,
        values![id.as_str()],
        Expected::One(LedgerError::Store(format!("`{id}` has no use left"))),
    )
}

pub(super) const USE: &str = "UPDATE remembered SET used = used + 1
     WHERE id = ?1 AND revoked_at IS NULL AND (uses IS NULL OR used < uses)";

/// Takes one back that counts; for another one the row would be untrue.
pub(super) fn revoke(connection: &dyn Sql, id: &GrantId, now: Timestamp) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE remembered SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
        values![id.as_str(), nanoseconds(now)],
        Expected::One(LedgerError::Store(format!("there is no grant `{id}` to take back"))),
    )
}

pub(super) fn all(connection: &dyn Sql, seal: &Seal) -> Result<Vec<GrantRecord>, LedgerError> {
    select(connection, seal, "ORDER BY number", &[])
}

/// Those that may still count for one operation of one caller.
pub(super) fn of_slot(
    connection: &dyn Sql,
    seal: &Seal,
    slot: SlotKey,
) -> Result<Vec<GrantRecord>, LedgerError> {
    select(connection, seal, OF_SLOT, values![slot.0.as_bytes()])
}

/// Says that [`of_slot`] is about to come.
pub(super) fn ahead(connection: &dyn Sql, slot: SlotKey) -> Result<(), LedgerError> {
    connection.ahead(&format!("{SELECT} {OF_SLOT}"), values![slot.0.as_bytes()])
}

/// Those of one server that were not taken back.
pub(super) fn of_server(
    connection: &dyn Sql,
    seal: &Seal,
    server: &ServerName,
) -> Result<Vec<GrantRecord>, LedgerError> {
    select(
        connection,
        seal,
        "WHERE server = ?1 AND revoked_at IS NULL ORDER BY number",
        values![server.as_str()],
    )
}

fn select(
    connection: &dyn Sql,
    seal: &Seal,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<GrantRecord>, LedgerError> {
    let sql = format!("{SELECT} {condition}");
    connection.map(&sql, parameters, |row| read(row, seal))
}

/// Reads a grant, and refuses one whose parts do not fit together.
fn read(row: &Row, seal: &Seal) -> Result<GrantRecord, LedgerError> {
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
        return Err(damaged());
    }
    let revoked_at = row
        .get::<Option<i64>>(6)?
        .map(|at| Timestamp::from_nanosecond(i128::from(at)).map_err(|_| damaged()))
        .transpose()?;
    Ok(GrantRecord { grant, used: row.get(5)?, revoked_at })
}

/// Only calls of tools are ever remembered.
fn slot(grant: &Grant) -> SlotKey {
    SlotKey::of_call(&grant.caller, &grant.server, "tools/call", &grant.tool)
}

fn damaged() -> LedgerError {
    LedgerError::Damaged("a remembered yes cannot be what was stored".to_owned())
}

const SELECT: &str = "SELECT id, slot, server, sealed, uses, used, revoked_at FROM remembered";
const OF_SLOT: &str = "WHERE slot = ?1 AND revoked_at IS NULL ORDER BY number";
