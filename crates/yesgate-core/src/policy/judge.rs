//! The one place where a call is judged.

mod asking;
mod counting;
mod shadow;

use serde_json::{Map, Value};

pub(super) use self::asking::Asking;
use super::condition::{ConditionError, Measures, Spending, Subject, World};
use super::profile::Profile;
use super::rule::{OnError, Rule, Then};
use super::template::summarize;
use super::trace::{DecidedBy, RuleOutcome};
use super::{Cover, Facts, Match, Otherwise, Policy};
use crate::call::{Presented, ToolCall};
use crate::class::{Class, ClassSource, Classified, Trust};
use crate::definition::ToolDefinition;
use crate::id::BudgetName;
use crate::mode::Mode;
use crate::permit::{Permit, PermittedCall};
use crate::refusal::{Refusal, Why};
use crate::render::Sanitized;
use crate::verdict::{Explanation, Plan, PreviewSource, Verdict};

/// A judgement that has not taken the call yet.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) mode: Mode,
    pub(super) classified: Classified,
    pub(super) by: DecidedBy,
    pub(super) ruling: Ruling,
}

#[derive(Debug)]
pub(super) enum Ruling {
    Forward(Permit),
    Explain(Words),
    Preview(Words, Box<PreviewSource>),
    Unneeded(Words),
    Ask(Box<Asking>),
    Refuse(Refusal),
}

/// What is said of a call that does not run.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) summary: Sanitized,
    reason: Option<Sanitized>,
    next: Map<String, Value>,
}

/// What is to be done with a call before its mode has been looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// Its class lets it run.
    RunByClass,
    /// A rule lets it run.
    RunByRule,
    Ask,
    Reject,
    TwoKeys,
}

/// What the mode makes of an action.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Allowed {
    Yes,
    /// Writes do not run in this mode, whatever a rule says.
    Explain,
}

impl Policy {
    pub(super) fn judge(
        &self,
        call: &ToolCall,
        presented: &Presented,
        facts: &Facts<'_>,
        look: &mut dyn FnMut(&Rule, RuleOutcome),
    ) -> Judged {
        let binding = &call.binding;
        let classified = self.classify(&binding.server, facts.definition, facts.trust, facts.known);
        let refuse = |mode, classified, why: Refusal| Judged {
            mode,
            classified,
            by: DecidedBy::Gate,
            ruling: Ruling::Refuse(why),
        };
        if facts.definition.digest != binding.definition || facts.definition.name != binding.tool {
            // Judging by another definition than the call is bound to would be no judgement.
            return refuse(binding.mode, classified, Why::ToolChanged.into());
        }
        let in_force = facts.regime.mode.unwrap_or(self.defaults.mode);
        if let Some(why) = facts.regime.held_back() {
            return refuse(in_force, classified, why.into());
        }
        let mode = presented.mode.unwrap_or(in_force);
        let world = World::new(Subject {
            caller: &binding.caller,
            server: &binding.server,
            tool: &binding.tool,
            class: classified.class,
            arguments: &binding.arguments,
            state: facts.state,
            spent: Spending::Read(facts.spent),
            now: facts.now,
        });
        let found = self.first_match(&world, look);
        let classified = match &found {
            Some(Match { rule: Rule { class: Some(class), name, .. }, .. }) => {
                Classified { class: *class, source: ClassSource::Rule(name.clone()) }
            }
            Some(_) | None => classified,
        };
        let then = found.as_ref().map(|found| found.then());
        let action = self.action(then, facts.definition, facts.trust, classified.class);
        let by = match (&found, action) {
            (Some(Match { rule, .. }), _) => DecidedBy::Rule(rule.name.clone()),
            (None, Action::TwoKeys) => DecidedBy::TwoKeys,
            (None, _) if self.otherwise != Otherwise::ByClass => DecidedBy::Otherwise,
            (None, _) => DecidedBy::Class,
        };
        let case =
            Case { policy: self, call, world: &world, presented, facts, found: found.as_ref(), in_force };
        let ruling = case.in_shadow(case.rule(action, mode, &classified));
        Judged { mode, classified, by, ruling }
    }

