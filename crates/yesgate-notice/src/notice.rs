//! What a notice says, in JSON and in a line for people.
//!
//! INVARIANT: there is no place in it for anything that an agent or a server put into a call or an answer.

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::class::Class;
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::Intent;
use yesgate_core::render::Sanitized;

/// Something that people are told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Notice {
    /// What tells it from every other: the same each time that it is sent.
    pub id: String,
    /// What happened.
    pub occasion: Occasion,
    /// When it happened.
    pub at: Timestamp,
    /// The question.
    pub intent: IntentId,
    /// On which server.
    pub server: ServerName,
    /// Which tool.
    pub tool: ToolName,
    /// Its class.
    pub class: Class,
    /// Who asks.
    pub caller: Caller,
    /// The code that the agent shows too.
    pub code: String,
    /// Until when it can be decided.
    pub decide_by: Timestamp,
    /// The start of the gateway that asked.
    pub boot: Option<BootId>,
}

/// What happened to a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Occasion {
    /// It waits for somebody.
    Asked,
    /// Nobody of those whom the rule names has answered, and others may say yes from here on.
    Fallback,
    /// It still waits, and its time is nearly over.
    Reminder,
    /// It is closed, in this manner.
    Decided(Closing),
    /// Its time ran out.
    Expired,
    /// It ran, and how that ended is not known: a human must settle it.
    Unknown,
}

/// How a question was closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closing {
    /// By a yes.
    Approved,
    /// By a no.
    Denied,
    /// By words for the agent.
    Responded,
    /// It was withdrawn.
    Withdrawn,
    /// Another question took its place.
    Replaced,
    /// What it was about has changed.
    Void,
}

impl Closing {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Responded => "responded",
            Self::Withdrawn => "withdrawn",
            Self::Replaced => "replaced",
            Self::Void => "void",
        }
    }
}

impl Occasion {
    /// The type on the wire. Part of the public contract: never change one.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "question.asked",
            Self::Fallback => "question.fallback",
            Self::Reminder => "question.reminder",
            Self::Decided(_) => "question.decided",
            Self::Expired => "question.expired",
            Self::Unknown => "outcome.unknown",
        }
    }

    /// What people are told of a step, if anything.
    pub(crate) const fn of(event: &AuditEvent) -> Option<Self> {
        match event {
            AuditEvent::Opened { .. } => Some(Self::Asked),
            AuditEvent::Approved { .. } => Some(Self::Decided(Closing::Approved)),
            AuditEvent::Denied { .. } => Some(Self::Decided(Closing::Denied)),
            AuditEvent::Responded { .. } => Some(Self::Decided(Closing::Responded)),
            AuditEvent::Cancelled { .. } => Some(Self::Decided(Closing::Withdrawn)),
            AuditEvent::Superseded { .. } => Some(Self::Decided(Closing::Replaced)),
            AuditEvent::Voided { .. } => Some(Self::Decided(Closing::Void)),
            AuditEvent::Expired => Some(Self::Expired),
            AuditEvent::Lost { .. } => Some(Self::Unknown),
            AuditEvent::WouldAsk { .. }
            | AuditEvent::WouldRefuse { .. }
            | AuditEvent::TokenIssued
            | AuditEvent::Redeemed { .. }
            | AuditEvent::Finished { .. }
            | AuditEvent::Resolved { .. }
            | AuditEvent::CallerLeft
            | AuditEvent::HandedOver
            | AuditEvent::LateAnswer { .. }
            | AuditEvent::WrongText { .. }
            | AuditEvent::Edited { .. }
            | AuditEvent::YesCounted { .. }
            | AuditEvent::Granted { .. }
            | AuditEvent::GrantUsed { .. }
            | AuditEvent::GrantRevoked { .. }
            | AuditEvent::Purged { .. }
            | AuditEvent::Pruned { .. }
            | AuditEvent::ModeSet { .. }
            | AuditEvent::Frozen { .. }
            | AuditEvent::Thawed { .. }
            | AuditEvent::Stopped { .. }
            | AuditEvent::WentOn { .. }
            | AuditEvent::FailedOver { .. }
            | AuditEvent::Refused { .. }
            | AuditEvent::FirstUse { .. }
            | AuditEvent::Pinned { .. }
            | AuditEvent::KeyAdded { .. }
            | AuditEvent::KeyRevoked { .. }
            | AuditEvent::Person(_)
            | AuditEvent::OAuth(_) => None,
        }
    }
}

