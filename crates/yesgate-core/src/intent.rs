//! One question put to a human, from the asking to the end.
//!
//! INVARIANT: only [`State::after`] moves a state; nothing ever returns to `Approved`; every move
//! leaves one entry for the audit, taken out by the ledger in the same transaction.

mod ask;
mod claim;
mod count;
mod edit;
mod look;
mod named;
mod proven;
mod purge;
mod quorum;
mod receipt;
mod remember;
mod shadow;
mod state;
mod typed;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::ask::{Asked, Fresh, Slot, SlotKey};
pub use self::claim::{Claim, Ground, Runner};
pub use self::edit::{Edit, Edited};
pub use self::quorum::CountedYes;
pub use self::receipt::{Outcome, Receipt, ReceiptKind, SignedBy, Word};
pub use self::state::{DoneKind, Event, IllegalTransition, State};
use crate::assurance::Assurance;
use crate::audit::{AuditEntry, AuditEvent};
use crate::budget::Sums;
use crate::digest::CallDigest;
use crate::id::{BootId, GroupName, IntentId};
use crate::proof::{Proof, Proven};
use crate::refusal::{Refusal, Why};
use crate::render::Sanitized;
use crate::token::ConfirmTokenHash;
use crate::verdict::Question;

/// One question put to a human.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    id: IntentId,
    question: Question,
    digest: CallDigest,
    asked_by: Asker,
    state: State,
    opened_at: Timestamp,
    decide_by: Timestamp,
    run_by: Option<Timestamp>,
    token: Option<ConfirmTokenHash>,
    token_by: Option<Timestamp>,
    decision: Option<Decision>,
    boot: Option<BootId>,
    awaited: Awaited,
    result: Option<StoredResult>,
    handed_over: bool,
    /// When those who step in for the approvers may say yes.
    #[serde(default)]
    fallback_at: Option<Timestamp>,
    /// What had changed, where it was voided.
    #[serde(default)]
    voided_for: Option<Ground>,
    /// What the preview said when it was made again, where that voided it.
    #[serde(default)]
    preview_now: Option<Vec<Sanitized>>,
    /// How often something else was typed than had to be.
    #[serde(default)]
    wrong_tries: u8,
    /// What was spent in its budgets, read in the very transaction that it is changed in.
    #[serde(skip)]
    sums: Sums,
    /// The yeses so far, where several people must agree.
    #[serde(default)]
    yeses: Vec<CountedYes>,
    /// What the agent had asked, where a human changed it before saying yes.
    #[serde(default)]
    edited: Option<Edited>,
    /// The question that a human made of this one.
    #[serde(default)]
    edited_as: Option<IntentId>,
    /// What is left of contents that were purged.
    #[serde(default)]
    purged: Option<purge::Purged>,
    #[serde(default)]
    ended_at: Option<Timestamp>,
    #[serde(skip)]
    entries: Vec<AuditEntry>,
}

/// The process that asked, for telling the same person from another.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Asker {
    /// Its operating-system account.
    pub uid: Option<u32>,
    /// Its start of the gateway: while that lives, its server is the one to run the call.
    #[serde(default)]
    pub boot: Option<BootId>,
}

/// A yes or a no, and how well a human was proven.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Who, for people to read.
    pub by: String,
    /// Through which surface.
    pub surface: Surface,
    /// How well a human was proven.
    pub assurance: Assurance,
    /// Yes or no.
    pub answer: Answer,
    /// The human's words.
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
    /// The signature behind it, where it was signed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<Proof>,
}

impl Decision {
    /// What was said with it, as it may be repeated: words that only the agent brought are its claim, in quotes that
    /// they cannot close (X2).
    pub fn words(&self) -> Option<Sanitized> {
        let said = self.reason.as_deref()?;
        Some(match self.surface {
            Surface::Agent => {
                Sanitized::join(&[Sanitized::fixed(CLAIM), Sanitized::fixed(": "), Sanitized::quoted(said)])
            }
            Surface::Human | Surface::Rule => Sanitized::line(said),
        })
    }
}

/// What stands before the agent's words about why it asks.
pub const WHY_CLAIMED: &str = "the agent says why";

/// What stands before words of a human that only the agent brought.
pub const CLAIM: &str = "the agent says that the user said";

