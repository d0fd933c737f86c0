//! Every way in which a call does not run, in one place: the code agents match on, what
//! happened, and the one next step.
//!
//! The texts describe, they do not shout; each says that nothing ran, or that this is unknown.

mod wire;
mod words;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::approvers::any_of;
use crate::assurance::Assurance;
use crate::budget::Exceeded;
use crate::class::Class;
use crate::id::{GroupName, IntentId, ToolName};
use crate::mode::Mode;
use crate::pace::Bound;
use crate::policy::OwnNames;
use crate::render::Sanitized;

/// A call that does not run, and why.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// Why.
    pub why: Why,
    /// The question it belongs to, where there is one.
    pub intent: Option<IntentId>,
    /// Next steps that the rule declares, and what else is known.
    pub next: Map<String, Value>,
    /// What the gateway's tools are called where it is heard; `None`: as everywhere.
    pub(crate) names: Option<Box<OwnNames>>,
}

/// The vocabulary of refusals.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Why {
    /// There is no such token, or it was used already.
    TokenInvalid,
    /// There is no such question for this caller.
    NoSuchIntent,
    /// The token is older than it may be.
    TokenExpired,
    /// The token was issued for another call.
    TokenMismatch {
        /// The first field that differs.
        field: &'static str,
    },
    /// The human has to type something, and typed nothing.
    NothingTyped,
    /// The human typed something else than they had to.
    WrongText {
        /// How many tries are left.
        left: u8,
    },
    /// One of the two keys is not turned.
    DryRunPreview {
        /// The tool.
        tool: ToolName,
        /// The arguments, secrets redacted.
        preview: Value,
    },
    /// The mode does not allow it.
    ModeForbids {
        /// The tool.
        tool: ToolName,
        /// Its class.
        class: Class,
        /// The mode in force.
        mode: Mode,
        /// What it would do.
        summary: Sanitized,
    },
    /// The caller wants a higher mode than it has.
    ModeRaise {
        /// The mode in force.
        mode: Mode,
        /// The mode wished for.
        wished: Mode,
    },
    /// A rule rejects it, or could not be evaluated.
    PolicyDenied {
        /// Why, in the operator's words or ours.
        reason: String,
    },
    /// A rule rejects it by its amount, or by what was spent.
    CapReached {
        /// Why, in the operator's words or ours.
        reason: String,
    },
    /// A human said no.
    Denied {
        /// The human's words, or what the agent claims they are.
        reason: Option<Sanitized>,
    },
    /// A human answered in words instead of running it.
    Responded {
        /// The human's words.
        text: String,
    },
    /// Nobody decided in time, or the yes was not used in time.
    Expired,
    /// A newer question for the same operation took its place.
    Superseded,
    /// It was withdrawn.
    Cancelled,
    /// Somebody decided before.
    AlreadyDecided {
        /// The state it is in.
        state: &'static str,
    },
    /// It is running now.
    ExecutionInProgress,
    /// It may have run.
    ExecutionUnknown,
    /// The yes does not prove enough.
    AssuranceTooLow {
        /// What was shown.
        have: Assurance,
        /// What the rule needs.
        need: Assurance,
    },
    /// Nobody who could decide can be reached from here.
    NoApproverReachable {
        /// What the rule needs.
        need: Assurance,
    },
    /// The tool's definition changed after the question was asked.
    ToolChanged,
    /// The policy became stricter after the question was asked.
    PolicyChanged,
    /// Another database took over, and it may lack what was decided or run last.
    FailedOver,
    /// What the human saw is not what is stored.
    ContentChanged,
    /// A human could not read all of it.
    TooLargeToReview {
        /// The size of what a human would have to read.
        bytes: usize,
    },
    /// The yes cannot be remembered as the human wished.
    NotRemembered {
        /// Why.
        reason: &'static str,
    },
    /// A human cannot change this call before saying yes.
    NotEditable,
    /// The rule wants the yes of somebody else.
    NotAnApprover {
        /// Whose.
        groups: Vec<GroupName>,
    },
    /// Not all who must agree have said yes.
    QuorumPending {
        /// How many have.
        have: u8,
        /// How many must.
        need: u8,
    },
    /// The caller has asked too often, or was denied too often.
    RateLimited {
        /// Which bound it has reached.
        bound: Bound,
        /// Until when; `None`: until one of its open questions is answered.
        until: Option<Timestamp>,
    },
    /// A human froze the client.
    ClientFrozen {
        /// Why, in their words.
        reason: String,
    },
    /// A human stopped everything.
    Stopped {
        /// Why, in their words.
        reason: String,
    },
    /// A budget has no room for it.
    BudgetExceeded(Box<Exceeded>),
    /// The ledger cannot be used now.
    ConsentUnavailable {
        /// What is wrong, without internals.
        reason: &'static str,
    },
}

