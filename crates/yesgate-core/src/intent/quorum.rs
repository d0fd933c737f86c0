//! Several people must agree (X6): their yeses are counted one by one, and a no by anybody ends it.
//!
//! INVARIANT: each person counts once, and whoever the call is made for never does.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Approver, Intent};
use crate::assurance::Assurance;
use crate::audit::AuditEvent;
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
}

impl Intent {
    /// Counts a yes where several are needed, and says whose it is once there are enough.
    pub(super) fn count_yes(&mut self, by: &Approver, now: Timestamp) -> Result<Approver, Refusal> {
        if self.question.quorum == Quorum::ONE {
            return Ok(by.clone());
        }
        let is_new = by.identity.as_ref().filter(|identity| {
            **identity != self.question.binding.caller.principal.as_str()
                && self.yeses.iter().all(|yes| yes.identity != **identity)
        });
        let Some(identity) = is_new.cloned() else { return Err(self.quorum_pending()) };
        self.yeses.push(CountedYes { identity, by: by.name.clone(), assurance: by.assurance, at: now });
        self.note(AuditEvent::YesCounted { by: by.name.clone(), assurance: by.assurance }, now);
        if !self.has_quorum() {
            return Err(self.quorum_pending());
        }
        let names: Vec<&str> = self.yeses.iter().map(|yes| yes.by.as_str()).collect();
        let weakest = self.yeses.iter().map(|yes| yes.assurance).min().unwrap_or(by.assurance);
        Ok(Approver { name: names.join(" and "), assurance: weakest, ..by.clone() })
    }

    /// Whether as many people said yes as must.
    pub(super) fn has_quorum(&self) -> bool {
        let need = self.question.quorum;
        need == Quorum::ONE || self.yeses.len() >= usize::from(need.people())
    }

    pub(super) fn quorum_pending(&self) -> Refusal {
        let have = u8::try_from(self.yeses.len()).unwrap_or(u8::MAX);
        self.refusal(Why::QuorumPending { have, need: self.question.quorum.people() })
    }

    /// The yeses so far, where several people must agree.
    pub fn yeses(&self) -> &[CountedYes] {
        &self.yeses
    }
}

#[cfg(test)]
mod tests;