    /// What the matching rule, the end of the rules or the class want done.
    ///
    /// `then` is `None` where no rule matched, and `Some(None)` where one leaves it to the class.
    pub(super) fn action(
        &self,
        then: Option<Option<Then>>,
        definition: &ToolDefinition,
        trust: Trust,
        class: Class,
    ) -> Action {
        let by_class = match class {
            Class::ReadOnly | Class::SafeWrite => Action::RunByClass,
            Class::Dangerous => Action::Ask,
        };
        match (then, self.otherwise) {
            (Some(Some(Then::Run)), _) => Action::RunByRule,
            (Some(Some(Then::Ask)), _) => Action::Ask,
            (Some(Some(Then::Reject)), _) | (None, Otherwise::Reject) => Action::Reject,
            (Some(None), _) => by_class,
            (None, Otherwise::Ask) => Action::Ask,
            (None, Otherwise::ByClass) => match self.profile {
                Some(Profile::TwoKey) if self.covers(definition, trust, class) => Action::TwoKeys,
                Some(Profile::TwoKey) => Action::RunByClass,
                Some(Profile::Handshake | Profile::Spend | Profile::Modes | Profile::Strict) | None => {
                    by_class
                }
            },
        }
    }

    /// K4: whether a tool needs both keys. One property says so, and nothing overrules it.
    fn covers(&self, definition: &ToolDefinition, trust: Trust, class: Class) -> bool {
        let believed = match trust {
            Trust::None => false,
            Trust::ReadOnlyHint | Trust::Full => definition.annotations.idempotent == Some(true),
        };
        match (class, self.cover) {
            (Class::ReadOnly, _) => false,
            (Class::SafeWrite | Class::Dangerous, Cover::NotReadOnly) => true,
            (Class::SafeWrite | Class::Dangerous, Cover::NotIdempotent) => !believed,
        }
    }
}

impl Allowed {
    /// M1: in ask and plan mode nothing is written, whatever a rule says.
    pub(super) const fn of(class: Class, mode: Mode) -> Self {
        match (class, mode) {
            (Class::ReadOnly, _) | (_, Mode::Execute) => Self::Yes,
            (Class::SafeWrite | Class::Dangerous, Mode::Ask | Mode::Plan) => Self::Explain,
        }
    }
}

impl Match<'_> {
    /// What the rule wants, or what is wanted because its condition has no answer.
    fn then(&self) -> Option<Then> {
        match (&self.error, self.rule.on_error()) {
            (Some(_), OnError::Ask) => Some(Then::Ask),
            (Some(_), OnError::Match | OnError::Skip) | (None, _) => self.rule.then,
        }
    }
}

/// One call with everything that is known about it.
pub(super) struct Case<'a> {
    pub(super) policy: &'a Policy,
    call: &'a ToolCall,
    world: &'a World<'a>,
    pub(super) presented: &'a Presented,
    pub(super) facts: &'a Facts<'a>,
    pub(super) found: Option<&'a Match<'a>>,
    /// The mode that was set for the caller.
    in_force: Mode,
}

impl<'a> Case<'a> {
    /// A call that no rule has a say about.
    pub(super) const fn without_rule(
        policy: &'a Policy,
        call: &'a ToolCall,
        world: &'a World<'a>,
        presented: &'a Presented,
        facts: &'a Facts<'a>,
        in_force: Mode,
    ) -> Self {
        Self { policy, call, world, presented, facts, found: None, in_force }
    }
}

