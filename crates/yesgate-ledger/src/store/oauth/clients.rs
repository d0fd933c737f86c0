//! Clients as rows.
//!
//! INVARIANT: to register one more is as much work however many there are: the database itself keeps count, and an index
//! knows whose turn it is to go.

use std::net::IpAddr;

use jiff::Timestamp;
use yesgate_core::id::PersonId;
use yesgate_core::oauth::{OAuthClient, OAuthClientId};

use super::{body, expected, read, time};
use crate::engine::Sql;
use crate::engine::value::{Row, Value, values};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::oauth::Room;
use crate::oauth::change::RoomFound;

#[cfg(test)]
mod tests;

/// Clients that nobody has allowed anything, last used before some moment.
pub(super) const UNBOUND_BEFORE: &str =
    "client WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator' AND used_at <= ?1";

/// Others, last used before some moment and not ended after it, that have no connection that counts.
pub(super) const UNUSED_SINCE: &str = "client WHERE is_bound = 1 AND kind <> 'operator' AND used_at <= ?1
     AND coalesce(ended_at, used_at) <= ?1
     AND NOT EXISTS (SELECT 1 FROM connection WHERE connection.client = client.id AND connection.ended_at IS NULL)";

pub(in super::super) fn one(
    connection: &dyn Sql,
    id: &OAuthClientId,
) -> Result<Option<OAuthClient>, LedgerError> {
    Ok(select(connection, "WHERE id = ?1", values![id.as_str()])?.into_iter().next())
}

/// Those that were not ended, the latest first.
pub(in super::super) fn living(connection: &dyn Sql) -> Result<Vec<OAuthClient>, LedgerError> {
    select(connection, "WHERE ended_at IS NULL ORDER BY number DESC", &[])
}

/// Those that registered, were not ended, and were ever allowed something by a person.
pub(super) fn of_person(connection: &dyn Sql, person: &PersonId) -> Result<Vec<OAuthClient>, LedgerError> {
    let condition = "WHERE kind = 'registered' AND ended_at IS NULL
                     AND id IN (SELECT client FROM connection WHERE person = ?1)";
    select(connection, condition, values![person.as_str()])
}

/// Whether there is room for another one that nobody has allowed anything, and else which of them goes first: the oldest
/// that was never used, or else the one that was used longest ago.
pub(super) fn room(connection: &dyn Sql, from: Option<IpAddr>, room: Room) -> Result<RoomFound, LedgerError> {
    let origin = from.map(|from| from.to_string()).unwrap_or_default();
    let counted = "SELECT origin, clients FROM unbound WHERE origin IN ('', ?1)";
    let (mut all, mut there) = (0, 0);
    connection.each(counted, values![origin.as_str()], &mut |row| {
        let count = u64::try_from(row.get::<i64>(1)?).unwrap_or_default();
        if row.get::<String>(0)?.is_empty() {
            all = count
        } else {
            there = count
        }
        Ok(())
    })?;
    let going = if there >= u64::from(room.each) && from.is_some() {
        let condition = "WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator' AND origin = ?1
                         ORDER BY used_at > created_at, used_at LIMIT 1";
        select(connection, condition, values![origin.as_str()])?
    } else if all >= u64::from(room.all) {
        let condition = "WHERE is_bound = 0 AND ended_at IS NULL AND kind <> 'operator'
                         ORDER BY used_at > created_at, used_at LIMIT 1";
        select(connection, condition, &[])?
    } else {
        return Ok(RoomFound::Free);
    };
    Ok(RoomFound::Full(going.into_iter().next().map(Box::new)))
}

/// Stores one, new or changed. Whoever made it stays who made it.
pub(super) fn store(
    connection: &dyn Sql,
    client: &OAuthClient,
    from: Option<IpAddr>,
) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO client (id, kind, body, created_at, used_at, is_bound, ended_at, origin)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, body = excluded.body,
                 created_at = excluded.created_at, used_at = excluded.used_at, is_bound = excluded.is_bound,
                 ended_at = excluded.ended_at",
        values![
            client.id.as_str(),
            client.kind.as_str(),
            body(client, "a client")?,
            nanoseconds(client.created_at),
            nanoseconds(client.used_at),
            client.is_bound,
            client.ended_at.map(nanoseconds),
            from.map(|from| from.to_string()),
        ],
    )
}

/// Notes a use. A client that the operator wrote down need not be here.
pub(super) fn see(connection: &dyn Sql, id: &OAuthClientId, now: Timestamp) -> Result<(), LedgerError> {
    connection.put(
        "UPDATE client SET used_at = CASE WHEN used_at < ?2 THEN ?2 ELSE used_at END WHERE id = ?1",
        values![id.as_str(), nanoseconds(now)],
    )
}

/// Notes that somebody has allowed it something. From where it came does not matter any more.
pub(super) fn bind(connection: &dyn Sql, id: &OAuthClientId, now: Timestamp) -> Result<(), LedgerError> {
    connection.put("UPDATE client SET is_bound = 1, origin = NULL, used_at = CASE WHEN used_at < ?2 THEN ?2 ELSE used_at END WHERE id = ?1", values![id.as_str(), nanoseconds(now)])
}

pub(super) fn end(connection: &dyn Sql, id: &OAuthClientId, now: Timestamp) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE client SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL",
        values![id.as_str(), nanoseconds(now)],
        expected("there is no such client to end"),
    )
}

pub(super) fn forget(connection: &dyn Sql, id: &OAuthClientId) -> Result<(), LedgerError> {
    connection.put("DELETE FROM client WHERE id = ?1", values![id.as_str()])
}

fn select(
    connection: &dyn Sql,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<OAuthClient>, LedgerError> {
    let sql = format!("SELECT body, created_at, used_at, is_bound, ended_at FROM client {condition}");
    connection.map(&sql, parameters, client)
}

fn client(row: &Row) -> Result<OAuthClient, LedgerError> {
    let stored: OAuthClient = read(&row.get::<String>(0)?, "a client")?;
    Ok(OAuthClient {
        created_at: time(row.get(1)?)?,
        used_at: time(row.get(2)?)?,
        is_bound: row.get(3)?,
        ended_at: row.get::<Option<i64>>(4)?.map(time).transpose()?,
        ..stored
    })
}
