//! Requests that wait for a person as rows.

use jiff::Timestamp;
use yesgate_core::digest::Digest;
use yesgate_core::oauth::{DeviceRequest, Parked};
use yesgate_core::secret::SecretHash;

use super::{body, connection_of, count, expected, read};
use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;
use crate::head::nanoseconds;

pub(in super::super) fn parked(
    connection: &dyn Sql,
    ticket: &SecretHash,
) -> Result<Option<Parked>, LedgerError> {
    let found = connection.first("SELECT body FROM parked WHERE hash = ?1", values![ticket.0.as_bytes()])?;
    found.map(|row| read(&row.get::<String>(0)?, "a request")).transpose()
}

pub(super) fn count_parked(connection: &dyn Sql, now: Timestamp) -> Result<u64, LedgerError> {
    let since = now.checked_sub(Parked::LIFETIME).unwrap_or(Timestamp::MIN);
    count(connection, "parked WHERE made_at > ?1", values![nanoseconds(since)])
}

pub(super) fn park(connection: &dyn Sql, ticket: &SecretHash, parked: &Parked) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO parked (hash, client, body, made_at) VALUES (?1, ?2, ?3, ?4)",
        values![
            ticket.0.as_bytes(),
            parked.client.as_str(),
            body(parked, "a request")?,
            nanoseconds(parked.made_at)
        ],
    )
}

pub(super) fn answered(
    connection: &dyn Sql,
    ticket: &SecretHash,
    parked: &Parked,
) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE parked SET body = ?2 WHERE hash = ?1",
        values![ticket.0.as_bytes(), body(parked, "a request")?],
        expected("there is no such request"),
    )
}

pub(super) fn forget_parked(connection: &dyn Sql, before: Timestamp) -> Result<(), LedgerError> {
    let sql = "DELETE FROM parked WHERE made_at <= ?1";
    connection.put(sql, values![nanoseconds(before)])
}

/// What a client without a browser asks, by what it holds.
pub(super) fn device(
    connection: &dyn Sql,
    device: &SecretHash,
) -> Result<Option<(SecretHash, DeviceRequest)>, LedgerError> {
    select(connection, "SELECT hash, body FROM device WHERE hash = ?1", device)
}

/// The same, by what is typed.
pub(in super::super) fn typed(
    connection: &dyn Sql,
    user: &SecretHash,
) -> Result<Option<(SecretHash, DeviceRequest)>, LedgerError> {
    select(connection, "SELECT hash, body FROM device WHERE user_hash = ?1", user)
}

pub(super) fn count_devices(connection: &dyn Sql, now: Timestamp) -> Result<u64, LedgerError> {
    let since = now.checked_sub(DeviceRequest::LIFETIME).unwrap_or(Timestamp::MIN);
    count(connection, "device WHERE made_at > ?1", values![nanoseconds(since)])
}

pub(super) fn add(
    connection: &dyn Sql,
    device: &SecretHash,
    user: &SecretHash,
    request: &DeviceRequest,
) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO device (hash, user_hash, client, body, made_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        values![
            device.0.as_bytes(),
            user.0.as_bytes(),
            request.client.as_str(),
            body(request, "a request")?,
            nanoseconds(request.made_at)
        ],
    )
}

pub(super) fn change(
    connection: &dyn Sql,
    device: &SecretHash,
    request: &DeviceRequest,
) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE device SET body = ?2, connection = ?3 WHERE hash = ?1",
        values![
            device.0.as_bytes(),
            body(request, "a request")?,
            connection_of(request).map(yesgate_core::id::ConnectionId::as_str)
        ],
        expected("there is no such request"),
    )
}

pub(super) fn forget_devices(connection: &dyn Sql, before: Timestamp) -> Result<(), LedgerError> {
    let sql = "DELETE FROM device WHERE made_at <= ?1";
    connection.put(sql, values![nanoseconds(before)])
}

fn select(
    connection: &dyn Sql,
    sql: &str,
    hash: &SecretHash,
) -> Result<Option<(SecretHash, DeviceRequest)>, LedgerError> {
    let Some(row) = connection.first(sql, values![hash.0.as_bytes()])? else { return Ok(None) };
    Ok(Some((SecretHash(Digest::rehydrate(row.get(0)?)), read(&row.get::<String>(1)?, "a request")?)))
}