impl Case<'_> {
    fn rule(&self, action: Action, mode: Mode, classified: &Classified) -> Ruling {
        let action = match self.raised(action, mode, classified.class) {
            Ok(action) => action,
            Err(why) => return self.refuse(why),
        };
        match (action, Allowed::of(classified.class, mode)) {
            (Action::Reject, _) => self.refuse(self.why_rejected()),
            (Action::RunByClass | Action::RunByRule | Action::Ask | Action::TwoKeys, Allowed::Explain) => {
                self.explain(mode)
            }
            (Action::TwoKeys, Allowed::Yes) => self.two_keys(),
            (Action::RunByClass, Allowed::Yes) => self.run(Permit::Class(classified.class)),
            (Action::RunByRule, Allowed::Yes) => self.run(Permit::Rule(self.rule_name())),
            (Action::Ask, Allowed::Yes) if self.is_unneeded() => Ruling::Unneeded(self.words()),
            (Action::Ask, Allowed::Yes) => self.ask(),
        }
    }

    /// M6: a call that raises its own mode is asked about like a dangerous one.
    fn raised(&self, action: Action, mode: Mode, class: Class) -> Result<Action, Why> {
        let refused = Why::ModeRaise { mode: self.in_force, wished: mode };
        match (class, mode, action) {
            (Class::ReadOnly, _, _) | (_, _, Action::Reject) => Ok(action),
            (Class::SafeWrite | Class::Dangerous, _, _) if mode <= self.in_force => Ok(action),
            (_, Mode::Execute, Action::RunByClass | Action::RunByRule | Action::Ask) => Ok(Action::Ask),
            // Two keys are no question, and a preview runs nothing that a yes to the call could be about: the gate
            // asks about the mode itself, where it asks anybody.
            (_, Mode::Execute, Action::TwoKeys) | (_, Mode::Ask | Mode::Plan, _) => Err(refused),
        }
    }

    /// In ask mode words, in plan mode the operator's preview where there is one.
    fn explain(&self, mode: Mode) -> Ruling {
        let declared = self.found.and_then(|found| found.rule.confirm.preview.as_ref());
        match (mode, declared) {
            (Mode::Plan, Some(preview)) => match preview.source(self.call, &self.rule_name(), self.world) {
                Some(source) => Ruling::Preview(self.words(), Box::new(source)),
                None => self.refuse(no_preview()),
            },
            (Mode::Plan, None) | (Mode::Ask | Mode::Execute, _) => Ruling::Explain(self.words()),
        }
    }

    /// H9: whether the rule says that the call would change nothing. In doubt it would.
    fn is_unneeded(&self) -> bool {
        let Some(rule) = self.found.map(|found| found.rule) else { return false };
        let spent = |name: &BudgetName| self.policy.spent(rule, name, self.world);
        rule.noop_when.as_ref().is_some_and(|condition| condition.holds(self.world, &spent) == Ok(true))
    }

    fn rule_name(&self) -> String {
        self.found.map_or_else(String::new, |found| found.rule.name.clone())
    }

    fn run(&self, permit: Permit) -> Ruling {
        match self.spend() {
            Ok(Some(spend)) if !spend.charges.is_empty() => self.run_counted(spend),
            Ok(_) => Ruling::Forward(permit),
            Err(refusal) => refusal,
        }
    }

    fn summary(&self) -> Sanitized {
        summarize(self.found.and_then(|found| found.rule.summary.as_ref()), self.world)
    }

    /// H6: a rule that rejects by an amount is a cap, and is answered as one.
    fn why_rejected(&self) -> Why {
        let reason = self.reason_to_reject();
        let measures = self.found.and_then(|found| match (&found.rule.when, &found.error) {
            (Some(when), None) => Some(when.measures()),
            // Without an answer nobody knows whether it was reached.
            (None, _) | (Some(_), Some(_)) => None,
        });
        match measures {
            Some(Measures::Amounts) => Why::CapReached { reason },
            Some(Measures::Nothing) | None => Why::PolicyDenied { reason },
        }
    }

    /// What it would do, and what the rule says of it.
    fn words(&self) -> Words {
        let rule = self.found.map(|found| found.rule);
        Words {
            summary: self.summary(),
            reason: rule.and_then(|rule| rule.reason.as_deref()).map(Sanitized::line),
            next: rule.map(|rule| rule.next.clone()).unwrap_or_default(),
        }
    }

    fn reason_to_reject(&self) -> String {
        let Some(found) = self.found else { return "no rule allows it".to_owned() };
        let reason = match &found.rule.reason {
            Some(reason) => reason.clone(),
            None => format!("rule {} rejects it", found.rule.name),
        };
        match &found.error {
            Some(error) => format!("{reason} ({})", no_answer(error)),
            None => reason,
        }
    }

    fn refuse(&self, why: Why) -> Ruling {
        let refusal = Refusal::from(why);
        Ruling::Refuse(match self.found {
            Some(found) => refusal.with_next(&found.rule.next),
            None => refusal,
        })
    }
}

fn no_preview() -> Why {
    Why::PolicyDenied { reason: "the preview that the rule declares cannot be made".to_owned() }
}

fn no_answer(error: &ConditionError) -> String {
    format!("the rule's condition has no answer: {error}")
}

impl Words {
    fn about(self, call: ToolCall, classified: Classified, mode: Mode) -> Explanation {
        let Self { summary, reason, next } = self;
        Explanation { call, classified, mode, summary, reason, next }
    }
}

impl Judged {
    /// Takes the call that was judged. What is permitted or asked carries the mode it was judged in.
    pub(super) fn into_verdict(self, mut call: ToolCall) -> Verdict {
        call.binding.mode = self.mode;
        match self.ruling {
            Ruling::Forward(permit) => Verdict::Forward(PermittedCall::new(call, permit)),
            Ruling::Explain(words) => Verdict::Explain(words.about(call, self.classified, self.mode)),
            Ruling::Unneeded(words) => Verdict::Unneeded(words.about(call, self.classified, self.mode)),
            Ruling::Preview(words, source) => {
                let explanation = words.about(call, self.classified, self.mode);
                Verdict::Preview(Box::new(Plan { explanation, source: *source }))
            }
            Ruling::Refuse(refusal) => Verdict::Refuse(refusal),
            Ruling::Ask(mut asking) => {
                let source = asking.preview.take();
                let question = Box::new(asking.about(call, self.classified));
                match source {
                    Some(source) => Verdict::AskWithPreview(question, source),
                    None => Verdict::Ask(question),
                }
            }
        }
    }
}
