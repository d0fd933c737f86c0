//! Taking rows out of the trail: what has to stay in their place, and the step that does it.
//!
//! Invariants:
//! - What people set up stays as the rows that say so. A question that is not settled at the new beginning keeps its rows.
//! - A question that is settled keeps a digest of what its rows made of it. One that was redeemed is known for ever.
//! - The beginning goes on by one step in one transaction; the rows go after that, some at a time. Rows that are left
//!   before the beginning count for nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use yesgate_core::audit::{AuditEntry, AuditEvent, GENESIS, chain};
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::digest::Digest;
use yesgate_core::id::IntentId;
use yesgate_core::oauth::OAuthEvent;
use yesgate_core::person::PersonEvent;

use super::verify::RawRow;
use super::{beginning, queries};
use crate::engine::value::values;
use crate::engine::{Expected, Sql};
use crate::error::LedgerError;
use crate::head;
use crate::prune::{Carried, Past, Pruning, Rest};
use crate::seal::{Place, Seal};
use crate::spending::Spending;
use crate::told::Told;

/// Finds what has to stay when the rows up to one are taken out, or fewer of them. `None`: there are none.
pub(super) fn plan(connection: &dyn Sql, up_to: u64, now: Timestamp) -> Result<Option<Pruning>, LedgerError> {
    connection.snapshot(|connection| {
        let (from, hash) = beginning::row(connection)?;
        let up_to = up_to.min(from.saturating_add(AT_ONCE));
        let mut planner = Planner::after(from, hash.unwrap_or(GENESIS));
        for Carried { sequence, rest, body } in beginning::carried(connection)? {
            let entry = entry(sequence, &body)?;
            match rest {
                Rest::Standing => planner.standing.push((sequence, body)),
                Rest::Question => planner.follow(sequence, body, &entry)?,
            }
        }
        while planner.last < up_to {
            let rows = queries::audit_page(connection, planner.last, PAGE)?;
            if rows.is_empty() {
                break;
            }
            for row in rows.into_iter().take_while(|row| row.sequence <= up_to) {
                planner.read(row)?;
            }
            if planner.last >= up_to {
                break;
            }
        }
        if planner.last == from { Ok(None) } else { planner.finish(connection, from, now).map(Some) }
    })
}

/// Lets the trail begin later. Its row comes with the same change.
pub(super) fn begin_later(
    connection: &dyn Sql,
    seal: &Seal,
    pruning: Pruning,
    signed: &str,
) -> Result<(), LedgerError> {
    let Pruning { from, checkpoint, carried, past } = pruning;
    let Checkpoint { sequence, hash, carried: digest, .. } = checkpoint;
    let digest = digest.ok_or_else(|| LedgerError::Store("a beginning carries nothing".to_owned()))?;
    if beginning::row(connection)?.0 != from {
        return Err(LedgerError::Store("somebody else has taken rows out meanwhile".to_owned()));
    }
    connection.put("DELETE FROM carried", &[])?;
    for Carried { sequence, rest, body } in &carried {
        connection.put(
            "INSERT INTO carried (sequence, whole, body) VALUES (?1, ?2, ?3)",
            values![head::stored(*sequence), *rest == Rest::Question, body],
        )?;
    }
    for Past { intent, redeemed, told } in past.values() {
        connection.put(
            "INSERT INTO past (intent, redeemed, told) VALUES (?1, ?2, ?3)
             ON CONFLICT (intent) DO UPDATE SET redeemed = excluded.redeemed, told = excluded.told",
            values![intent, *redeemed, told.as_ref().map(Digest::as_bytes)],
        )?;
    }
    let sealed = seal.seal(Place::Beginning, &beginning::text(sequence, &hash, &digest))?;
    let sql = if from == 0 {
        "INSERT INTO beginning (sequence, hash, signed, sealed) VALUES (?1, ?2, ?3, ?4)"
    } else {
        "UPDATE beginning SET sequence = ?1, hash = ?2, signed = ?3, sealed = ?4"
    };
    let moved = Expected::One(LedgerError::Store("the trail has no beginning to move".to_owned()));
    connection.write(sql, values![head::stored(sequence), hash.as_bytes(), signed, sealed], moved)
}

