//! What the trail makes of questions, held against those that are stored.
//!
//! INVARIANT: a question is held in memory from the row that opens it to the page of rows in which it is settled. After
//! that nothing can come of it any more, so it is compared there and then, and only that it was opened is remembered: some
//! bytes each. What a late row says of it is held against what is stored. Of what is held, only what rows tell is there:
//! the stored questions are read a few at a time.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher as _;

use jiff::Timestamp;
use yesgate_core::audit::{AuditEntry, AuditEvent};
use yesgate_core::digest::Digest;
use yesgate_core::id::{BootId, BudgetName, IntentId};
use yesgate_core::intent::Intent;

use super::super::lookup::each_named;
use super::super::rows::{self, Loaded};
use super::super::{beginning, budgets};
use crate::engine::Sql;
use crate::error::LedgerError;
use crate::report::{Fault, VerifyReport};
use crate::seal::Seal;
use crate::spending::Spending;
use crate::told::Told;

/// What the trail makes of questions.
#[derive(Default)]
pub(super) struct Questions {
    /// Those that something may come of, and those of the page that is being read.
    held: BTreeMap<IntentId, Box<Held>>,
    /// The processes that ran them.
    boots: BTreeSet<BootId>,
    /// Those of the page that is being read that are settled by it.
    settled: BTreeSet<IntentId>,
    opened: Opened,
    /// What does not fit, by the place of the question among all.
    faults: Vec<(i64, Fault)>,
    missing: BTreeSet<IntentId>,
    spends: BTreeSet<IntentId>,
}

/// A question that is held in memory.
struct Held {
    told: Told,
    counts: Counts,
}

/// Since when a question counts in budgets.
#[derive(Clone, Copy)]
enum Counts {
    /// It does not.
    Not,
    /// Since this row's time.
    Since(Timestamp),
    /// That was compared already.
    Compared,
}

/// Which questions were opened: a keyed hash of each id, under a key that nobody knows before.
#[derive(Default)]
struct Opened {
    key: RandomState,
    hashes: HashSet<u64>,
}

impl Opened {
    fn has(&self, id: &str) -> bool {
        self.hashes.contains(&self.key.hash_one(id))
    }

    fn add(&mut self, id: &str) {
        self.hashes.insert(self.key.hash_one(id));
    }
}

/// A row says what cannot have happened.
pub(super) struct Impossible;

