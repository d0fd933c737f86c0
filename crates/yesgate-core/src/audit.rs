//! What the ledger writes down about every step, and the chain that ties the rows together.
//!
//! INVARIANT: rows hold digests and names, never arguments, tokens, keys or results; of a call under a
//! budget also the amount, from which the sums are made again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::assurance::Assurance;
use crate::budget::Counted;
use crate::caller::Caller;
use crate::class::Class;
use crate::digest::{CallDigest, DefinitionDigest, Digest, Hasher};
use crate::id::{BootId, CredentialId, GrantId, IntentId, KeyId, KeyName, ServerName, ToolName};
use crate::mode::Mode;
use crate::oauth::OAuthEvent;
use crate::person::PersonEvent;

/// One step, with its time and its question.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Which question, where there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub intent: Option<IntentId>,
    /// What happened.
    #[serde(flatten)]
    pub event: AuditEvent,
}

/// What happened.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AuditEvent {
    /// A question was opened.
    Opened {
        /// Who asked.
        caller: Caller,
        /// On which server.
        server: ServerName,
        /// Which tool.
        tool: ToolName,
        /// Its class.
        class: Class,
        /// What the yes will be bound to.
        digest: CallDigest,
        /// What the tool said of itself.
        definition: DefinitionDigest,
        /// The least proof that will do.
        least: Assurance,
        /// The rule that asks.
        rule: Option<String>,
    },
    /// The policy is only tried, and would have asked a human about it.
    WouldAsk {
        /// On which server.
        server: ServerName,
        /// Which tool.
        tool: ToolName,
        /// Its class.
        class: Class,
        /// The rule that asks, where one does.
        rule: Option<String>,
        /// Why, in the operator's words.
        reason: Option<String>,
    },
    /// The policy is only tried, and would have refused it.
    WouldRefuse {
        /// On which server.
        server: ServerName,
        /// Which tool.
        tool: ToolName,
        /// Its class.
        class: Class,
        /// The rule that refuses, where one does.
        rule: Option<String>,
        /// Why, in the operator's words.
        reason: Option<String>,
        /// The code that the agent would have seen.
        code: String,
    },
    /// A confirm token was handed to the agent; an earlier one is dead.
    TokenIssued,
    /// Somebody said yes.
    Approved {
        /// Who.
        by: String,
        /// How well a human was proven.
        assurance: Assurance,
        /// What it counts in budgets; given back by the row that says it did not run.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        counted: Option<Counted>,
        /// With which key it was signed, where it was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        signed: Option<Signed>,
        /// Whether the call is made for the very person who said it.
        #[serde(skip_serializing_if = "std::ops::Not::not", default)]
        own_call: bool,
    },
    /// Somebody said no.
    Denied {
        /// Who.
        by: String,
        /// Their words.
        reason: Option<String>,
    },
    /// Somebody answered in words instead of running it.
    Responded {
        /// Who.
        by: String,
        /// Their words.
        text: String,
    },
    /// The one run was claimed; the call may leave after this row is durable.
    Redeemed {
        /// By which process.
        boot: BootId,
    },
    /// The server answered, or we know that nothing was sent.
    Finished {
        /// How it ended.
        outcome: String,
    },
    /// The answer was lost.
    Lost {
        /// Why we think so.
        why: String,
    },
    /// A human settled a lost answer.
    Resolved {
        /// Who.
        by: String,
        /// Whether it ran.
        ran: bool,
    },
    /// A clock ran out.
    Expired,
    /// A newer question took its place.
    Superseded {
        /// That question.
        by: IntentId,
    },
    /// What it was bound to no longer holds.
    Voided {
        /// Why.
        why: String,
    },
    /// It was withdrawn before it ran.
    Cancelled {
        /// By whom.
        by: String,
    },
    /// Whoever waited for the run waits no more; it goes on, and its result is kept.
    CallerLeft,
    /// The stored result went to the agent.
    HandedOver,
    /// Somebody answered too late; nothing changed.
    LateAnswer {
        /// Who.
        by: String,
        /// What they said.
        answer: String,
    },
    /// Something else was typed than had to be.
    WrongText {
        /// Who.
        by: String,
    },
    /// A human changed the arguments of a question, and made this one of it.
    Edited {
        /// The question that was asked.
        from: IntentId,
        /// The call that it was about.
        digest: CallDigest,
    },
    /// One of several people who must agree said yes.
    YesCounted {
        /// Who.
        by: String,
        /// How well a human was proven.
        assurance: Assurance,
        /// With which key it was signed, where it was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        signed: Option<Signed>,
    },
    /// The yes to it is remembered.
    Granted {
        /// As which grant.
        grant: GrantId,
        /// For which calls: the same, those of a pattern, or all of the tool.
        scope: String,
        /// How often.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        uses: Option<u32>,
        /// Until when.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        until: Option<Timestamp>,
        /// What tells whether the stored grant is still this one.
        fingerprint: Digest,
        /// By whom.
        by: String,
    },
    /// A remembered yes was the yes to it.
    GrantUsed {
        /// Which grant.
        grant: GrantId,
    },
    /// A remembered yes was taken back.
    GrantRevoked {
        /// Which grant.
        grant: GrantId,
        /// By whom.
        by: String,
    },
    /// What questions that are over were about was erased.
    Purged {
        /// How many questions.
        count: u64,
        /// Nothing had happened to them since then.
        before: Timestamp,
        /// By whom.
        by: String,
    },
    /// Rows of this trail were taken out of the ledger. They end with a signed checkpoint, which stays.
    Pruned {
        /// The last of them.
        up_to: u64,
        /// Its hash.
        hash: Digest,
        /// By whom.
        by: String,
    },
    /// A caller's mode was set.
    ModeSet {
        /// Whose.
        caller: Caller,
        /// To what.
        mode: Mode,
        /// By whom.
        by: String,
    },
    /// A caller was frozen: nothing of it runs until somebody thaws it.
    Frozen {
        /// Who.
        caller: Caller,
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
    /// A freeze ended.
    Thawed {
        /// Whose.
        caller: Caller,
        /// By whom.
        by: String,
    },
    /// Everything was stopped.
    Stopped {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
    /// The stop of everything ended.
    WentOn {
        /// By whom.
        by: String,
    },
    /// Another database took over from the one that the row before was written in, or an older state of it came back.
    FailedOver {
        /// Which history of which database it was, as `system/timeline`.
        from: String,
        /// Which it is now.
        to: String,
        /// Whether all that was committed is known to be here. If not, all that was open is void, what ran is unknown,
        /// and no yes is remembered any more; the rows that follow or precede say which.
        complete: bool,
    },
    /// A call was refused.
    Refused {
        /// Who called.
        caller: Caller,
        /// On which server.
        server: ServerName,
        /// Which tool, as far as it can be told.
        tool: Option<ToolName>,
        /// The refusal's code.
        code: String,
    },
    /// A server was used for the first time: the tools that it has now are pinned by the rows that follow, and what
    /// comes later is new.
    FirstUse {
        /// Which server.
        server: ServerName,
    },
    /// A definition of a tool was accepted: by a human, or by being there at the first use.
    Pinned {
        /// On which server.
        server: ServerName,
        /// Which tool.
        tool: ToolName,
        /// The definition that was accepted.
        definition: DefinitionDigest,
        /// The class that a human gave it; `None`: accepted as it is.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        class: Option<Class>,
        /// By whom.
        by: String,
    },
    /// A bearer key was made.
    KeyAdded {
        /// Which key.
        id: KeyId,
        /// The operator's label.
        name: KeyName,
        /// Who is calling when it is sent.
        caller: Caller,
        /// What tells whether the stored key is still this one; neither the key nor its hash.
        fingerprint: Digest,
        /// By whom.
        by: String,
    },
    /// A bearer key was revoked: it counts no more.
    KeyRevoked {
        /// Which key.
        id: KeyId,
        /// By whom.
        by: String,
    },
    /// Something about the people who decide, or their sessions.
    Person(PersonEvent),
    /// Something about clients that people connect.
    #[serde(rename = "oauth")]
    OAuth(OAuthEvent),
}

/// A signature behind a yes.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Signed {
    /// The key that signed.
    pub credential: CredentialId,
    /// What tells whether the stored proof is still this one.
    pub proof: Digest,
}

/// The hash before the first row.
pub const GENESIS: Digest = Digest::rehydrate([0; 32]);

/// The hash of one row: over the row before it, its number and its text.
pub fn chain(previous: &Digest, sequence: u64, body: &str) -> Digest {
    let mut hasher = Hasher::new("yesgate/audit/1");
    hasher.field(previous.as_bytes()).field(&sequence.to_be_bytes()).field(body.as_bytes());
    hasher.finish()
}
