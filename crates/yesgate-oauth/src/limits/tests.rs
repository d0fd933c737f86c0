//! How often is too often.

use jiff::{SignedDuration, Timestamp};

use super::{KEYS, Limiter, NEWCOMERS, TooOften, neighbour};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn limiter() -> Limiter<u32> {
    Limiter::new(SignedDuration::from_mins(1))
}

/// O-S8: the whole allowance at once, then bit by bit; others are not touched by it.
#[test]
fn an_allowance_can_be_used_at_once_and_comes_back_evenly() {
    let limiter = limiter();
    for _ in 0..60 {
        assert_eq!(limiter.take(1, 60, at(0)), Ok(()));
    }
    let TooOften(wait) = limiter.take(1, 60, at(0)).unwrap_err();
    assert_eq!(wait, 2);
    assert_eq!(limiter.take(2, 60, at(0)), Ok(()));
    assert_eq!(limiter.look(&1, 60, at(2)), Ok(()));
    assert_eq!(limiter.take(1, 60, at(2)), Ok(()));
    assert_eq!(limiter.take(1, 60, at(2)), Ok(()));
    assert!(limiter.take(1, 60, at(2)).is_err());
    for _ in 0..60 {
        assert_eq!(limiter.take(1, 60, at(120)), Ok(()));
    }
    assert!(limiter.take(3, 0, at(0)).is_err(), "an allowance of nothing allows nothing");
}

/// O-S8: what strangers can make grow has a bound, and with it full nobody is locked out for good.
#[test]
fn what_is_remembered_has_a_bound() {
    let limiter = limiter();
    let keys = u32::try_from(KEYS).unwrap();
    for key in 0..keys {
        assert_eq!(limiter.take(key, 1, at(0)), Ok(()));
    }
    for key in 0..NEWCOMERS {
        assert_eq!(limiter.take(keys + key, 1, at(0)), Ok(()));
    }
    assert!(limiter.take(2 * keys, 1, at(0)).is_err());
    assert_eq!(limiter.remembered(), KEYS);
    assert_eq!(limiter.take(2 * keys, 1, at(61)), Ok(()));
    assert_eq!(limiter.remembered(), 1);
}

/// O-S10: a clock that is set right locks nobody out.
#[test]
fn a_clock_that_goes_back_locks_nobody_out() {
    let limiter = limiter();
    assert_eq!(limiter.take(1, 60, at(86_400)), Ok(()));
    for _ in 0..60 {
        assert_eq!(limiter.take(1, 60, at(0)), Ok(()));
    }
    assert!(limiter.take(1, 60, at(0)).is_err());
}

#[test]
fn a_network_of_64_bits_is_one_neighbour() {
    let neighbour = |text: &str| neighbour(text.parse().unwrap()).to_string();
    assert_eq!(neighbour("192.0.2.7"), "192.0.2.7");
    assert_eq!(neighbour("::ffff:192.0.2.7"), "192.0.2.7");
    assert_eq!(neighbour("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
}
