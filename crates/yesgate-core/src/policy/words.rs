//! The rules of a policy in words, for people who want to know what is in force.
//!
//! INVARIANT: only what decides about calls is told. Where servers are, and what they are sent to sign in, is no part
//! of a policy.

use super::rule::{Rule, Then};
use super::{Otherwise, Policy};
use crate::approvers::any_of;
use crate::render::Sanitized;
use crate::verdict::{Channel, Quorum};

/// One rule, in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RuleWords {
    /// Its name.
    pub name: Sanitized,
    /// The line it begins on.
    pub line: usize,
    /// The tools it speaks of.
    pub tool: Sanitized,
    /// Its condition, where it has one.
    pub when: Option<Sanitized>,
    /// What happens.
    pub then: &'static str,
    /// What else it says: a word of the configuration, and its value.
    pub says: Vec<(&'static str, Sanitized)>,
}

impl Policy {
    /// The rules, in the order in which they are looked at.
    pub fn rules_in_words(&self) -> Vec<RuleWords> {
        self.rules.iter().map(RuleWords::of).collect()
    }

    /// What holds where no rule matches.
    pub const fn otherwise_in_words(&self) -> &'static str {
        match self.otherwise {
            Otherwise::ByClass => "the class of the tool decides",
            Otherwise::Ask => "a human is asked",
            Otherwise::Reject => "it is rejected",
        }
    }
}

impl RuleWords {
    fn of(rule: &Rule) -> Self {
        let mut says = Vec::new();
        let mut say = |word, value: &str| says.push((word, Sanitized::line(value)));
        if let Some(class) = rule.class {
            say("class", class.as_str());
        }
        if !rule.channels.is_empty() {
            let channels: Vec<&str> =
                rule.channels.iter().map(|channel: &Channel| channel.as_str()).collect();
            say("channel", &channels.join(", "));
        }
        if let Some(assurance) = rule.assurance {
            say("assurance", assurance.as_str());
        }
        if rule.quorum > Quorum::ONE {
            say("quorum", &rule.quorum.people().to_string());
        }
        if let Some(approvers) = &rule.approvers {
            say("approvers", &any_of(&approvers.groups));
            if let Some(fallback) = &approvers.fallback {
                say("fallback", &format!("{} after {:#}", any_of(&fallback.groups), fallback.after));
            }
        }
        if let Some(confirm) = rule.confirm.kind {
            say("confirm", confirm.as_str());
        }
        if let Some(lookup) = &rule.lookup {
            say("lookup", &format!("{}/{}", lookup.server(), lookup.tool()));
        }
        if let Some(noop) = &rule.noop_when {
            say("noop_when", noop.source());
        }
        for budget in &rule.budgets {
            say("budget", budget.as_str());
        }
        if let Some(reason) = &rule.reason {
            say("reason", reason);
        }
        Self {
            name: Sanitized::line(&rule.name),
            line: rule.line,
            tool: Sanitized::line(&rule.tool.to_string()),
            when: rule.when.as_ref().map(|when| Sanitized::line(when.source())),
            then: match rule.then {
                Some(Then::Run) => "run",
                Some(Then::Ask) => "ask",
                Some(Then::Reject) => "reject",
                None => "the class decides",
            },
            says,
        }
    }
}
