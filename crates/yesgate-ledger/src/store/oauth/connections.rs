//! Connections as rows.

use jiff::Timestamp;
use yesgate_core::caller::Caller;
use yesgate_core::id::{ConnectionId, PersonId};
use yesgate_core::oauth::{Connection, End, OAuthClientId};
use yesgate_core::person::Person;

use super::super::people;
use super::{body, damaged, expected, read, time};
use crate::engine::Sql;
use crate::engine::value::{Row, Value, values};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::oauth::KeptConnection;
use crate::oauth::change::Unsettled;
use crate::oauth::sweeping::Bounds;

/// A connection, ended or not, and whose it is.
pub(super) fn one(sql: &dyn Sql, id: &ConnectionId) -> Result<Option<(KeptConnection, Person)>, LedgerError> {
    let text = format!("SELECT {COLUMNS}, person.body {FROM} WHERE connection.id = ?1");
    let Some(row) = sql.first(&text, values![id.as_str()])? else { return Ok(None) };
    Ok(Some((kept(&row, 0)?, people::person(&row.get::<String>(WIDTH)?)?)))
}

/// Those that count, of everybody, the latest first.
pub(in super::super) fn living(sql: &dyn Sql) -> Result<Vec<KeptConnection>, LedgerError> {
    select(sql, "connection.ended_at IS NULL ORDER BY connection.number DESC", &[])
}

/// Those that ended since then because a secret of theirs came back, the latest first.
pub(in super::super) fn ended_by_copies(
    sql: &dyn Sql,
    since: Timestamp,
) -> Result<Vec<KeptConnection>, LedgerError> {
    let condition =
        "connection.ended_at > ?1 AND connection.why IN (?2, ?3) ORDER BY connection.ended_at DESC";
    let [refresh, code] = [End::RefreshReused, End::CodeReplayed].map(End::as_str);
    select(sql, condition, values![nanoseconds(since), refresh, code])
}

/// All, to be compared with the audit trail.
pub(in super::super) fn all(sql: &dyn Sql) -> Result<Vec<KeptConnection>, LedgerError> {
    select(sql, "true", &[])
}

pub(super) fn of_client(sql: &dyn Sql, client: &OAuthClientId) -> Result<Vec<KeptConnection>, LedgerError> {
    select(sql, "connection.client = ?1 AND connection.ended_at IS NULL", values![client.as_str()])
}

/// Those that count and have the same caller as another one.
pub(super) fn of_caller(sql: &dyn Sql, as_this: &KeptConnection) -> Result<Vec<KeptConnection>, LedgerError> {
    with_caller(sql, &as_this.connection.caller)
}

pub(super) fn with_caller(sql: &dyn Sql, caller: &Caller) -> Result<Vec<KeptConnection>, LedgerError> {
    let condition = "connection.caller = ?1 AND connection.ended_at IS NULL";
    select(sql, condition, values![caller.key().as_bytes()])
}

/// What a person allows a client.
pub(super) fn between(
    sql: &dyn Sql,
    person: &PersonId,
    client: &OAuthClientId,
) -> Result<Vec<KeptConnection>, LedgerError> {
    let condition = "connection.person = ?1 AND connection.client = ?2 AND connection.ended_at IS NULL";
    select(sql, condition, values![person.as_str(), client.as_str()])
}

/// What a person allows, and what others allow the clients that the person ever allowed something.
pub(super) fn around(sql: &dyn Sql, person: &PersonId) -> Result<Vec<KeptConnection>, LedgerError> {
    let condition = "connection.ended_at IS NULL
                     AND connection.client IN (SELECT client FROM connection WHERE person = ?1)";
    select(sql, condition, values![person.as_str()])
}

