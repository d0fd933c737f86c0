//! The words that numbers are told apart by.
//!
//! INVARIANT: every label but the server's name is one of these words, so nothing that a client sends can add
//! a series. An operator chooses the names of servers.

use std::fmt;
use std::marker::PhantomData;

use yesgate_core::refusal::Why;
use yesgate_core::verdict::{Standing, Verdict, Would};

/// A label with a fixed set of values.
pub(super) trait Label: Copy + 'static {
    /// Its name.
    const KEY: &'static str;
    /// Its values, each at its own place.
    const ALL: &'static [Self];

    /// The value as it is written.
    fn as_str(self) -> &'static str;

    /// Where it stands in [`Self::ALL`].
    fn place(self) -> usize;
}

macro_rules! label {
    ($(#[$doc:meta])* $name:ident, $key:literal, { $($(#[$meaning:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum $name {
            $($(#[$meaning])* $variant,)+
        }

        impl Label for $name {
            const KEY: &'static str = $key;
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            fn place(self) -> usize {
                self as usize
            }
        }
    };
}

label!(
    /// Where a request came in.
    Front, "front", {
        /// Over HTTP, standing alone.
        Modern = "modern",
        /// Over HTTP, within a session.
        Legacy = "legacy",
        /// On stdin.
        Stdio = "stdio",
    }
);

label!(
    /// What kind of message it was.
    MethodClass, "method", {
        /// A call of a tool.
        Call = "call",
        /// A list of tools, prompts, resources or their templates.
        List = "list",
        /// Something that is looked at: a resource, a prompt, a completion.
        Read = "read",
        /// A greeting, or a sign of life.
        Hello = "hello",
        /// A wish to hear of changes.
        Listen = "listen",
        /// A word about a task.
        Task = "task",
        /// A notification.
        Notification = "notification",
        /// A message that nobody here knows, or that could not be read.
        Unknown = "unknown",
    }
);

label!(
    /// How a request ended.
    Outcome, "outcome", {
        /// It got a result; a tool's own complaint is one too.
        Answered = "answered",
        /// It was understood, and not let through.
        Refused = "refused",
        /// It was not understood.
        Invalid = "invalid",
        /// A server, or the gateway itself, could not do its part.
        Failed = "failed",
        /// The client did not wait for the end.
        Cancelled = "cancelled",
    }
);

label!(
    /// What the gate said of a call.
    Judged, "verdict", {
        /// It ran.
        Forwarded = "forwarded",
        /// A human is asked first.
        Asked = "asked",
        /// It ran, for the policy is only tried; a human would have been asked.
        WouldAsk = "would_ask",
        /// It ran, for the policy is only tried; it would have been refused.
        WouldRefuse = "would_refuse",
        /// It was explained instead of run.
        Explained = "explained",
        /// It does not run.
        Refused = "refused",
    }
);

label!(
    /// Why an HTTP request was turned away before anybody read its message.
    Rejection, "reason", {
        /// It was meant for another host.
        Host = "host",
        /// It came from a page that may not call.
        Origin = "origin",
        /// There is nothing at this path.
        Path = "path",
        /// This HTTP method is not served here.
        Method = "method",
        /// Its body is no JSON, or it does not take what is answered.
        ContentType = "content_type",
        /// Its body is compressed.
        Encoding = "encoding",
        /// It is larger than allowed.
        TooLarge = "too_large",
        /// It took longer than allowed.
        TooSlow = "too_slow",
        /// It ended early, or its framing is wrong.
        Broken = "broken",
        /// The caller, or all of them together, hold as much as they may.
        Full = "full",
        /// The gateway is ending.
        Closing = "closing",
    }
);

label!(
    /// What became of a letter.
    Mail, "outcome", {
        /// A mail server took it.
        Sent = "sent",
        /// An attempt failed.
        Failed = "failed",
        /// It was given up.
        Dropped = "dropped",
    }
);

label!(
    /// What became of a checkpoint.
    Marked, "outcome", {
        /// Every place took it.
        Written = "written",
        /// An attempt failed.
        Failed = "failed",
    }
);

label!(
    /// The codes of refusals, as agents see them.
    RefusalCode, "code", {
        /// There is no such token.
        TokenInvalid = "consent_token_invalid",
        /// The token is too old.
        TokenExpired = "consent_token_expired",
        /// The token is another call's.
        TokenMismatch = "consent_token_mismatch",
        /// A key is not turned.
        DryRunPreview = "DRY_RUN_PREVIEW",
        /// The mode forbids it.
        ModeForbids = "mode_forbids",
        /// The policy forbids it.
        PolicyDenied = "policy_denied",
        /// A human said no.
        Denied = "denied",
        /// Nobody decided, or acted, in time.
        Expired = "expired",
        /// A newer question took its place.
        Superseded = "superseded",
        /// It was withdrawn.
        Cancelled = "cancelled",
        /// Somebody decided before.
        AlreadyDecided = "already_decided",
        /// It runs now.
        ExecutionInProgress = "execution_in_progress",
        /// It may have run.
        ExecutionUnknown = "execution_unknown",
        /// The yes does not prove enough.
        AssuranceTooLow = "assurance_too_low",
        /// Nobody could be asked.
        NoApproverReachable = "no_approver_reachable",
        /// The tool is not what it was.
        ToolChanged = "tool_changed",
        /// What was seen is not what is stored.
        ContentChanged = "content_changed",
        /// Nobody could read all of it.
        TooLargeToReview = "too_large_to_review",
        /// Not all who must agree have said yes.
        QuorumPending = "quorum_pending",
        /// It asked, or was denied, too often.
        RateLimited = "rate_limited",
        /// A human froze the client.
        ClientFrozen = "client_frozen",
        /// A budget has no room for it.
        BudgetExceeded = "budget_exceeded",
        /// The ledger cannot be used.
        ConsentUnavailable = "consent_unavailable",
    }
);

impl MethodClass {
    /// The kind of a method. It knows the same methods as [`crate::methods::route`].
    pub fn of(method: &str) -> Self {
        match method {
            "tools/call" => Self::Call,
            "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => Self::List,
            "resources/read" | "prompts/get" | "completion/complete" => Self::Read,
            "initialize" | "server/discover" | "ping" | "logging/setLevel" => Self::Hello,
            "subscriptions/listen" | "resources/subscribe" | "resources/unsubscribe" => Self::Listen,
            "tasks/get" | "tasks/list" | "tasks/result" | "tasks/update" | "tasks/cancel" => Self::Task,
            _ if crate::methods::passes(method) => Self::Notification,
            _ => Self::Unknown,
        }
    }
}

impl From<&Verdict> for Judged {
    fn from(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Forward(_) => Self::Forwarded,
            Verdict::Ask(question) | Verdict::AskWithPreview(question, _) => match question.standing {
                Some(Standing::Rule) => Self::Forwarded,
                Some(Standing::Shadow(Would::Ask)) => Self::WouldAsk,
                Some(Standing::Shadow(Would::Refuse(_))) => Self::WouldRefuse,
                Some(Standing::TwoKeys) | None => Self::Asked,
            },
            Verdict::Explain(_) | Verdict::Preview(_) | Verdict::Unneeded(_) => Self::Explained,
            Verdict::Refuse(_) => Self::Refused,
        }
    }
}

impl From<&Why> for RefusalCode {
    fn from(why: &Why) -> Self {
        match why {
            Why::TokenInvalid | Why::NoSuchIntent => Self::TokenInvalid,
            Why::TokenExpired => Self::TokenExpired,
            Why::TokenMismatch { .. } | Why::NothingTyped | Why::WrongText { .. } => Self::TokenMismatch,
            Why::DryRunPreview { .. } => Self::DryRunPreview,
            Why::ModeForbids { .. } | Why::ModeRaise { .. } => Self::ModeForbids,
            Why::PolicyDenied { .. }
            | Why::CapReached { .. }
            | Why::PolicyChanged
            | Why::NotRemembered { .. }
            | Why::NotEditable
            | Why::NotAnApprover { .. }
            | Why::Stopped { .. } => Self::PolicyDenied,
            Why::QuorumPending { .. } => Self::QuorumPending,
            Why::RateLimited { .. } => Self::RateLimited,
            Why::ClientFrozen { .. } => Self::ClientFrozen,
            Why::Denied { .. } | Why::Responded { .. } => Self::Denied,
            Why::Expired => Self::Expired,
            Why::Superseded => Self::Superseded,
            Why::Cancelled => Self::Cancelled,
            Why::AlreadyDecided { .. } => Self::AlreadyDecided,
            Why::ExecutionInProgress => Self::ExecutionInProgress,
            Why::ExecutionUnknown | Why::FailedOver => Self::ExecutionUnknown,
            Why::AssuranceTooLow { .. } => Self::AssuranceTooLow,
            Why::NoApproverReachable { .. } => Self::NoApproverReachable,
            Why::ToolChanged => Self::ToolChanged,
            Why::ContentChanged => Self::ContentChanged,
            Why::TooLargeToReview { .. } => Self::TooLargeToReview,
            Why::BudgetExceeded(_) => Self::BudgetExceeded,
            Why::ConsentUnavailable { .. } => Self::ConsentUnavailable,
        }
    }
}

/// One number for each value of a label, all there from the start.
pub(super) struct Each<L, T> {
    values: Box<[T]>,
    label: PhantomData<L>,
}

impl<L: Label, T> Each<L, T> {
    /// The one of this value. It is always there, which only the compiler does not know.
    pub(super) fn at(&self, label: L) -> Option<&T> {
        self.values.get(label.place())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (L, &T)> {
        L::ALL.iter().copied().zip(&self.values)
    }
}

impl<L: Label, T: Default> Default for Each<L, T> {
    fn default() -> Self {
        Self { values: L::ALL.iter().map(|_| T::default()).collect(), label: PhantomData }
    }
}

impl<L, T: fmt::Debug> fmt::Debug for Each<L, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}
