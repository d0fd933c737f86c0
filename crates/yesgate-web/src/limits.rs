//! How often anybody may do something that a stranger can do: by a key, in a sliding time, with a bound on the memory.
//!
//! INVARIANT: what is remembered never grows past its bound; where there is no room to remember, the answer is no.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// So many times in such a time, for each key.
#[derive(Debug)]
pub(crate) struct Limiter<K> {
    most: usize,
    per: SignedDuration,
    seen: Mutex<HashMap<K, VecDeque<Timestamp>>>,
}

/// Whether it may be done once more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Turn {
    /// It may.
    Taken,
    /// It was done too often, or too many others do it.
    TooOften,
}

impl<K: Eq + Hash> Limiter<K> {
    pub(crate) fn new(most: usize, per: SignedDuration) -> Self {
        Self { most, per, seen: Mutex::default() }
    }

    /// Takes a turn.
    pub(crate) fn take(&self, key: K, now: Timestamp) -> Turn {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= KEYS && !seen.contains_key(&key) {
            seen.retain(|_, times| times.back().is_some_and(|time| now.duration_since(*time) < self.per));
            if seen.len() >= KEYS {
                return Turn::TooOften;
            }
        }
        let times = seen.entry(key).or_default();
        while times.front().is_some_and(|time| now.duration_since(*time) >= self.per) {
            times.pop_front();
        }
        if times.len() >= self.most {
            return Turn::TooOften;
        }
        times.push_back(now);
        Turn::Taken
    }
}

/// Whom an address belongs to, as far as one can tell: with IPv6 a whole network of 64 bits is one's own.
pub(crate) fn neighbour(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => match six.to_ipv4_mapped() {
            Some(four) => IpAddr::V4(four),
            None => IpAddr::V6((six.to_bits() >> 64 << 64).into()),
        },
    }
}

/// How many keys are remembered.
const KEYS: usize = 10_000;

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{KEYS, Limiter, Turn, neighbour};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    /// O-S8: so many in such a time for each, and others are not touched by it.
    #[test]
    fn each_has_so_many_turns_in_a_sliding_time() {
        let limiter = Limiter::new(2, SignedDuration::from_secs(60));
        assert_eq!([limiter.take("a", at(0)), limiter.take("a", at(59))], [Turn::Taken; 2]);
        assert_eq!(limiter.take("a", at(59)), Turn::TooOften);
        assert_eq!(limiter.take("b", at(59)), Turn::Taken);
        assert_eq!(limiter.take("a", at(60)), Turn::Taken);
        assert_eq!(limiter.take("a", at(61)), Turn::TooOften);
    }

    /// O-S9: what strangers can grow has a bound, and makes room by itself.
    #[test]
    fn no_more_is_remembered_than_fits() {
        let limiter = Limiter::new(1, SignedDuration::from_secs(60));
        for key in 0..KEYS {
            assert_eq!(limiter.take(key, at(0)), Turn::Taken);
        }
        assert_eq!(limiter.take(KEYS, at(59)), Turn::TooOften);
        assert_eq!(limiter.seen.lock().unwrap().len(), KEYS);
        assert_eq!(limiter.take(KEYS, at(60)), Turn::Taken);
        assert_eq!(limiter.seen.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_network_of_ones_own_is_one_neighbour() {
        let check = |one: &str, other: &str, same: bool| {
            let [one, other] = [one, other].map(|text| neighbour(text.parse().unwrap()));
            assert_eq!(one == other, same, "{one} {other}");
        };
        check("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true);
        check("2001:db8:1:2::1", "2001:db8:1:3::1", false);
        check("::ffff:192.0.2.1", "192.0.2.1", true);
        check("192.0.2.1", "192.0.2.2", false);
    }
}