/// Where a question is decided.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Link {
    /// On the pages at this origin.
    Pages(String),
    /// At the command line.
    CommandLine,
}

impl Link {
    /// The address of a question's page, where it has one.
    pub fn to(&self, intent: &IntentId) -> Option<String> {
        match self {
            Self::Pages(origin) => Some(format!("{origin}/approve/{intent}")),
            Self::CommandLine => None,
        }
    }
}

impl Notice {
    /// A notice of what a row of the audit trail says.
    pub(crate) fn of_row(occasion: Occasion, intent: &Intent, row: u64, at: Timestamp) -> Self {
        Self::of(occasion, intent, &row.to_string(), at)
    }

    /// A reminder. There is one for a question, however often it is sent.
    pub(crate) fn reminder(intent: &Intent, at: Timestamp) -> Self {
        Self::of(Occasion::Reminder, intent, "reminder", at)
    }

    /// That others may say yes from here on. There is one for a question, too.
    pub(crate) fn fallback(intent: &Intent, at: Timestamp) -> Self {
        Self::of(Occasion::Fallback, intent, "fallback", at)
    }

    fn of(occasion: Occasion, intent: &Intent, which: &str, at: Timestamp) -> Self {
        let question = intent.question();
        Self {
            id: format!("notice_{}_{which}", intent.id()),
            occasion,
            at,
            intent: intent.id().clone(),
            server: question.binding.server.clone(),
            tool: question.binding.tool.clone(),
            class: question.classified.class,
            caller: question.binding.caller.clone(),
            code: intent.digest().match_code(),
            decide_by: intent.decide_by(),
            boot: intent.asked_by().boot.clone(),
        }
    }

    /// The body of a webhook.
    pub fn json(&self, link: &Link) -> Value {
        let mut data = json!({
            "intent_id": self.intent,
            "server": self.server,
            "tool": self.tool,
            "class": self.class,
            "caller": {
                "org": self.caller.org,
                "principal": self.caller.principal,
                "client": self.caller.client,
            },
            "match_code": self.code,
            "decide_by": self.decide_by,
            "link": link.to(&self.intent),
        });
        if let (Occasion::Decided(closing), Some(fields)) = (self.occasion, data.as_object_mut()) {
            fields.insert("answer".to_owned(), closing.as_str().into());
        }
        json!({"type": self.occasion.as_str(), "timestamp": self.at, "data": data})
    }

    /// A heading of our own words, without a word of anybody else's. `None`: this is not shown to a person who
    /// works at the machine.
    pub(crate) const fn heading(&self) -> Option<&'static str> {
        match self.occasion {
            Occasion::Asked => Some("A call waits for your yes or no"),
            Occasion::Fallback => Some("Nobody has answered: a call waits for your yes or no"),
            Occasion::Reminder => Some("A call still waits, and its time is nearly over"),
            Occasion::Unknown => Some("It is not known how a call ended"),
            Occasion::Decided(_) | Occasion::Expired => None,
        }
    }

    /// What it is about, and where to go.
    pub(crate) fn line(&self, link: &Link) -> String {
        let server = Sanitized::line(self.server.as_str());
        let tool = Sanitized::line(self.tool.as_str());
        let (class, code) = (self.class, &self.code);
        let place = match link.to(&self.intent) {
            Some(address) => address,
            None => format!("yesgate show {}", self.intent),
        };
        format!("{}/{} ({class}), code {code}\n{place}", server.as_str(), tool.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests;
