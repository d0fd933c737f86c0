//! What came of joining a log with the ledger.

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_core::id::IntentId;
use yesgate_core::render::Sanitized;

use super::line::LineError;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    /// How many calls the log has.
    pub(crate) calls: u64,
    /// How many of them have a redemption of their own.
    pub(crate) consented: u64,
    /// How many of them need none.
    pub(crate) free: u64,
    /// How many redemptions there are.
    pub(crate) redeemed: u64,
    /// How many of them are not in the log, and `unknown` or under way in the ledger.
    pub(crate) unknown: u64,
    /// How many of them are not in the log, and were not sent by the ledger's own word.
    pub(crate) not_sent: u64,
    /// What does not fit: how much.
    pub(crate) wrong: u64,
    /// What does not fit: the first of it.
    pub(crate) findings: Vec<Finding>,
}

/// One thing that does not fit.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The line of the log, where it is about one.
    pub(crate) line: Option<u64>,
    /// When the call arrived, or when the yes was spent.
    pub(crate) at: Option<Timestamp>,
    pub(crate) tool: Option<String>,
    /// The question, where it is about one.
    pub(crate) intent: Option<IntentId>,
    pub(crate) wrong: Wrong,
}

/// What is wrong. Where a call fits no redemption, the last of these that holds for one says the most.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Wrong {
    /// The line cannot be read.
    Unreadable(LineError),
    /// Neither the line nor the command says whose log it is.
    WhoseLog,
    /// The call has no redemption.
    NoConsent,
    /// The redemption is another process's.
    OtherProcess,
    /// The redemption was written down after the call had arrived.
    TooEarly,
    /// The redemption had let a call go before.
    Twice,
    /// The ledger says that no byte of it left.
    NotSent,
    /// The ledger says that it ran.
    NeverArrived,
    /// The trail has no yes before the redemption.
    RedeemedWithoutYes,
    /// The trail has two redemptions.
    RedeemedTwice,
}

impl Wrong {
    /// The code that programs match on.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable_line",
            Self::WhoseLog => "unknown_server",
            Self::NoConsent => "without_consent",
            Self::OtherProcess => "other_process",
            Self::TooEarly => "before_redeem",
            Self::Twice => "ran_twice",
            Self::NotSent => "arrived_not_sent",
            Self::NeverArrived => "never_arrived",
            Self::RedeemedWithoutYes => "redeemed_without_yes",
            Self::RedeemedTwice => "redeemed_twice",
        }
    }

    fn words(self) -> String {
        match self {
            Self::Unreadable(error) => format!("cannot be read: {error}"),
            Self::WhoseLog => "does not say of which server it is".into(),
            Self::NoConsent => "ran without consent: no such call was released".into(),
            Self::OtherProcess => "was sent by another process than the one it was released to".into(),
            Self::TooEarly => "arrived before its yes was spent".into(),
            Self::Twice => "ran a second time for the same yes".into(),
            Self::NotSent => "arrived, and was not sent, the ledger says".into(),
            Self::NeverArrived => "ran, the ledger says, and is not in the log".into(),
            Self::RedeemedWithoutYes => "was released without a yes before it".into(),
            Self::RedeemedTwice => "was released twice".into(),
        }
    }
}

impl Joined {
    pub(crate) const fn is_sound(&self) -> bool {
        self.wrong == 0
    }

    pub(crate) fn find(&mut self, finding: Finding) {
        self.wrong += 1;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(finding);
        }
    }

    /// For programs.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "calls": self.calls,
            "with_consent": self.consented,
            "free": self.free,
            "redeemed": self.redeemed,
            "unknown": self.unknown,
            "not_sent": self.not_sent,
            "wrong": self.wrong,
            "findings": self.findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
        })
    }

    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} calls in the log: {} with a yes of their own, {} that need none; {} released, of which {} are not in the \
             log and unknown, {} were not sent",
            self.calls, self.consented, self.free, self.redeemed, self.unknown, self.not_sent
        )];
        lines.extend(self.findings.iter().map(|finding| format!("  problem: {finding}")));
        let more = self.wrong.saturating_sub(self.findings.len() as u64);
        if more > 0 {
            lines.push(format!("  and {more} more"));
        }
        lines.push(match self.is_sound() {
            true => "The log fits: every call ran after its own yes, and once.".into(),
            false => "The log does not fit the ledger.".into(),
        });
        lines
    }
}

impl Finding {
    fn to_json(&self) -> Value {
        json!({
            "code": self.wrong.code(),
            "line": self.line,
            "at": self.at,
            "tool": self.tool,
            "intent": self.intent,
            "message": self.to_string(),
        })
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(tool) = &self.tool {
            write!(f, "{} ", Sanitized::quoted(tool))?;
        }
        f.write_str(&self.wrong.words())?;
        match &self.intent {
            Some(intent) => write!(f, " ({intent})"),
            None => Ok(()),
        }
    }
}

/// More than anybody reads.
const MOST_FINDINGS: usize = 100;