/// Yes or no.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes.
    Approve,
    /// No.
    Deny,
    /// Neither: words for the agent in place of a run.
    Respond,
}

impl Answer {
    /// The word that is written down and signed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Respond => "respond",
        }
    }
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The agent brought the token or called a completing tool: it waits for the result itself.
    Agent,
    /// A human surface: the gateway releases the call, and the result waits for the agent.
    Human,
    /// Nobody's: a rule of the operator let the call run, and the agent waits for the result itself.
    Rule,
}

/// Whether the agent's own call waits for the answer of the run.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Awaited {
    /// The answer goes to that call.
    Yes,
    /// The answer is stored until the agent asks for it.
    No,
}

/// Who answers, and how well that is proven.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Approver {
    /// Who, for people to read.
    pub name: String,
    /// What tells this person from another, where that is known. Who is nobody in particular is never one of
    /// several that must agree.
    pub identity: Option<String>,
    /// The groups that rules know them by.
    pub groups: BTreeSet<GroupName>,
    /// Through which surface.
    pub surface: Surface,
    /// How well a human was proven.
    pub assurance: Assurance,
    /// What they typed, where something had to be typed.
    pub typed: Option<String>,
    /// That their key signed exactly this: without it nobody is [`Assurance::Verified`].
    pub proof: Option<Proven>,
}

/// What the server answered, kept for replay.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StoredResult {
    /// Whether it is a `result` or an `error` of JSON-RPC.
    pub kind: ResultKind,
    /// Its exact text.
    pub json: String,
}

/// Which member of the answer it was.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    /// `result`.
    Result,
    /// `error`.
    Error,
}

impl Intent {
    /// Opens a question.
    pub fn open(id: IntentId, question: Question, asked_by: Asker, now: Timestamp) -> Self {
        let decide_by = now + question.times.decide;
        let digest = question.binding.digest();
        let fallback = question.approvers.as_ref().and_then(|approvers| approvers.fallback.as_ref());
        let fallback_at = fallback.map(|fallback| now + fallback.after);
        let mut intent = Self {
            id,
            digest,
            asked_by,
            state: State::Pending,
            opened_at: now,
            decide_by,
            run_by: None,
            token: None,
            token_by: None,
            decision: None,
            boot: None,
            awaited: Awaited::No,
            result: None,
            handed_over: false,
            fallback_at,
            voided_for: None,
            preview_now: None,
            wrong_tries: 0,
            sums: Sums::default(),
            yeses: Vec::new(),
            edited: None,
            edited_as: None,
            purged: None,
            ended_at: None,
            entries: Vec::new(),
            question,
        };
        intent.note(
            AuditEvent::Opened {
                caller: intent.question.binding.caller.clone(),
                server: intent.question.binding.server.clone(),
                tool: intent.question.binding.tool.clone(),
                class: intent.question.classified.class,
                digest,
                definition: intent.question.binding.definition,
                least: intent.question.least,
                rule: intent.question.rule.clone(),
            },
            now,
        );
        intent
    }

    /// Gives the agent a fresh handle; an earlier one is dead from here on.
    ///
    /// # Errors
    /// When the question is no longer open.
    pub fn issue_token(&mut self, hash: ConfirmTokenHash, now: Timestamp) -> Result<(), Refusal> {
        self.notice_expiry(now);
        if self.state != State::Pending {
            return Err(self.ending());
        }
        self.token = Some(hash);
        self.token_by = Some(now + self.question.times.token);
        // Asking again is asking anew: the human's time starts again too.
        self.decide_by = now + self.question.times.decide;
        self.note(AuditEvent::TokenIssued, now);
        Ok(())
    }

