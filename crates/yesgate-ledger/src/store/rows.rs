//! Intents as rows.

use std::cell::RefCell;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::intent::{Awaited, Intent, SlotKey, State};

use super::recall::Recall;
use super::{grants, oauth, pace};
use crate::change::{CHUNK, Target};
use crate::engine::value::{Row, Value, values};
use crate::engine::{Expected, Sql};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::listing::Listed;
use crate::seal::{Place, Seal};

/// An intent as it was when it was loaded.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) intent: Intent,
    version: i64,
}

/// Loads the intents that a change is about.
pub(super) fn load(
    connection: &dyn Sql,
    seal: &Seal,
    recall: &RefCell<Recall<Intent>>,
    target: &Target,
    now: Timestamp,
) -> Result<Vec<Loaded>, LedgerError> {
    // Those that are looked up one by one may be known.
    let known = |condition: &str, parameters: &[Value<'_>]| {
        connection
            .map(&format!("{SELECT} WHERE {condition}"), parameters, |row| read_or_recall(row, seal, recall))
    };
    match target {
        Target::Nothing | Target::Grants | Target::People | Target::Link(_) => Ok(Vec::new()),
        Target::OAuth(target) => oauth::open_questions(connection, seal, target),
        Target::Intent(id) => known(BY_ID, values![id.as_str()]),
        Target::Token(hash) => known(BY_TOKEN, values![hash.0.as_bytes()]),
        Target::Slot(slot, _) | Target::Asking(slot, ..) => {
            known(OF_SLOT, values![slot.0.as_bytes(), nanoseconds(now)])
        }
        Target::Unsettled => {
            select(connection, seal, "state IN ('pending', 'approved', 'running') ORDER BY number", &[])
        }
        Target::Open | Target::Keys => select(connection, seal, "state IN ('pending', 'approved')", &[]),
        Target::Due => {
            let due = "number IN (SELECT number FROM intent WHERE state = 'pending' AND decide_by <= ?1
                       UNION ALL SELECT number FROM intent WHERE state = 'approved' AND run_by <= ?1) LIMIT ?2";
            select(connection, seal, due, values![nanoseconds(now), CHUNK])
        }
        Target::Over(before) => {
            let over = format!("{PURGEABLE} LIMIT ?3");
            select(connection, seal, &over, values![nanoseconds(*before), nanoseconds(now), CHUNK])
        }
        Target::RunningOf(boot) => select(
            connection,
            seal,
            "state = 'running' AND boot = ?1 LIMIT ?2",
            values![boot.as_str(), CHUNK],
        ),
        Target::Server(server, identity) => {
            let open = "state IN ('pending', 'approved') AND server = ?1 AND identity = ?2 ORDER BY number";
            select(connection, seal, open, values![server.as_str(), identity.0.as_bytes()])
        }
    }
}

/// Says what [`load`] is about to look up, where that is the same each time.
pub(super) fn ahead(connection: &dyn Sql, target: &Target, now: Timestamp) -> Result<(), LedgerError> {
    let soon = |condition: &str, parameters: &[Value<'_>]| {
        connection.ahead(&format!("{SELECT} WHERE {condition}"), parameters)
    };
    match target {
        Target::Intent(id) => soon(BY_ID, values![id.as_str()]),
        Target::Token(hash) => soon(BY_TOKEN, values![hash.0.as_bytes()]),
        Target::Slot(slot, _) => {
            soon(OF_SLOT, values![slot.0.as_bytes(), nanoseconds(now)])?;
            grants::ahead(connection, *slot)
        }
        Target::Asking(slot, caller, pace, _) => {
            soon(OF_SLOT, values![slot.0.as_bytes(), nanoseconds(now)])?;
            grants::ahead(connection, *slot)?;
            pace::ahead(connection, caller, pace, now)
        }
        Target::Nothing
        | Target::Keys
        | Target::Grants
        | Target::People
        | Target::Link(_)
        | Target::OAuth(_)
        | Target::Open
        | Target::Due
        | Target::Over(_)
        | Target::RunningOf(_)
        | Target::Unsettled
        | Target::Server(..) => Ok(()),
    }
}

const BY_ID: &str = "id = ?1";
const BY_TOKEN: &str = "token_hash = ?1";
const OF_SLOT: &str = "slot = ?1 AND matters_until > ?2 ORDER BY number";

