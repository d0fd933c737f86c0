//! How a tool is offered, so that an agent can do all that the policy may want of it, and no answer of ours breaks
//! what the tool promises.
//!
//! INVARIANT: what only reads is offered as its server offers it, and so is what a rule simply lets run.

use super::Policy;
use super::judge::Action;
use super::needs::Needs;
use super::rule::{OnError, Rule};
use crate::class::{Class, Trust};
use crate::definition::ToolDefinition;
use crate::id::ServerName;
use crate::mode::Mode;
use crate::verdict::{Channel, ConfirmType};

/// What the gateway's part in the calls of a tool may be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Offer {
    /// The most that a call may need.
    pub needs: Needs,
    /// Who may answer a call.
    pub answers: Answers,
    /// What the agent must be able to send along, each once.
    pub arguments: Vec<OwnArgument>,
}

/// Who may answer a call of a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answers {
    /// Its server, as a rule; what we have to say is an error.
    Servers,
    /// We as well: it may be held, previewed, found needless or refused.
    OursToo,
}

/// An argument that is meant for the gateway, and taken out before a call leaves.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum OwnArgument {
    /// `confirm_token`.
    Token,
    /// `__typed`.
    Typed,
    /// `__confirm`.
    Key,
    /// `__mode`.
    Mode,
    /// `__channel`.
    Channel,
    /// `__reason`.
    Reason,
}

impl OwnArgument {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "confirm_token",
            Self::Typed => "__typed",
            Self::Key => "__confirm",
            Self::Mode => "__mode",
            Self::Channel => "__channel",
            Self::Reason => "__reason",
        }
    }
}

impl Default for Offer {
    fn default() -> Self {
        Self { needs: Needs::Nothing, answers: Answers::Servers, arguments: Vec::new() }
    }
}

impl Offer {
    /// Takes in what another way to decide about the tool needs.
    fn add(&mut self, policy: &Policy, branch: &Branch<'_>) {
        let Branch { action, rule, class } = *branch;
        let needs = policy.need(action, rule);
        self.needs = self.needs.max(needs);
        match action {
            Action::Ask => {
                self.send(OwnArgument::Reason);
                if needs == Needs::RelayedYes {
                    self.send(OwnArgument::Token);
                    if rule.and_then(|rule| rule.confirm.kind) == Some(ConfirmType::Type) {
                        self.send(OwnArgument::Typed);
                    }
                }
                // A question that is put away from the agent anyway cannot be moved there.
                let least = policy.least(rule);
                let near = |channel: &Channel| match channel {
                    Channel::Chat | Channel::Elicitation => channel.proof() >= least,
                    Channel::Web | Channel::OutOfBand => false,
                };
                if policy.channels_of(rule).iter().any(near) {
                    self.send(OwnArgument::Channel);
                }
                self.answers = Answers::OursToo;
            }
            Action::TwoKeys => {
                self.send(OwnArgument::Key);
                self.answers = Answers::OursToo;
            }
            Action::RunByClass | Action::RunByRule | Action::Reject => {}
        }
        match class {
            Class::ReadOnly => {}
            Class::SafeWrite | Class::Dangerous => {
                let previews = rule.is_some_and(|rule| rule.confirm.preview.is_some());
                // Where callers begin in execute mode and nothing is previewed, another mode is only less.
                let differs = policy.mode() < Mode::Execute || previews;
                if differs && action != Action::Reject {
                    self.send(OwnArgument::Mode);
                }
                if differs || action != Action::RunByRule {
                    self.answers = Answers::OursToo;
                }
            }
        }
    }

    fn send(&mut self, argument: OwnArgument) {
        if !self.arguments.contains(&argument) {
            self.arguments.push(argument);
        }
    }
}

/// One way in which the policy may come to decide about a tool.
#[derive(Clone, Copy, Debug)]
struct Branch<'a> {
    action: Action,
    rule: Option<&'a Rule>,
    class: Class,
}

impl Policy {
    /// How a tool of this class is to be offered.
    pub fn offer(
        &self,
        server: &ServerName,
        definition: &ToolDefinition,
        trust: Trust,
        class: Class,
    ) -> Offer {
        let mut offer = Offer::default();
        for branch in self.branches(server, definition, trust, class) {
            offer.add(self, &branch);
            for raised in self.raised(&branch) {
                offer.add(self, &raised);
            }
        }
        offer.arguments.sort_unstable();
        offer
    }

    /// M6: what a call is asked about that raises its own mode: itself, where it is to run, or the mode alone, which
    /// no rule has a say about.
    fn raised<'a>(&self, branch: &Branch<'a>) -> Vec<Branch<'a>> {
        let is_judged = match branch.action {
            Action::RunByClass | Action::RunByRule | Action::Ask => true,
            Action::Reject | Action::TwoKeys => false,
        };
        if !is_judged || branch.class == Class::ReadOnly || self.mode() == Mode::Execute {
            return Vec::new();
        }
        let itself = Branch { action: Action::Ask, ..*branch };
        vec![itself, Branch { rule: None, ..itself }]
    }

    /// All that may become of a call in execute mode, by the rules in their order.
    fn branches(
        &self,
        server: &ServerName,
        definition: &ToolDefinition,
        trust: Trust,
        class: Class,
    ) -> Vec<Branch<'_>> {
        let mut all = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.tool.matches(server, &definition.name)) {
            let class = rule.class.unwrap_or(class);
            let branch = |action| Branch { action, rule: Some(rule), class };
            all.push(branch(self.action(Some(rule.then), definition, trust, class)));
            all.extend(self.over_budget(rule).map(branch));
            if rule.is_unconditional() {
                return all;
            }
            if rule.on_error() == OnError::Ask {
                all.push(branch(Action::Ask));
            }
        }
        let action = self.action(None, definition, trust, class);
        all.push(Branch { action, rule: None, class });
        all
    }
}