impl Questions {
    /// Brings back those that were settled before, and that the rows of a page tell more about.
    pub(super) fn recall<'a>(
        &mut self,
        connection: &dyn Sql,
        seal: &Seal,
        named: impl Iterator<Item = &'a IntentId>,
    ) -> Result<(), LedgerError> {
        let is_late = |id: &&IntentId| !self.held.contains_key(*id) && self.opened.has(id.as_str());
        let late: BTreeSet<&str> = named.filter(is_late).map(IntentId::as_str).collect();
        for found in stored(connection, seal, late)?.into_values() {
            // One that is not settled was set back behind our back, which was found when it was compared.
            if let Some(Loaded { intent, .. }) = found.loaded
                && intent.state().is_settled()
            {
                let held = Held { told: Told::of(&intent), counts: Counts::Compared };
                self.settled.insert(intent.id().clone());
                self.held.insert(intent.id().clone(), Box::new(held));
            }
        }
        Ok(())
    }

    /// Takes those whose rows were taken out of the ledger as they were then, and compares them.
    pub(super) fn begin_with_past(&mut self, connection: &dyn Sql, seal: &Seal) -> Result<(), LedgerError> {
        let mut after = String::new();
        loop {
            let page = beginning::past_page(connection, &after, beginning::PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            after.clone_from(&last.intent);
            // Those that were not settled have rows that say what they were.
            let settled: Vec<(&str, Digest)> =
                page.iter().filter_map(|past| Some((past.intent.as_str(), past.told?))).collect();
            let mut found = stored(connection, seal, settled.iter().map(|(id, _)| *id))?;
            let spends = spends(connection, settled.iter().map(|(id, _)| *id))?;
            for (id, told) in settled {
                self.opened.add(id);
                let Ok(parsed) = id.parse::<IntentId>() else { continue };
                match found.remove(id) {
                    None => drop(self.missing.insert(parsed)),
                    Some(Found { number, loaded: None }) => {
                        self.faults.push((number, Fault::DamagedIntent { id: id.to_owned() }));
                    }
                    Some(Found { number, loaded: Some(Loaded { intent, .. }) }) => {
                        let counted = spends.get(&parsed).into_iter().flat_map(BTreeMap::values);
                        if Told::of(&intent).digest(counted) != told {
                            self.faults.push((number, differs_from_past(&intent)));
                        }
                    }
                }
            }
            self.faults.truncate(VerifyReport::MOST_FAULTS);
        }
    }

    /// Goes on by a row of a question.
    pub(super) fn follow(&mut self, id: IntentId, entry: &AuditEntry) -> Result<(), Impossible> {
        let before = self.held.get(&id);
        if before.is_none() && self.opened.has(id.as_str()) {
            // It was settled, and is gone or set back: that was found when it was compared. It cannot begin again.
            return if let AuditEvent::Opened { .. } = entry.event { Err(Impossible) } else { Ok(()) };
        }
        let mut told = Told::after(before.map(|held| &held.told), &entry.event).map_err(|_| Impossible)?;
        let counts = match (before.map_or(Counts::Not, |held| held.counts), told.counted()) {
            (Counts::Compared, _) => Counts::Compared,
            (Counts::Not | Counts::Since(_), None) => Counts::Not,
            (Counts::Not, Some(_)) => Counts::Since(entry.at),
            (since @ Counts::Since(_), Some(_)) => since,
        };
        self.opened.add(id.as_str());
        if told.state().is_settled() {
            self.settled.insert(id.clone());
        }
        told.share_boot(&mut self.boots);
        self.held.insert(id, Box::new(Held { told, counts }));
        Ok(())
    }

    /// Compares those that are settled, and lets them go.
    pub(super) fn let_go(&mut self, connection: &dyn Sql, seal: &Seal) -> Result<(), LedgerError> {
        let settled: Vec<(IntentId, Box<Held>)> =
            std::mem::take(&mut self.settled).iter().filter_map(|id| self.held.remove_entry(id)).collect();
        self.compare(connection, seal, settled)
    }

    /// Compares those that are left, and looks for those that the trail knows nothing of.
    pub(super) fn finish(
        mut self,
        connection: &dyn Sql,
        seal: &Seal,
        purged: &BTreeMap<Timestamp, u64>,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        let held = std::mem::take(&mut self.held);
        self.compare(connection, seal, held)?;
        let counted = self.count(connection)?;
        report.intents = counted.all;
        for (id, found) in stored(connection, seal, counted.stray.iter().map(String::as_str))? {
            let fault = match found.loaded {
                Some(Loaded { intent, .. }) => differs(&intent, None),
                None => Fault::DamagedIntent { id },
            };
            self.faults.push((found.number, fault));
        }
        self.faults.sort_by_key(|(number, _)| *number);
        self.faults.into_iter().for_each(|(_, fault)| report.find(fault));
        if counted.purged != *purged {
            report.find(Fault::PurgeDiffers);
        }
        self.missing.into_iter().for_each(|id| report.find(Fault::MissingIntent { id }));
        self.spends.into_iter().for_each(|id| report.find(Fault::SpendDiffers { id }));
        Ok(())
    }

    /// Holds questions against those that are stored, and what counts for them against what is counted.
    fn compare(
        &mut self,
        connection: &dyn Sql,
        seal: &Seal,
        held: impl IntoIterator<Item = (IntentId, Box<Held>)>,
    ) -> Result<(), LedgerError> {
        let mut held = held.into_iter().peekable();
        while held.peek().is_some() {
            let some: Vec<(IntentId, Box<Held>)> = held.by_ref().take(AT_ONCE).collect();
            self.compare_some(connection, seal, &some)?;
        }
        Ok(())
    }

    fn compare_some(
        &mut self,
        connection: &dyn Sql,
        seal: &Seal,
        held: &[(IntentId, Box<Held>)],
    ) -> Result<(), LedgerError> {
        let ids = || held.iter().map(|(id, _)| id.as_str());
        let (mut found, spends) = (stored(connection, seal, ids())?, spends(connection, ids())?);
        for (id, held) in held {
            let Held { told, counts } = &**held;
            match found.remove(id.as_str()) {
                None => drop(self.missing.insert(id.clone())),
                Some(Found { number, loaded: None }) => {
                    self.faults.push((number, Fault::DamagedIntent { id: id.to_string() }));
                }
                Some(Found { number, loaded: Some(Loaded { intent, .. }) }) => {
                    if *told != Told::of(&intent) {
                        self.faults.push((number, differs(&intent, Some(told))));
                    }
                }
            }
            let due = match (counts, told.counted()) {
                (Counts::Compared, _) => continue,
                (Counts::Since(at), Some(counted)) => Spending::told(id, counted, *at),
                (Counts::Since(_) | Counts::Not, _) => Vec::new(),
            };
            let due: BTreeMap<BudgetName, Spending> =
                due.into_iter().map(|spend| (spend.budget.clone(), spend)).collect();
            if spends.get(id).unwrap_or(&BTreeMap::new()) != &due {
                self.spends.insert(id.clone());
            }
        }
        self.faults.truncate(VerifyReport::MOST_FAULTS);
        Ok(())
    }

    /// Counts what is stored, and names some of what the trail knows nothing of.
    fn count(&mut self, connection: &dyn Sql) -> Result<Counted, LedgerError> {
        let mut counted = Counted::default();
        connection.each("SELECT id, purged_at FROM intent ORDER BY number", &[], &mut |row| {
            counted.all += 1;
            let id: String = row.get(0).unwrap_or_default();
            if !self.opened.has(&id) && counted.stray.len() < VerifyReport::MOST_FAULTS {
                counted.stray.push(id);
            }
            let purged: Option<i64> = row.get(1).unwrap_or_default();
            if let Some(at) = purged.and_then(|at| Timestamp::from_nanosecond(i128::from(at)).ok()) {
                *counted.purged.entry(at).or_default() += 1;
            }
            Ok(())
        })?;
        connection.each("SELECT intent FROM spend", &[], &mut |row| {
            let id: String = row.get(0).unwrap_or_default();
            if let Ok(id) = id.parse::<IntentId>()
                && !self.opened.has(id.as_str())
                && self.spends.len() < VerifyReport::MOST_FAULTS
            {
                self.spends.insert(id);
            }
            Ok(())
        })?;
        Ok(counted)
    }
}

