//! What the judgement says of one call.

use std::fmt;
use std::num::NonZeroU8;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::amount::{Amount, AmountError};
use crate::approvers::Approvers;
use crate::assurance::Assurance;
use crate::budget::{Charge, Sums, Window};
use crate::call::ToolCall;
use crate::class::Classified;
use crate::digest::Binding;
use crate::mode::Mode;
use crate::permit::PermittedCall;
use crate::policy::Lookup;
use crate::refusal::{Refusal, Why};
use crate::render::Sanitized;

/// The answer of `Policy::decide`.
#[derive(Debug)]
#[must_use = "a verdict that nobody follows is no gate"]
pub enum Verdict {
    /// It may run as it is.
    Forward(PermittedCall),
    /// This mode does not run writes; say what it would do and how to go on.
    Explain(Explanation),
    /// This mode shows what a write would do: the operator's preview runs in its place.
    Preview(Box<Plan>),
    /// It would change nothing, so nobody is asked and nothing runs.
    Unneeded(Explanation),
    /// A human is asked first.
    Ask(Box<Question>),
    /// A human is asked first, and shown what the operator's preview says.
    AskWithPreview(Box<Question>, PreviewSource),
    /// It does not run.
    Refuse(Refusal),
}

/// What a call would do in a mode that runs it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Explanation {
    /// The call.
    pub call: ToolCall,
    /// How dangerous it is, and how we know.
    pub classified: Classified,
    /// The mode that forbids it.
    pub mode: Mode,
    /// What it would do, in one line.
    pub summary: Sanitized,
    /// Why it is not simply run, in the operator's words.
    pub reason: Option<Sanitized>,
    /// Next steps that the rule declares.
    pub next: serde_json::Map<String, serde_json::Value>,
}

/// What plan mode answers with.
#[derive(Debug)]
pub struct Plan {
    /// What it would do.
    pub explanation: Explanation,
    /// Where the preview comes from.
    pub source: PreviewSource,
}

/// Where a preview comes from. Only the operator declares one: a `dry_run` that a server ignores would
/// be the real thing.
#[derive(Debug)]
pub enum PreviewSource {
    /// The tool itself, with the arguments that make it preview.
    Call(PermittedCall),
    /// A read tool that says what would happen.
    Tool(Lookup),
    /// The operator's sentence with the call's values put in.
    Text(Sanitized),
}

/// What is put to a human.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The call, whole.
    pub binding: Binding,
    /// How dangerous it is, and how we know.
    pub classified: Classified,
    /// The rule that asks, where one does.
    pub rule: Option<String>,
    /// Why it is asked, in the operator's words.
    pub reason: Option<Sanitized>,
    /// Why the agent asks, in its own words: a claim, which no yes is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// What would happen, in one line.
    pub summary: Sanitized,
    /// How the human confirms.
    pub confirm: ConfirmType,
    /// Where the human is asked.
    pub channel: Channel,
    /// The least proof of a human that will do.
    pub least: Assurance,
    /// What the human must type, where they must. It is never told to the agent (M6).
    #[serde(default)]
    pub typed: Option<String>,
    /// What the preview said, line by line; the yes is bound to it.
    #[serde(default)]
    pub preview: Option<Vec<Sanitized>>,
    /// How many different people must say yes.
    #[serde(default)]
    pub quorum: Quorum,
    /// Whose yes it must be, where the rule names groups.
    #[serde(default)]
    pub approvers: Option<Approvers>,
    /// How far a human may have a yes to it remembered.
    #[serde(default)]
    pub remember: Remember,
    /// Next steps that the rule declares for refusals.
    pub next: serde_json::Map<String, serde_json::Value>,
    /// What it costs, where the rule says how to read that.
    pub spend: Option<Spend>,
    /// A yes that comes with the question itself.
    pub standing: Option<Standing>,
    /// How long everything stays valid.
    pub times: Times,
}

impl Question {
    /// The sums that have to be known where it is opened.
    pub fn windows(&self) -> Vec<Window> {
        self.spend.as_ref().map(Spend::windows).unwrap_or_default()
    }
}

/// How a human confirms; a later one asks more of them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmType {
    /// Not at all: the call runs.
    None,
    /// Yes or no.
    Simple,
    /// Yes or no, after a preview was made and shown.
    Preview,
    /// By typing the resource's name.
    Type,
}

impl ConfirmType {
    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Simple => "simple",
            Self::Preview => "preview",
            Self::Type => "type",
        }
    }
}

impl fmt::Display for ConfirmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How many different people must say yes (X6).
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quorum(NonZeroU8);

impl Quorum {
    /// Anybody's yes will do.
    pub const ONE: Self = Self(NonZeroU8::MIN);

    /// So many people; `None`: nobody is no quorum.
    pub fn new(people: u8) -> Option<Self> {
        NonZeroU8::new(people).map(Self)
    }

    /// How many people.
    pub const fn people(self) -> u8 {
        self.0.get()
    }
}

impl Default for Quorum {
    fn default() -> Self {
        Self::ONE
    }
}

/// How far a yes may be remembered (X4).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// Not at all: every call is asked about.
    #[default]
    Never,
    /// For the same call with the same preview.
    ExactCall,
    /// As far as the human says.
    AnyScope,
}

