//! Intents as rows.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};
use yesgate_core::digest::Digest;
use yesgate_core::intent::{Awaited, Intent, SlotKey, State};

use super::fault::Fault;
use super::seal::{Place, Seal};
use crate::change::{CHUNK, Target};
use crate::error::LedgerError;
use crate::listing::Listed;

/// An intent as it was when it was loaded.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) intent: Intent,
    version: i64,
}

/// Loads the intents that a change is about.
pub(super) fn load(
    connection: &Connection,
    seal: &Seal,
    target: &Target,
    now: Timestamp,
) -> Result<Vec<Loaded>, Fault> {
    match target {
        Target::Nothing | Target::Keys | Target::Grants | Target::People | Target::Link(_) => Ok(Vec::new()),
        Target::Intent(id) => select(connection, seal, "id = ?1", [id.as_str()]),
        Target::Token(hash) => select(connection, seal, "token_hash = ?1", [hash.0.as_bytes()]),
        Target::Slot(slot, _) | Target::Asking(slot, ..) => {
            let matters = "slot = ?1 AND matters_until > ?2 ORDER BY number";
            select(connection, seal, matters, params![slot.0.as_bytes(), nanoseconds(now)])
        }
        Target::Open => select(connection, seal, "state IN ('pending', 'approved')", []),
        Target::Due => {
            let due = "number IN (SELECT number FROM intent WHERE state = 'pending' AND decide_by <= ?1
                       UNION ALL SELECT number FROM intent WHERE state = 'approved' AND run_by <= ?1) LIMIT ?2";
            select(connection, seal, due, params![nanoseconds(now), CHUNK])
        }
        Target::Over(before) => {
            let over = format!("{PURGEABLE} LIMIT ?3");
            select(connection, seal, &over, params![nanoseconds(*before), nanoseconds(now), CHUNK])
        }
        Target::RunningOf(boot) => select(
            connection,
            seal,
            "state = 'running' AND boot = ?1 LIMIT ?2",
            params![boot.as_str(), CHUNK],
        ),
        Target::Server(server, identity) => {
            let open = "state IN ('pending', 'approved') AND server = ?1 AND identity = ?2 ORDER BY number";
            select(connection, seal, open, params![server.as_str(), identity.0.as_bytes()])
        }
    }
}

/// Selects whole intents.
pub(super) fn select(
    connection: &Connection,
    seal: &Seal,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<Loaded>, Fault> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE {condition}"))?;
    let mut rows = statement.query(parameters)?;
    let mut loaded = Vec::new();
    while let Some(row) = rows.next()? {
        loaded.push(read(row, seal)?);
    }
    Ok(loaded)
}

/// Selects whole intents, with their place among all.
pub(super) fn numbered(
    connection: &Connection,
    seal: &Seal,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<Listed>, Fault> {
    let mut statement = connection.prepare_cached(&format!("{SELECT} WHERE {condition}"))?;
    let mut rows = statement.query(parameters)?;
    let mut listed = Vec::new();
    while let Some(row) = rows.next()? {
        let number = u64::try_from(row.get::<_, i64>(16)?).unwrap_or_default();
        listed.push(Listed { number, intent: read(row, seal)?.intent });
    }
    Ok(listed)
}

/// Counts those whose contents could be erased.
pub(super) fn purgeable(connection: &Connection, before: Timestamp, now: Timestamp) -> Result<u64, Fault> {
    let sql = format!("SELECT count(*) FROM intent WHERE {PURGEABLE}");
    let mut statement = connection.prepare_cached(&sql)?;
    let count: i64 = statement.query_row(params![nanoseconds(before), nanoseconds(now)], |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or_default())
}

/// Reads an intent, and refuses one whose parts do not fit together: what was shown, stored and
/// digested must still be one and the same.
pub(super) fn read(row: &Row<'_>, seal: &Seal) -> Result<Loaded, LedgerError> {
    let (columns, version, blob) = Columns::read(row)
        .map_err(|error| LedgerError::Damaged(format!("a stored intent cannot be read ({error})")))?;
    let body = seal.open(Place::Intent(&columns.id), &blob);
    match body.and_then(|body| serde_json::from_slice::<Intent>(&body).ok()) {
        Some(intent) if Columns::of(&intent) == columns && intent.is_what_was_asked() => {
            Ok(Loaded { intent, version })
        }
        Some(_) | None => {
            let id = columns.id.escape_debug();
            Err(LedgerError::Damaged(format!("the intent `{id}` cannot be what was stored")))
        }
    }
}

/// Stores a new intent.
pub(super) fn insert(
    connection: &Connection,
    seal: &Seal,
    intent: &Intent,
    now: Timestamp,
) -> Result<(), Fault> {
    let columns = Columns::of(intent);
    connection
        .prepare_cached(
            "INSERT INTO intent (id, version, slot, digest, token_hash, state, server, identity, decide_by, run_by,
                                 boot, handed_over, purged_at, is_awaited, matters_until, touched_at, org, sealed)
             VALUES (:id, 1, :slot, :digest, :token_hash, :state, :server, :identity, :decide_by, :run_by,
                     :boot, :handed_over, :purged_at, :is_awaited, :matters_until, :touched_at, :org, :sealed)",
        )?
        .execute(named_params! {
            ":id": columns.id,
            ":slot": columns.slot,
            ":digest": columns.digest,
            ":token_hash": columns.token_hash,
            ":state": columns.state,
            ":server": columns.server,
            ":identity": columns.identity,
            ":decide_by": columns.decide_by,
            ":run_by": columns.run_by,
            ":boot": columns.boot,
            ":handed_over": columns.handed_over,
            ":purged_at": columns.purged_at,
            ":is_awaited": columns.is_awaited,
            ":matters_until": matters_until(intent, now),
            ":org": columns.org,
            ":touched_at": nanoseconds(now),
            ":sealed": sealed(intent, seal)?,
        })?;
    Ok(())
}