/// How a refusal is put on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WireForm {
    /// A JSON-RPC error with code −32015 (REST: 402).
    ConsentError,
    /// A tool result with `isError: true`, so that the model sees it.
    ToolError,
}

impl From<Why> for Refusal {
    fn from(why: Why) -> Self {
        Self { why, intent: None, next: Map::new(), names: None }
    }
}

impl Refusal {
    /// Names the question it belongs to.
    #[must_use]
    pub fn about(mut self, intent: &IntentId) -> Self {
        self.intent = Some(intent.clone());
        self
    }

    /// Adds what is known of the cause, in our own words.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.next.insert("reason".into(), reason.into());
        self
    }

    /// Adds something to look at.
    #[must_use]
    pub fn showing(mut self, what: &str, value: Value) -> Self {
        self.next.insert(what.into(), value);
        self
    }

    /// Adds what a preview says now, where it was made again.
    #[must_use]
    pub fn showing_preview(self, now: Option<&[Sanitized]>) -> Self {
        match now {
            Some(lines) => {
                let lines = lines.iter().map(|line| Value::from(line.as_str())).collect();
                self.showing("preview", lines)
            }
            None => self,
        }
    }

    /// Names the gateway's tools as the caller knows them (I3). Whoever did that before knew better.
    #[must_use]
    pub fn naming(mut self, names: OwnNames) -> Self {
        self.names.get_or_insert_with(|| Box::new(names));
        self
    }

    /// What happened, and the one next step.
    pub fn message(&self) -> String {
        match &self.names {
            Some(names) => self.why.message_naming(names),
            None => self.why.message(),
        }
    }

    /// Adds the next steps that a rule declares.
    #[must_use]
    pub fn with_next(mut self, next: &Map<String, Value>) -> Self {
        self.next.clone_from(next);
        self
    }

    /// The payload that is the same on every wire.
    pub fn payload(&self) -> Map<String, Value> {
        let mut payload = Map::new();
        payload.insert("error".into(), self.why.code().into());
        payload.insert("message".into(), self.message().into());
        let mut details = self.next.clone();
        self.why.add_details(&mut details);
        payload.insert("details".into(), details.into());
        if let Some(intent) = &self.intent {
            payload.insert("intent_id".into(), intent.as_str().into());
        }
        self.why.add_top_level(&mut payload);
        payload
    }
}

