//! Counting a yes in its budgets.
//!
//! INVARIANT: what is counted is compared with sums that were read in the same transaction; where they
//! are missing there is no yes. A rule's yes never goes over a budget, and is never a human's; only where the policy is
//! tried does a budget hold nothing up.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Approver, Ground, Intent, Runner, State, Surface};
use crate::assurance::Assurance;
use crate::budget::{Counted, Over, RecipientDigest, Room, Sums, currency};
use crate::permit::PermittedCall;
use crate::refusal::{Refusal, Why};
use crate::verdict::{Question, Spend, Standing};

impl Question {
    /// Whether all its budgets are known to have room for it.
    pub(super) fn has_room(&self, sums: &Sums) -> bool {
        let Some(spend) = &self.spend else { return true };
        let Ok(amount) = spend.exact() else { return false };
        spend.charges.iter().all(|charge| match charge.room(sums, amount) {
            Room::Enough => true,
            Room::Unknown | Room::Short(_) => false,
        })
    }
}

impl Intent {
    /// Takes what was spent in its budgets, as the ledger reads it in this transaction.
    #[must_use]
    pub fn with_sums(self, sums: Sums) -> Self {
        Self { sums, ..self }
    }

    /// What it counts in budgets as it stands now: what has a yes and may yet run, ran or may have run.
    pub fn counted(&self) -> Option<Counted> {
        if let Some(counted) = self.counted_before_purge() {
            return counted;
        }
        if self.state.counts() { self.spend().and_then(|spend| self.to_count(spend)) } else { None }
    }

    /// What a yes would count now.
    ///
    /// # Errors
    /// When a budget has no room, and this yes may not go over it.
    pub(super) fn count(&self, surface: Surface) -> Result<Option<Counted>, Refusal> {
        let (is_the_rules, is_tried) = match self.question.standing {
            Some(Standing::Rule) => (true, false),
            Some(Standing::Shadow(_)) => (true, true),
            Some(Standing::TwoKeys) | None => (false, false),
        };
        if surface == Surface::Rule && !is_the_rules {
            // A rule decides about what it lets run, and never about what a human is asked.
            let have = Assurance::Asserted;
            return Err(self.refusal(Why::AssuranceTooLow { have, need: self.question.least }));
        }
        let Some(spend) = self.spend() else { return Ok(None) };
        let not_known = || self.refusal(Why::ConsentUnavailable { reason: "what was spent is not known" });
        let amount = spend.exact().map_err(|_| not_known())?;
        for charge in &spend.charges {
            match charge.room(&self.sums, amount) {
                Room::Enough => {}
                Room::Unknown => return Err(not_known()),
                // What passes because the policy is only tried is spent all the same.
                Room::Short(_) if is_tried => {}
                Room::Short(exceeded) => match (charge.over, surface) {
                    (Over::Ask, Surface::Human | Surface::Agent) => {}
                    (Over::Ask, Surface::Rule) | (Over::Reject, _) => {
                        return Err(self.refusal(Why::BudgetExceeded(exceeded)));
                    }
                },
            }
        }
        if surface == Surface::Rule && !is_tried && self.sums.exceed(&spend.seen) {
            // The rule's condition was answered by sums that hold no more.
            let reason = "more was spent while the call was judged";
            return Err(self.refusal(Why::ConsentUnavailable { reason }));
        }
        self.to_count(spend).map(Some).ok_or_else(not_known)
    }

    /// The rule's own yes and the run, in one step. It is recorded as what it is: no human.
    pub(super) fn rule_yes(&mut self, runner: &Runner<'_>, now: Timestamp) -> Result<PermittedCall, Refusal> {
        let rule = self.question.rule.as_deref().unwrap_or_default();
        let name = match self.question.standing {
            Some(Standing::Shadow(_)) => "nobody: the policy is only tried".to_owned(),
            Some(Standing::Rule | Standing::TwoKeys) | None => format!("rule {rule}"),
        };
        let by = Approver {
            name,
            identity: None,
            groups: BTreeSet::new(),
            surface: Surface::Rule,
            assurance: Assurance::Asserted,
            typed: None,
            proof: None,
        };
        let permitted = match runner.ground {
            Ground::Holds => self.approve(&by, self.digest, now).and_then(|()| self.redeem(runner, now)),
            Ground::ToolChanged | Ground::PreviewChanged => Err(self.refusal(Why::ToolChanged)),
            Ground::PolicyStricter => Err(self.refusal(Why::PolicyChanged)),
            Ground::FailedOver => Err(self.refusal(Why::FailedOver)),
        };
        // Where it does not run there is no such question.
        permitted.map_err(|refusal| Refusal { intent: None, ..refusal })
    }

    /// What it costs, where that counts in a budget.
    fn spend(&self) -> Option<&Spend> {
        self.question.spend.as_ref().filter(|spend| !spend.charges.is_empty())
    }

    fn to_count(&self, spend: &Spend) -> Option<Counted> {
        let caller = &self.question.binding.caller;
        Some(Counted {
            budgets: spend.charges.iter().map(|charge| charge.window.account.budget.clone()).collect(),
            amount: spend.exact().ok()?,
            currency: spend.currency.as_deref().map(currency),
            recipient: spend.recipient.as_deref().map(RecipientDigest::of),
            org: caller.org.clone(),
            principal: caller.principal.clone(),
        })
    }
}

impl State {
    /// Whether its amount counts: a yes that may still run, that ran, or of which nobody knows.
    pub const fn counts(self) -> bool {
        match self {
            Self::Approved | Self::Running | Self::Unknown | Self::Resolved { ran: true } => true,
            Self::Done(done) => match done {
                // An error of the tool says nothing about the money.
                super::DoneKind::Ok | super::DoneKind::ToolError => true,
                super::DoneKind::NotSent => false,
            },
            Self::Pending
            | Self::Resolved { ran: false }
            | Self::Denied
            | Self::Expired
            | Self::Cancelled
            | Self::Superseded
            | Self::Voided => false,
        }
    }
}
