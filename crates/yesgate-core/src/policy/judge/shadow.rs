//! What becomes of a ruling where the policy is only tried.
//!
//! INVARIANT: only what the policy itself asks or refuses passes. What a human stopped, froze or set, what the caller
//! wished for, and what cannot be judged or counted stays as it is.

use super::{Asking, Case, Ruling};
use crate::assurance::Assurance;
use crate::render::Sanitized;
use crate::verdict::{Channel, ConfirmType, Spend, Standing, Would, WouldRefuse};

impl Ruling {
    /// Whether the call passes because the policy is only tried.
    pub(in crate::policy) fn passes(&self) -> bool {
        match self {
            Self::Ask(asking) => match asking.standing {
                Some(Standing::Shadow(_)) => true,
                Some(Standing::Rule | Standing::TwoKeys) | None => false,
            },
            Self::Forward(_) | Self::Explain(_) | Self::Preview(..) | Self::Unneeded(_) | Self::Refuse(_) => {
                false
            }
        }
    }
}

impl Case<'_> {
    /// Lets pass what the policy would hold up, if it is only tried here. It is written down and counted like a call
    /// that a rule lets run.
    pub(super) fn in_shadow(&self, ruling: Ruling) -> Ruling {
        if !self.policy.shadow.covers(self.world.subject().server) || self.raises_what_was_set() {
            return ruling;
        }
        let would = match &ruling {
            Ruling::Ask(asking) => match asking.standing {
                None => Would::Ask,
                Some(Standing::TwoKeys | Standing::Rule | Standing::Shadow(_)) => return ruling,
            },
            Ruling::Refuse(refusal) => match WouldRefuse::of(&refusal.why) {
                Some(refuse) => Would::Refuse(refuse),
                None => return ruling,
            },
            Ruling::Explain(_) | Ruling::Preview(..) if self.mode_is_the_policys() => {
                Would::Refuse(WouldRefuse::ModeForbids)
            }
            Ruling::Explain(_) | Ruling::Preview(..) | Ruling::Forward(_) | Ruling::Unneeded(_) => {
                return ruling;
            }
        };
        let Some(spend) = self.countable() else { return ruling };
        let reason = self.found.and_then(|found| found.rule.reason.as_deref());
        Ruling::Ask(Box::new(Asking {
            confirm: ConfirmType::None,
            channel: Channel::Chat,
            least: Assurance::Asserted,
            standing: Some(Standing::Shadow(would)),
            reason: reason.map(Sanitized::line),
            spend,
            ..self.asking()
        }))
    }

    /// M6: raising a mode that was set for the caller is asked about even then: the policy did not set it.
    fn raises_what_was_set(&self) -> bool {
        let set = self.facts.regime.mode;
        set.is_some_and(|set| self.presented.mode.is_some_and(|wished| wished > set))
    }

    /// Whether nobody but the policy chose the mode: whoever wishes for ask or plan mode wants nothing to run.
    fn mode_is_the_policys(&self) -> bool {
        self.presented.mode.is_none() && self.facts.regime.mode.is_none()
    }

    /// What the call costs. `None`: it counts in a budget, and nobody can tell how much.
    fn countable(&self) -> Option<Option<Spend>> {
        match self.spend() {
            Ok(spend) => Some(spend),
            Err(_) if self.found.is_none_or(|found| found.rule.budgets.is_empty()) => Some(None),
            Err(_) => None,
        }
    }
}