/// Some of those under which nothing counts, and that nobody used for a while.
pub(super) fn idle(sql: &dyn Sql, bounds: &Bounds, most: u32) -> Result<Vec<KeptConnection>, LedgerError> {
    let condition = "connection.ended_at IS NULL AND connection.used_at <= ?1
        AND NOT EXISTS (SELECT 1 FROM access_token AS token
                        WHERE token.connection = connection.id AND token.ends_at > ?2)
        AND NOT EXISTS (SELECT 1 FROM refresh_token AS token
                        WHERE token.connection = connection.id AND token.rotated_at IS NULL AND token.ends_at > ?2)
        AND NOT EXISTS (SELECT 1 FROM code
                        WHERE code.connection = connection.id AND code.used_at IS NULL AND code.ends_at > ?2)
        LIMIT ?3";
    select(sql, condition, values![nanoseconds(bounds.idle), nanoseconds(bounds.tokens), most])
}

/// Some of those that have ended and whose questions were not withdrawn.
pub(super) fn unsettled(sql: &dyn Sql, most: u32) -> Result<Vec<Unsettled>, LedgerError> {
    let text = "SELECT body, ended_by FROM connection WHERE ended_at IS NOT NULL AND is_settled = 0
                ORDER BY number LIMIT ?1";
    sql.map(text, values![most], |row| {
        let connection = read(&row.get::<String>(0)?, "a connection")?;
        let by: Option<String> = row.get(1)?;
        Ok(Unsettled { connection, by: by.unwrap_or_default() })
    })
}

pub(super) fn add(sql: &dyn Sql, connection: &Connection) -> Result<(), LedgerError> {
    sql.put(
        "INSERT INTO connection (id, person, client, caller, org, body, used_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        values![
            connection.id.as_str(),
            connection.person.as_str(),
            connection.client.as_str(),
            connection.caller.key().as_bytes(),
            connection.caller.org.as_str(),
            body(connection, "a connection")?,
            nanoseconds(connection.made_at),
        ],
    )
}

pub(super) fn see(
    sql: &dyn Sql,
    id: &ConnectionId,
    from: Option<&str>,
    now: Timestamp,
) -> Result<(), LedgerError> {
    sql.put("UPDATE connection SET used_at = CASE WHEN used_at < ?2 THEN ?2 ELSE used_at END, used_from = coalesce(?3, used_from)
         WHERE id = ?1 AND ended_at IS NULL", values![id.as_str(), nanoseconds(now), from])
}

pub(super) fn settle(sql: &dyn Sql, id: &ConnectionId) -> Result<(), LedgerError> {
    sql.put("UPDATE connection SET is_settled = 1 WHERE id = ?1", values![id.as_str()])
}

/// Ends one that counts; for another one the row would be untrue.
pub(super) fn end(
    sql: &dyn Sql,
    id: &ConnectionId,
    why: End,
    by: &str,
    now: Timestamp,
) -> Result<(), LedgerError> {
    sql.write(
        "UPDATE connection SET ended_at = ?2, why = ?3, ended_by = ?4 WHERE id = ?1 AND ended_at IS NULL",
        values![id.as_str(), nanoseconds(now), why.as_str(), by],
        expected("there is no such connection to end"),
    )
}

fn select(
    sql: &dyn Sql,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<KeptConnection>, LedgerError> {
    let text = format!("SELECT {COLUMNS} FROM connection WHERE {condition}");
    sql.map(&text, parameters, |row| kept(row, 0))
}

/// What [`kept`] reads.
pub(super) const COLUMNS: &str =
    "connection.body, connection.used_at, connection.used_from, connection.ended_at, connection.why";
/// How many those are.
pub(super) const WIDTH: usize = 5;
/// A connection and whose it is.
const FROM: &str = "FROM connection JOIN person ON person.id = connection.person";

/// Reads a connection from the columns that begin with this one.
pub(super) fn kept(row: &Row, first: usize) -> Result<KeptConnection, LedgerError> {
    let ended_at: Option<i64> = row.get(first + 3)?;
    let why: Option<String> = row.get(first + 4)?;
    let ended = match (ended_at, why) {
        (None, _) => None,
        (Some(at), why) => {
            let why = End::ALL.into_iter().find(|end| Some(end.as_str()) == why.as_deref());
            Some((time(at)?, why.ok_or_else(|| damaged("a connection"))?))
        }
    };
    Ok(KeptConnection {
        connection: read(&row.get::<String>(first)?, "a connection")?,
        used_at: time(row.get(first + 1)?)?,
        used_from: row.get(first + 2)?,
        ended,
    })
}