/// Takes out some of the rows before the beginning.
pub(super) fn drop_some(connection: &dyn Sql) -> Result<(), LedgerError> {
    connection.put(
        "DELETE FROM audit WHERE sequence IN
             (SELECT sequence FROM audit WHERE sequence <= (SELECT sequence FROM beginning)
              ORDER BY sequence LIMIT ?1)",
        values![DROPPED],
    )
}

/// How many rows are left before the beginning.
pub(super) fn left(connection: &dyn Sql) -> Result<u64, LedgerError> {
    let sql = "SELECT count(*) FROM audit WHERE sequence <= (SELECT sequence FROM beginning)";
    Ok(u64::try_from(connection.number(sql, &[])?).unwrap_or_default())
}

/// The last row from before a moment, of those that are there; 0: there is none.
pub(super) fn last_before(connection: &dyn Sql, moment: Timestamp) -> Result<u64, LedgerError> {
    connection.snapshot(|connection| {
        // The time of rows never goes back.
        let (mut before, mut after) =
            (beginning::row(connection)?.0, head::Head::load(connection)?.sequence.saturating_add(1));
        while after.saturating_sub(before) > 1 {
            let middle = before.midpoint(after);
            let row = queries::audit(connection, middle, 1)?.into_iter().next();
            match row {
                Some(row) if row.entry()?.at < moment => before = middle,
                Some(_) | None => after = middle,
            }
        }
        Ok(before)
    })
}

/// What is known so far, on the way to a new beginning.
struct Planner {
    last: u64,
    hash: Digest,
    open: BTreeMap<IntentId, Open>,
    standing: Vec<(u64, String)>,
    past: BTreeMap<String, Past>,
}

/// A question that is not settled so far.
struct Open {
    told: Told,
    counted_at: Option<Timestamp>,
    rows: Vec<(u64, String)>,
    redeemed: bool,
}

impl Planner {
    const fn after(last: u64, hash: Digest) -> Self {
        Self { last, hash, open: BTreeMap::new(), standing: Vec::new(), past: BTreeMap::new() }
    }

    fn read(&mut self, row: RawRow) -> Result<(), LedgerError> {
        let RawRow { sequence, body, hash, .. } = row;
        if sequence != self.last.saturating_add(1) || chain(&self.hash, sequence, &body) != hash {
            return Err(unsound(sequence));
        }
        (self.last, self.hash) = (sequence, hash);
        let entry = entry(sequence, &body)?;
        self.follow(sequence, body, &entry)
    }

    fn follow(&mut self, sequence: u64, body: String, entry: &AuditEntry) -> Result<(), LedgerError> {
        let Some(id) = &entry.intent else {
            if matters(&entry.event) {
                self.standing.push((sequence, body));
            }
            return Ok(());
        };
        let before = self.open.remove(id);
        let is_new = if let AuditEvent::Opened { .. } = entry.event { true } else { false };
        if before.is_none() && !is_new {
            // A late word about one that was settled.
            if matters(&entry.event) {
                self.standing.push((sequence, body));
            }
            return Ok(());
        }
        let told = Told::after(before.as_ref().map(|open| &open.told), &entry.event)
            .map_err(|_| unsound(sequence))?;
        let (since, mut rows, redeemed) =
            before.map_or((None, Vec::new(), false), |open| (open.counted_at, open.rows, open.redeemed));
        let counted_at = told.counted().map(|_| since.unwrap_or(entry.at));
        let redeems = if let AuditEvent::Redeemed { .. } = entry.event { true } else { false };
        rows.push((sequence, body));
        let open = Open { told, counted_at, rows, redeemed: redeemed || redeems };
        if open.told.state().is_settled() {
            self.settle(id, open)?;
        } else {
            self.open.insert(id.clone(), open);
        }
        Ok(())
    }

