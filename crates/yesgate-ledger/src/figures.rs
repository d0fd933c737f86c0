//! Figures: how many questions each day had, how they were decided, and after how long.
//!
//! INVARIANT: they are added up as questions are decided and read from the sums, so they are as quick after a million
//! questions as after one. They decide nothing and are no part of what the audit trail proves.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::OrgId;

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// What became of the questions of one organisation in the last days.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Figures {
    /// Each day, the oldest first; days without any too.
    pub days: Vec<DayFigures>,
    /// Whoever decided, the most busy first.
    pub people: Vec<PersonFigures>,
    /// All of them together.
    pub together: Pondered,
}

/// One day, by UTC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct DayFigures {
    /// Which.
    pub date: Date,
    /// How many questions were asked.
    pub asked: u64,
    /// How many had a yes.
    pub approved: u64,
    /// How many had a no, or words in place of a run.
    pub denied: u64,
    /// How many nobody decided in time.
    pub expired: u64,
}

/// One person's decisions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PersonFigures {
    /// Who, as decisions name them.
    pub who: String,
    /// How they decided.
    pub pondered: Pondered,
}

/// How long people took over decisions.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Pondered {
    /// How many decisions there were.
    pub decided: u64,
    /// How many of them came sooner after the question than [`Self::HASTE`].
    pub hasty: u64,
    /// Half of them came sooner than this, half later; exact to two digits.
    pub median: Option<SignedDuration>,
}

impl Pondered {
    /// Who decides sooner than this has hardly read anything.
    pub const HASTE: SignedDuration = SignedDuration::from_secs(2);

    /// Whether so many decisions came so soon that the yes may have become a habit: more than a third, of ten or more.
    pub const fn is_habit(&self) -> bool {
        self.decided >= 10 && self.hasty.saturating_mul(3) > self.decided
    }

    /// How many of a hundred were hasty.
    pub const fn percent_hasty(&self) -> u64 {
        match self.hasty.saturating_mul(100).checked_div(self.decided) {
            Some(percent) => percent,
            None => 0,
        }
    }

    /// Reads it off counts by the time that was taken, the shortest first.
    pub(crate) fn of(mut counts: Vec<(SignedDuration, u64)>) -> Self {
        counts.sort_unstable();
        let decided = counts.iter().map(|(_, count)| count).sum();
        let hasty = counts.iter().filter(|(took, _)| *took < Self::HASTE).map(|(_, count)| count).sum();
        let mut seen = 0_u64;
        let middle = counts.iter().find(|(_, count)| {
            seen = seen.saturating_add(*count);
            seen.saturating_mul(2) >= decided
        });
        Self { decided, hasty, median: middle.map(|(took, _)| *took) }
    }
}

impl Figures {
    /// How many days there are.
    pub const DAYS: i64 = 30;
}

impl Ledger {
    /// The figures of one organisation: those of the last [`Figures::DAYS`] days, today among them.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn figures(&self, org: &OrgId) -> Result<Figures, LedgerError> {
        self.store().figures(org.clone(), day_of(self.now())).await
    }
}

/// The number of a day since 1970, by UTC.
pub(crate) fn day_of(time: Timestamp) -> i64 {
    time.as_second().div_euclid(86_400)
}

/// The day of a number.
pub(crate) fn date_of(day: i64) -> Date {
    let noon = Timestamp::from_second(day.saturating_mul(86_400)).unwrap_or_default();
    noon.to_zoned(jiff::tz::TimeZone::UTC).date()
}
