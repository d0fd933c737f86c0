//! The one writer of a process, with group commit.
//!
//! INVARIANT: nobody hears of a change before the commit that holds it is durable. All that wait
//! share one commit; each has a savepoint of its own, so that one that fails spoils no other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};
use tokio::sync::mpsc;
use yesgate_core::audit::{AuditEntry, AuditEvent, chain};
use yesgate_core::class::Class;
use yesgate_core::clock::Clock;
use yesgate_core::intent::{DoneKind, Intent, SlotKey, State};
use yesgate_core::json::CanonicalJson;

use super::ReadJob;
use super::fault::Fault;
use super::rows::{self, Head, Loaded};
use super::seal::Seal;
use super::{budgets, grants, keys, pace, people, queries, regime, tally};
use crate::change::{Change, Found, Target};
use crate::changes::Bell;
use crate::error::LedgerError;
use crate::purge;
use crate::told::Told;

/// What the writer's queue holds.
pub(crate) enum Job {
    /// A change.
    Change(Box<dyn Change>),
    /// A look-up, where there is no other connection to do it.
    Read(ReadJob),
}

/// The one writer of a process.
pub(super) struct Writer {
    connection: Connection,
    seal: Arc<Seal>,
    clock: Arc<dyn Clock>,
    bell: Arc<Bell>,
    /// Set once the disk failed: from then on nothing is written, for a second try could report a
    /// success that is none.
    broken: Option<LedgerError>,
}

impl Writer {
    pub(super) const fn new(
        connection: Connection,
        seal: Arc<Seal>,
        clock: Arc<dyn Clock>,
        bell: Arc<Bell>,
    ) -> Self {
        Self { connection, seal, clock, bell, broken: None }
    }

    /// Works until nobody can send any more.
    pub(super) fn serve(mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let mut changes = Vec::new();
            let mut reads = Vec::new();
            let mut next = Some(first);
            while let Some(job) = next {
                match job {
                    Job::Change(change) => changes.push(change),
                    Job::Read(read) => reads.push(read),
                }
                next = if changes.len() < BATCH { queue.try_recv().ok() } else { None };
            }
            if !changes.is_empty() {
                self.carry_out(changes);
            }
            for read in reads {
                read(&self.connection);
            }
        }
        super::connection::close(self.connection);
    }

    /// Carries out a batch, and tells everybody what became of it.
    fn carry_out(&mut self, mut changes: Vec<Box<dyn Change>>) {
        let committed = match &self.broken {
            Some(error) => Err(error.clone()),
            None => self.transact(&mut changes).map_err(|fault| self.give_up(fault)),
        };
        match committed {
            Ok(outcomes) => {
                for (change, outcome) in changes.into_iter().zip(outcomes) {
                    change.settle(outcome);
                }
            }
            Err(error) => {
                tracing::error!(%error, changes = changes.len(), "nothing was written to the ledger");
                for change in changes {
                    change.settle(Err(error.clone()));
                }
            }
        }
    }

    /// Carries out a batch in one transaction; after that its outcomes are final.
    fn transact(&self, changes: &mut [Box<dyn Change>]) -> Result<Vec<Result<(), LedgerError>>, Fault> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let before = Head::load(&self.connection)?;
        let now = self.now(&before)?;
        let (connection, seal) = (&self.connection, &*self.seal);
        let mut batch = Batch { connection, seal, now, head: before, touched: Touched::No };
        let outcomes: Vec<_> =
            changes.iter_mut().map(|change| batch.try_one(change.as_mut())).collect::<Result<_, Fault>>()?;
        let Batch { mut head, touched, .. } = batch;
        // Whoever looked at an intent may have told somebody "too late": that stays true.
        if touched == Touched::Yes {
            head.time = now;
        }
        if head != before {
            head.store(&self.connection)?;
        }
        // Some failures end the whole transaction; what came after them would stand alone.
        if self.connection.is_autocommit() {
            return Err(LedgerError::Store("the transaction ended early".to_owned()).into());
        }
        self.connection.execute_batch("COMMIT")?;
        self.bell.ring_for(head.sequence);
        Ok(outcomes)
    }

    /// The ledger's time: the clock's, but never before a time that was written down.
    fn now(&self, head: &Head) -> Result<Timestamp, LedgerError> {
        let now = self.clock.now();
        if head.time.duration_since(now) > MOST_BACK {
            return Err(LedgerError::ClockWentBack { now, seen: head.time });
        }
        Ok(now.max(head.time))
    }

    /// Takes back whatever a failed batch left.
    fn give_up(&mut self, fault: Fault) -> LedgerError {
        let error = LedgerError::from(fault);
        if let LedgerError::Disk(_) = error {
            self.broken = Some(error.clone());
        }
        if !self.connection.is_autocommit()
            && let Err(problem) = self.connection.execute_batch("ROLLBACK")
        {
            self.broken = Some(LedgerError::Disk(problem.to_string()));
        }
        error
    }
}

