//! How often a caller may ask: noes that teach, and a bound on questions (A14: consent fatigue).
//!
//! INVARIANT: it only ever keeps a question from being asked. What needs no human, or has its yes, is not
//! counted and not held up.

use jiff::{SignedDuration, Timestamp};

use crate::refusal::Why;

/// The bounds on asking, for each caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pace {
    /// After so many noes within the window no more is asked.
    pub breaker: u32,
    /// How long a no counts for that.
    pub window: SignedDuration,
    /// How many new questions a minute may have.
    pub per_minute: u32,
    /// How many questions may be open at once.
    pub open: u32,
}

/// What a caller has asked lately, counted by the ledger.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Recent {
    /// When the first of the last `breaker` noes was said, where there are so many.
    pub denied: Option<Timestamp>,
    /// When the first of the last `per_minute` questions was asked, where there are so many.
    pub asked: Option<Timestamp>,
    /// How many questions are open.
    pub open: u32,
}

/// Which bound a caller has reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bound {
    /// Humans said no too often.
    Denials,
    /// Too many questions in a minute.
    PerMinute,
    /// Too many open questions.
    Open,
}

impl Bound {
    /// The word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Denials => "denials",
            Self::PerMinute => "per_minute",
            Self::Open => "open",
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self { breaker: 3, window: SignedDuration::from_mins(10), per_minute: 30, open: 20 }
    }
}

impl Pace {
    /// A minute, for counting.
    pub const MINUTE: SignedDuration = SignedDuration::from_mins(1);

    /// Why nothing more is asked now, if that is so.
    pub fn refusal(&self, recent: &Recent, now: Timestamp) -> Option<Why> {
        let ends = |began: Option<Timestamp>, lasts: SignedDuration| {
            began.and_then(|began| began.checked_add(lasts).ok()).filter(|end| now < *end)
        };
        let limited = |bound, until| Why::RateLimited { bound, until };
        let denials = ends(recent.denied, self.window).map(|until| limited(Bound::Denials, Some(until)));
        let minute = || ends(recent.asked, Self::MINUTE).map(|until| limited(Bound::PerMinute, Some(until)));
        let open = || (recent.open >= self.open).then_some(limited(Bound::Open, None));
        denials.or_else(minute).or_else(open)
    }
}

#[cfg(test)]
mod tests;
