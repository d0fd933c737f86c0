//! A report is only as good as its arithmetic.

use std::time::Duration;

use super::{Pace, Series, Times, Unit};

fn series(values: &[f64]) -> Series {
    values.iter().copied().collect()
}

#[test]
fn the_middle_round_counts_and_one_bad_round_does_not() {
    assert_eq!(series(&[3.0, 900.0, 1.0, 2.0, 4.0]).median(), 3.0);
    assert_eq!(series(&[0.002, 0.001, 0.5]).shown(Unit::Millis), "2.0 ms (1.0 to 500.0)");
}

#[test]
fn rounds_are_compared_with_their_own_partner() {
    let (noisy, quiet) = (series(&[10.0, 110.0, 20.0]), series(&[9.0, 100.0, 18.0]));
    assert_eq!(noisy.above(&quiet).median(), 2.0);
    assert_eq!(noisy.times(&quiet).shown(Unit::Times), "1.11 × (1.10 to 1.11)");
}

#[test]
fn a_quantile_is_a_time_that_was_measured() {
    let mut times = Times::default();
    (1..=101).for_each(|n| times.push(Duration::from_micros(n)));
    assert_eq!(Unit::Micros.shown(times.quantile(0.5)), "51.0 µs");
    assert_eq!(Unit::Micros.shown(times.quantile(0.99)), "100.0 µs");
}

#[test]
fn there_are_rounds_enough_for_a_median_even_when_the_time_is_up() {
    assert_eq!(Pace::Full.rounds(20, Duration::ZERO).count(), 3);
    assert_eq!(Pace::Full.rounds(5, Duration::from_secs(600)).count(), 5);
    assert_eq!(Pace::Quick.rounds(20, Duration::from_secs(600)).count(), 3);
}
