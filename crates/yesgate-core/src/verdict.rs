//! What the judgement says of one call.

use std::fmt;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::assurance::Assurance;
use crate::call::ToolCall;
use crate::class::Classified;
use crate::digest::Binding;
use crate::mode::Mode;
use crate::permit::PermittedCall;
use crate::refusal::Refusal;
use crate::render::Sanitized;

/// The answer of `Policy::decide`.
#[derive(Debug)]
#[must_use = "a verdict that nobody follows is no gate"]
pub enum Verdict {
    /// It may run as it is.
    Forward(PermittedCall),
    /// This mode does not run writes; say what it would do and how to go on.
    Explain(Explanation),
    /// A human is asked first.
    Ask(Box<Question>),
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
    /// What would happen, in one line.
    pub summary: Sanitized,
    /// How the human confirms.
    pub confirm: ConfirmType,
    /// Where the human is asked.
    pub channel: Channel,
    /// The least proof of a human that will do.
    pub least: Assurance,
    /// Next steps that the rule declares for refusals.
    pub next: serde_json::Map<String, serde_json::Value>,
    /// What it costs, where the rule says how to read that.
    pub spend: Option<Spend>,
    /// A yes that comes with the question itself.
    pub standing: Option<Standing>,
    /// How long everything stays valid.
    pub times: Times,
}

/// How a human confirms.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmType {
    /// Not at all: the call runs.
    None,
    /// Yes or no.
    Simple,
}

impl ConfirmType {
    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Simple => "simple",
        }
    }
}

impl fmt::Display for ConfirmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where the human is asked. The command line is open to every question besides.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// In the conversation: the agent gets a token and brings it back.
    Chat,
    /// Away from the agent: it gets no token, and the call waits.
    OutOfBand,
}

impl Channel {
    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::OutOfBand => "out_of_band",
        }
    }
}

/// A yes that comes with the question itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Both keys are turned. The model's key is no human, and is recorded as that.
    TwoKeys,
}

/// What a call costs.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// The exact amount, as the call wrote it.
    pub amount: String,
    /// In which currency.
    pub currency: Option<String>,
    /// Who gets it.
    pub recipient: Option<String>,
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
