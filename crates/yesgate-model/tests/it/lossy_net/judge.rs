//! Joins the server's own log with the ledger's trail.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use yesgate_core::audit::AuditEvent;
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::{DoneKind, State};

use super::cast::Received;
use super::node::Said;
use super::vault::Books;

/// What is left of a play.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct History {
    /// What the server received.
    pub(crate) received: Vec<Received>,
    /// Whose no was acknowledged.
    pub(crate) noes: Vec<IntentId>,
    /// What agents were told.
    pub(crate) said: Vec<Said>,
    /// What the ledger has.
    pub(crate) books: Books,
}

/// How much happened in plays that were in order.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Totals {
    pub(crate) received: usize,
    pub(crate) redeemed: usize,
    pub(crate) finished: usize,
    pub(crate) unknown: usize,
    pub(crate) denied: usize,
    pub(crate) refused: usize,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.redeemed += other.redeemed;
        self.finished += other.finished;
        self.unknown += other.unknown;
        self.denied += other.denied;
        self.refused += other.refused;
    }
}

impl History {
    /// Says what does not fit.
    pub(crate) fn judge(&self) -> Result<Totals, Vec<String>> {
        let mut problems = self.books.faults.clone();
        let mut approved = Vec::new();
        let mut redeemed: BTreeMap<IntentId, (jiff::Timestamp, BootId)> = BTreeMap::new();
        for row in &self.books.rows {
            let Some(id) = row.intent.clone() else { continue };
            if let AuditEvent::Approved { .. } = row.event {
                approved.push(id);
            } else if let AuditEvent::Redeemed { boot } = &row.event {
                if !approved.contains(&id) {
                    problems.push(format!("{id} was redeemed without a yes"));
                }
                if redeemed.insert(id.clone(), (row.at, boot.clone())).is_some() {
                    problems.push(format!("{id} was redeemed twice"));
                }
            }
        }
        let mut count: BTreeMap<&IntentId, usize> = BTreeMap::new();
        for call in &self.received {
            let id = &call.intent;
            *count.entry(id).or_default() += 1;
            match redeemed.get(id) {
                None => problems.push(format!("{id} reached the server and was not redeemed")),
                Some((at, _)) if *at > call.at => {
                    problems.push(format!("{id} reached the server before it was redeemed"))
                }
                Some((_, boot)) if *boot != call.boot => {
                    problems.push(format!("{id} was sent by another than redeemed it"));
                }
                Some(_) => {}
            }
            if self.noes.contains(id) {
                problems.push(format!("{id} reached the server although a no was acknowledged"));
            }
        }
        problems.extend(
            count
                .iter()
                .filter(|(_, times)| **times > 1)
                .map(|(id, times)| format!("{id} ran {times} times")),
        );
        for (id, state) in &self.books.states {
            if *state == State::Done(DoneKind::Ok) && !count.contains_key(id) {
                problems.push(format!("{id} is finished, and never reached the server"));
            }
            if *state == State::Running {
                problems.push(format!("{id} is left running"));
            }
        }
        let in_state = |wanted: State| self.books.states.iter().filter(|(_, state)| *state == wanted).count();
        let told = |wanted: Said| self.said.iter().filter(|said| **said == wanted).count();
        let found = Totals {
            received: self.received.len(),
            redeemed: redeemed.len(),
            finished: in_state(State::Done(DoneKind::Ok)),
            unknown: in_state(State::Unknown),
            denied: in_state(State::Denied) + in_state(State::Cancelled),
            refused: told(Said::Refused),
        };
        if problems.is_empty() { Ok(found) } else { Err(problems) }
    }
}