/// What is stored of questions, in all.
#[derive(Default)]
struct Counted {
    all: u64,
    /// Some of those that nobody opened.
    stray: Vec<String>,
    purged: BTreeMap<Timestamp, u64>,
}

/// A question that is stored.
struct Found {
    /// Its place among all.
    number: i64,
    /// `None`: it cannot be read, or its parts do not fit together.
    loaded: Option<Loaded>,
}

fn stored<'a>(
    connection: &dyn Sql,
    seal: &Seal,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<HashMap<String, Found>, LedgerError> {
    let mut found = HashMap::new();
    each_named(connection, rows::SELECT, "id", ids, &mut |row| {
        let number = row.get(rows::NUMBER).unwrap_or_default();
        found.insert(row.get(rows::ID)?, Found { number, loaded: rows::read(row, seal).ok() });
        Ok(())
    })?;
    Ok(found)
}

/// What is counted for some questions.
fn spends<'a>(
    connection: &dyn Sql,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeMap<IntentId, BTreeMap<BudgetName, Spending>>, LedgerError> {
    let mut spends: BTreeMap<IntentId, BTreeMap<BudgetName, Spending>> = BTreeMap::new();
    each_named(connection, budgets::SELECT, "intent", ids, &mut |row| {
        let spend = budgets::read(row)?;
        spends.entry(spend.intent.clone()).or_default().insert(spend.budget.clone(), spend);
        Ok(())
    })?;
    Ok(spends)
}

/// What is known of one whose rows were taken out is that it was settled.
fn differs_from_past(intent: &Intent) -> Fault {
    let (id, stored) = (intent.id().clone(), intent.state().as_str());
    let audited = if intent.state().is_settled() { stored } else { "settled" };
    Fault::IntentDiffers { id, stored, audited }
}

fn differs(intent: &Intent, told: Option<&Told>) -> Fault {
    Fault::IntentDiffers {
        id: intent.id().clone(),
        stored: intent.state().as_str(),
        audited: told.map_or("nothing", |told| told.state().as_str()),
    }
}

/// How many stored questions are in memory at a time.
const AT_ONCE: usize = 200;
