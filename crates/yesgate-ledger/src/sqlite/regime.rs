//! What humans set for callers, as rows: the last word of each kind about each caller.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::regime::Regimes;

use super::fault::Fault;
use crate::error::LedgerError;

/// The kind of a word and whom it is about; everybody is nobody in particular.
pub(super) type Key = (String, String);

const MODE: &str = "mode";
const FROZEN: &str = "frozen";
const STOPPED: &str = "stopped";

/// What an event changes: the word and what it says, or that it holds no more.
pub(super) fn told_by(event: &AuditEvent) -> Option<(Key, Option<String>)> {
    let about = |kind: &str, caller: &Caller| (kind.to_owned(), name(caller));
    match event {
        AuditEvent::ModeSet { caller, mode, .. } => Some((about(MODE, caller), Some(mode.to_string()))),
        AuditEvent::Frozen { caller, reason, .. } => Some((about(FROZEN, caller), Some(reason.clone()))),
        AuditEvent::Thawed { caller, .. } => Some((about(FROZEN, caller), None)),
        AuditEvent::Stopped { reason, .. } => Some((everything(), Some(reason.clone()))),
        AuditEvent::WentOn { .. } => Some((everything(), None)),
        AuditEvent::KeyAdded { .. }
        | AuditEvent::KeyRevoked { .. }
        | AuditEvent::Person(_)
        | AuditEvent::Edited { .. }
        | AuditEvent::YesCounted { .. }
        | AuditEvent::Granted { .. }
        | AuditEvent::GrantUsed { .. }
        | AuditEvent::GrantRevoked { .. }
        | AuditEvent::FirstUse { .. }
        | AuditEvent::Pinned { .. }
        | AuditEvent::Opened { .. }
        | AuditEvent::WouldAsk { .. }
        | AuditEvent::WouldRefuse { .. }
        | AuditEvent::TokenIssued
        | AuditEvent::Approved { .. }
        | AuditEvent::Denied { .. }
        | AuditEvent::Responded { .. }
        | AuditEvent::Redeemed { .. }
        | AuditEvent::Finished { .. }
        | AuditEvent::Lost { .. }
        | AuditEvent::Resolved { .. }
        | AuditEvent::Expired
        | AuditEvent::Superseded { .. }
        | AuditEvent::Voided { .. }
        | AuditEvent::Cancelled { .. }
        | AuditEvent::CallerLeft
        | AuditEvent::HandedOver
        | AuditEvent::LateAnswer { .. }
        | AuditEvent::WrongText { .. }
        | AuditEvent::Purged { .. }
        | AuditEvent::Refused { .. } => None,
    }
}

/// Keeps what an event says.
pub(super) fn keep(connection: &Connection, (kind, name): &Key, words: Option<&str>) -> Result<(), Fault> {
    match words {
        Some(words) => connection
            .prepare_cached("INSERT OR REPLACE INTO regime (kind, name, words) VALUES (?1, ?2, ?3)")?
            .execute(params![kind, name, words])?,
        None => connection
            .prepare_cached("DELETE FROM regime WHERE kind = ?1 AND name = ?2")?
            .execute(params![kind, name])?,
    };
    Ok(())
}

/// Whether nothing of a caller may be let go.
pub(super) fn is_held_back(connection: &Connection, caller: &Caller) -> Result<bool, Fault> {
    let held: i64 = connection
        .prepare_cached("SELECT count(*) FROM regime WHERE kind = ?1 OR (kind = ?2 AND name = ?3)")?
        .query_row(params![STOPPED, FROZEN, name(caller)], |row| row.get(0))?;
    Ok(held > 0)
}

/// What holds for everybody.
pub(super) fn all(connection: &Connection) -> Result<Regimes, Fault> {
    let mut regimes = Regimes::default();
    for ((kind, name), words) in all_words(connection)? {
        if kind == STOPPED {
            regimes.stopped = Some(words);
            continue;
        }
        let caller: Caller = serde_json::from_str(&name).map_err(|_| damaged())?;
        let regime = regimes.callers.entry(caller).or_default();
        match kind.as_str() {
            MODE => regime.mode = Some(words.parse().map_err(|_| damaged())?),
            FROZEN => regime.frozen = Some(words),
            _ => return Err(damaged().into()),
        }
    }
    Ok(regimes)
}

/// Every word that holds.
pub(super) fn all_words(connection: &Connection) -> Result<BTreeMap<Key, String>, Fault> {
    let mut statement = connection.prepare_cached("SELECT kind, name, words FROM regime")?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Everybody whom the audit trail names.
pub(super) fn callers(connection: &Connection) -> Result<Vec<Caller>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT json_extract(body, '$.caller') AS caller FROM audit WHERE caller IS NOT NULL ORDER BY caller",
    )?;
    let texts = statement.query_map([], |row| row.get::<_, String>(0))?;
    texts.map(|text| Ok(serde_json::from_str(&text?).map_err(|_| damaged())?)).collect()
}

fn everything() -> Key {
    (STOPPED.to_owned(), String::new())
}

/// A caller as one text. Field by field, so that no two callers have the same.
fn name(caller: &Caller) -> String {
    serde_json::to_string(caller).unwrap_or_default()
}

fn damaged() -> LedgerError {
    LedgerError::Damaged("what was set for a caller cannot be read".to_owned())
}