/// A transaction under way.
struct Batch<'a> {
    connection: &'a Connection,
    seal: &'a Seal,
    now: Timestamp,
    head: Head,
    touched: Touched,
}

/// Whether any intent was looked at or any row written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Touched {
    Yes,
    No,
}

impl Batch<'_> {
    /// Carries out one change, whole or not at all. The outer error: the batch is lost.
    fn try_one(&mut self, change: &mut dyn Change) -> Result<Result<(), LedgerError>, Fault> {
        if change.is_abandoned() {
            return Ok(Err(LedgerError::Closed));
        }
        self.connection.execute_batch("SAVEPOINT change")?;
        let head = self.head;
        let outcome = self.one(change);
        if outcome.is_err() {
            self.head = head;
            if self.connection.is_autocommit() {
                return outcome.map(Ok);
            }
            self.connection.execute_batch("ROLLBACK TO change")?;
        }
        self.connection.execute_batch("RELEASE change")?;
        match outcome.map_err(LedgerError::from) {
            // The disk fails for everybody.
            Err(error @ LedgerError::Disk(_)) => Err(error.into()),
            outcome => Ok(outcome),
        }
    }

    fn one(&mut self, change: &mut dyn Change) -> Result<(), Fault> {
        let target = change.target().clone();
        let mut loaded = rows::load(self.connection, self.seal, &target, self.now)?;
        budgets::fill(self.connection, &target, &mut loaded, self.now)?;
        if !loaded.is_empty() {
            self.touched = Touched::Yes;
        }
        let found = self.found(&target, &loaded)?;
        let now = self.now;
        let effects =
            catch_unwind(AssertUnwindSafe(|| change.apply(found, now))).map_err(|_| LedgerError::Panicked)?;
        for intent in effects.intents {
            let before = loaded.iter().find(|loaded| loaded.intent.id() == intent.id());
            self.store(intent, before, &target)?;
        }
        self.purge(&effects.purged, &loaded, &effects.events)?;
        for write in effects.writes {
            keys::write(self.connection, self.seal, write, now)?;
        }
        for event in effects.events {
            self.append(&AuditEntry { at: now, intent: None, event })?;
        }
        Ok(())
    }

    /// What a change is given: the intents that were loaded, and what else its target names.
    fn found(&self, target: &Target, loaded: &[Loaded]) -> Result<Found, Fault> {
        let intents = loaded.iter().map(|loaded| loaded.intent.clone()).collect();
        let found = Found { intents, ..Found::default() };
        match target {
            Target::Server(server, _) => {
                let pins = queries::pins(self.connection, server)?;
                Ok(Found { pins, grants: grants::of_server(self.connection, self.seal, server)?, ..found })
            }
            Target::Keys => Ok(Found { keys: keys::all(self.connection)?, ..found }),
            Target::Grants => Ok(Found { grants: grants::all(self.connection, self.seal)?, ..found }),
            Target::Slot(slot, windows) => {
                let sums = budgets::sums(self.connection, windows, self.now, None)?;
                Ok(Found { sums, grants: grants::of_slot(self.connection, self.seal, *slot)?, ..found })
            }
            Target::Asking(slot, caller, pace, windows) => {
                let sums = budgets::sums(self.connection, windows, self.now, None)?;
                let recent = pace::recent(self.connection, caller, pace, self.now)?;
                Ok(Found {
                    sums,
                    grants: grants::of_slot(self.connection, self.seal, *slot)?,
                    recent,
                    ..found
                })
            }
            Target::People => {
                let sessions = people::sessions(self.connection)?;
                let credentials = people::credentials(self.connection)?;
                Ok(Found { people: people::people(self.connection)?, sessions, credentials, ..found })
            }
            Target::Link(secret) => Ok(Found { link: people::link(self.connection, secret)?, ..found }),
            Target::Nothing
            | Target::Intent(_)
            | Target::Token(_)
            | Target::Due
            | Target::Over(_)
            | Target::Open
            | Target::RunningOf(_) => Ok(found),
        }
    }

    /// Stores an intent together with the rows that account for its change; one that did not
    /// change is left alone.
    fn store(&mut self, mut intent: Intent, before: Option<&Loaded>, target: &Target) -> Result<(), Fault> {
        let entries = intent.take_entries();
        if entries.is_empty() && before.is_some_and(|before| before.intent == intent) {
            return Ok(());
        }
        if entries.is_empty() || !accounts_for(&entries, before, &intent) || !belongs(&intent, before, target)
        {
            return Err(LedgerError::Unexplained(intent.id().clone()).into());
        }
        let begins = before
            .is_none_or(|before| intent.state() == State::Running && before.intent.state() != State::Running);
        if begins {
            self.refuse_if_held_back(&intent)?;
        }
        match before {
            Some(before) => rows::update(self.connection, self.seal, before, &intent, self.now)?,
            None => rows::insert(self.connection, self.seal, &intent, self.now)?,
        }
        pace::note(self.connection, before.map(|before| &before.intent), &intent, self.now)?;
        tally::note(self.connection, before.map(|before| &before.intent), &intent, self.now)?;
        entries.iter().try_for_each(|entry| self.append(entry))
    }

    /// Stores intents without their contents: as the core purges them, and with rows that count all of them, or not
    /// at all.
    fn purge(&self, purged: &[Intent], loaded: &[Loaded], events: &[AuditEvent]) -> Result<(), Fault> {
        let told: u64 = events.iter().map(purge::counted_by).sum();
        if u64::try_from(purged.len()) != Ok(told) {
            return Err(LedgerError::Store("its audit rows do not account for a purge".to_owned()).into());
        }
        for intent in purged {
            let before = loaded.iter().find(|loaded| loaded.intent.id() == intent.id());
            let before = before.filter(|before| before.intent.purged(self.now).as_ref() == Some(intent));
            let before = before.ok_or_else(|| LedgerError::Unexplained(intent.id().clone()))?;
            rows::update(self.connection, self.seal, before, intent, self.now)?;
        }
        Ok(())
    }

    /// Whatever was decided before, nothing of a frozen caller is asked or let go, and nothing at all once
    /// everything is stopped.
    fn refuse_if_held_back(&self, intent: &Intent) -> Result<(), Fault> {
        if regime::is_held_back(self.connection, &intent.question().binding.caller)? {
            return Err(LedgerError::HeldBack.into());
        }
        Ok(())
    }

    /// Writes the next row of the audit trail.
    fn append(&mut self, entry: &AuditEntry) -> Result<(), Fault> {
        let unwritable = || LedgerError::Store("an audit row cannot be written down".to_owned());
        let value = serde_json::to_value(entry).map_err(|_| unwritable())?;
        let body = CanonicalJson::of(&value).map_err(|_| unwritable())?;
        let event = value.get("event").and_then(serde_json::Value::as_str);
        let sequence = self.head.sequence.checked_add(1).ok_or_else(unwritable)?;
        let hash = chain(&self.head.hash, sequence, body.as_str());
        self.connection
            .prepare_cached(
                "INSERT INTO audit (sequence, intent, event, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                rows::stored(sequence),
                entry.intent.as_ref().map(|id| id.as_str()),
                event,
                body.as_str(),
                hash.as_bytes()
            ])?;
        self.head.sequence = sequence;
        self.head.hash = hash;
        self.touched = Touched::Yes;
        self.keep_what_it_tells(entry)
    }

    /// Keeps what a row itself determines: there is no pin, no first use, no revocation and no counted amount
    /// without the row of it.
    fn keep_what_it_tells(&self, entry: &AuditEntry) -> Result<(), Fault> {
        match &entry.event {
            AuditEvent::FirstUse { server } => {
                self.connection
                    .prepare_cached("INSERT INTO server_in_use (server) VALUES (?1)")?
                    .execute([server.as_str()])?;
                Ok(())
            }
            AuditEvent::Pinned { server, tool, definition, class, .. } => {
                let class = class.map(Class::as_str);
                self.connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO pin (server, tool, definition, class) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![server.as_str(), tool.as_str(), definition.0.as_bytes(), class])?;
                Ok(())
            }
            AuditEvent::KeyRevoked { id, .. } => keys::revoke(self.connection, id, self.now),
            AuditEvent::GrantUsed { grant } => grants::use_once(self.connection, grant),
            AuditEvent::GrantRevoked { grant, .. } => grants::revoke(self.connection, grant, self.now),
            AuditEvent::ModeSet { .. }
            | AuditEvent::Frozen { .. }
            | AuditEvent::Thawed { .. }
            | AuditEvent::Stopped { .. }
            | AuditEvent::WentOn { .. } => {
                if let AuditEvent::Thawed { caller, .. } = &entry.event {
                    pace::lift(self.connection, caller, self.now)?;
                }
                match regime::told_by(&entry.event) {
                    Some((key, words)) => regime::keep(self.connection, &key, words.as_deref()),
                    None => Ok(()),
                }
            }
            AuditEvent::Approved { counted: Some(counted), .. } => match &entry.intent {
                Some(id) => budgets::count(self.connection, id, counted, entry.at),
                None => Ok(()),
            },
            AuditEvent::Finished { outcome } if outcome != DoneKind::NotSent.as_str() => Ok(()),
            // It did not run, and never will.
            AuditEvent::Finished { .. }
            | AuditEvent::Resolved { ran: false, .. }
            | AuditEvent::Denied { .. }
            | AuditEvent::Expired
            | AuditEvent::Superseded { .. }
            | AuditEvent::Voided { .. }
            | AuditEvent::Cancelled { .. } => match &entry.intent {
                Some(id) => budgets::give_back(self.connection, id),
                None => Ok(()),
            },
            // The key was stored with its hash, and the grant with its terms, which the rows do not have.
            AuditEvent::KeyAdded { .. }
            | AuditEvent::Person(_)
            | AuditEvent::Purged { .. }
            | AuditEvent::Edited { .. }
            | AuditEvent::YesCounted { .. }
            | AuditEvent::Granted { .. }
            | AuditEvent::Opened { .. }
            | AuditEvent::WouldAsk { .. }
            | AuditEvent::WouldRefuse { .. }
            | AuditEvent::TokenIssued
            | AuditEvent::Approved { counted: None, .. }
            | AuditEvent::Responded { .. }
            | AuditEvent::Redeemed { .. }
            | AuditEvent::Lost { .. }
            | AuditEvent::Resolved { ran: true, .. }
            | AuditEvent::CallerLeft
            | AuditEvent::HandedOver
            | AuditEvent::LateAnswer { .. }
            | AuditEvent::WrongText { .. }
            | AuditEvent::Refused { .. } => Ok(()),
        }
    }
}

