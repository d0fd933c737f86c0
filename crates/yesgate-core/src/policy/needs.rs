//! What calls will need, as far as that can be said before there is one.

use super::Policy;
use super::judge::Action;
use super::profile::Profile;
use super::rule::{Rule, Then};
use crate::approvers::Approvers;
use crate::assurance::Assurance;
use crate::id::ServerName;
use crate::mode::Mode;
use crate::verdict::{Channel, ConfirmType, Quorum};

/// The most that a call of a tool may need.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Both keys.
    CallKey,
    /// A human's yes that cannot come through the agent.
    Yes,
    /// A human's yes that the agent may bring.
    RelayedYes,
}

impl Policy {
    /// Whether this policy ever puts a question to a human.
    pub fn asks(&self) -> bool {
        self.profile != Some(Profile::TwoKey)
    }

    /// Whether a call of any tool of this server may come to be asked about, as far as that can be told without
    /// knowing the tools: not where a rule lets all of them run before anything else is looked at.
    pub fn may_ask(&self, server: &ServerName) -> bool {
        let first = self.rules.iter().find(|rule| rule.tool.matches_server(server));
        let all_run = first.is_some_and(|rule| {
            // Whoever has spent too much may be asked.
            let counts = rule.spend.is_some() || !rule.budgets.is_empty();
            rule.tool.is_any() && rule.is_unconditional() && rule.lets_run() && !counts
        });
        self.asks() && !(all_run && self.mode() == Mode::Execute)
    }

    /// How many rules there are.
    pub const fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// What each part of the policy that asks wants as proof, by name.
    pub fn least_assurances(&self) -> Vec<(String, Assurance)> {
        let asks = |rule: &&Rule| rule.assurance.is_some() || rule.then == Some(Then::Ask);
        let rules = self.rules.iter().filter(asks);
        let rules = rules.map(|rule| (format!("rule {}", rule.name), self.least(Some(rule))));
        std::iter::once(("every dangerous call".to_owned(), self.defaults.least)).chain(rules).collect()
    }

    /// The rules that want the yes of several people, by name.
    pub fn quorums(&self) -> Vec<(&str, Quorum)> {
        let several = self.rules.iter().filter(|rule| rule.quorum > Quorum::ONE);
        several.map(|rule| (rule.name.as_str(), rule.quorum)).collect()
    }

    /// The rules that name the groups whose yes they want, by name.
    pub fn approvers(&self) -> Vec<(&str, &Approvers)> {
        let named = self.rules.iter().filter_map(|rule| Some((rule.name.as_str(), rule.approvers.as_ref()?)));
        named.collect()
    }

    /// What a yes to a call must prove at the least, wherever it is asked about.
    pub(super) fn least(&self, rule: Option<&Rule>) -> Assurance {
        let usual = match rule.and_then(|rule| rule.confirm.kind) {
            Some(ConfirmType::Type) => self.defaults.least_typed,
            Some(ConfirmType::None | ConfirmType::Simple | ConfirmType::Preview) | None => {
                self.defaults.least
            }
        };
        let least = rule.and_then(|rule| rule.assurance).unwrap_or(usual);
        least.max(rule.map_or(Assurance::Asserted, Rule::least_of_people))
    }

    /// What doing this with a call needs.
    pub(super) fn need(&self, action: Action, rule: Option<&Rule>) -> Needs {
        match action {
            Action::RunByClass | Action::RunByRule | Action::Reject => Needs::Nothing,
            Action::TwoKeys => Needs::CallKey,
            Action::Ask => {
                let chat = self.channels_of(rule).contains(&Channel::Chat);
                if chat && self.least(rule) <= Assurance::Relayed { Needs::RelayedYes } else { Needs::Yes }
            }
        }
    }

    /// Where a human may be asked, the preferred place first.
    pub(super) fn channels_of<'a>(&'a self, rule: Option<&'a Rule>) -> &'a [Channel] {
        match rule.map(|rule| rule.channels.as_slice()) {
            Some(named) if !named.is_empty() => named,
            Some(_) | None => self.default_channels(),
        }
    }
}