impl Why {
    /// The code agents match on. Part of the public contract: never change one.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TokenInvalid | Self::NoSuchIntent => "consent_token_invalid",
            Self::TokenExpired => "consent_token_expired",
            Self::TokenMismatch { .. } | Self::NothingTyped | Self::WrongText { .. } => {
                "consent_token_mismatch"
            }
            Self::DryRunPreview { .. } => "DRY_RUN_PREVIEW",
            Self::ModeForbids { .. } | Self::ModeRaise { .. } => "mode_forbids",
            Self::PolicyDenied { .. } | Self::CapReached { .. } => "policy_denied",
            Self::Denied { .. } | Self::Responded { .. } => "denied",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Cancelled => "cancelled",
            Self::AlreadyDecided { .. } => "already_decided",
            Self::ExecutionInProgress => "execution_in_progress",
            Self::ExecutionUnknown | Self::FailedOver => "execution_unknown",
            Self::AssuranceTooLow { .. } => "assurance_too_low",
            Self::NoApproverReachable { .. } => "no_approver_reachable",
            Self::ToolChanged => "tool_changed",
            Self::PolicyChanged => "policy_denied",
            Self::ContentChanged => "content_changed",
            Self::TooLargeToReview { .. } => "too_large_to_review",
            Self::NotRemembered { .. } | Self::NotEditable | Self::NotAnApprover { .. } => "policy_denied",
            Self::QuorumPending { .. } => "quorum_pending",
            Self::RateLimited { .. } => "rate_limited",
            Self::ClientFrozen { .. } => "client_frozen",
            Self::Stopped { .. } => "policy_denied",
            Self::BudgetExceeded(_) => "budget_exceeded",
            Self::ConsentUnavailable { .. } => "consent_unavailable",
        }
    }

    /// What happened, that nothing ran (or that this is unknown), and the one next step.
    pub fn message(&self) -> String {
        self.message_naming(&OwnNames::default())
    }

    /// The same where the gateway's tools may have other names.
    fn message_naming(&self, names: &OwnNames) -> String {
        let OwnNames { reject, status, .. } = names;
        match self {
            Self::TokenInvalid => format!(
                "The confirm token does not exist or was already used. Nothing ran. Call the tool again without \
                 a token to ask again; the result of a call that already ran is read with {status}."
            ),
            Self::NoSuchIntent => {
                "There is no such question for this caller. Nothing ran. Call the tool itself \
                 to ask."
                    .into()
            }
            Self::TokenExpired => "The confirm token is too old. Nothing ran. Call the tool again without a \
                 token to get a fresh one."
                .into(),
            Self::TokenMismatch { field } => format!(
                "The confirm token was issued for another call: `{field}` changed. Nothing ran. Repeat the \
                 call exactly as it was confirmed, or call without a token to ask anew."
            ),
            Self::NothingTyped => {
                "A yes to this needs the name of what it concerns, typed by the human. Nothing \
                 ran, and the question stays open. Ask the user to type it; do not fill it in yourself."
                    .into()
            }
            Self::WrongText { left: 0 } => {
                "What was typed is not the name of what this concerns, for the third \
                 time. Nothing ran, and the question is over. Call the tool again to ask again."
                    .into()
            }
            Self::WrongText { left } => format!(
                "What was typed is not the name of what this concerns. Nothing ran, and the question stays open \
                 for {left} more tries."
            ),
            Self::DryRunPreview { tool, .. } => {
                format!("`{tool}` did not run; this is a preview of what it would have been called with.")
            }
            Self::ModeForbids { tool, class, mode, summary } => {
                let next = words::to_run(names);
                format!(
                    "In {mode} mode `{tool}` ({class}) does not run. It would do this: {summary}. Nothing ran. {next}"
                )
            }
            Self::ModeRaise { mode, wished } => {
                let next = words::to_raise(names, *mode);
                format!("This caller is in {mode} mode and asked for {wished} mode. Nothing ran. {next}")
            }
            Self::PolicyDenied { reason } | Self::CapReached { reason } => {
                format!("The operator's policy does not allow this call: {reason}. Nothing ran.")
            }
            Self::Denied { reason: Some(reason) } => {
                format!(
                    "A human said no: {reason}. Nothing ran. Do not repeat this call; follow the reason given."
                )
            }
            Self::Denied { reason: None } => {
                "A human said no. Nothing ran. Do not repeat this call; ask what to do instead.".into()
            }
            Self::Responded { text } => format!(
                "A human answered instead of running it: {}. Nothing ran. Go on from these words; do not repeat \
                 this call.",
                Sanitized::line(text.trim_end_matches('.'))
            ),
            Self::Expired => {
                "Nobody decided in time, or the yes was not used in time. Nothing ran. Call the \
                 tool again to ask again."
                    .into()
            }
            Self::Superseded => "A newer question for the same operation took its place. Nothing ran for \
                 this one. Use the newer question."
                .into(),
            Self::Cancelled => {
                "The question was withdrawn. Nothing ran. Call the tool again to ask again.".into()
            }
            Self::AlreadyDecided { state } => {
                format!("The question was decided before: it is {state}. This answer changed nothing.")
            }
            Self::ExecutionInProgress => format!(
                "A human said yes, and the call is about to run or runs now. Read its result with {status}; do \
                 not call again."
            ),
            Self::ExecutionUnknown => "The call was sent and its answer was lost: it may or may not have \
                 run. It is never sent again by itself. Check its effect; a human then settles it with \
                 `yesgate resolve`."
                .into(),
            Self::AssuranceTooLow { have, need } => format!(
                "This call needs a yes at level `{need}`; this one is `{have}`. Nothing ran, and the question \
                 stays open. A human must decide where the proof is stronger."
            ),
            Self::NoApproverReachable { need } => format!(
                "This call needs a yes at level `{need}`, and nobody who can give it can be reached from this \
                 set-up. Nothing ran. The operator can see what is reachable with `yesgate doctor`."
            ),
            Self::ToolChanged => "The tool's definition changed after the question was asked. Nothing ran. \
                 Call the tool again; a human will be asked about the tool as it is now."
                .into(),
            Self::PolicyChanged => {
                "The operator's policy became stricter after the question was asked. Nothing \
                 ran. Call the tool again to ask under the policy as it is now."
                    .into()
            }
            Self::FailedOver => "The database that keeps consents failed over, and may lack what happened last. Nothing \
                 ran now, but this call may have run before. Find out; if it did not, call the tool again, and a human \
                 will be asked anew."
                .into(),
            Self::ContentChanged => "What was looked at is not what is stored now. Nothing ran. Look at the \
                 question again and decide on that."
                .into(),
            Self::TooLargeToReview { bytes } => format!(
                "The call is too large for a human to read ({bytes} bytes as shown). Nothing ran. Split it \
                 into smaller calls."
            ),
            Self::NotRemembered { reason } => format!(
                "This yes cannot be remembered: {reason}. Nothing ran, and the question stays open. Say yes to this \
                 one call, or remember less."
            ),
            Self::NotEditable => "A call cannot be changed where the yes is bound to a preview, to a text that is typed, \
                 or to several people. Nothing ran, and the question stays open. Deny it with the reason, and let the \
                 agent ask again."
                .into(),
            Self::NotAnApprover { groups } => format!(
                "The rule wants the yes of somebody in {}, and this was nobody of theirs. Nothing ran, and the \
                 question stays open. They say yes on the page, or with `yesgate approve --sign`.",
                any_of(groups)
            ),
            Self::QuorumPending { have, need } => format!(
                "This call needs the yes of {need} different people, not counting whoever it is made for; {have} have \
                 said yes. Nothing ran, and the question stays open. Wait; read how it stands with {status}."
            ),
            Self::RateLimited { bound: Bound::Denials, until } => format!(
                "Humans have said no to several calls of this client, so it asks nothing more{}. Nothing ran. Stop, \
                 and ask the user what they want.",
                words::until_when(*until)
            ),
            Self::RateLimited { bound: Bound::PerMinute, until } => format!(
                "This client has asked too many questions in a minute, so it asks nothing more{}. Nothing ran. Stop, \
                 and ask the user what they want.",
                words::until_when(*until)
            ),
            Self::RateLimited { bound: Bound::Open, .. } => format!(
                "Too many questions of this client wait for an answer. Nothing ran. Wait until a human has \
                 answered them, or take some back with {reject}."
            ),
            Self::ClientFrozen { reason } => format!(
                "A human has frozen this client: {reason}. Nothing ran, and nothing will until they thaw it with \
                 `yesgate thaw`. Stop, and tell the user."
            ),
            Self::Stopped { reason } => format!(
                "A human has stopped everything: {reason}. Nothing ran, and nothing will until they lift it with \
                 `yesgate panic --lift`. Stop, and tell the user."
            ),
            Self::BudgetExceeded(exceeded) => words::exceeded(exceeded),
            Self::ConsentUnavailable { reason } => {
                format!("Consent cannot be asked or recorded now: {reason}. Nothing ran. Try again later.")
            }
        }
    }

    fn add_details(&self, details: &mut Map<String, Value>) {
        match self {
            Self::TokenMismatch { field } => {
                details.insert("changed".into(), (*field).into());
            }
            Self::NothingTyped => {
                details.insert("changed".into(), "typed".into());
            }
            Self::WrongText { left } => {
                details.insert("changed".into(), "typed".into());
                details.insert("tries_left".into(), (*left).into());
            }
            Self::AssuranceTooLow { have, need } => {
                details.insert("have".into(), have.as_str().into());
                details.insert("need".into(), need.as_str().into());
            }
            Self::NoApproverReachable { need } => {
                details.insert("need".into(), need.as_str().into());
            }
            Self::ModeForbids { mode, class, .. } => {
                details.insert("mode".into(), mode.as_str().into());
                details.insert("class".into(), class.as_str().into());
            }
            Self::ModeRaise { mode, wished } => {
                details.insert("mode".into(), mode.as_str().into());
                details.insert("wished".into(), wished.as_str().into());
            }
            Self::BudgetExceeded(exceeded) => {
                let Exceeded { budget, amount, most, left, currency, frees_at, over: _ } = &**exceeded;
                details.insert("budget".into(), budget.as_str().into());
                details.insert("amount".into(), amount.to_string().into());
                details.insert("most".into(), most.to_string().into());
                details.insert("left".into(), left.to_string().into());
                details.insert("currency".into(), json!(currency));
                details.insert("frees_at".into(), json!(frees_at));
            }
            Self::NotAnApprover { groups } => {
                details.insert("approvers".into(), json!(groups));
            }
            Self::QuorumPending { have, need } => {
                details.insert("have".into(), (*have).into());
                details.insert("need".into(), (*need).into());
            }
            Self::RateLimited { bound, until } => {
                details.insert("bound".into(), bound.as_str().into());
                details.insert("until".into(), until.map(|until| until.to_string()).into());
            }
            Self::Responded { text } => {
                details.insert("response".into(), Sanitized::line(text).to_string().into());
            }
            Self::Denied { reason: Some(reason) } => {
                details.insert("reason".into(), reason.as_str().into());
            }
            Self::TokenInvalid
            | Self::NoSuchIntent
            | Self::TokenExpired
            | Self::DryRunPreview { .. }
            | Self::PolicyDenied { .. }
            | Self::CapReached { .. }
            | Self::Denied { reason: None }
            | Self::Expired
            | Self::Superseded
            | Self::Cancelled
            | Self::AlreadyDecided { .. }
            | Self::ExecutionInProgress
            | Self::ExecutionUnknown
            | Self::ToolChanged
            | Self::PolicyChanged
            | Self::FailedOver
            | Self::ContentChanged
            | Self::TooLargeToReview { .. }
            | Self::NotRemembered { .. }
            | Self::NotEditable
            | Self::ClientFrozen { .. }
            | Self::Stopped { .. }
            | Self::ConsentUnavailable { .. } => {}
        }
    }

    /// K1: agents written for two keys look for these at the top.
    fn add_top_level(&self, payload: &mut Map<String, Value>) {
        if let Self::DryRunPreview { tool, preview } = self {
            payload.insert("code".into(), json!("DRY_RUN_PREVIEW"));
            payload.insert("tool".into(), tool.as_str().into());
            payload.insert("preview".into(), preview.clone());
            payload.insert("retriable".into(), json!(false));
            payload.insert("recovery_hint".into(), json!(RECOVERY_HINT));
        }
    }
}

/// K1: the exact words, with the AND that keeps an agent from trying one key alone for ever.
pub const RECOVERY_HINT: &str =
    "Set MCP_DRY_RUN=false AND pass __confirm:true (or use elicitation flow) to actually execute";

#[cfg(test)]
mod tests;
