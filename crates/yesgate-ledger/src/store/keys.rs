//! Bearer keys and kept secrets as rows.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use yesgate_core::caller::Caller;
use yesgate_core::digest::Digest;
use yesgate_core::id::KeyId;
use yesgate_core::key::{BearerKeyHash, KeyRecord};

use super::pruning;
use super::queries::parse;
use crate::change::Write;
use crate::engine::value::{Row, Value, values};
use crate::engine::{Expected, Sql};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::seal::Seal;

/// Carries out what is no intent and no audit row.
pub(super) fn write(
    connection: &dyn Sql,
    seal: &Seal,
    write: Write,
    now: Timestamp,
) -> Result<(), LedgerError> {
    match write {
        Write::Key(record, hash) => add(connection, &record, &hash),
        Write::Grant(grant) => super::grants::add(connection, seal, &grant),
        Write::Origin(origin) => super::failover::keep(connection, &origin),
        Write::BuryTheDead => super::nodes::bury(connection, now),
        Write::People(write) => super::people::write(connection, write, now),
        Write::OAuth(write) => super::oauth::write(connection, write, now),
        Write::BeginLater(pruning, signed) => pruning::begin_later(connection, seal, *pruning, &signed),
        Write::DropPruned => pruning::drop_some(connection),
        Write::Keep { name, sealed } => {
            connection.put(
                "INSERT INTO kept (name, sealed) VALUES (?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed",
                values![name, sealed],
            )?;
            Ok(())
        }
        Write::Forget { name } => {
            connection.put("DELETE FROM kept WHERE name = ?1", values![name])?;
            Ok(())
        }
    }
}

fn add(connection: &dyn Sql, record: &KeyRecord, hash: &BearerKeyHash) -> Result<(), LedgerError> {
    connection.put(
        "INSERT INTO bearer_key (id, hash, name, org, principal, client, created_at, revoked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)",
        values![
            record.id.as_str(),
            hash.0.as_bytes(),
            record.name.as_str(),
            record.caller.org.as_str(),
            record.caller.principal.as_str(),
            record.caller.client.as_str(),
            nanoseconds(record.created_at),
        ],
    )?;
    Ok(())
}

/// Revokes a key that counts; one that does not is an error, for its row would be untrue.
pub(super) fn revoke(connection: &dyn Sql, id: &KeyId, now: Timestamp) -> Result<(), LedgerError> {
    connection.write(
        "UPDATE bearer_key SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
        values![id.as_str(), nanoseconds(now)],
        Expected::One(LedgerError::Store(format!("there is no key `{id}` to revoke"))),
    )
}

pub(super) fn all(connection: &dyn Sql) -> Result<Vec<KeyRecord>, LedgerError> {
    Ok(select(connection, "ORDER BY created_at, id", &[])?.into_iter().map(|(record, _)| record).collect())
}

pub(super) fn by_hash(connection: &dyn Sql, hash: &BearerKeyHash) -> Result<Option<KeyRecord>, LedgerError> {
    let found = select(connection, "WHERE hash = ?1 AND revoked_at IS NULL", values![hash.0.as_bytes()])?;
    Ok(found.into_iter().next().map(|(record, _)| record))
}

pub(super) fn live(connection: &dyn Sql) -> Result<HashMap<BearerKeyHash, Caller>, LedgerError> {
    let found = select(connection, "WHERE revoked_at IS NULL", &[])?;
    Ok(found.into_iter().map(|(record, hash)| (hash, record.caller)).collect())
}

/// All keys with their hashes, to be compared with the audit trail.
pub(super) fn with_hashes(
    connection: &dyn Sql,
) -> Result<BTreeMap<KeyId, (KeyRecord, BearerKeyHash)>, LedgerError> {
    let found = select(connection, "", &[])?;
    Ok(found.into_iter().map(|(record, hash)| (record.id.clone(), (record, hash))).collect())
}

fn select(
    connection: &dyn Sql,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<(KeyRecord, BearerKeyHash)>, LedgerError> {
    let sql = format!(
        "SELECT id, hash, name, org, principal, client, created_at, revoked_at FROM bearer_key {condition}"
    );
    connection.map(&sql, parameters, read)
}

fn read(row: &Row) -> Result<(KeyRecord, BearerKeyHash), LedgerError> {
    let text = |index: usize| row.get::<String>(index);
    let record = KeyRecord {
        id: parse(&text(0)?)?,
        name: parse(&text(2)?)?,
        caller: Caller { org: parse(&text(3)?)?, principal: parse(&text(4)?)?, client: parse(&text(5)?)? },
        created_at: time(row.get(6)?)?,
        revoked_at: row.get::<Option<i64>>(7)?.map(time).transpose()?,
    };
    Ok((record, BearerKeyHash(Digest::rehydrate(row.get(1)?))))
}

fn time(nanoseconds: i64) -> Result<Timestamp, LedgerError> {
    Timestamp::from_nanosecond(i128::from(nanoseconds))
        .map_err(|_| LedgerError::Damaged("a key has no time".to_owned()))
}

pub(super) fn kept(connection: &dyn Sql, name: &str) -> Result<Option<Vec<u8>>, LedgerError> {
    let found = connection.first("SELECT sealed FROM kept WHERE name = ?1", values![name])?;
    found.map(|row| row.get(0)).transpose()
}
