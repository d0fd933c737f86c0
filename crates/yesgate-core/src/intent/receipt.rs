//! A receipt: what was asked, who decided and how it ended, for whoever was not there.
//!
//! Invariants:
//! - Only what is settled has one: nothing of it can change any more, so there is one receipt for a question, for ever.
//! - It holds digests, names and times, and no value of an argument, no word of a preview, a reason or a result. The
//!   digest is over all that was run: whoever has the call can show that it was this one.
//! - Its text is canonical JSON (RFC 8785). Whoever signs it signs that text.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Answer, DoneKind, Edited, Intent, State, Surface};
use crate::assurance::Assurance;
use crate::audit::Signed;
use crate::caller::Caller;
use crate::class::Class;
use crate::digest::{CallDigest, DefinitionDigest, Digest, ServerIdentity};
use crate::id::{CredentialId, IntentId, ServerName, ToolName};
use crate::json::CanonicalJson;
use crate::mode::Mode;
use crate::proof::Proof;

/// What became of one question, without its contents.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// What this document is.
    pub kind: ReceiptKind,
    /// The question.
    pub intent_id: IntentId,
    /// Everything that the yes was bound to, the arguments among it.
    pub digest: CallDigest,
    /// Who asked, and for whom.
    pub caller: Caller,
    /// The operator's name of the server.
    pub server: ServerName,
    /// What the server is, beyond its name.
    pub server_identity: ServerIdentity,
    /// The tool.
    pub tool: ToolName,
    /// What the tool said of itself.
    pub definition: DefinitionDigest,
    /// The mode in which it was to run.
    pub mode: Mode,
    /// Its class.
    pub class: Class,
    /// The rule that asked, where one did.
    pub rule: Option<String>,
    /// What was shown beforehand, where a preview was.
    pub preview: Option<Digest>,
    /// The least proof of a human that would do.
    pub least_assurance: Assurance,
    /// How many different people had to say yes.
    pub people_needed: u8,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The yes or no, where there was one.
    pub decision: Option<Word>,
    /// The single yeses, where several people had to agree.
    pub yeses: Vec<Word>,
    /// What the agent had asked, where a human changed it before saying yes.
    pub edited: Option<Edited>,
    /// The question that a human made of this one.
    pub edited_as: Option<IntentId>,
    /// How it ended.
    pub outcome: Outcome,
    /// When it ended; questions of an early version did not keep that.
    pub ended_at: Option<Timestamp>,
}

/// What a document is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum ReceiptKind {
    /// A receipt, in its first form.
    #[serde(rename = "yesgate-receipt-v1")]
    V1,
}

/// What somebody said to it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// Yes, no, or neither.
    pub answer: Answer,
    /// Who, for people to read.
    pub by: String,
    /// Through which surface.
    pub surface: Surface,
    /// How well a human was proven.
    pub assurance: Assurance,
    /// When.
    pub at: Timestamp,
    /// The key that signed it, where one did.
    pub signed: Option<SignedBy>,
}

/// The key behind a word.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedBy {
    /// Whose key it is.
    pub identity: String,
    /// The key.
    pub credential: CredentialId,
    /// A digest of the signature, as the audit trail has it.
    pub proof: Digest,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran once, and the tool answered.
    Ran,
    /// It ran once, and the tool answered with an error.
    RanWithError,
    /// There was a yes, and the call was not sent.
    NotSent,
    /// The answer was lost, and a human settled that it ran.
    SettledAsRun,
    /// The answer was lost, and a human settled that it did not run.
    SettledAsNotRun,
    /// Somebody said no.
    Denied,
    /// Somebody answered in words instead.
    Responded,
    /// Its time was over.
    Expired,
    /// It was withdrawn.
    Cancelled,
    /// Another question took its place.
    Superseded,
    /// What it was about had changed.
    Voided,
}

impl Outcome {
    /// It in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Ran => "It ran once, and the tool answered.",
            Self::RanWithError => "It ran once, and the tool answered with an error.",
            Self::NotSent => "There was a yes, and the call was not sent. Nothing ran.",
            Self::SettledAsRun => "Its answer was lost, and a human settled that it ran.",
            Self::SettledAsNotRun => "Its answer was lost, and a human settled that it did not run.",
            Self::Denied => "It was denied. Nothing ran.",
            Self::Responded => "It was answered in words. Nothing ran.",
            Self::Expired => "Its time was over. Nothing ran.",
            Self::Cancelled => "It was withdrawn. Nothing ran.",
            Self::Superseded => "Another question took its place. Nothing ran.",
            Self::Voided => "What it was about had changed. Nothing ran.",
        }
    }
}

impl Receipt {
    /// Its text, the only one it has. `None`: a name in it cannot be written down, which none of ours can be.
    pub fn text(&self) -> Option<CanonicalJson> {
        CanonicalJson::of(&serde_json::to_value(self).ok()?).ok()
    }
}

impl Intent {
    /// The receipt of a question that is settled. `None`: something can still come of it.
    pub fn receipt(&self) -> Option<Receipt> {
        let outcome = self.outcome()?;
        let question = &self.question;
        let binding = &question.binding;
        let decision = self.decision.as_ref().map(|decision| Word {
            answer: decision.answer,
            by: decision.by.clone(),
            surface: decision.surface,
            assurance: decision.assurance,
            at: decision.at,
            signed: decision.proof.as_ref().map(signed),
        });
        let yeses = self.yeses.iter().map(|yes| Word {
            answer: Answer::Approve,
            by: yes.by.clone(),
            surface: Surface::Human,
            assurance: yes.assurance,
            at: yes.at,
            signed: yes.proof.as_ref().map(signed),
        });
        Some(Receipt {
            kind: ReceiptKind::V1,
            intent_id: self.id.clone(),
            digest: self.digest,
            caller: binding.caller.clone(),
            server: binding.server.clone(),
            server_identity: binding.identity,
            tool: binding.tool.clone(),
            definition: binding.definition,
            mode: binding.mode,
            class: question.classified.class,
            rule: question.rule.clone(),
            preview: binding.preview,
            least_assurance: question.least,
            people_needed: question.quorum.people(),
            asked_at: self.opened_at,
            decision,
            yeses: yeses.collect(),
            edited: self.edited.clone(),
            edited_as: self.edited_as.clone(),
            outcome,
            ended_at: self.ended_at,
        })
    }

    fn outcome(&self) -> Option<Outcome> {
        let answer = self.decision.as_ref().map(|decision| decision.answer);
        Some(match self.state {
            State::Done(DoneKind::Ok) => Outcome::Ran,
            State::Done(DoneKind::ToolError) => Outcome::RanWithError,
            State::Done(DoneKind::NotSent) => Outcome::NotSent,
            State::Resolved { ran: true } => Outcome::SettledAsRun,
            State::Resolved { ran: false } => Outcome::SettledAsNotRun,
            State::Denied if answer == Some(Answer::Respond) => Outcome::Responded,
            State::Denied => Outcome::Denied,
            State::Expired => Outcome::Expired,
            State::Cancelled => Outcome::Cancelled,
            State::Superseded => Outcome::Superseded,
            State::Voided => Outcome::Voided,
            State::Pending | State::Approved | State::Running | State::Unknown => return None,
        })
    }
}

fn signed(proof: &Proof) -> SignedBy {
    let Signed { credential, proof: digest } = proof.signed();
    SignedBy { identity: proof.identity.clone(), credential, proof: digest }
}

#[cfg(test)]
mod tests;
