//! A transaction under way: what each change loads, does and leaves behind.
//!
//! INVARIANT: an intent is stored with the audit rows that account for its change, or not at all.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use jiff::Timestamp;
use yesgate_core::audit::{AuditEntry, AuditEvent, chain};
use yesgate_core::budget::Sums;
use yesgate_core::class::Class;
use yesgate_core::intent::{DoneKind, Intent, SlotKey, State};
use yesgate_core::json::CanonicalJson;

use super::notes::Notes;
use super::recall::Recall;
use super::regime::HeldBack;
use super::rows::{self, Loaded};
use super::{budgets, grants, keys, oauth, pace, people, queries, regime, tally};
use crate::brake::Brake;
use crate::change::{Change, Found, Run, Target};
use crate::engine::value::{Value, values};
use crate::engine::{Presence, Sql, Transactions};
use crate::error::LedgerError;
use crate::head::{self, Head};
use crate::life::Life;
use crate::purge;
use crate::seal::Seal;
use crate::told::Told;

/// A transaction under way.
pub(super) struct Batch<'a> {
    pub(super) engine: &'a dyn Transactions,
    pub(super) connection: &'a dyn Sql,
    /// The same connection, where writes can be noted in place of being sent.
    pub(super) notes: &'a Notes<'a>,
    pub(super) seal: &'a Seal,
    pub(super) recall: &'a RefCell<Recall<Intent>>,
    pub(super) life: &'a Life,
    pub(super) brake: &'a Brake,
    pub(super) now: Timestamp,
    pub(super) presence: Presence,
    pub(super) head: Head,
    pub(super) touched: Touched,
    /// What begins to run by this transaction.
    pub(super) begun: Vec<Run>,
    /// Of whom nothing may be let go, where that is known.
    pub(super) held_back: Option<HeldBack>,
}

/// Whether any intent was looked at or any row written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Touched {
    Yes,
    No,
}

/// What was looked up for a change.
pub(super) struct Looked {
    pub(super) loaded: Vec<Loaded>,
    pub(super) found: Found,
}

