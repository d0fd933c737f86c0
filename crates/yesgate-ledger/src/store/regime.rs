//! What humans set for callers, as rows: the last word of each kind about each caller.

use std::collections::{BTreeMap, BTreeSet};

use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::regime::Regimes;

use crate::engine::Sql;
use crate::engine::value::{Row, values};
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
        | AuditEvent::OAuth(_)
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
        | AuditEvent::FailedOver { .. }
        | AuditEvent::Pruned { .. }
        | AuditEvent::Refused { .. } => None,
    }
}

/// Keeps what an event says.
pub(super) fn keep(connection: &dyn Sql, (kind, name): &Key, words: Option<&str>) -> Result<(), LedgerError> {
    match words {
        Some(words) => connection.put(
            "INSERT INTO regime (kind, name, words) VALUES (?1, ?2, ?3)
             ON CONFLICT (kind, name) DO UPDATE SET words = excluded.words",
            values![kind, name, words],
        )?,
        None => connection.put("DELETE FROM regime WHERE kind = ?1 AND name = ?2", values![kind, name])?,
    };
    Ok(())
}

/// Of whom nothing may be let go.
#[derive(Debug, Default)]
pub(super) struct HeldBack {
    is_stopped: bool,
    frozen: BTreeSet<String>,
}

impl HeldBack {
    /// As it is now.
    pub(super) fn load(connection: &dyn Sql) -> Result<Self, LedgerError> {
        let mut held_back = Self::default();
        connection.each(HELD_BACK, &[], &mut |row| {
            let kind: String = row.get(0)?;
            held_back.is_stopped |= kind == STOPPED;
            if kind == FROZEN {
                held_back.frozen.insert(row.get(1)?);
            }
            Ok(())
        })?;
        Ok(held_back)
    }

    /// Whether nothing of a caller may be let go.
    pub(super) fn holds(&self, caller: &Caller) -> bool {
        self.is_stopped || (!self.frozen.is_empty() && self.frozen.contains(&name(caller)))
    }
}

/// Says that [`HeldBack::load`] is about to come.
pub(super) fn ahead(connection: &dyn Sql) -> Result<(), LedgerError> {
    connection.ahead(HELD_BACK, &[])
}

/// Those are few at any time.
const HELD_BACK: &str = "SELECT kind, name FROM regime WHERE kind IN ('stopped', 'frozen')";

/// What holds for everybody.
pub(super) fn all(connection: &dyn Sql) -> Result<Regimes, LedgerError> {
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
            _ => return Err(damaged()),
        }
    }
    Ok(regimes)
}

/// Every word that holds.
pub(super) fn all_words(connection: &dyn Sql) -> Result<BTreeMap<Key, String>, LedgerError> {
    let read = |row: &Row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
    connection.map("SELECT kind, name, words FROM regime", &[], read)
}

/// Everybody whom the audit trail names.
pub(super) fn callers(connection: &dyn Sql) -> Result<Vec<Caller>, LedgerError> {
    let caller = connection.dialect().field("body", "caller");
    let sql =
        format!("SELECT DISTINCT {caller} AS caller FROM audit WHERE {caller} IS NOT NULL ORDER BY caller");
    connection.map(&sql, &[], |row| serde_json::from_str(&row.get::<String>(0)?).map_err(|_| damaged()))
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