/// Where the human is asked. The command line is open to every question besides.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// In the conversation: the agent gets a token and brings it back.
    Chat,
    /// By the client itself, in a form of its own.
    Elicitation,
    /// On a page, away from the agent: it gets no token, and the call waits.
    Web,
    /// Away from the agent, at the command line: it gets no token, and the call waits.
    OutOfBand,
}

impl Channel {
    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Elicitation => "elicitation",
            Self::Web => "web",
            Self::OutOfBand => "out_of_band",
        }
    }

    /// How well a yes that comes this way proves a human, at the least.
    pub const fn proof(self) -> Assurance {
        match self {
            Self::Chat => Assurance::Relayed,
            Self::Elicitation => Assurance::Client,
            // I5: away from the agent, the agent's own word must not do.
            Self::Web | Self::OutOfBand => Assurance::Local,
        }
    }
}

/// A yes that comes with the question itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Both keys are turned. The model's key is no human, and is recorded as that.
    TwoKeys,
    /// A rule of the operator lets it run within a budget. Nobody is asked, and that is recorded.
    Rule,
    /// The policy is only tried, and would have held it up. Nobody is asked, and that is recorded.
    Shadow(Would),
}

/// What a policy that is only tried would have done with a call (X8).
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Would {
    /// Asked a human.
    Ask,
    /// Refused it.
    Refuse(WouldRefuse),
}

/// The refusals that are the policy's own. All others are refusals even where the policy is only tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WouldRefuse {
    /// A rule rejects it.
    PolicyDenied,
    /// The policy's own mode does not run it.
    ModeForbids,
    /// A budget has no room.
    BudgetExceeded,
    /// Nobody who could say yes can be reached.
    NoApproverReachable,
    /// A human could not read all of it.
    TooLargeToReview,
}

impl WouldRefuse {
    /// The policy's own refusal; `None`: something else than the policy refuses.
    pub const fn of(why: &Why) -> Option<Self> {
        match why {
            Why::PolicyDenied { .. } | Why::CapReached { .. } => Some(Self::PolicyDenied),
            Why::BudgetExceeded(_) => Some(Self::BudgetExceeded),
            Why::NoApproverReachable { .. } => Some(Self::NoApproverReachable),
            Why::TooLargeToReview { .. } => Some(Self::TooLargeToReview),
            Why::TokenInvalid
            | Why::NoSuchIntent
            | Why::TokenExpired
            | Why::TokenMismatch { .. }
            | Why::NothingTyped
            | Why::WrongText { .. }
            | Why::DryRunPreview { .. }
            // What the mode forbids is explained, and judged where the mode is; raising it is asked about as ever.
            | Why::ModeForbids { .. }
            | Why::ModeRaise { .. }
            | Why::Denied { .. }
            | Why::Responded { .. }
            | Why::Expired
            | Why::Superseded
            | Why::Cancelled
            | Why::AlreadyDecided { .. }
            | Why::ExecutionInProgress
            | Why::ExecutionUnknown
            | Why::AssuranceTooLow { .. }
            | Why::ToolChanged
            | Why::PolicyChanged
            | Why::FailedOver
            | Why::ContentChanged
            | Why::NotRemembered { .. }
            | Why::NotEditable
            | Why::QuorumPending { .. }
            | Why::NotAnApprover { .. }
            | Why::RateLimited { .. }
            | Why::ClientFrozen { .. }
            | Why::Stopped { .. }
            | Why::ConsentUnavailable { .. } => None,
        }
    }

    /// The code that the agent would have seen.
    pub const fn code(self) -> &'static str {
        match self {
            Self::PolicyDenied => "policy_denied",
            Self::ModeForbids => "mode_forbids",
            Self::BudgetExceeded => "budget_exceeded",
            Self::NoApproverReachable => "no_approver_reachable",
            Self::TooLargeToReview => "too_large_to_review",
        }
    }
}

/// What a call costs.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// The exact amount, as the call wrote it.
    pub amount: String,
    /// In which currency.
    pub currency: Option<String>,
    /// Who gets it.
    pub recipient: Option<String>,
    /// The budgets that it counts in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charges: Vec<Charge>,
    /// What had been spent by the sums that conditions looked at; only of use until it is stored.
    #[serde(skip)]
    pub seen: Sums,
}

impl Spend {
    /// The amount to count with.
    ///
    /// # Errors
    /// When it is none; a call with such an amount is never asked about.
    pub fn exact(&self) -> Result<Amount, AmountError> {
        self.amount.parse()
    }

    /// The sums that a yes to it needs to know.
    pub fn windows(&self) -> Vec<Window> {
        let mut windows: Vec<Window> = self.charges.iter().map(|charge| charge.window.clone()).collect();
        for sum in self.seen.iter() {
            if !windows.contains(&sum.window) {
                windows.push(sum.window.clone());
            }
        }
        windows
    }
}

/// The clocks of a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// How long a chat token lives.
    pub token: SignedDuration,
    /// How long a human may take to decide.
    pub decide: SignedDuration,
    /// How long after the yes the call may still start.
    pub run: SignedDuration,
    /// How long a no keeps the same call from being asked again.
    pub cool_off: SignedDuration,
}
