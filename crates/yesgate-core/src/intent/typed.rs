//! Confirming by typing the resource's name (M3, M6).
//!
//! INVARIANT: what must be typed leaves the ledger only towards a human's surface; the agent is told neither
//! the text nor how close a try came.

use jiff::Timestamp;
use unicode_normalization::UnicodeNormalization as _;

use super::{Approver, Event, Intent};
use crate::audit::AuditEvent;
use crate::refusal::{Refusal, Why};

/// How often a human may type something else.
const TRIES: u8 = 3;

impl Intent {
    /// Compares what the approver typed with what must be typed, where anything must.
    pub(super) fn compare_typed(&mut self, by: &Approver, now: Timestamp) -> Result<(), Refusal> {
        let Some(expected) = &self.question.typed else { return Ok(()) };
        let Some(typed) = &by.typed else { return Err(self.refusal(Why::NothingTyped)) };
        // The same text can be spelled in several ways; what it says has to be the same, to the letter.
        if typed.nfc().eq(expected.nfc()) {
            return Ok(());
        }
        self.wrong_tries = self.wrong_tries.saturating_add(1);
        self.note(AuditEvent::WrongText { by: by.name.clone() }, now);
        let left = TRIES.saturating_sub(self.wrong_tries);
        if left == 0 {
            let burnt = AuditEvent::Cancelled { by: "three wrong tries".into() };
            self.advance(Event::Cancel, burnt, now)?;
        }
        Err(self.refusal(Why::WrongText { left }))
    }

    /// What must be typed, for a human's surface only.
    pub fn text_to_type(&self) -> Option<&str> {
        self.question.typed.as_deref()
    }
}
