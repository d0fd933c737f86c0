//! Changes that have nothing to do with each other, carried out together: one look for all, and one statement for all
//! that write the same.
//!
//! INVARIANT: what comes of it is what would come of them one after the other. So a change goes along only if nothing
//! that it looks at is written by one before it; the first that is not so begins the next wave. If what they write
//! together is refused, each is written by itself, and one that fails spoils no other.

use std::collections::HashSet;

use yesgate_core::audit::AuditEntry;
use yesgate_core::caller::Caller;
use yesgate_core::intent::SlotKey;

use super::batch::{APPEND, Batch, Looked};
use super::notes::{Note, Noted, Reach};
use super::regime::HeldBack;
use super::rows::{self, Loaded};
use super::{pace, tally};
use crate::change::{Change, Run, Target};
use crate::engine::Expected;
use crate::engine::value::Value;
use crate::error::LedgerError;

type Outcome = Result<(), LedgerError>;
/// A change by its target, and what was looked up for it.
type Ready = (Target, Result<Looked, LedgerError>);

/// What a change of a wave is about to write, and what begins to run by it.
struct Written {
    place: usize,
    noted: Noted,
    begun: Vec<Run>,
}

impl Batch<'_> {
    /// Carries out the first of some changes, with as many of those after it as go along, and says what became of
    /// them. The outer error: the batch is lost.
    pub(super) fn some(&mut self, changes: &mut [Box<dyn Change>]) -> Result<Vec<Outcome>, LedgerError> {
        let looked = self.look_together(changes)?;
        match changes {
            [] => Ok(Vec::new()),
            [first, ..] if looked.len() < 2 => Ok(vec![self.alone(first.as_mut())?]),
            changes => self.act_together(changes, looked),
        }
    }

    /// Looks up what those that go along need. One that cannot be looked up fails alone.
    fn look_together(&mut self, changes: &[Box<dyn Change>]) -> Result<Vec<Ready>, LedgerError> {
        let targets: Vec<Target> = changes
            .iter()
            .take(self.engine.together())
            .map(|change| change.target().clone())
            .take_while(is_about_questions)
            .collect();
        if targets.len() < 2 {
            return Ok(Vec::new());
        }
        for target in &targets {
            self.ahead(target)?;
        }
        self.held_back = Some(HeldBack::load(self.connection)?);
        let mut ground = Ground::default();
        let mut together = Vec::new();
        for target in targets {
            let looked = match self.look(&target) {
                // The line and the disk fail for everybody.
                Err(error @ (LedgerError::Unreachable(_) | LedgerError::Disk(_))) => return Err(error),
                looked => looked,
            };
            if looked.as_ref().is_ok_and(|looked| !ground.takes(&target, &looked.loaded)) {
                break;
            }
            together.push((target, looked));
        }
        Ok(together)
    }

    /// Lets them do what they do, and writes it down together.
    fn act_together(
        &mut self,
        changes: &mut [Box<dyn Change>],
        looked: Vec<Ready>,
    ) -> Result<Vec<Outcome>, LedgerError> {
        let before = std::mem::take(&mut self.begun);
        let mut outcomes: Vec<Outcome> = Vec::with_capacity(looked.len());
        let mut written: Vec<Written> = Vec::new();
        for (change, (target, looked)) in changes.iter_mut().zip(looked) {
            if change.is_abandoned() {
                outcomes.push(Err(LedgerError::Closed));
                continue;
            }
            self.notes.begin();
            let outcome = looked.and_then(|looked| self.act(change.as_mut(), &target, looked));
            let (noted, begun) = (self.notes.take(), std::mem::take(&mut self.begun));
            let reach = noted.reach;
            if outcome.is_ok() {
                written.push(Written { place: outcomes.len(), noted, begun });
            }
            outcomes.push(outcome);
            if reach == Reach::Wide {
                self.held_back = None;
                break;
            }
        }
        self.begun = before;
        self.write_together(written, &mut outcomes)?;
        Ok(outcomes)
    }

    /// Writes what changes noted: all at once, or else each by itself.
    fn write_together(&mut self, written: Vec<Written>, outcomes: &mut [Outcome]) -> Result<(), LedgerError> {
        let head = self.head;
        self.engine.begin_change()?;
        let so_far = self.write(written.iter().map(|written| &written.noted));
        if self.engine.end_change(so_far)?.is_ok() {
            self.begun.extend(written.into_iter().flat_map(|written| written.begun));
            return Ok(());
        }
        self.head = head;
        for Written { place, noted, begun } in written {
            let head = self.head;
            self.engine.begin_change()?;
            let so_far = self.write([&noted].into_iter());
            let outcome = self.engine.end_change(so_far)?;
            match &outcome {
                Ok(()) => self.begun.extend(begun),
                Err(_) => self.head = head,
            }
            if let Some(place) = outcomes.get_mut(place) {
                *place = outcome;
            }
        }
        Ok(())
    }

    /// Writes what was noted, the same statements together. The rows of the audit trail come last: they name questions.
    fn write<'n>(&mut self, all: impl Iterator<Item = &'n Noted> + Clone) -> Result<(), LedgerError> {
        let mut kinds: Vec<(&str, Vec<&[Value<'static>]>, &Expected)> = Vec::new();
        for Note { sql, values, expected } in all.clone().flat_map(|noted| &noted.writes) {
            match kinds.iter_mut().find(|(kind, ..)| kind == sql) {
                Some((_, rows, _)) => rows.push(values),
                None => kinds.push((sql, vec![values], expected)),
            }
        }
        // Whatever names a question comes after it.
        kinds.sort_by_key(|(sql, ..)| *sql != rows::INSERT);
        for (sql, mut rows, expected) in kinds {
            if sql == tally::ADD {
                let sums = tally::add_up(&rows);
                self.connection.write_many(sql, &slices(&sums), expected)?;
                continue;
            }
            if sql == pace::LIFT {
                // All of them are of now, so those of one caller are one.
                let mut seen = HashSet::new();
                rows.retain(|row| seen.insert(*row));
            }
            self.connection.write_many(sql, &rows, expected)?;
        }
        let entries: Vec<&AuditEntry> = all.flat_map(|noted| &noted.entries).collect();
        let rows = entries.into_iter().map(|entry| self.next_row(entry)).collect::<Result<Vec<_>, _>>()?;
        self.connection.write_many(APPEND, &slices(&rows), &Expected::Any)
    }
}

fn slices<'r>(rows: &'r [Vec<Value<'static>>]) -> Vec<&'r [Value<'static>]> {
    rows.iter().map(Vec::as_slice).collect()
}

/// What the changes of a wave have to do with.
#[derive(Default)]
struct Ground {
    slots: HashSet<SlotKey>,
    /// Whose questions are changed or asked.
    callers: HashSet<Caller>,
    /// Whether somebody asks of whom only the slot is known.
    has_unnamed: bool,
}

impl Ground {
    /// Takes a change in, unless it has to do with one that is there already, or with money.
    fn takes(&mut self, target: &Target, loaded: &[Loaded]) -> bool {
        let questions = || loaded.iter().map(|loaded| loaded.intent.question());
        let mut slots: HashSet<SlotKey> =
            questions().map(|question| SlotKey::of(&question.binding)).collect();
        let (slot, looks_back) = asks(target);
        slots.extend(slot);
        let is_free = questions().all(|question| question.spend.is_none())
            && self.slots.is_disjoint(&slots)
            && looks_back.is_none_or(|caller| !self.has_unnamed && !self.callers.contains(caller));
        if is_free {
            self.slots.extend(slots);
            self.callers.extend(questions().map(|question| question.binding.caller.clone()));
            self.callers.extend(looks_back.cloned());
            self.has_unnamed |= slot.is_some() && looks_back.is_none();
        }
        is_free
    }
}

/// The slot that a change may put a question into, and the caller whose last questions it looks at.
fn asks(target: &Target) -> (Option<SlotKey>, Option<&Caller>) {
    match target {
        Target::Slot(slot, _) => (Some(*slot), None),
        Target::Asking(slot, caller, ..) => (Some(*slot), Some(caller)),
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
        | Target::OAuth(_) => (None, None),
    }
}

/// Whether a change is about single questions, and not about what is spent on them.
fn is_about_questions(target: &Target) -> bool {
    match target {
        Target::Intent(_) | Target::Token(_) => true,
        Target::Slot(_, windows) | Target::Asking(_, _, _, windows) => windows.is_empty(),
        Target::Nothing
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
        | Target::OAuth(_) => false,
    }
}
