//! The one place where a call is judged.

use super::condition::{ConditionError, Subject, World};
use super::profile::Profile;
use super::rule::{OnError, Rule, Then};
use super::template::summarize;
use super::trace::{DecidedBy, RuleOutcome};
use super::{Cover, Facts, Match, Otherwise, Policy};
use crate::assurance::Assurance;
use crate::call::{CallKey, Presented, ToolCall, WishedChannel};
use crate::class::{Class, ClassSource, Classified, Trust};
use crate::definition::ToolDefinition;
use crate::mode::Mode;
use crate::permit::{Permit, PermittedCall};
use crate::redact::redact;
use crate::refusal::{Refusal, Why};
use crate::render::{Sanitized, render_value};
use crate::switch::OperatorSwitch;
use crate::verdict::{Channel, ConfirmType, Explanation, Question, Spend, Standing, Verdict};

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
    Explain(Sanitized),
    Ask(Box<Asking>),
    Refuse(Refusal),
}

/// What a question holds beside the call.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) rule: Option<String>,
    pub(super) reason: Option<Sanitized>,
    pub(super) summary: Sanitized,
    pub(super) confirm: ConfirmType,
    pub(super) channel: Channel,
    pub(super) least: Assurance,
    next: serde_json::Map<String, serde_json::Value>,
    spend: Option<Spend>,
    pub(super) standing: Option<Standing>,
    pub(super) times: crate::verdict::Times,
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
        let mode = match self.mode_of(presented, facts.mode) {
            Ok(mode) => mode,
            Err(refusal) => {
                return refuse(facts.mode.unwrap_or(self.defaults.mode), classified, refusal);
            }
        };
        let world = World::new(Subject {
            caller: &binding.caller,
            server: &binding.server,
            tool: &binding.tool,
            class: classified.class,
            arguments: &binding.arguments,
            state: facts.state,
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
        let case = Case { policy: self, world: &world, presented, facts, found: found.as_ref() };
        let ruling = case.rule(action, mode, &classified);
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
struct Case<'a> {
    policy: &'a Policy,
    world: &'a World<'a>,
    presented: &'a Presented,
    facts: &'a Facts<'a>,
    found: Option<&'a Match<'a>>,
}

impl Case<'_> {
    fn rule(&self, action: Action, mode: Mode, classified: &Classified) -> Ruling {
        match (action, Allowed::of(classified.class, mode)) {
            (Action::Reject, _) => self.refuse(Why::PolicyDenied { reason: self.reason_to_reject() }),
            (Action::RunByClass | Action::RunByRule | Action::Ask | Action::TwoKeys, Allowed::Explain) => {
                Ruling::Explain(self.summary())
            }
            (Action::TwoKeys, Allowed::Yes) => self.two_keys(),
            (Action::RunByClass, Allowed::Yes) => self.run(Permit::Class(classified.class)),
            (Action::RunByRule, Allowed::Yes) => {
                let rule = self.found.map_or_else(String::new, |found| found.rule.name.clone());
                self.run(Permit::Rule(rule))
            }
            (Action::Ask, Allowed::Yes) => self.ask(),
        }
    }

    fn run(&self, permit: Permit) -> Ruling {
        match self.spend() {
            Ok(_) => Ruling::Forward(permit),
            Err(refusal) => refusal,
        }
    }

    fn ask(&self) -> Ruling {
        let spend = match self.spend() {
            Ok(spend) => spend,
            Err(refusal) => return refusal,
        };
        let (channel, least) = self.channel_and_proof();
        if least > self.facts.reach {
            return self.refuse(Why::NoApproverReachable { need: least });
        }
        if let Err(too_large) = render_value(self.world.arguments()) {
            return self.refuse(Why::TooLargeToReview { bytes: too_large.bytes });
        }
        Ruling::Ask(Box::new(Asking { spend, channel, least, ..self.asking() }))
    }

    /// K1: both keys, or a preview of what would have been called.
    fn two_keys(&self) -> Ruling {
        match (self.facts.switch, self.presented.key) {
            (OperatorSwitch::Live, CallKey::Turned) => Ruling::Ask(Box::new(Asking {
                confirm: ConfirmType::None,
                channel: Channel::Chat,
                least: Assurance::Asserted,
                standing: Some(Standing::TwoKeys),
                ..self.asking()
            })),
            (OperatorSwitch::Live, CallKey::Absent) | (OperatorSwitch::DryRun, _) => {
                self.refuse(Why::DryRunPreview {
                    tool: self.world.subject().tool.clone(),
                    preview: redact(self.world.arguments()),
                })
            }
        }
    }

    fn asking(&self) -> Asking {
        let rule = self.found.map(|found| found.rule);
        Asking {
            rule: rule.map(|rule| rule.name.clone()),
            reason: self.reason_to_ask().as_deref().map(Sanitized::line),
            summary: self.summary(),
            confirm: ConfirmType::Simple,
            channel: self.policy.defaults.channel,
            least: self.policy.defaults.least,
            next: rule.map(|rule| rule.next.clone()).unwrap_or_default(),
            spend: None,
            standing: None,
            times: self.policy.defaults.times,
        }
    }

    /// Where the human is asked, and how well they must be proven.
    fn channel_and_proof(&self) -> (Channel, Assurance) {
        let defaults = &self.policy.defaults;
        let channels = self.found.map_or(&[][..], |found| &found.rule.channels);
        let preferred = channels.first().copied().unwrap_or(defaults.channel);
        // The agent may move a question away from itself, never towards itself.
        let chat_is_open = preferred == Channel::Chat || channels.contains(&Channel::Chat);
        let wished = match self.presented.channel {
            // Going away from the agent is always more careful, so the caller may choose it.
            Some(WishedChannel::Web) => Channel::OutOfBand,
            Some(WishedChannel::Chat) if chat_is_open => Channel::Chat,
            Some(WishedChannel::Chat) | None => preferred,
        };
        let least = self.found.and_then(|found| found.rule.assurance).unwrap_or(defaults.least);
        if least > Assurance::Relayed {
            // The agent's word cannot reach that, so there is no point in giving it a token.
            return (Channel::OutOfBand, least.max(Assurance::Local));
        }
        match wished {
            Channel::Chat => (Channel::Chat, least),
            // I5: away from the agent, the agent's own word must not do.
            Channel::OutOfBand => (Channel::OutOfBand, Assurance::Local),
        }
    }

    fn spend(&self) -> Result<Option<Spend>, Ruling> {
        let Some(paths) = self.found.and_then(|found| found.rule.spend.as_ref()) else { return Ok(None) };
        match paths.read(self.world.arguments()) {
            Ok(spend) => Ok(Some(spend)),
            Err(reason) => Err(self.refuse(Why::PolicyDenied { reason })),
        }
    }

    fn summary(&self) -> Sanitized {
        summarize(self.found.and_then(|found| found.rule.summary.as_ref()), self.world)
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

    /// The operator's words, and that the rule asks only because it could not be sure.
    fn reason_to_ask(&self) -> Option<String> {
        let found = self.found?;
        match (&found.rule.reason, &found.error) {
            (reason, None) => reason.clone(),
            (Some(reason), Some(error)) => Some(format!("{reason} ({})", no_answer(error))),
            (None, Some(error)) => Some(no_answer(error)),
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

fn no_answer(error: &ConditionError) -> String {
    format!("the rule's condition has no answer: {error}")
}

impl Judged {
    /// Takes the call that was judged. What is permitted or asked carries the mode it was judged in.
    pub(super) fn into_verdict(self, mut call: ToolCall) -> Verdict {
        call.binding.mode = self.mode;
        match self.ruling {
            Ruling::Forward(permit) => Verdict::Forward(PermittedCall::new(call, permit)),
            Ruling::Explain(summary) => {
                Verdict::Explain(Explanation { call, classified: self.classified, mode: self.mode, summary })
            }
            Ruling::Refuse(refusal) => Verdict::Refuse(refusal),
            Ruling::Ask(asking) => Verdict::Ask(Box::new(Question {
                binding: call.binding,
                classified: self.classified,
                rule: asking.rule,
                reason: asking.reason,
                summary: asking.summary,
                confirm: asking.confirm,
                channel: asking.channel,
                least: asking.least,
                next: asking.next,
                spend: asking.spend,
                standing: asking.standing,
                times: asking.times,
            })),
        }
    }
}