    /// Records a yes by somebody who saw exactly this.
    ///
    /// # Errors
    /// When the question is closed, something else was seen, the proof is too weak, or a budget has
    /// no room.
    pub fn approve(&mut self, by: &Approver, seen: CallDigest, now: Timestamp) -> Result<(), Refusal> {
        self.notice_expiry(now);
        if self.state.after(Event::Approve).is_err() {
            self.late_answer(by, Answer::Approve, now);
            return Err(self.ending());
        }
        if seen != self.digest {
            return Err(self.refusal(Why::ContentChanged));
        }
        if by.assurance < self.question.least {
            return Err(self.refusal(Why::AssuranceTooLow { have: by.assurance, need: self.question.least }));
        }
        self.compare_groups(by, now)?;
        self.compare_proof(by, now)?;
        self.compare_typed(by, now)?;
        let by = &self.count_yes(by, now)?;
        let yes = AuditEvent::Approved {
            by: by.name.clone(),
            assurance: by.assurance,
            counted: self.count(by.surface)?,
            signed: by.signed(),
            own_call: self.is_made_for(by),
        };
        self.advance(Event::Approve, yes, now)?;
        self.run_by = Some(now + self.question.times.run);
        self.decision = Some(decision(by, Answer::Approve, None, now));
        Ok(())
    }

    /// Records a no. After a yes and before the run it withdraws the yes; after the end it is
    /// written down and changes nothing.
    ///
    /// # Errors
    /// When it comes too late to change anything.
    pub fn deny(&mut self, by: &Approver, reason: Option<String>, now: Timestamp) -> Result<(), Refusal> {
        self.notice_expiry(now);
        let event = match self.state.after(Event::Deny) {
            Ok(State::Cancelled) => AuditEvent::Cancelled { by: by.name.clone() },
            Ok(_) => AuditEvent::Denied { by: by.name.clone(), reason: reason.clone() },
            Err(_) => {
                self.late_answer(by, Answer::Deny, now);
                return Err(self.ending());
            }
        };
        self.advance(Event::Deny, event, now)?;
        self.decision = Some(decision(by, Answer::Deny, reason, now));
        Ok(())
    }

    /// Answers the agent in a human's words instead of running it.
    ///
    /// # Errors
    /// When the question is no longer open.
    pub fn respond(&mut self, by: &Approver, text: String, now: Timestamp) -> Result<(), Refusal> {
        self.notice_expiry(now);
        if self.state != State::Pending {
            self.late_answer(by, Answer::Respond, now);
            return Err(self.ending());
        }
        let event = AuditEvent::Responded { by: by.name.clone(), text: text.clone() };
        self.advance(Event::Deny, event, now)?;
        self.decision = Some(decision(by, Answer::Respond, Some(text), now));
        Ok(())
    }

    /// Records how the one run ended.
    ///
    /// # Errors
    /// When nothing was running.
    pub fn finish(
        &mut self,
        done: DoneKind,
        result: Option<StoredResult>,
        now: Timestamp,
    ) -> Result<(), IllegalTransition> {
        self.advance(Event::Finish(done), AuditEvent::Finished { outcome: done.as_str().into() }, now)?;
        self.result = result;
        self.handed_over = match self.awaited {
            Awaited::Yes => true,
            Awaited::No => false,
        };
        Ok(())
    }

    /// The caller gave up while it ran: the answer is stored until somebody asks for it.
    pub const fn nobody_waits(&mut self) {
        self.awaited = Awaited::No;
    }

    /// The caller waits no longer while it runs on: whoever repeats the call waits for this run, and the
    /// answer is stored until somebody asks for it. Says whether it still runs.
    pub fn leave_running(&mut self, now: Timestamp) -> bool {
        let runs = self.state == State::Running;
        if runs && self.awaited == Awaited::Yes {
            self.awaited = Awaited::No;
            self.note(AuditEvent::CallerLeft, now);
        }
        runs
    }

    /// Admits that the answer of the one run is lost.
    ///
    /// # Errors
    /// When nothing was running.
    pub fn lose(&mut self, why: &str, now: Timestamp) -> Result<(), IllegalTransition> {
        self.advance(Event::Lose, AuditEvent::Lost { why: why.into() }, now)
    }

    /// Settles a lost answer by a human's word.
    ///
    /// # Errors
    /// When the answer is not lost.
    pub fn resolve(&mut self, by: &str, ran: bool, now: Timestamp) -> Result<(), Refusal> {
        self.advance(Event::Resolve { ran }, AuditEvent::Resolved { by: by.into(), ran }, now)
            .map_err(|_| self.ending())
    }

    /// Withdraws a question, or a yes that has not run.
    ///
    /// # Errors
    /// When it is too late for that.
    pub fn cancel(&mut self, by: &str, now: Timestamp) -> Result<(), IllegalTransition> {
        self.advance(Event::Cancel, AuditEvent::Cancelled { by: by.into() }, now)
    }