    fn settle(&mut self, id: &IntentId, open: Open) -> Result<(), LedgerError> {
        let Open { told, counted_at, rows, redeemed } = open;
        let mut spends = match (told.counted(), counted_at) {
            (Some(counted), Some(at)) => Spending::told(id, counted, at),
            (Some(_) | None, _) => Vec::new(),
        };
        spends.sort_by(|one, other| one.budget.cmp(&other.budget));
        let past = Past { intent: id.to_string(), redeemed, told: Some(told.digest(&spends)) };
        self.past.insert(past.intent.clone(), past);
        for (sequence, body) in rows {
            if matters(&entry(sequence, &body)?.event) {
                self.standing.push((sequence, body));
            }
        }
        Ok(())
    }

    fn finish(self, connection: &dyn Sql, from: u64, at: Timestamp) -> Result<Pruning, LedgerError> {
        let Self { last: sequence, hash, open, standing, mut past } = self;
        let carry = |rest| move |(sequence, body)| Carried { sequence, rest, body };
        let mut carried: Vec<Carried> = standing.into_iter().map(carry(Rest::Standing)).collect();
        for (id, Open { rows, redeemed, .. }) in open {
            carried.extend(rows.into_iter().map(carry(Rest::Question)));
            if redeemed {
                let intent = id.to_string();
                past.insert(intent.clone(), Past { intent, redeemed, told: None });
            }
        }
        carried.sort_by_key(|carried| carried.sequence);
        let digest = beginning::digest(connection, &carried, &past)?;
        let checkpoint = Checkpoint { sequence, hash, at, carried: Some(digest) };
        Ok(Pruning { from, checkpoint, carried, past })
    }
}

/// Whether a row still matters when the question that it belongs to, if any, is settled: whether it says what people set
/// up, or how often a remembered yes was used.
fn matters(event: &AuditEvent) -> bool {
    match event {
        AuditEvent::Granted { .. }
        | AuditEvent::GrantUsed { .. }
        | AuditEvent::GrantRevoked { .. }
        | AuditEvent::Purged { .. }
        | AuditEvent::Pruned { .. }
        | AuditEvent::ModeSet { .. }
        | AuditEvent::Frozen { .. }
        | AuditEvent::Thawed { .. }
        | AuditEvent::Stopped { .. }
        | AuditEvent::WentOn { .. }
        | AuditEvent::FirstUse { .. }
        | AuditEvent::Pinned { .. }
        | AuditEvent::KeyAdded { .. }
        | AuditEvent::KeyRevoked { .. }
        | AuditEvent::Person(
            PersonEvent::Set { .. } | PersonEvent::KeyEnrolled { .. } | PersonEvent::KeyRevoked { .. },
        )
        | AuditEvent::OAuth(OAuthEvent::Connected { .. } | OAuthEvent::Ended { .. }) => true,
        AuditEvent::Person(
            PersonEvent::LinkMade { .. } | PersonEvent::SignedIn { .. } | PersonEvent::SignedOut { .. },
        )
        | AuditEvent::OAuth(
            OAuthEvent::Issued { .. }
            | OAuthEvent::Refreshed { .. }
            | OAuthEvent::AccessGivenBack { .. }
            | OAuthEvent::ConsentDenied { .. }
            | OAuthEvent::ClientEnded { .. }
            | OAuthEvent::Unproven { .. },
        )
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
        | AuditEvent::Edited { .. }
        | AuditEvent::YesCounted { .. }
        | AuditEvent::FailedOver { .. }
        | AuditEvent::Refused { .. } => false,
    }
}

fn entry(sequence: u64, body: &str) -> Result<AuditEntry, LedgerError> {
    serde_json::from_str(body).map_err(|_| unsound(sequence))
}

fn unsound(sequence: u64) -> LedgerError {
    LedgerError::Damaged(format!("audit row {sequence} does not fit, so no row is taken out"))
}

/// How many rows are read together.
const PAGE: u32 = 1000;
/// How far the beginning goes on at most in one step: the transaction that does it holds up everybody.
const AT_ONCE: u64 = 50_000;
/// How many rows are taken out in one transaction.
const DROPPED: u32 = 5000;
