//! Numbers that many tasks change at once, without waiting for each other.
//!
//! The library's own histogram takes a lock for each observation; ours does not.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that grows and shrinks.
#[derive(Debug, Default)]
pub(super) struct Gauge(AtomicI64);

impl Gauge {
    pub(super) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn take_one(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub(super) fn value(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long things took, in a few steps.
#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// How many fell into each step, not into the ones below it.
    steps: [AtomicU64; BOUNDS.len()],
    nanoseconds: AtomicU64,
}

/// What a histogram holds at one moment.
#[derive(Debug)]
pub(super) struct Reading {
    /// All of them together.
    pub(super) seconds: f64,
    /// How many there were. It is the sum of the steps, whatever was observed while they were read.
    pub(super) count: u64,
    /// How many took at most so many seconds and more than the step below.
    pub(super) steps: [(f64, u64); BOUNDS.len()],
}

impl Histogram {
    pub(super) fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let step = BOUNDS.iter().zip(&self.steps).find(|(bound, _)| seconds <= **bound);
        if let Some((_, step)) = step {
            step.fetch_add(1, Ordering::Relaxed);
        }
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// What it holds now; nothing if nothing was observed yet.
    pub(super) fn read(&self) -> Option<Reading> {
        let mut steps = BOUNDS.map(|bound| (bound, 0));
        for (step, (_, count)) in self.steps.iter().zip(&mut steps) {
            *count = step.load(Ordering::Relaxed);
        }
        let count = steps.iter().map(|(_, count)| count).sum();
        let seconds = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64();
        (count > 0).then_some(Reading { seconds, count, steps })
    }
}

/// From what passes at once to the longest that a call may take by default.
const BOUNDS: [f64; 18] = [
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    600.0,
    f64::INFINITY,
];