    /// Ends a question whose ground has changed: the tool's definition, or a stricter policy.
    ///
    /// # Errors
    /// When it is too late for that.
    pub fn void(&mut self, ground: Ground, now: Timestamp) -> Result<(), IllegalTransition> {
        let why = match ground {
            Ground::ToolChanged => "the tool's definition changed",
            Ground::PolicyStricter => "the policy became stricter",
            Ground::PreviewChanged => "the preview changed",
            Ground::FailedOver => "the database failed over and may lack what was decided or run last",
            Ground::Holds => "it was withdrawn",
        };
        self.advance(Event::Void, AuditEvent::Voided { why: why.into() }, now)?;
        self.voided_for = Some(ground);
        Ok(())
    }

    /// Moves a question whose clock ran out to `Expired`, and says whether it did.
    pub fn notice_expiry(&mut self, now: Timestamp) -> bool {
        let due = self.ends_at().is_some_and(|end| now >= end);
        due && self.advance(Event::Expire, AuditEvent::Expired, now).is_ok()
    }

    /// When it expires if nothing happens to it; `None`: no clock runs.
    pub const fn ends_at(&self) -> Option<Timestamp> {
        match self.state {
            State::Pending => Some(self.decide_by),
            State::Approved => self.run_by,
            State::Running
            | State::Done(_)
            | State::Unknown
            | State::Resolved { .. }
            | State::Denied
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => None,
        }
    }

    /// Takes the audit entries of what happened since the last time.
    pub fn take_entries(&mut self) -> Vec<AuditEntry> {
        std::mem::take(&mut self.entries)
    }

    fn advance(&mut self, event: Event, entry: AuditEvent, now: Timestamp) -> Result<(), IllegalTransition> {
        self.state = self.state.after(event)?;
        self.ended_at = self.state.is_settled().then_some(now);
        self.note(entry, now);
        Ok(())
    }

    fn note(&mut self, event: AuditEvent, now: Timestamp) {
        self.entries.push(AuditEntry { at: now, intent: Some(self.id.clone()), event });
    }

    fn late_answer(&mut self, by: &Approver, answer: Answer, now: Timestamp) {
        self.note(AuditEvent::LateAnswer { by: by.name.clone(), answer: answer.as_str().into() }, now);
    }

    fn refusal(&self, why: Why) -> Refusal {
        Refusal::from(why).about(&self.id).with_next(&self.question.next)
    }

    /// Why nothing can be decided or run any more, in the words that fit the state.
    pub fn ending(&self) -> Refusal {
        let why = match self.state {
            State::Pending | State::Approved | State::Done(_) | State::Resolved { .. } => {
                Why::AlreadyDecided { state: self.state.as_str() }
            }
            State::Running => Why::ExecutionInProgress,
            State::Unknown => Why::ExecutionUnknown,
            State::Denied => match self.decision.as_ref().map(|decision| (decision.answer, &decision.reason))
            {
                Some((Answer::Respond, text)) => Why::Responded { text: text.clone().unwrap_or_default() },
                Some((Answer::Approve | Answer::Deny, _)) | None => {
                    Why::Denied { reason: self.decision.as_ref().and_then(Decision::words) }
                }
            },
            State::Expired => Why::Expired,
            State::Cancelled => Why::Cancelled,
            State::Superseded => Why::Superseded,
            State::Voided => match self.voided_for {
                Some(Ground::PolicyStricter) => Why::PolicyChanged,
                Some(Ground::PreviewChanged) => Why::TokenMismatch { field: "preview" },
                Some(Ground::FailedOver) => Why::FailedOver,
                Some(Ground::ToolChanged | Ground::Holds) | None => Why::ToolChanged,
            },
        };
        self.refusal(why).showing_preview(self.preview_now())
    }
}

fn decision(by: &Approver, answer: Answer, reason: Option<String>, at: Timestamp) -> Decision {
    let proof = by.proof.as_ref().map(|proven| proven.proof().clone());
    Decision { by: by.name.clone(), surface: by.surface, assurance: by.assurance, answer, reason, at, proof }
}

#[cfg(test)]
mod tests;
