//! Forgetting what a question was about once it is over: that it was asked, who decided and how it ended stays.
//!
//! INVARIANT: only what is over is purged, for nothing of it can run or be handed over any more. The digest stays:
//! whoever has kept the call elsewhere can still show that it was this one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Intent;
use crate::budget::Counted;
use crate::json::CanonicalJson;
use crate::render::Sanitized;

/// What is left of contents that were purged.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(super) struct Purged {
    at: Timestamp,
    /// What it counts in budgets, as its audit row has it: the call says it no more.
    counted: Option<Counted>,
}

impl Intent {
    /// The same question without its contents: arguments, preview, result, and the words that people read. `None`: it
    /// is not over, or was purged before.
    #[must_use]
    pub fn purged(&self, now: Timestamp) -> Option<Self> {
        if self.purged.is_some() || !self.state.is_settled() {
            return None;
        }
        let mut purged = self.clone();
        purged.purged = Some(Purged { at: now, counted: self.counted() });
        let question = &mut purged.question;
        question.binding.arguments = CanonicalJson::empty_object();
        question.binding.meta = CanonicalJson::empty_object();
        question.summary = Sanitized::fixed(SUMMARY);
        question.reason = None;
        question.claim = None;
        question.typed = None;
        question.preview = None;
        question.next = serde_json::Map::new();
        question.spend = None;
        purged.token = None;
        purged.token_by = None;
        purged.result = None;
        purged.preview_now = None;
        if let Some(decision) = &mut purged.decision {
            decision.reason = None;
        }
        Some(purged)
    }

    /// When its contents were purged, where they were.
    pub fn purged_at(&self) -> Option<Timestamp> {
        self.purged.as_ref().map(|purged| purged.at)
    }

    /// What it counts in budgets, where the call that said so was purged.
    pub(super) fn counted_before_purge(&self) -> Option<Option<Counted>> {
        self.purged.as_ref().map(|purged| purged.counted.clone())
    }

    /// Whether it still holds the call that it was asked about, or holds none because that was purged.
    pub fn is_what_was_asked(&self) -> bool {
        match self.purged {
            Some(_) => self.state.is_settled() && self.result.is_none(),
            None => self.question.binding.digest() == self.digest,
        }
    }
}

/// What stands in the place of what would have happened.
const SUMMARY: &str = "the contents of this question were purged";

#[cfg(test)]
mod tests;
