//! Several people must agree (X6): their yeses are counted one by one, and a no by anybody ends it.
//!
//! INVARIANT: each person counts once, and whoever the call is made for never does.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Answer, Approver, Intent, Surface};
use crate::assurance::Assurance;
use crate::audit::AuditEvent;
use crate::proof::Proof;
use crate::refusal::{Refusal, Why};
use crate::verdict::Quorum;

/// One yes of several.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct CountedYes {
    /// What tells this person from another.
    pub identity: String,
    /// Who, for people to read.
    pub by: String,
    /// How well a human was proven.
    pub assurance: Assurance,
    /// When.
    pub at: Timestamp,
    /// The signature behind it, where it was signed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<Proof>,
}

impl Intent {
    /// Whether a yes that this person gave on a page is what lets it run, or part of it.
    pub fn leans_on(&self, person: &str) -> bool {
        // Several people stand in one line; names have no blanks.
        let names = |by: &str| by.split(" and ").any(|one| one.split(' ').next() == Some(person));
        let decided = self.decision().filter(|decision| decision.answer == Answer::Approve);
        decided.is_some_and(|decision| decision.surface == Surface::Human && names(&decision.by))
            || self.yeses.iter().any(|yes| names(&yes.by))
    }

    /// Counts a yes where several are needed, and says whose it is once there are enough.
    pub(super) fn count_yes(&mut self, by: &Approver, now: Timestamp) -> Result<Approver, Refusal> {
        if self.question.quorum == Quorum::ONE {
            return Ok(by.clone());
        }
        let is_new = by.identity.as_ref().filter(|identity| {
            !self.is_made_for(by) && self.live_yeses(now).all(|yes| yes.identity != **identity)
        });
        let Some(identity) = is_new.cloned() else { return Err(self.quorum_pending(now)) };
        let Approver { name, assurance, .. } = by;
        let proof = by.proof.as_ref().map(|proven| proven.proof().clone());
        self.yeses.push(CountedYes { identity, by: name.clone(), assurance: *assurance, at: now, proof });
        let signed = by.signed();
        self.note(AuditEvent::YesCounted { by: name.clone(), assurance: *assurance, signed }, now);
        if !self.has_quorum(now) {
            return Err(self.quorum_pending(now));
        }
        let names: Vec<&str> = self.live_yeses(now).map(|yes| yes.by.as_str()).collect();
        let weakest = self.live_yeses(now).map(|yes| yes.assurance).min().unwrap_or(*assurance);
        // Each yes keeps its own proof; the decision of all has none.
        Ok(Approver { name: names.join(" and "), assurance: weakest, proof: None, ..by.clone() })
    }

    /// The yeses that count now: one that was signed counts as long as it says.
    pub(super) fn live_yeses(&self, now: Timestamp) -> impl Iterator<Item = &CountedYes> {
        self.yeses.iter().filter(move |yes| yes.proof.as_ref().is_none_or(|proof| now < proof.until))
    }

    /// How many people have said yes, each of them once.
    fn people(&self, now: Timestamp) -> usize {
        let requester = self.question.binding.caller.principal.as_str();
        let people: BTreeSet<&str> = self.live_yeses(now).map(|yes| yes.identity.as_str()).collect();
        people.into_iter().filter(|identity| *identity != requester).count()
    }

    /// Whether as many people said yes as must.
    pub(super) fn has_quorum(&self, now: Timestamp) -> bool {
        let need = self.question.quorum;
        need == Quorum::ONE || self.people(now) >= usize::from(need.people())
    }

    pub(super) fn quorum_pending(&self, now: Timestamp) -> Refusal {
        let have = u8::try_from(self.people(now)).unwrap_or(u8::MAX);
        self.refusal(Why::QuorumPending { have, need: self.question.quorum.people() })
    }

    /// The yeses so far, where several people must agree.
    pub fn yeses(&self) -> &[CountedYes] {
        &self.yeses
    }
}

#[cfg(test)]
mod tests;
