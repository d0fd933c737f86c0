//! How often an agent may look at a question that nobody has decided (H3; `slow_down` as in RFC 8628 §3.5).
//!
//! - INVARIANT: only a look that would say `pending` is ever held back. A result, a no and an end are told at once.
//! - INVARIANT: it is a courtesy and no gate: where too many look, it forgets, and nobody is refused for that.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use yesgate_core::digest::Digest;
use yesgate_core::held::POLL;
use yesgate_core::id::IntentId;

/// Who looks, and at what.
pub(super) type Look = (Digest, IntentId);

/// Knows who has looked when.
#[derive(Debug, Default)]
pub(super) struct Looks(Mutex<HashMap<Look, Last>>);

#[derive(Clone, Copy, Debug)]
struct Last {
    at: Timestamp,
    /// How long to wait after it.
    interval: SignedDuration,
}

/// Whether somebody may look again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Pace {
    /// They may, and then not before this time has passed.
    Fine(SignedDuration),
    /// They came too soon, and wait longer from here on.
    TooSoon(SignedDuration),
}

impl Looks {
    /// Somebody looks at something that is still undecided.
    pub(super) fn look(&self, look: Look, now: Timestamp) -> Pace {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.get(&look).copied();
        if before.is_none() && all.len() >= MOST {
            all.retain(|_, last| now.duration_since(last.at) < last.interval);
            if all.len() >= MOST {
                return Pace::Fine(POLL);
            }
        }
        let interval = before.map_or(POLL, |last| last.interval);
        // What waits exactly as long as it was told may arrive a little early.
        let too_soon = before.is_some_and(|last| now.duration_since(last.at) < interval - GRACE);
        let interval = if too_soon { (interval + STEP).min(LONGEST) } else { interval };
        all.insert(look, Last { at: now, interval });
        if too_soon { Pace::TooSoon(interval) } else { Pace::Fine(interval) }
    }

    /// It is decided, and nobody has to wait any more.
    pub(super) fn forget(&self, look: &Look) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(look);
    }
}

/// How much longer after a look that came too soon.
const STEP: SignedDuration = SignedDuration::from_secs(5);
const LONGEST: SignedDuration = SignedDuration::from_secs(60);
const GRACE: SignedDuration = SignedDuration::from_millis(500);
/// How many looks are remembered.
const MOST: usize = 10_000;

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use yesgate_core::digest::Hasher;
    use yesgate_core::id::IntentId;

    use super::{Look, Looks, MOST, Pace};

    fn at(ms: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_millis(ms)
    }

    fn look(seed: u64) -> Look {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(seed.to_be_bytes()).for_each(|(to, from)| *to = from);
        (Hasher::new("test").finish(), IntentId::from_entropy(bytes))
    }

    const fn fine(seconds: i64) -> Pace {
        Pace::Fine(SignedDuration::from_secs(seconds))
    }

    const fn too_soon(seconds: i64) -> Pace {
        Pace::TooSoon(SignedDuration::from_secs(seconds))
    }

    /// H3, RFC 8628 §3.5: whoever comes too soon waits five seconds longer, this time and from then on.
    #[test]
    fn each_look_that_comes_too_soon_makes_the_interval_longer() {
        let looks = Looks::default();
        assert_eq!(looks.look(look(1), at(0)), fine(5));
        assert_eq!(looks.look(look(1), at(4_499)), too_soon(10));
        assert_eq!(looks.look(look(2), at(4_499)), fine(5));
        assert_eq!(looks.look(look(1), at(14_000)), fine(10));
        assert_eq!(looks.look(look(1), at(14_001)), too_soon(15));
        for _ in 0..20 {
            looks.look(look(1), at(14_002));
        }
        assert_eq!(looks.look(look(1), at(14_003)), too_soon(60));
        looks.forget(&look(1));
        assert_eq!(looks.look(look(1), at(14_004)), fine(5));
    }

    #[test]
    fn a_look_after_the_interval_is_fine_with_a_little_grace() {
        let looks = Looks::default();
        assert_eq!(looks.look(look(1), at(0)), fine(5));
        assert_eq!(looks.look(look(1), at(4_500)), fine(5));
        assert_eq!(looks.look(look(1), at(9_500)), fine(5));
    }

    #[test]
    fn where_too_many_look_nobody_is_held_back() {
        let looks = Looks::default();
        for seed in 0..u64::try_from(MOST).unwrap() {
            looks.look(look(seed), at(0));
        }
        assert_eq!(looks.look(look(u64::MAX), at(1)), fine(5));
        assert_eq!(looks.look(look(u64::MAX), at(2)), fine(5));
        // Those whose wait is over make room.
        assert_eq!(looks.look(look(u64::MAX), at(5_000)), fine(5));
        assert_eq!(looks.look(look(u64::MAX), at(5_001)), too_soon(10));
    }
}