impl Batch<'_> {
    /// Carries out one change, whole or not at all. The outer error: the batch is lost.
    pub(super) fn alone(&mut self, change: &mut dyn Change) -> Result<Result<(), LedgerError>, LedgerError> {
        if change.is_abandoned() {
            return Ok(Err(LedgerError::Closed));
        }
        self.engine.begin_change()?;
        let (head, begun) = (self.head, self.begun.len());
        let target = change.target().clone();
        let so_far = self
            .ahead(&target)
            .and_then(|()| self.look(&target))
            .and_then(|looked| self.act(change, &target, looked));
        // It may have changed that.
        self.held_back = None;
        let outcome = self.engine.end_change(so_far)?;
        if outcome.is_err() {
            self.head = head;
            self.begun.truncate(begun);
        }
        Ok(outcome)
    }

    /// Says what a change is about to look up.
    pub(super) fn ahead(&self, target: &Target) -> Result<(), LedgerError> {
        rows::ahead(self.connection, target, self.now)?;
        regime::ahead(self.connection)
    }

    /// Looks up what a change needs.
    pub(super) fn look(&mut self, target: &Target) -> Result<Looked, LedgerError> {
        let mut loaded = rows::load(self.connection, self.seal, self.recall, target, self.now)?;
        if let Target::RunningOf(boot) = target
            && !self.life.is_over(self.connection, boot)?
        {
            // It has come back meanwhile.
            loaded.clear();
        }
        budgets::fill(self.connection, target, &mut loaded, self.now)?;
        if !loaded.is_empty() {
            self.touched = Touched::Yes;
        }
        let found = self.found(target, &loaded)?;
        Ok(Looked { loaded, found })
    }

    /// Lets a change do what it does, and writes it down.
    pub(super) fn act(
        &mut self,
        change: &mut dyn Change,
        target: &Target,
        Looked { loaded, found }: Looked,
    ) -> Result<(), LedgerError> {
        let (now, begun) = (self.now, self.begun.len());
        let effects =
            catch_unwind(AssertUnwindSafe(|| change.apply(found, now))).map_err(|_| LedgerError::Panicked)?;
        for intent in effects.intents {
            let before = loaded.iter().find(|loaded| loaded.intent.id() == intent.id());
            self.store(intent, before, target)?;
        }
        change.begins(self.begun.get(begun..).unwrap_or_default());
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
    fn found(&self, target: &Target, loaded: &[Loaded]) -> Result<Found, LedgerError> {
        let intents = loaded.iter().map(|loaded| loaded.intent.clone()).collect();
        let found = Found { intents, ..Found::default() };
        match target {
            Target::Server(server, _) => {
                let pins = queries::pins(self.connection, server)?;
                let askers = loaded.iter().filter_map(|loaded| loaded.intent.asked_by().boot.as_ref());
                let over = self.life.over(self.connection, askers);
                Ok(Found {
                    pins,
                    over,
                    grants: grants::of_server(self.connection, self.seal, server)?,
                    ..found
                })
            }
            Target::Keys => Ok(Found { keys: keys::all(self.connection)?, ..found }),
            Target::Grants | Target::Unsettled => {
                Ok(Found { grants: grants::all(self.connection, self.seal)?, ..found })
            }
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
            Target::OAuth(target) => oauth::found(self.connection, target, found, self.now),
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
    fn store(
        &mut self,
        mut intent: Intent,
        before: Option<&Loaded>,
        target: &Target,
    ) -> Result<(), LedgerError> {
        let entries = intent.take_entries();
        if entries.is_empty() && before.is_some_and(|before| before.intent == intent) {
            return Ok(());
        }
        if entries.is_empty() || !accounts_for(&entries, before, &intent) || !belongs(&intent, before, target)
        {
            return Err(LedgerError::Unexplained(intent.id().clone()));
        }
        let begins = before
            .is_none_or(|before| intent.state() == State::Running && before.intent.state() != State::Running);
        if begins {
            self.refuse_if_held_back(&intent)?;
            self.brake.refuse_if_set()?;
        }
        if begins && intent.state() == State::Running {
            self.refuse_if_unseen()?;
            self.begun.push((intent.id().clone(), intent.boot().cloned()));
        }
        let sealed = match before {
            Some(before) => rows::update(self.connection, self.seal, before, &intent, self.now)?,
            None => rows::insert(self.connection, self.seal, &intent, self.now)?,
        };
        pace::note(self.connection, before.map(|before| &before.intent), &intent, self.now)?;
        tally::note(self.connection, before.map(|before| &before.intent), &intent, self.now)?;
        // What is over is hardly looked at again.
        if !intent.state().is_settled() {
            // As it would be read: what was spent is looked up anew each time.
            let intent = intent.with_sums(Sums::default());
            let id = intent.id().as_str().to_owned();
            self.recall.borrow_mut().keep(&id, sealed, intent);
        }
        entries.iter().try_for_each(|entry| self.append(entry))
    }

    /// Stores intents without their contents: as the core purges them, and with rows that count all of them, or not
    /// at all.
    fn purge(&self, purged: &[Intent], loaded: &[Loaded], events: &[AuditEvent]) -> Result<(), LedgerError> {
        let told: u64 = events.iter().map(purge::counted_by).sum();
        if u64::try_from(purged.len()) != Ok(told) {
            return Err(LedgerError::Store("its audit rows do not account for a purge".to_owned()));
        }
        if !purged.is_empty() {
            self.recall.borrow_mut().forget();
        }
        for intent in purged {
            let before = loaded.iter().find(|loaded| loaded.intent.id() == intent.id());
            let before = before.filter(|before| before.intent.purged(self.now).as_ref() == Some(intent));
            let before = before.ok_or_else(|| LedgerError::Unexplained(intent.id().clone()))?;
            rows::update(self.connection, self.seal, before, intent, self.now)?;
        }
        Ok(())
    }

    /// Others would take what runs here for lost while they do not see that this process lives.
    const fn refuse_if_unseen(&self) -> Result<(), LedgerError> {
        match self.presence {
            Presence::Seen => Ok(()),
            Presence::Unseen => Err(LedgerError::Unseen),
        }
    }

    /// Whatever was decided before, nothing of a frozen caller is asked or let go, and nothing at all once
    /// everything is stopped.
    fn refuse_if_held_back(&mut self, intent: &Intent) -> Result<(), LedgerError> {
        let caller = &intent.question().binding.caller;
        let holds = match &self.held_back {
            Some(known) => known.holds(caller),
            None => self.held_back.insert(HeldBack::load(self.connection)?).holds(caller),
        };
        if holds { Err(LedgerError::HeldBack) } else { Ok(()) }
    }

    /// Writes the next row of the audit trail, and what it determines.
    fn append(&mut self, entry: &AuditEntry) -> Result<(), LedgerError> {
        self.touched = Touched::Yes;
        if let Some(entry) = self.notes.entry(entry) {
            let row = self.next_row(entry)?;
            self.connection.put(APPEND, &row)?;
        }
        self.keep_what_it_tells(entry)
    }

    /// The next row of the audit trail, which is its end from here on.
    pub(super) fn next_row(&mut self, entry: &AuditEntry) -> Result<Vec<Value<'static>>, LedgerError> {
        let unwritable = || LedgerError::Store("an audit row cannot be written down".to_owned());
        let value = serde_json::to_value(entry).map_err(|_| unwritable())?;
        let body = CanonicalJson::of(&value).map_err(|_| unwritable())?;
        let event = value.get("event").and_then(serde_json::Value::as_str);
        let sequence = self.head.sequence.checked_add(1).ok_or_else(unwritable)?;
        let hash = chain(&self.head.hash, sequence, body.as_str());
        self.head.sequence = sequence;
        self.head.hash = hash;
        Ok(vec![
            head::stored(sequence).into(),
            entry.intent.as_ref().map(|id| id.as_str().to_owned()).into(),
            event.map(str::to_owned).into(),
            body.as_str().to_owned().into(),
            hash.as_bytes().to_vec().into(),
        ])
    }

    /// Keeps what a row itself determines: there is no pin, no first use, no revocation and no counted amount
    /// without the row of it.
    fn keep_what_it_tells(&self, entry: &AuditEntry) -> Result<(), LedgerError> {
        match &entry.event {
            AuditEvent::FirstUse { server } => {
                self.connection
                    .put("INSERT INTO server_in_use (server) VALUES (?1)", values![server.as_str()])?;
                Ok(())
            }
            AuditEvent::Pinned { server, tool, definition, class, .. } => {
                let class = class.map(Class::as_str);
                self.connection.put(
                    "INSERT INTO pin (server, tool, definition, class) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (server, tool) DO UPDATE SET definition = excluded.definition, class = excluded.class", values![server.as_str(), tool.as_str(), definition.0.as_bytes(), class])?;
                Ok(())
            }
            AuditEvent::KeyRevoked { id, .. } => keys::revoke(self.connection, id, self.now),
            AuditEvent::OAuth(event) => oauth::keep(self.connection, event, self.now),
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
            | AuditEvent::Pruned { .. }
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
            | AuditEvent::FailedOver { .. }
            | AuditEvent::Refused { .. } => Ok(()),
        }
    }
}

/// Writes a row of the audit trail.
pub(super) const APPEND: &str =
    "INSERT INTO audit (sequence, intent, event, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)";

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
            | Target::Unsettled
            | Target::Server(..)
            | Target::Keys
            | Target::Grants
            | Target::People
            | Target::Link(_)
            | Target::OAuth(_),
        ) => false,
    }
}
