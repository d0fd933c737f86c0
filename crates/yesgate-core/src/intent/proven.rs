//! Looking at the proof of a yes: when it is given, and again when it lets something run (X1).
//!
//! INVARIANT: nothing here believes what is stored beside the proof. What was signed is made anew from the question
//! itself, and the time that counts is the one that was signed; so a ledger that somebody edited yields no yes.

use jiff::Timestamp;

use super::{Answer, Approver, Decision, Ground, Intent};
use crate::assurance::Assurance;
use crate::proof::{Proof, Statement, Witness};
use crate::refusal::{Refusal, Why};
use crate::verdict::{Question, Quorum};

impl Intent {
    /// What a person signs who gives this answer now. A yes counts until the last moment at which it could run.
    pub fn statement(&self, answer: Answer) -> Statement {
        self.statement_until(answer, self.decide_by + self.question.times.run)
    }

    fn statement_until(&self, answer: Answer, until: Timestamp) -> Statement {
        // From what would run, and not from the digest that is stored beside it.
        let digest = self.question.binding.digest();
        Statement { intent: self.id.clone(), digest, answer, until }
    }

    /// The ground that somebody found for a question a moment ago, if it still is that question. Looking at the ground
    /// takes time, and a question that somebody made milder meanwhile was not looked at.
    pub fn ground_as_judged(&self, judged: &Question, found: Ground) -> Ground {
        if self.question == *judged { found } else { Ground::PolicyStricter }
    }

    /// Whether it is made for this approver.
    pub(super) fn is_made_for(&self, by: &Approver) -> bool {
        by.identity.as_deref() == Some(self.question.binding.caller.principal.as_str())
    }

    /// Compares what the approver claims to be with what is proven of it.
    ///
    /// # Errors
    /// When nobody has confirmed that their key signed exactly this, or they may say yes to their own call only with
    /// such a proof.
    pub(super) fn compare_proof(&self, by: &Approver, now: Timestamp) -> Result<(), Refusal> {
        match by.assurance {
            Assurance::Verified => {
                let proven = by.proof.as_ref().filter(|proven| {
                    let expected = self.statement_until(Answer::Approve, proven.proof().until);
                    *proven.statement() == expected
                        && now < expected.until
                        && by.identity.as_ref() == Some(&proven.proof().identity)
                });
                proven.map(|_| ()).ok_or_else(|| self.unproven())
            }
            // Nobody satisfies a rule for their own call by being there, which their agent might be too.
            have @ (Assurance::Asserted
            | Assurance::Relayed
            | Assurance::Client
            | Assurance::Local
            | Assurance::SignedIn)
                if self.question.least >= Assurance::SignedIn
                    && self.question.quorum == Quorum::ONE
                    && self.is_made_for(by) =>
            {
                Err(self.refusal(Why::AssuranceTooLow { have, need: Assurance::Verified }))
            }
            Assurance::Asserted
            | Assurance::Relayed
            | Assurance::Client
            | Assurance::Local
            | Assurance::SignedIn => Ok(()),
        }
    }

    /// Verifies again every signature without which this yes would not do, or that it claims to have.
    ///
    /// # Errors
    /// When one is missing, has run out, or does not hold for exactly what would run.
    pub(super) fn verify_again(
        &self,
        decision: &Decision,
        witness: &dyn Witness,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let must = |claimed| self.question.least == Assurance::Verified || claimed == Assurance::Verified;
        let holds = |proof: &Proof| {
            now < proof.until && witness.holds(proof, &self.statement_until(Answer::Approve, proof.until))
        };
        let all = if self.question.quorum == Quorum::ONE {
            !must(decision.assurance) || decision.proof.as_ref().is_some_and(holds)
        } else {
            self.live_yeses(now).all(|yes| {
                let is_theirs = |proof: &&Proof| proof.identity == yes.identity;
                !must(yes.assurance) || yes.proof.as_ref().filter(is_theirs).is_some_and(holds)
            })
        };
        if all { Ok(()) } else { Err(self.unproven()) }
    }

    /// What is left without the proof is at best that somebody had signed in.
    fn unproven(&self) -> Refusal {
        self.refusal(Why::AssuranceTooLow { have: Assurance::SignedIn, need: Assurance::Verified })
    }
}

#[cfg(test)]
mod tests;