/// Stores a changed intent: one conditional write, which finds the intent as it was loaded or
/// changes nothing and is an error. What it is bound to never changes.
pub(super) fn update(
    connection: &Connection,
    seal: &Seal,
    before: &Loaded,
    intent: &Intent,
    now: Timestamp,
) -> Result<(), Fault> {
    let columns = Columns::of(intent);
    let changed = connection
        .prepare_cached(
            "UPDATE intent
             SET version = version + 1, token_hash = :token_hash, state = :state, decide_by = :decide_by,
                 run_by = :run_by, boot = :boot, handed_over = :handed_over, purged_at = :purged_at,
                 is_awaited = :is_awaited, matters_until = :matters_until, touched_at = :touched_at, sealed = :sealed
             WHERE id = :id AND version = :version AND state = :state_before AND digest = :digest",
        )?
        .execute(named_params! {
            ":id": columns.id,
            ":version": before.version,
            ":state_before": before.intent.state().as_str(),
            ":digest": columns.digest,
            ":token_hash": columns.token_hash,
            ":state": columns.state,
            ":decide_by": columns.decide_by,
            ":run_by": columns.run_by,
            ":boot": columns.boot,
            ":handed_over": columns.handed_over,
            ":purged_at": columns.purged_at,
            ":is_awaited": columns.is_awaited,
            ":matters_until": matters_until(intent, now),
            ":touched_at": nanoseconds(now),
            ":sealed": sealed(intent, seal)?,
        })?;
    if changed == 1 { Ok(()) } else { Err(LedgerError::Conflict(intent.id().clone()).into()) }
}

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
    fn read(row: &Row<'_>) -> rusqlite::Result<(Self, i64, Vec<u8>)> {
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

fn sealed(intent: &Intent, seal: &Seal) -> Result<Vec<u8>, Fault> {
    let body = serde_json::to_vec(intent)
        .map_err(|_| LedgerError::Damaged(format!("`{}` cannot be written down", intent.id())))?;
    Ok(seal.seal(Place::Intent(intent.id().as_str()), &body)?)
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// A time as it is stored. Those beyond 2262 are all the same to us.
pub(super) fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

/// The number of an audit row as it is stored.
pub(super) fn stored(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

/// Reads the number of an audit row from the first column. A negative one, which we never write,
/// counts as none.
pub(super) fn sequence(row: &Row<'_>) -> rusqlite::Result<u64> {
    row.get(0).map(|sequence: i64| u64::try_from(sequence).unwrap_or_default())
}

/// Where the audit trail ends, and the latest time that was ever written down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) sequence: u64,
    pub(super) hash: Digest,
    pub(super) time: Timestamp,
}

impl Head {
    pub(super) fn load(connection: &Connection) -> Result<Self, Fault> {
        let head = connection
            .prepare_cached("SELECT sequence, hash, time FROM head")?
            .query_row([], |row| Ok((sequence(row)?, row.get(1)?, row.get::<_, i64>(2)?)))
            .optional()?;
        let damaged = || LedgerError::Damaged("it does not know its own end".to_owned());
        let (sequence, hash, time) = head.ok_or_else(damaged)?;
        let time = Timestamp::from_nanosecond(i128::from(time)).map_err(|_| damaged())?;
        Ok(Self { sequence, hash: Digest::rehydrate(hash), time })
    }

    pub(super) fn store(&self, connection: &Connection) -> Result<(), Fault> {
        let changed = connection
            .prepare_cached("UPDATE head SET sequence = ?1, hash = ?2, time = ?3")?
            .execute(params![stored(self.sequence), self.hash.as_bytes(), nanoseconds(self.time)])?;
        if changed == 1 {
            Ok(())
        } else {
            Err(LedgerError::Damaged("it does not know its own end".to_owned()).into())
        }
    }
}

/// Those that are over, still have their contents, were last touched before `?1`, and are part of no slot at `?2`: a
/// result that somebody may still fetch is, and a no that still cools off.
const PURGEABLE: &str = "purged_at IS NULL AND state NOT IN ('pending', 'approved', 'running', 'unknown') \
                         AND touched_at < ?1 AND coalesce(matters_until, 0) <= ?2";

/// How long a result waits to be fetched by the same call made again.
const UNFETCHED_RESULT: SignedDuration = SignedDuration::from_hours(24);
