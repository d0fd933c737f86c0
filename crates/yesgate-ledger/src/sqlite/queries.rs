//! What is looked up without changing anything.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rusqlite::{Connection, params};
use yesgate_core::class::Class;
use yesgate_core::digest::{DefinitionDigest, Digest, ServerIdentity};
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::policy::{Pin, Pins, Usage};

use super::fault::Fault;
use super::rows;
use super::seal::Seal;
use crate::error::LedgerError;
use crate::filter::Filter;
use crate::report::AuditRow;

pub(super) fn intent(connection: &Connection, seal: &Seal, id: &IntentId) -> Result<Option<Intent>, Fault> {
    let found = rows::select(connection, seal, "id = ?1", [id.as_str()])?;
    Ok(found.into_iter().next().map(|loaded| loaded.intent))
}

pub(super) fn intents(connection: &Connection, seal: &Seal, filter: Filter) -> Result<Vec<Intent>, Fault> {
    let found = match filter {
        Filter::Pending => rows::select(connection, seal, "state = 'pending' ORDER BY number", []),
        Filter::Open => {
            rows::select(connection, seal, "state IN ('pending', 'approved', 'running') ORDER BY number", [])
        }
        Filter::Unknown => rows::select(connection, seal, "state = 'unknown' ORDER BY number", []),
        Filter::Recent(most) => rows::select(connection, seal, "true ORDER BY number DESC LIMIT ?1", [most]),
        Filter::All => rows::select(connection, seal, "true ORDER BY number", []),
    }?;
    Ok(found.into_iter().map(|loaded| loaded.intent).collect())
}

pub(super) fn find(connection: &Connection, beginning: &str) -> Result<Vec<IntentId>, Fault> {
    // An id has nothing that sorts after `~`, so this is "begins with" in a way an index can follow.
    let after = format!("{beginning}~");
    ids(connection, "id >= ?1 AND id < ?2 ORDER BY number LIMIT ?3", params![beginning, after, MOST_FOUND])
}

pub(super) fn releasable(
    connection: &Connection,
    server: &ServerName,
    identity: &ServerIdentity,
) -> Result<Vec<IntentId>, Fault> {
    let condition = "state = 'approved' AND server = ?1 AND identity = ?2 ORDER BY number";
    ids(connection, condition, params![server.as_str(), identity.0.as_bytes()])
}

pub(super) fn any_open(
    connection: &Connection,
    server: &ServerName,
    identity: &ServerIdentity,
) -> Result<bool, Fault> {
    let condition =
        "state IN ('pending', 'approved') AND server = ?1 AND identity = ?2 ORDER BY number LIMIT 1";
    Ok(!ids(connection, condition, params![server.as_str(), identity.0.as_bytes()])?.is_empty())
}

/// Whether the clock of any question ran out.
pub(super) fn any_due(connection: &Connection, now: Timestamp) -> Result<bool, Fault> {
    let sql = "SELECT EXISTS (SELECT 1 FROM intent WHERE state = 'pending' AND decide_by <= ?1)
                   OR EXISTS (SELECT 1 FROM intent WHERE state = 'approved' AND run_by <= ?1)";
    Ok(connection.prepare_cached(sql)?.query_row([rows::nanoseconds(now)], |row| row.get(0))?)
}

pub(super) fn running_boots(connection: &Connection) -> Result<Vec<BootId>, Fault> {
    let mut statement = connection
        .prepare_cached("SELECT DISTINCT boot FROM intent WHERE state = 'running' AND boot IS NOT NULL")?;
    let texts = statement.query_map([], |row| row.get(0))?;
    texts.map(|text: rusqlite::Result<String>| parse(&text?)).collect()
}

/// What is known of a server's tools. Two look-ups that have to be of one moment: to be called inside a
/// transaction.
pub(super) fn pins(connection: &Connection, server: &ServerName) -> Result<Pins, Fault> {
    let in_use = connection
        .prepare_cached("SELECT count(*) FROM server_in_use WHERE server = ?1")?
        .query_row([server.as_str()], |row| row.get::<_, i64>(0))?;
    let usage = if in_use == 0 { Usage::Unused } else { Usage::InUse };
    let pins = some_pins(connection, "WHERE server = ?1", [server.as_str()])?;
    Ok(Pins::new(usage, pins.into_iter().map(|((_, tool), pin)| (tool, pin)).collect()))
}

pub(super) fn servers_in_use(connection: &Connection) -> Result<BTreeSet<ServerName>, Fault> {
    let mut statement = connection.prepare_cached("SELECT server FROM server_in_use")?;
    let texts = statement.query_map([], |row| row.get(0))?;
    texts.map(|text: rusqlite::Result<String>| parse(&text?)).collect()
}

pub(super) fn all_pins(connection: &Connection) -> Result<BTreeMap<(ServerName, ToolName), Pin>, Fault> {
    some_pins(connection, "", [])
}

fn some_pins(
    connection: &Connection,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<BTreeMap<(ServerName, ToolName), Pin>, Fault> {
    let sql = format!("SELECT server, tool, definition, class FROM pin {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(parameters)?;
    let mut pins = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (server, tool): (String, String) = (row.get(0)?, row.get(1)?);
        let definition = DefinitionDigest(Digest::rehydrate(row.get(2)?));
        let class = row.get::<_, Option<String>>(3)?.as_deref().map(self::class).transpose()?;
        pins.insert((parse(&server)?, parse(&tool)?), Pin { definition, class });
    }
    Ok(pins)
}

pub(super) fn audit(connection: &Connection, from: u64, limit: u32) -> Result<Vec<AuditRow>, Fault> {
    let sql = "SELECT sequence, body, hash FROM audit WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![rows::stored(from), limit], |row| {
        Ok(AuditRow {
            sequence: rows::sequence(row)?,
            body: row.get(1)?,
            hash: Digest::rehydrate(row.get(2)?),
        })
    })?;
    rows.map(|row| row.map_err(Fault::from)).collect()
}

pub(super) fn audit_last(connection: &Connection, count: u32) -> Result<Vec<AuditRow>, Fault> {
    let sql = "SELECT coalesce(max(sequence), 0) FROM audit";
    let last: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    let first = u64::try_from(last).unwrap_or(0).saturating_sub(u64::from(count)) + 1;
    audit(connection, first, count)
}

/// Reads a class as it is stored.
fn class(text: &str) -> Result<Class, Fault> {
    let class = Class::ALL.into_iter().find(|class| class.as_str() == text);
    class.ok_or_else(|| LedgerError::Damaged("a pin has no class".to_owned()).into())
}

fn ids(
    connection: &Connection,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<IntentId>, Fault> {
    let mut statement = connection.prepare_cached(&format!("SELECT id FROM intent WHERE {condition}"))?;
    let texts = statement.query_map(parameters, |row| row.get(0))?;
    texts.map(|text: rusqlite::Result<String>| parse(&text?)).collect()
}

pub(super) fn parse<T: std::str::FromStr<Err = yesgate_core::id::ParseIdError>>(
    text: &str,
) -> Result<T, Fault> {
    text.parse().map_err(|error: T::Err| LedgerError::Damaged(error.to_string()).into())
}

/// More than so many mean that the beginning says too little.
const MOST_FOUND: u32 = 20;
