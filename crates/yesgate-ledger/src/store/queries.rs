//! What is looked up without changing anything.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use yesgate_core::class::Class;
use yesgate_core::digest::{DefinitionDigest, Digest, ServerIdentity};
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::policy::{Pin, Pins, Usage};

use super::rows;
use super::verify::RawRow;
use crate::engine::Sql;
use crate::engine::value::{Row, Value, values};
use crate::error::LedgerError;
use crate::filter::Filter;
use crate::head;
use crate::report::AuditRow;
use crate::seal::Seal;

pub(super) fn intent(
    connection: &dyn Sql,
    seal: &Seal,
    id: &IntentId,
) -> Result<Option<Intent>, LedgerError> {
    let found = rows::select(connection, seal, "id = ?1", values![id.as_str()])?;
    Ok(found.into_iter().next().map(|loaded| loaded.intent))
}

pub(super) fn intents(connection: &dyn Sql, seal: &Seal, filter: Filter) -> Result<Vec<Intent>, LedgerError> {
    let found = match filter {
        Filter::Pending => rows::select(connection, seal, "state = 'pending' ORDER BY number", &[]),
        Filter::Open => {
            rows::select(connection, seal, "state IN ('pending', 'approved', 'running') ORDER BY number", &[])
        }
        Filter::Unknown => rows::select(connection, seal, "state = 'unknown' ORDER BY number", &[]),
        Filter::Recent(most) => {
            rows::select(connection, seal, "true ORDER BY number DESC LIMIT ?1", values![most])
        }
        Filter::All => rows::select(connection, seal, "true ORDER BY number", &[]),
    }?;
    Ok(found.into_iter().map(|loaded| loaded.intent).collect())
}

pub(super) fn find(connection: &dyn Sql, beginning: &str) -> Result<Vec<IntentId>, LedgerError> {
    // An id has nothing that sorts after `~`, so this is "begins with" in a way an index can follow.
    let after = format!("{beginning}~");
    ids(connection, "id >= ?1 AND id < ?2 ORDER BY number LIMIT ?3", values![beginning, after, MOST_FOUND])
}

pub(super) fn releasable(
    connection: &dyn Sql,
    server: &ServerName,
    identity: &ServerIdentity,
) -> Result<Vec<IntentId>, LedgerError> {
    let condition = "state = 'approved' AND server = ?1 AND identity = ?2 ORDER BY number";
    ids(connection, condition, values![server.as_str(), identity.0.as_bytes()])
}

pub(super) fn any_open(
    connection: &dyn Sql,
    server: &ServerName,
    identity: &ServerIdentity,
) -> Result<bool, LedgerError> {
    let condition =
        "state IN ('pending', 'approved') AND server = ?1 AND identity = ?2 ORDER BY number LIMIT 1";
    Ok(!ids(connection, condition, values![server.as_str(), identity.0.as_bytes()])?.is_empty())
}

/// Whether the clock of any question ran out.
pub(super) fn any_due(connection: &dyn Sql, now: Timestamp) -> Result<bool, LedgerError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM intent WHERE state = 'pending' AND decide_by <= ?1)
                   OR EXISTS (SELECT 1 FROM intent WHERE state = 'approved' AND run_by <= ?1)";
    let found = connection.first(sql, values![head::nanoseconds(now)])?;
    found.map_or(Ok(false), |row| row.get(0))
}

pub(super) fn running_boots(connection: &dyn Sql) -> Result<Vec<BootId>, LedgerError> {
    let sql = "SELECT DISTINCT boot FROM intent WHERE state = 'running' AND boot IS NOT NULL";
    connection.map(sql, &[], name)
}

