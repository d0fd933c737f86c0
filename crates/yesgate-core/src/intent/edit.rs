//! Changing a call before saying yes to it (X6): the changed call is a question of its own, which takes the place of
//! the one that was asked, and has its yes from the start.
//!
//! INVARIANT: only the arguments change, and no less is asked of the human. What was shown for the changed call is
//! what its yes is bound to; whoever runs it judges it again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Approver, Event, Intent, Slot, State};
use crate::audit::AuditEvent;
use crate::digest::CallDigest;
use crate::id::IntentId;
use crate::refusal::{Refusal, Why};
use crate::verdict::{ConfirmType, Question, Quorum};

/// What a human makes of a question.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The question that was asked.
    pub of: IntentId,
    /// What of it the human saw.
    pub seen: CallDigest,
    /// The id that the changed one gets.
    pub id: IntentId,
    /// The changed one, as it was shown.
    pub question: Question,
    /// Who says yes to it.
    pub by: Approver,
}

/// What the agent had asked.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Edited {
    /// As which question.
    pub from: IntentId,
    /// The call that it was about.
    pub instead_of: CallDigest,
}

impl Slot {
    /// Puts a changed question in the place of an open one and says yes to it, in one step or not at all.
    ///
    /// # Errors
    /// When the question is not open or is another one by now, or cannot be changed like that.
    pub fn edit(&mut self, edit: Edit, now: Timestamp) -> Result<(), Refusal> {
        let Edit { of, seen, id, mut question, by } = edit;
        let sums = self.sums().clone();
        let Some(old) = self.intents_mut().iter_mut().find(|intent| intent.id == of) else {
            return Err(Why::NoSuchIntent.into());
        };
        old.notice_expiry(now);
        if old.state != State::Pending {
            return Err(old.ending());
        }
        if seen != old.digest || !question.changes_only_arguments_of(&old.question) {
            return Err(old.refusal(Why::ContentChanged));
        }
        if !(old.question.can_be_edited() && question.can_be_edited()) {
            return Err(old.refusal(Why::NotEditable));
        }
        old.compare_groups(&by, now)?;
        question.claim.clone_from(&old.question.claim);
        question.least = question.least.max(old.question.least);
        let mut new = Intent::open(id, question, old.asked_by.clone(), now).with_sums(sums);
        new.note(AuditEvent::Edited { from: old.id.clone(), digest: old.digest }, now);
        new.edited = Some(Edited { from: old.id.clone(), instead_of: old.digest });
        // Whoever may decide the question by now may also change it.
        new.fallback_at = new.fallback_at.and(old.fallback_at);
        new.approve(&by, new.digest, now)?;
        old.advance(Event::Supersede, AuditEvent::Superseded { by: new.id.clone() }, now)?;
        old.edited_as = Some(new.id.clone());
        self.push(new);
        Ok(())
    }
}

impl Question {
    /// Whether it is a call of a tool that a plain yes or no decides: no preview, nothing to type, nobody else to
    /// agree, no key.
    pub fn can_be_edited(&self) -> bool {
        self.binding.is_tool_call()
            && self.confirm == ConfirmType::Simple
            && self.quorum == Quorum::ONE
            && self.standing.is_none()
            && self.preview.is_none()
    }

    fn changes_only_arguments_of(&self, old: &Self) -> bool {
        let mut binding = old.binding.clone();
        binding.arguments = self.binding.arguments.clone();
        binding == self.binding
    }
}

impl Intent {
    /// What the agent had asked, where a human changed it.
    pub const fn edited(&self) -> Option<&Edited> {
        self.edited.as_ref()
    }

    /// The question that a human made of this one.
    pub const fn edited_as(&self) -> Option<&IntentId> {
        self.edited_as.as_ref()
    }

    /// Whether it answers a call: the one that it is about, or the one that it was made of.
    pub(super) fn answers(&self, digest: CallDigest) -> bool {
        self.digest == digest || self.edited.as_ref().is_some_and(|edited| edited.instead_of == digest)
    }
}

#[cfg(test)]
mod tests;
