//! Bearer keys and kept secrets as rows.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use yesgate_core::caller::Caller;
use yesgate_core::digest::Digest;
use yesgate_core::id::KeyId;
use yesgate_core::key::{BearerKeyHash, KeyRecord};

use super::fault::Fault;
use super::queries::parse;
use super::rows::nanoseconds;
use super::seal::Seal;
use crate::change::Write;
use crate::error::LedgerError;

/// Carries out what is no intent and no audit row.
pub(super) fn write(connection: &Connection, seal: &Seal, write: Write, now: Timestamp) -> Result<(), Fault> {
    match write {
        Write::Key(record, hash) => add(connection, &record, &hash),
        Write::Grant(grant) => super::grants::add(connection, seal, &grant),
        Write::People(write) => super::people::write(connection, write, now),
        Write::Keep { name, sealed } => {
            connection
                .prepare_cached("INSERT OR REPLACE INTO kept (name, sealed) VALUES (?1, ?2)")?
                .execute(params![name, sealed])?;
            Ok(())
        }
        Write::Forget { name } => {
            connection.prepare_cached("DELETE FROM kept WHERE name = ?1")?.execute([name])?;
            Ok(())
        }
    }
}

fn add(connection: &Connection, record: &KeyRecord, hash: &BearerKeyHash) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT INTO bearer_key (id, hash, name, org, principal, client, created_at, revoked_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)",
        )?
        .execute(params![
            record.id.as_str(),
            hash.0.as_bytes(),
            record.name.as_str(),
            record.caller.org.as_str(),
            record.caller.principal.as_str(),
            record.caller.client.as_str(),
            nanoseconds(record.created_at),
        ])?;
    Ok(())
}

/// Revokes a key that counts; one that does not is an error, for its row would be untrue.
pub(super) fn revoke(connection: &Connection, id: &KeyId, now: Timestamp) -> Result<(), Fault> {
    let changed = connection
        .prepare_cached("UPDATE bearer_key SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL")?
        .execute(params![id.as_str(), nanoseconds(now)])?;
    if changed == 1 {
        Ok(())
    } else {
        Err(LedgerError::Store(format!("there is no key `{id}` to revoke")).into())
    }
}

pub(super) fn all(connection: &Connection) -> Result<Vec<KeyRecord>, Fault> {
    Ok(select(connection, "ORDER BY created_at, id", [])?.into_iter().map(|(record, _)| record).collect())
}

pub(super) fn by_hash(connection: &Connection, hash: &BearerKeyHash) -> Result<Option<KeyRecord>, Fault> {
    let found = select(connection, "WHERE hash = ?1 AND revoked_at IS NULL", [hash.0.as_bytes()])?;
    Ok(found.into_iter().next().map(|(record, _)| record))
}

pub(super) fn live(connection: &Connection) -> Result<HashMap<BearerKeyHash, Caller>, Fault> {
    let found = select(connection, "WHERE revoked_at IS NULL", [])?;
    Ok(found.into_iter().map(|(record, hash)| (hash, record.caller)).collect())
}

/// All keys with their hashes, to be compared with the audit trail.
pub(super) fn with_hashes(
    connection: &Connection,
) -> Result<BTreeMap<KeyId, (KeyRecord, BearerKeyHash)>, Fault> {
    let found = select(connection, "", [])?;
    Ok(found.into_iter().map(|(record, hash)| (record.id.clone(), (record, hash))).collect())
}

fn select(
    connection: &Connection,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<(KeyRecord, BearerKeyHash)>, Fault> {
    let sql = format!(
        "SELECT id, hash, name, org, principal, client, created_at, revoked_at FROM bearer_key {condition}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(parameters)?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.push(read(row)?);
    }
    Ok(keys)
}

fn read(row: &Row<'_>) -> Result<(KeyRecord, BearerKeyHash), Fault> {
    let text = |index: usize| row.get::<_, String>(index);
    let record = KeyRecord {
        id: parse(&text(0)?)?,
        name: parse(&text(2)?)?,
        caller: Caller { org: parse(&text(3)?)?, principal: parse(&text(4)?)?, client: parse(&text(5)?)? },
        created_at: time(row.get(6)?)?,
        revoked_at: row.get::<_, Option<i64>>(7)?.map(time).transpose()?,
    };
    Ok((record, BearerKeyHash(Digest::rehydrate(row.get(1)?))))
}

fn time(nanoseconds: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_nanosecond(i128::from(nanoseconds))
        .map_err(|_| LedgerError::Damaged("a key has no time".to_owned()).into())
}

pub(super) fn kept(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>, Fault> {
    let mut statement = connection.prepare_cached("SELECT sealed FROM kept WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}