/// Whether the rows tell how the intent came to be what it is now.
fn accounts_for(entries: &[AuditEntry], before: Option<&Loaded>, intent: &Intent) -> bool {
    let mut told = before.map(|before| Told::of(&before.intent));
    for entry in entries {
        if entry.intent.as_ref() != Some(intent.id()) {
            return false;
        }
        match Told::after(told.as_ref(), &entry.event) {
            Ok(next) => told = Some(next),
            Err(_) => return false,
        }
    }
    told == Some(Told::of(intent))
}

/// Whether the intent is one that the change may touch: one that was loaded and is still about the
/// same question, or a new one of that very slot.
fn belongs(intent: &Intent, before: Option<&Loaded>, target: &Target) -> bool {
    let binding = &intent.question().binding;
    match (before, target) {
        (Some(before), _) => before.intent.question() == intent.question(),
        (None, Target::Slot(slot, _) | Target::Asking(slot, ..)) => {
            SlotKey::of(binding) == *slot && binding.digest() == intent.digest()
        }
        (
            None,
            Target::Nothing
            | Target::Intent(_)
            | Target::Token(_)
            | Target::Due
            | Target::Over(_)
            | Target::Open
            | Target::RunningOf(_)
            | Target::Server(..)
            | Target::Keys
            | Target::Grants
            | Target::People
            | Target::Link(_),
        ) => false,
    }
}

/// How many changes share a commit at most.
const BATCH: usize = 128;
/// How far a clock may be behind the ledger: as much as it is set back in daily life.
const MOST_BACK: SignedDuration = SignedDuration::from_secs(5);
