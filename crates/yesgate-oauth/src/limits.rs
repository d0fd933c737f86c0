//! How often anybody may come, by whatever key, with a bound on what is remembered.
//!
//! INVARIANT: a limiter never holds more than its bound. What it forgets makes no difference: whoever is forgotten had not
//! come for so long that nothing counts against them. Where there is no room, all newcomers share one allowance.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

#[cfg(test)]
mod tests;

/// So many times in such a time, for each key, with the whole at once if need be.
#[derive(Debug)]
pub(crate) struct Limiter<K> {
    per: SignedDuration,
    /// When each would have come if they had come evenly.
    due: Mutex<Due<K>>,
}

#[derive(Debug)]
struct Due<K> {
    by_key: HashMap<K, Timestamp>,
    newcomers: Timestamp,
}

/// Somebody came too often. After so many seconds they may come again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooOften(pub(crate) u32);

impl<K: Eq + Hash> Limiter<K> {
    /// One that counts over such a time.
    pub(crate) fn new(per: SignedDuration) -> Self {
        let due = Due { by_key: HashMap::new(), newcomers: Timestamp::MIN };
        Self { per, due: Mutex::new(due) }
    }

    /// Takes a turn of somebody who may come so many times.
    ///
    /// # Errors
    /// When they came too often. Nothing is counted then.
    pub(crate) fn take(&self, key: K, most: u32, now: Timestamp) -> Result<(), TooOften> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if due.by_key.len() >= KEYS && !due.by_key.contains_key(&key) {
            due.by_key.retain(|_, due| *due > now);
            if due.by_key.len() >= KEYS {
                let most = most.saturating_mul(NEWCOMERS);
                due.newcomers = self.next(due.newcomers, most, now)?;
                return Ok(());
            }
        }
        let known = due.by_key.get(&key).copied().unwrap_or(Timestamp::MIN);
        let next = self.next(known, most, now)?;
        due.by_key.insert(key, next);
        Ok(())
    }

    /// Whether somebody who may come so many times may come now. Nothing is counted.
    ///
    /// # Errors
    /// When they came too often.
    pub(crate) fn look(&self, key: &K, most: u32, now: Timestamp) -> Result<(), TooOften> {
        let due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let known = due.by_key.get(key).copied().unwrap_or(Timestamp::MIN);
        self.next(known, most, now).map(|_| ())
    }

    /// When somebody is due after this time, if they may come now.
    fn next(&self, due: Timestamp, most: u32, now: Timestamp) -> Result<Timestamp, TooOften> {
        let per = self.per.as_millis();
        let step = per / i128::from(most.max(1));
        let step = SignedDuration::from_millis(i64::try_from(step).unwrap_or(i64::MAX).max(1));
        // A little more than the whole, for what rounding takes away.
        let most_ahead = self.per + SignedDuration::from_millis(1);
        // Nobody is that far ahead: the clock went back, and whoever came before has not come by this one.
        let due = if due.duration_since(now) > most_ahead { now } else { due.max(now) };
        let next = due.checked_add(step).unwrap_or(Timestamp::MAX);
        let ahead = next.duration_since(now);
        if most > 0 && ahead <= most_ahead {
            return Ok(next);
        }
        let wait = (ahead - self.per).as_secs().saturating_add(1);
        Err(TooOften(u32::try_from(wait).unwrap_or(u32::MAX)))
    }

    #[cfg(test)]
    fn remembered(&self) -> usize {
        self.due.lock().unwrap().by_key.len()
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
/// How many times the allowance of one all newcomers have together where nobody can be remembered any more.
const NEWCOMERS: u32 = 50;