/// Selects whole intents.
pub(super) fn select(
    connection: &dyn Sql,
    seal: &Seal,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<Loaded>, LedgerError> {
    connection.map(&format!("{SELECT} WHERE {condition}"), parameters, |row| read(row, seal))
}

/// Selects whole intents, with their place among all.
pub(super) fn numbered(
    connection: &dyn Sql,
    seal: &Seal,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<Listed>, LedgerError> {
    connection.map(&format!("{SELECT} WHERE {condition}"), parameters, |row| {
        let number = u64::try_from(row.get::<i64>(16)?).unwrap_or_default();
        Ok(Listed { number, intent: read(row, seal)?.intent })
    })
}

/// Counts those whose contents could be erased.
pub(super) fn purgeable(connection: &dyn Sql, before: Timestamp, now: Timestamp) -> Result<u64, LedgerError> {
    let sql = format!("SELECT count(*) FROM intent WHERE {PURGEABLE}");
    let count = connection.number(&sql, values![nanoseconds(before), nanoseconds(now)])?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Reads an intent, and refuses one whose parts do not fit together: what was shown, stored and
/// digested must still be one and the same.
pub(super) fn read(row: &Row, seal: &Seal) -> Result<Loaded, LedgerError> {
    let (columns, version, blob) = Columns::read(row)?;
    open(&columns, version, &blob, seal)
}

/// The same, where it may be one that was stored a moment ago.
fn read_or_recall(row: &Row, seal: &Seal, recall: &RefCell<Recall<Intent>>) -> Result<Loaded, LedgerError> {
    let (columns, version, blob) = Columns::read(row)?;
    match recall.borrow_mut().take(&columns.id, &blob) {
        Some(intent) if Columns::of(&intent) == columns => Ok(Loaded { intent, version }),
        Some(_) | None => open(&columns, version, &blob, seal),
    }
}

fn open(columns: &Columns, version: i64, blob: &[u8], seal: &Seal) -> Result<Loaded, LedgerError> {
    let body = seal.open(Place::Intent(&columns.id), blob);
    match body.and_then(|body| serde_json::from_slice::<Intent>(&body).ok()) {
        Some(intent) if Columns::of(&intent) == *columns && intent.is_what_was_asked() => {
            Ok(Loaded { intent, version })
        }
        Some(_) | None => {
            let id = columns.id.escape_debug();
            Err(LedgerError::Damaged(format!("the intent `{id}` cannot be what was stored")))
        }
    }
}

/// Stores a new intent, and gives back what was sealed of it.
pub(super) fn insert(
    connection: &dyn Sql,
    seal: &Seal,
    intent: &Intent,
    now: Timestamp,
) -> Result<Vec<u8>, LedgerError> {
    let (columns, sealed) = (Columns::of(intent), sealed(intent, seal)?);
    connection.put(
        INSERT,
        values![
            columns.id,
            &columns.slot,
            &columns.digest,
            columns.token_hash.as_ref(),
            columns.state,
            columns.server,
            &columns.identity,
            columns.decide_by,
            columns.run_by,
            columns.boot,
            columns.handed_over,
            columns.purged_at,
            columns.is_awaited,
            matters_until(intent, now),
            nanoseconds(now),
            columns.org,
            sealed.as_slice(),
        ],
    )?;
    Ok(sealed)
}

/// Stores a changed intent: one conditional write, which finds the intent as it was loaded or
/// changes nothing and is an error. What it is bound to never changes. Gives back what was sealed of it.
pub(super) fn update(
    connection: &dyn Sql,
    seal: &Seal,
    before: &Loaded,
    intent: &Intent,
    now: Timestamp,
) -> Result<Vec<u8>, LedgerError> {
    let (columns, sealed) = (Columns::of(intent), sealed(intent, seal)?);
    connection.write(
        UPDATE,
        values![
            columns.token_hash.as_ref(),
            columns.state,
            columns.decide_by,
            columns.run_by,
            columns.boot,
            columns.handed_over,
            columns.purged_at,
            columns.is_awaited,
            matters_until(intent, now),
            nanoseconds(now),
            sealed.as_slice(),
            columns.id,
            before.version,
            before.intent.state().as_str(),
            &columns.digest,
        ],
        Expected::One(LedgerError::Conflict(intent.id().clone())),
    )?;
    Ok(sealed)
}

pub(super) const INSERT: &str =
    "INSERT INTO intent (id, version, slot, digest, token_hash, state, server, identity, decide_by, run_by,
                         boot, handed_over, purged_at, is_awaited, matters_until, touched_at, org, sealed)
     VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

pub(super) const UPDATE: &str = "UPDATE intent
     SET version = version + 1, token_hash = ?1, state = ?2, decide_by = ?3, run_by = ?4, boot = ?5,
         handed_over = ?6, purged_at = ?7, is_awaited = ?8, matters_until = ?9, touched_at = ?10, sealed = ?11
     WHERE id = ?12 AND version = ?13 AND state = ?14 AND digest = ?15";

/// What stands beside the body of an intent, so that it can be searched.
#[derive(Debug, Eq, PartialEq)]
struct Columns {
    id: String,
    slot: [u8; 32],
    digest: [u8; 32],
    token_hash: Option<[u8; 32]>,
    state: String,
    server: String,
    identity: [u8; 32],
    decide_by: i64,
    run_by: Option<i64>,
    boot: Option<String>,
    handed_over: bool,
    org: String,
    purged_at: Option<i64>,
    is_awaited: bool,
}

/// What [`Columns::read`] reads.
pub(super) const SELECT: &str = "SELECT version, sealed, id, slot, digest, token_hash, state, server, identity, \
                                 decide_by, run_by, boot, handed_over, org, purged_at, is_awaited, number FROM intent";

/// The column of [`SELECT`] that has the id.
pub(super) const ID: usize = 2;

/// The column of [`SELECT`] that has the place among all.
pub(super) const NUMBER: usize = 16;

impl Columns {
    fn of(intent: &Intent) -> Self {
        let binding = &intent.question().binding;
        Self {
            id: intent.id().to_string(),
            slot: *SlotKey::of(binding).0.as_bytes(),
            digest: *intent.digest().0.as_bytes(),
            token_hash: intent.token().map(|token| *token.0.as_bytes()),
            state: intent.state().as_str().to_owned(),
            server: binding.server.to_string(),
            identity: *binding.identity.0.as_bytes(),
            decide_by: nanoseconds(intent.decide_by()),
            run_by: intent.run_by().map(nanoseconds),
            boot: intent.boot().map(ToString::to_string),
            handed_over: intent.handed_over(),
            org: binding.caller.org.to_string(),
            purged_at: intent.purged_at().map(nanoseconds),
            is_awaited: intent.awaited() == Awaited::Yes,
        }
    }

    /// Reads the columns, and the version and the sealed body with them.
    fn read(row: &Row) -> Result<(Self, i64, Vec<u8>), LedgerError> {
        Self::of_row(row).map_err(|_| LedgerError::Damaged("a stored intent cannot be read".to_owned()))
    }

    fn of_row(row: &Row) -> Result<(Self, i64, Vec<u8>), LedgerError> {
        let columns = Self {
            id: row.get(2)?,
            slot: row.get(3)?,
            digest: row.get(4)?,
            token_hash: row.get(5)?,
            state: row.get(6)?,
            server: row.get(7)?,
            identity: row.get(8)?,
            decide_by: row.get(9)?,
            run_by: row.get(10)?,
            boot: row.get(11)?,
            handed_over: row.get(12)?,
            org: row.get(13)?,
            purged_at: row.get(14)?,
            is_awaited: row.get(15)?,
        };
        Ok((columns, row.get(0)?, row.get(1)?))
    }
}

/// How long an intent is part of its slot, `None` once it is not.
fn matters_until(intent: &Intent, now: Timestamp) -> Option<i64> {
    match intent.state() {
        State::Pending | State::Approved | State::Running | State::Unknown => Some(i64::MAX),
        State::Done(_) if !intent.handed_over() && intent.result().is_some() => {
            Some(nanoseconds(later(now, UNFETCHED_RESULT)))
        }
        State::Denied => {
            intent.decision().map(|no| nanoseconds(later(no.at, intent.question().times.cool_off)))
        }
        State::Done(_)
        | State::Resolved { .. }
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided => None,
    }
}

fn sealed(intent: &Intent, seal: &Seal) -> Result<Vec<u8>, LedgerError> {
    let mut body = Vec::with_capacity(USUAL_LENGTH);
    serde_json::to_writer(&mut body, intent)
        .map_err(|_| LedgerError::Damaged(format!("`{}` cannot be written down", intent.id())))?;
    seal.seal(Place::Intent(intent.id().as_str()), &body)
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Those that are over, still have their contents, were last touched before `?1`, and are part of no slot at `?2`: a
/// result that somebody may still fetch is, and a no that still cools off.
const PURGEABLE: &str = "purged_at IS NULL AND state NOT IN ('pending', 'approved', 'running', 'unknown') \
                         AND touched_at < ?1 AND coalesce(matters_until, 0) <= ?2";

/// How long most intents are at most.
const USUAL_LENGTH: usize = 2048;

/// How long a result waits to be fetched by the same call made again.
const UNFETCHED_RESULT: SignedDuration = SignedDuration::from_hours(24);