/// What is known of a server's tools. Two look-ups that have to be of one moment: to be called inside a
/// transaction.
pub(super) fn pins(connection: &dyn Sql, server: &ServerName) -> Result<Pins, LedgerError> {
    let sql = "SELECT count(*) FROM server_in_use WHERE server = ?1";
    let in_use = connection.number(sql, values![server.as_str()])?;
    let usage = if in_use == 0 { Usage::Unused } else { Usage::InUse };
    let pins = some_pins(connection, "WHERE server = ?1", values![server.as_str()])?;
    Ok(Pins::new(usage, pins.into_iter().map(|((_, tool), pin)| (tool, pin)).collect()))
}

pub(super) fn servers_in_use(connection: &dyn Sql) -> Result<BTreeSet<ServerName>, LedgerError> {
    connection.map("SELECT server FROM server_in_use", &[], name)
}

pub(super) fn all_pins(connection: &dyn Sql) -> Result<BTreeMap<(ServerName, ToolName), Pin>, LedgerError> {
    some_pins(connection, "", &[])
}

fn some_pins(
    connection: &dyn Sql,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<BTreeMap<(ServerName, ToolName), Pin>, LedgerError> {
    let sql = format!("SELECT server, tool, definition, class FROM pin {condition}");
    connection.map(&sql, parameters, |row| {
        let (server, tool): (String, String) = (row.get(0)?, row.get(1)?);
        let definition = DefinitionDigest(Digest::rehydrate(row.get(2)?));
        let class = row.get::<Option<String>>(3)?.as_deref().map(self::class).transpose()?;
        Ok(((parse(&server)?, parse(&tool)?), Pin { definition, class }))
    })
}

pub(super) fn audit(connection: &dyn Sql, from: u64, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
    let sql = "SELECT sequence, body, hash FROM audit WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2";
    connection.map(sql, values![head::stored(from), limit], |row| {
        Ok(AuditRow {
            sequence: head::sequence(row)?,
            body: row.get(1)?,
            hash: Digest::rehydrate(row.get(2)?),
        })
    })
}

/// Some rows of the audit trail after one, whatever stands in them.
pub(super) fn audit_page(connection: &dyn Sql, after: u64, most: u32) -> Result<Vec<RawRow>, LedgerError> {
    let sql = "SELECT sequence, body, hash, intent, event FROM audit WHERE sequence > ?1 ORDER BY sequence LIMIT ?2";
    connection.map(sql, values![head::stored(after), most], |row| {
        Ok(RawRow {
            sequence: head::sequence(row)?,
            // A text that is no text at all is caught by its hash like any other.
            body: row.get(1).unwrap_or_else(|_| String::new()),
            hash: Digest::rehydrate(row.get(2).unwrap_or_default()),
            beside: Some((row.get(3).unwrap_or_default(), row.get(4).unwrap_or_default())),
        })
    })
}

pub(super) fn audit_last(connection: &dyn Sql, count: u32) -> Result<Vec<AuditRow>, LedgerError> {
    let sql = "SELECT coalesce(max(sequence), 0) FROM audit";
    let last = connection.number(sql, &[])?;
    let first = u64::try_from(last).unwrap_or(0).saturating_sub(u64::from(count)) + 1;
    audit(connection, first, count)
}

/// Reads a class as it is stored.
fn class(text: &str) -> Result<Class, LedgerError> {
    let class = Class::ALL.into_iter().find(|class| class.as_str() == text);
    class.ok_or_else(|| LedgerError::Damaged("a pin has no class".to_owned()))
}

fn ids(
    connection: &dyn Sql,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<IntentId>, LedgerError> {
    connection.map(&format!("SELECT id FROM intent WHERE {condition}"), parameters, name)
}

/// Reads a row of one name.
fn name<T: std::str::FromStr<Err = yesgate_core::id::ParseIdError>>(row: &Row) -> Result<T, LedgerError> {
    parse(&row.get::<String>(0)?)
}

pub(super) fn parse<T: std::str::FromStr<Err = yesgate_core::id::ParseIdError>>(
    text: &str,
) -> Result<T, LedgerError> {
    text.parse().map_err(|error: T::Err| LedgerError::Damaged(error.to_string()))
}

/// More than so many mean that the beginning says too little.
const MOST_FOUND: u32 = 20;
