//! Many measurements made into one number that can be trusted, and how far to trust it.

use std::fmt;
use std::time::{Duration, Instant};

/// How thorough a run is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Pace {
    /// As many rounds as the time allows; for the report.
    Full,
    /// A few rounds; to see whether something changed by much.
    Quick,
}

impl Pace {
    /// Counts off rounds: at most so many, and no new one when the time is up; but never fewer than
    /// three, for a median.
    pub(crate) fn rounds(self, most: usize, time: Duration) -> impl Iterator<Item = usize> {
        let (most, time) = match self {
            Self::Full => (most, time),
            Self::Quick => (most.min(FEWEST), time / 4),
        };
        let begin = Instant::now();
        (0..most.max(FEWEST)).take_while(move |round| *round < FEWEST || begin.elapsed() < time)
    }

    /// How often something is repeated within a round.
    pub(crate) const fn repeats(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => full.div_ceil(4),
        }
    }
}

const FEWEST: usize = 3;

/// The times of one thing in one round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<Duration>);

impl Times {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Takes the times of another in.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The time that this share of all stayed below, in seconds.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        quantile(self.0.iter().map(Duration::as_secs_f64).collect(), share)
    }
}

/// One number per round of the same thing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The number of the middle round.
    pub(crate) fn median(&self) -> f64 {
        quantile(self.0.clone(), 0.5)
    }

    /// What comes of pairing each round with the same round of another series.
    pub(crate) fn with(&self, other: &Self, pair: impl Fn(f64, f64) -> f64) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| pair(*one, *other)).collect())
    }

    /// By how much each round is above the same round of another series.
    pub(crate) fn above(&self, other: &Self) -> Self {
        self.with(other, |one, other| one - other)
    }

    /// How many times the same round of another series each round is.
    pub(crate) fn times(&self, other: &Self) -> Self {
        self.with(other, |one, other| one / other)
    }

    /// The number of the middle round, with the lowest and the highest.
    pub(crate) fn shown(&self, unit: Unit) -> String {
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|share| unit.number(quantile(self.0.clone(), share)));
        format!("{middle} {unit} ({low} to {high})")
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The value that this share of all stays at or below (nearest rank).
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let rank = (last as f64 * share).round() as usize;
    values.get(rank).copied().unwrap_or(f64::NAN)
}

/// What a number counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unit {
    /// Seconds, shown as microseconds.
    Micros,
    /// Seconds, shown as milliseconds.
    Millis,
    /// So many in a second.
    PerSecond,
    /// Bytes, shown as MB of a million.
    Megabytes,
    /// A ratio.
    Times,
}

impl Unit {
    /// A number without its unit.
    pub(crate) fn number(self, value: f64) -> String {
        let scaled = match self {
            Self::Micros => value * 1e6,
            Self::Millis => value * 1e3,
            Self::Megabytes => value / 1e6,
            Self::PerSecond | Self::Times => value,
        };
        match self {
            Self::PerSecond => format!("{scaled:.0}"),
            Self::Times => format!("{scaled:.2}"),
            Self::Micros | Self::Millis | Self::Megabytes => format!("{scaled:.1}"),
        }
    }

    /// A number with its unit.
    pub(crate) fn shown(self, value: f64) -> String {
        format!("{} {self}", self.number(value))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Micros => "µs",
            Self::Millis => "ms",
            Self::PerSecond => "/s",
            Self::Megabytes => "MB",
            Self::Times => "×",
        })
    }
}

#[cfg(test)]
mod tests;
