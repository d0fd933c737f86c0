//! How a call is asked about: by which way, with what shown and typed, by how many, and why.

use super::{Case, Ruling, no_answer, no_preview};
use crate::approvers::Approvers;
use crate::assurance::Assurance;
use crate::call::{CallKey, ToolCall};
use crate::class::Classified;
use crate::policy::Grants;
use crate::redact::redact;
use crate::refusal::Why;
use crate::render::{Sanitized, render_value};
use crate::switch::OperatorSwitch;
use crate::verdict::{
    Channel, ConfirmType, PreviewSource, Question, Quorum, Remember, Spend, Standing, Times,
};

/// What a question holds beside the call.
#[derive(Debug)]
pub(in crate::policy) struct Asking {
    pub(in crate::policy) rule: Option<String>,
    pub(in crate::policy) reason: Option<Sanitized>,
    pub(super) claim: Option<String>,
    pub(in crate::policy) summary: Sanitized,
    pub(in crate::policy) confirm: ConfirmType,
    pub(in crate::policy) channel: Channel,
    pub(in crate::policy) least: Assurance,
    pub(super) typed: Option<String>,
    pub(super) preview: Option<PreviewSource>,
    pub(super) quorum: Quorum,
    pub(in crate::policy) approvers: Option<Approvers>,
    pub(super) remember: Remember,
    pub(super) next: serde_json::Map<String, serde_json::Value>,
    pub(in crate::policy) spend: Option<Spend>,
    pub(in crate::policy) standing: Option<Standing>,
    pub(in crate::policy) times: Times,
}

