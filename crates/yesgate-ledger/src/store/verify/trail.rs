//! The chain of rows, followed from the first to the last.

use std::collections::VecDeque;

use yesgate_core::audit::{AuditEntry, GENESIS, chain};
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::digest::Digest;
use yesgate_core::id::IntentId;

use super::super::beginning;
use super::questions::Questions;
use super::standing::Standing;
use crate::engine::Sql;
use crate::error::LedgerError;
use crate::prune::{Beginning, Carried, Rest};
use crate::report::{Fault, VerifyReport};
use crate::seal::Seal;

/// A row as it is stored.
pub(in crate::store) struct RawRow {
    pub(in crate::store) sequence: u64,
    pub(in crate::store) body: String,
    pub(in crate::store) hash: Digest,
    /// What stands beside the text, to be searched: the question and the event.
    pub(in crate::store) beside: Option<(Option<String>, String)>,
}

/// What the audit trail makes of everything, so far.
pub(super) struct Trail {
    last: u64,
    hash: Digest,
    questions: Questions,
    standing: Standing,
    /// Those that are still to come, the earliest first.
    checkpoints: VecDeque<Checkpoint>,
    /// Where rows come from elsewhere: the last one that was taken out of the ledger, which they must have.
    beginning: Option<(u64, Digest)>,
}

impl Trail {
    /// Begins where there is nothing yet.
    pub(super) fn new(mut checkpoints: Vec<Checkpoint>) -> Self {
        checkpoints.sort_by_key(|checkpoint| checkpoint.sequence);
        Self {
            last: 0,
            hash: GENESIS,
            questions: Questions::default(),
            standing: Standing::default(),
            checkpoints: checkpoints.into(),
            beginning: None,
        }
    }

    /// Says what the row must be after which the ledger's own trail begins.
    pub(super) const fn expect(&mut self, sequence: u64, hash: Digest) {
        self.beginning = Some((sequence, hash));
    }

    /// Begins where the ledger's own trail does, with what stands in the place of the rows before that.
    pub(super) fn begin_at(
        &mut self,
        connection: &dyn Sql,
        seal: &Seal,
        beginning: &Beginning,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        let Beginning { sequence, hash, .. } = beginning;
        (self.last, self.hash) = (*sequence, *hash);
        while let Some(checkpoint) = self.checkpoints.pop_front_if(|next| next.sequence <= *sequence) {
            match (checkpoint.sequence == *sequence, checkpoint.hash == *hash) {
                (true, true) => report.checkpoints += 1,
                (true, false) => report.find(Fault::Rewritten { sequence: *sequence }),
                (false, _) => report.unchecked += 1,
            }
        }
        for Carried { sequence, rest, body } in beginning::carried(connection)? {
            let row = RawRow { sequence, body, hash: GENESIS, beside: None };
            match (entry(&row), rest) {
                (Some(entry), Rest::Question) => self.follow(entry, sequence, report),
                (Some(entry), Rest::Standing) => self.follow_standing(entry, sequence, report),
                (None, _) => report.find(Fault::UnreadableRow { sequence }),
            }
        }
        self.questions.begin_with_past(connection, seal)
    }

    /// The row that was read last.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// Where it ends.
    pub(super) const fn end(&self) -> (u64, Digest) {
        (self.last, self.hash)
    }

    /// Goes on by some rows.
    pub(super) fn read(
        &mut self,
        connection: &dyn Sql,
        seal: &Seal,
        rows: Vec<RawRow>,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        let rows: Vec<(RawRow, Option<AuditEntry>)> = rows
            .into_iter()
            .map(|row| {
                let entry = entry(&row);
                (row, entry)
            })
            .collect();
        let named = rows.iter().filter_map(|(_, entry)| entry.as_ref()?.intent.as_ref());
        self.questions.recall(connection, seal, named)?;
        for (row, entry) in rows {
            self.link(&row, report);
            match entry {
                Some(entry) => self.follow(entry, row.sequence, report),
                None => report.find(Fault::UnreadableRow { sequence: row.sequence }),
            }
        }
        report.head = self.hash;
        self.questions.let_go(connection, seal)
    }

    /// Compares what the trail makes of everything with what is stored.
    pub(super) fn finish(
        self,
        connection: &dyn Sql,
        seal: &Seal,
        report: &mut VerifyReport,
    ) -> Result<(), LedgerError> {
        // The rows that were to prove the beginning do not reach it.
        if self.beginning.is_some() {
            report.find(Fault::BeginningDiffers);
        }
        for Checkpoint { sequence, .. } in self.checkpoints {
            report.find(Fault::CutOff { sequence });
        }
        self.questions.finish(connection, seal, &self.standing.purged, report)?;
        self.standing.compare(connection, seal, report)
    }

    /// Looks whether a row follows from the one before it, and is the one that was marked.
    fn link(&mut self, row: &RawRow, report: &mut VerifyReport) {
        let expected = self.last.saturating_add(1);
        if row.sequence != expected {
            report.find(Fault::Gap { expected, found: row.sequence });
        }
        if chain(&self.hash, row.sequence, &row.body) != row.hash {
            report.find(Fault::BrokenLink { sequence: row.sequence });
        }
        (self.last, self.hash) = (row.sequence, row.hash);
        report.rows += 1;
        if let Some((sequence, hash)) = self.beginning
            && sequence <= row.sequence
        {
            self.beginning = None;
            if (sequence, hash) != (row.sequence, row.hash) {
                report.find(Fault::BeginningDiffers);
            }
        }
        while let Some(checkpoint) = self.checkpoints.pop_front_if(|next| next.sequence <= row.sequence) {
            report.checkpoints += 1;
            if (checkpoint.sequence, checkpoint.hash) != (row.sequence, row.hash) {
                report.find(Fault::Rewritten { sequence: checkpoint.sequence });
            }
        }
    }

    fn follow(&mut self, entry: AuditEntry, sequence: u64, report: &mut VerifyReport) {
        let granted = self.standing.follow_grant(&entry);
        let followed = match entry.intent.clone() {
            Some(id) => self.questions.follow(id, &entry).ok(),
            None => self.standing.follow(entry),
        };
        for step in [granted, followed] {
            if step.is_none() {
                report.find(Fault::ImpossibleStep { sequence });
            }
        }
    }
}

impl Trail {
    /// Goes on by a row of which only that matters what people set up.
    fn follow_standing(&mut self, entry: AuditEntry, sequence: u64, report: &mut VerifyReport) {
        let granted = self.standing.follow_grant(&entry);
        let followed = if entry.intent.is_none() { self.standing.follow(entry) } else { Some(()) };
        if granted.and(followed).is_none() {
            report.find(Fault::ImpossibleStep { sequence });
        }
    }
}

/// Reads a row whose columns say the same as its text.
fn entry(row: &RawRow) -> Option<AuditEntry> {
    let value: serde_json::Value = serde_json::from_str(&row.body).ok()?;
    let event = value.get("event").and_then(serde_json::Value::as_str).map(str::to_owned);
    let entry: AuditEntry = serde_json::from_value(value).ok()?;
    let says = (entry.intent.as_ref().map(IntentId::to_string), event?);
    row.beside.as_ref().is_none_or(|beside| *beside == says).then_some(entry)
}
