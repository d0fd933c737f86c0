//! Judging a call that counts in budgets.
//!
//! INVARIANT: what is decided here holds only until the ledger counts it: there the same room is
//! measured again, with the sums of that very moment. Here nothing is let through that has no room now.

use super::{Asking, Case, Ruling};
use crate::assurance::Assurance;
use crate::budget::{Exceeded, Over, Room, Sums};
use crate::policy::budget::Parties;
use crate::policy::condition::Condition;
use crate::refusal::Why;
use crate::verdict::{Channel, ConfirmType, Spend, Standing};

impl Case<'_> {
    /// What the call costs and where it counts, or the refusal because that cannot be read.
    pub(super) fn spend(&self) -> Result<Option<Spend>, Ruling> {
        let Some(rule) = self.found.map(|found| found.rule) else { return Ok(None) };
        let Some(paths) = rule.spend.as_ref() else { return Ok(None) };
        let denied = |reason| self.refuse(Why::PolicyDenied { reason });
        let mut spend = paths.read(self.world.arguments()).map_err(denied)?;
        let parties = Parties { currency: spend.currency.clone(), recipient: spend.recipient.clone() };
        for name in &rule.budgets {
            let budget = self.policy.budgets.get(name);
            let budget = budget.ok_or_else(|| denied(format!("there is no budget `{name}`")))?;
            let charge = budget.charge(self.world.subject().caller, &parties).map_err(denied)?;
            spend.charges.push(charge);
        }
        if !spend.charges.is_empty() {
            spend.seen = self.seen();
        }
        Ok(Some(spend))
    }

    /// The sums by which conditions were answered: where more was spent since, the answers hold no more.
    fn seen(&self) -> Sums {
        let subject = self.world.subject();
        let rules = self.policy.rules.iter().filter(|rule| rule.tool.matches(subject.server, subject.tool));
        let looked_at = rules.flat_map(|rule| {
            let names = rule.when.iter().flat_map(Condition::budgets);
            names.filter_map(|name| {
                let window = self.policy.window(rule, name, subject.caller, self.world.arguments()).ok()?;
                self.facts.spent.of(&window).cloned()
            })
        });
        Sums::new(looked_at.collect())
    }

    /// I1: a call that a rule lets run under a budget is an intent too, approved by the rule.
    pub(super) fn run_counted(&self, spend: Spend) -> Ruling {
        match self.shortage(&spend) {
            Err(refusal) => refusal,
            Ok(Some(exceeded)) => self.ask_about(Some(spend), Some(exceeded.left_of())),
            Ok(None) => Ruling::Ask(Box::new(Asking {
                confirm: ConfirmType::None,
                channel: Channel::Chat,
                least: Assurance::Asserted,
                standing: Some(Standing::Rule),
                spend: Some(spend),
                ..self.asking()
            })),
        }
    }

    /// Asks about a call under a budget; the yes counts it.
    pub(super) fn ask_counted(&self, spend: Spend) -> Ruling {
        match self.shortage(&spend) {
            Err(refusal) => refusal,
            Ok(exceeded) => self.ask_about(Some(spend), exceeded.map(|exceeded| exceeded.left_of())),
        }
    }

    /// The first budget that the call goes over and a human's yes may go over too, if any; the refusal where
    /// one has no room and lets nobody, or nobody knows whether it has.
    fn shortage(&self, spend: &Spend) -> Result<Option<Box<Exceeded>>, Ruling> {
        let not_known =
            || self.refuse(Why::ConsentUnavailable { reason: "what was spent in the budget is not known" });
        let amount = spend.exact().map_err(|_| not_known())?;
        let mut short = None;
        for charge in &spend.charges {
            match charge.room(self.facts.spent, amount) {
                Room::Enough => {}
                Room::Unknown => return Err(not_known()),
                Room::Short(exceeded) => match charge.over {
                    Over::Ask => short = short.or(Some(exceeded)),
                    Over::Reject => return Err(self.refuse(Why::BudgetExceeded(exceeded))),
                },
            }
        }
        Ok(short)
    }
}