impl Case<'_> {
    pub(in crate::policy) fn ask(&self) -> Ruling {
        match self.spend() {
            Ok(Some(spend)) if !spend.charges.is_empty() => self.ask_counted(spend),
            Ok(spend) => self.ask_about(spend, None),
            Err(refusal) => refusal,
        }
    }

    /// Asks about a call, and says why, beside what the rule says.
    pub(super) fn ask_about(&self, spend: Option<Spend>, besides: Option<String>) -> Ruling {
        let (channel, least) = self.channel_and_proof();
        let approvers = self.found.and_then(|found| found.rule.approvers.clone());
        let best = self.facts.reach.best(&self.world.subject().caller.org, approvers.as_ref());
        if best.is_none_or(|best| least > best) {
            return self.refuse(Why::NoApproverReachable { need: least });
        }
        if let Err(too_large) = render_value(self.world.arguments()) {
            return self.refuse(Why::TooLargeToReview { bytes: too_large.bytes });
        }
        let confirm = self.confirm();
        let (typed, preview) = match self.typed_and_preview(confirm) {
            Ok(both) => both,
            Err(refusal) => return refusal,
        };
        let asking = self.asking();
        let reason = match (asking.reason, besides) {
            (Some(reason), Some(besides)) => Some(Sanitized::line(&format!("{reason}; {besides}"))),
            (None, Some(besides)) => Some(Sanitized::line(&besides)),
            (reason, None) => reason,
        };
        let remember = self.remember(confirm, least);
        Ruling::Ask(Box::new(Asking {
            reason,
            spend,
            channel,
            least,
            confirm,
            times: self.policy.defaults.times(channel, confirm),
            typed,
            preview,
            quorum: self.quorum(),
            approvers,
            remember,
            ..asking
        }))
    }

    /// X6: how many different people must say yes.
    pub(in crate::policy) fn quorum(&self) -> Quorum {
        self.found.map_or(Quorum::ONE, |found| found.rule.quorum)
    }

    /// X4: how far a yes may be remembered. What a human must type or sign is asked about every time, and so is a
    /// call that raises its mode.
    fn remember(&self, confirm: ConfirmType, least: Assurance) -> Remember {
        let raises = self.presented.mode.is_some_and(|wished| wished > self.in_force);
        let alone = self.quorum() == Quorum::ONE;
        if self.policy.grants == Grants::Never || least >= Assurance::Verified || raises || !alone {
            return Remember::Never;
        }
        match confirm {
            ConfirmType::Simple => Remember::AnyScope,
            ConfirmType::Preview => Remember::ExactCall,
            ConfirmType::None | ConfirmType::Type => Remember::Never,
        }
    }

    /// What the human must type, and where the preview comes from, where the rule wants that.
    fn typed_and_preview(
        &self,
        confirm: ConfirmType,
    ) -> Result<(Option<String>, Option<PreviewSource>), Ruling> {
        let Some(rule) = self.found.map(|found| found.rule) else { return Ok((None, None)) };
        match confirm {
            ConfirmType::None | ConfirmType::Simple => Ok((None, None)),
            ConfirmType::Type => match rule.confirm.text_to_type(self.world.arguments(), self.facts.state) {
                Ok(text) => Ok((Some(text), None)),
                Err(reason) => Err(self.refuse(Why::PolicyDenied { reason })),
            },
            ConfirmType::Preview => {
                let declared = rule.confirm.preview.as_ref();
                match declared.and_then(|preview| preview.source(self.call, &rule.name, self.world)) {
                    Some(source) => Ok((None, Some(source))),
                    None => Err(self.refuse(no_preview())),
                }
            }
        }
    }

    /// K1: both keys, or a preview of what would have been called.
    pub(super) fn two_keys(&self) -> Ruling {
        match (self.facts.switch, self.presented.key) {
            // K5: a human at the client may turn the caller's key.
            (OperatorSwitch::Live, CallKey::Absent) if self.facts.ways.forms => {
                Ruling::Ask(Box::new(Asking {
                    channel: Channel::Elicitation,
                    least: Assurance::Client,
                    times: self.policy.defaults.times(Channel::Elicitation, ConfirmType::Simple),
                    ..self.asking()
                }))
            }
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

    pub(super) fn asking(&self) -> Asking {
        let rule = self.found.map(|found| found.rule);
        Asking {
            rule: rule.map(|rule| rule.name.clone()),
            reason: self.reason_to_ask().as_deref().map(Sanitized::line),
            claim: self.presented.reason.clone(),
            summary: self.summary(),
            confirm: ConfirmType::Simple,
            channel: Channel::OutOfBand,
            least: self.policy.defaults.least,
            typed: None,
            preview: None,
            quorum: Quorum::ONE,
            approvers: None,
            remember: Remember::Never,
            next: rule.map(|rule| rule.next.clone()).unwrap_or_default(),
            spend: None,
            standing: None,
            times: self.policy.defaults.times,
        }
    }

    /// The operator's words, and what else makes this a question.
    fn reason_to_ask(&self) -> Option<String> {
        let rule = self.found.and_then(|found| found.rule.reason.clone());
        let raise = self.presented.mode.filter(|wished| *wished > self.in_force);
        let raise = raise.map(|wished| format!("it raises the mode from {} to {wished}", self.in_force));
        let doubt = self.found.and_then(|found| found.error.as_ref()).map(no_answer);
        let (first, rest) = match (rule, raise, doubt) {
            (Some(rule), raise, doubt) => (rule, [raise, doubt]),
            (None, Some(raise), doubt) => (raise, [doubt, None]),
            (None, None, doubt) => (doubt?, [None, None]),
        };
        let rest: String = rest.into_iter().flatten().map(|also| format!(" ({also})")).collect();
        Some(first + &rest)
    }
}

impl Asking {
    pub(super) fn about(self, call: ToolCall, classified: Classified) -> Question {
        Question {
            binding: call.binding,
            classified,
            rule: self.rule,
            reason: self.reason,
            claim: self.claim,
            summary: self.summary,
            confirm: self.confirm,
            channel: self.channel,
            least: self.least,
            typed: self.typed,
            preview: None,
            quorum: self.quorum,
            approvers: self.approvers,
            remember: self.remember,
            next: self.next,
            spend: self.spend,
            standing: self.standing,
            times: self.times,
        }
    }
}
