//! Codes and tokens as rows.

use jiff::Timestamp;
use yesgate_core::id::ConnectionId;
use yesgate_core::oauth::{Access, Code, Refresh, Rotated};
use yesgate_core::person::Person;
use yesgate_core::secret::SecretHash;

use super::super::people;
use super::super::queries::parse;
use super::connections::{COLUMNS, WIDTH, kept};
use super::{body, expected, read, time};
use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::oauth::KeptConnection;

pub(super) fn code(connection: &dyn Sql, hash: &SecretHash) -> Result<Option<Code>, LedgerError> {
    let found =
        connection.first("SELECT body, used_at FROM code WHERE hash = ?1", values![hash.0.as_bytes()])?;
    let Some(row) = found else { return Ok(None) };
    let stored: Code = read(&row.get::<String>(0)?, "a code")?;
    Ok(Some(Code { used_at: row.get::<Option<i64>>(1)?.map(time).transpose()?, ..stored }))
}

pub(super) fn add_code(connection: &dyn Sql, hash: &SecretHash, code: &Code) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO code (hash, connection, body, ends_at) VALUES (?1, ?2, ?3, ?4)",
        values![
            hash.0.as_bytes(),
            code.connection.as_str(),
            body(code, "a code")?,
            nanoseconds(code.ends_at)
        ],
    )
}

/// Uses a code up: one conditional write, which fails where it was used before.
pub(super) fn use_code(connection: &dyn Sql, hash: &SecretHash, now: Timestamp) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE code SET used_at = ?2 WHERE hash = ?1 AND used_at IS NULL",
        values![hash.0.as_bytes(), nanoseconds(now)],
        expected("the code was used before"),
    )
}

/// An access token, its connection, and whose that is: the one look-up of each request.
pub(in super::super) fn access(
    connection: &dyn Sql,
    hash: &SecretHash,
) -> Result<Option<(Access, KeptConnection, Person)>, LedgerError> {
    let sql = format!(
        "SELECT {COLUMNS}, person.body, token.connection, token.scopes, token.resources, token.ends_at
         FROM access_token AS token JOIN connection ON connection.id = token.connection
              JOIN person ON person.id = connection.person
         WHERE token.hash = ?1"
    );
    let Some(row) = connection.first(&sql, values![hash.0.as_bytes()])? else { return Ok(None) };
    let text = |index: usize| row.get::<String>(index);
    let access = Access {
        connection: parse(&text(WIDTH + 1)?)?,
        scopes: text(WIDTH + 2)?.into(),
        resources: read(&text(WIDTH + 3)?, "an access token")?,
        ends_at: time(row.get(WIDTH + 4)?)?,
    };
    Ok(Some((access, kept(&row, 0)?, people::person(&text(WIDTH)?)?)))
}

pub(super) fn add_access(
    connection: &dyn Sql,
    hash: &SecretHash,
    access: &Access,
) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO access_token (hash, connection, scopes, resources, ends_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        values![
            hash.0.as_bytes(),
            access.connection.as_str(),
            access.scopes.to_string(),
            body(&access.resources, "an access token")?,
            nanoseconds(access.ends_at)
        ],
    )
}

pub(super) fn forget_access(connection: &dyn Sql, hash: &SecretHash) -> Result<(), LedgerError> {
    connection.put("DELETE FROM access_token WHERE hash = ?1", values![hash.0.as_bytes()])
}

/// A refresh token, its connection, and whose that is.
pub(in super::super) fn refresh(
    connection: &dyn Sql,
    hash: &SecretHash,
) -> Result<Option<(Refresh, KeptConnection, Person)>, LedgerError> {
    let sql = format!(
        "SELECT {COLUMNS}, person.body, token.connection, token.generation, token.ends_at, token.rotated_at,
                token.sealed, token.successor_used
         FROM refresh_token AS token JOIN connection ON connection.id = token.connection
              JOIN person ON person.id = connection.person
         WHERE token.hash = ?1"
    );
    let Some(row) = connection.first(&sql, values![hash.0.as_bytes()])? else { return Ok(None) };
    let rotated = match row.get::<Option<i64>>(WIDTH + 4)? {
        Some(at) => Some(Rotated {
            at: time(at)?,
            sealed: row.get::<Option<Vec<u8>>>(WIDTH + 5)?.unwrap_or_default(),
            successor_used: row.get(WIDTH + 6)?,
        }),
        None => None,
    };
    let refresh = Refresh {
        connection: parse(&row.get::<String>(WIDTH + 1)?)?,
        generation: row.get(WIDTH + 2)?,
        ends_at: time(row.get(WIDTH + 3)?)?,
        rotated,
    };
    Ok(Some((refresh, kept(&row, 0)?, people::person(&row.get::<String>(WIDTH)?)?)))
}

pub(super) fn add_refresh(
    connection: &dyn Sql,
    hash: &SecretHash,
    refresh: &Refresh,
) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO refresh_token (hash, connection, generation, ends_at) VALUES (?1, ?2, ?3, ?4)",
        values![
            hash.0.as_bytes(),
            refresh.connection.as_str(),
            refresh.generation,
            nanoseconds(refresh.ends_at)
        ],
    )
}

/// Notes the successor of a token: one conditional write, which fails where it has one already. The token before it has
/// served: its sealed successor goes.
pub(super) fn rotate(
    connection: &dyn Sql,
    hash: &SecretHash,
    refresh: &Refresh,
    sealed: &[u8],
    now: Timestamp,
) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE refresh_token SET rotated_at = ?2, sealed = ?3 WHERE hash = ?1 AND rotated_at IS NULL",
        values![hash.0.as_bytes(), nanoseconds(now), sealed],
        expected("the refresh token was used before"),
    )?;
    connection.put("UPDATE refresh_token SET successor_used = 1, sealed = NULL WHERE connection = ?1 AND generation = ?2", values![refresh.connection.as_str(), refresh.generation.saturating_sub(1)])
}

/// Removes all that is under a connection that has ended.
pub(super) fn forget_all(connection: &dyn Sql, id: &ConnectionId) -> Result<(), LedgerError> {
    for table in ["code", "access_token", "refresh_token"] {
        let sql = format!("DELETE FROM {table} WHERE connection = ?1");
        connection.put(&sql, values![id.as_str()])?;
    }
    Ok(())
}
