//! How much of something all callers together, and each of them, may hold at a time.
//!
//! INVARIANT: what was taken is given back when its `Hold` is dropped, and a caller that holds nothing
//! takes no memory. A limit of nought allows nothing.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yesgate_core::caller::Caller;
use yesgate_core::id::{OrgId, PrincipalId};

use crate::metrics::Held;

/// The two limits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// What all callers together may hold.
    pub all: usize,
    /// What each of them may hold.
    pub each: usize,
}

/// Whose something is: the program that a user calls with may change, the user may not.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Owner {
    org: OrgId,
    principal: PrincipalId,
}

impl Owner {
    pub(crate) fn of(caller: &Caller) -> Self {
        Self { org: caller.org.clone(), principal: caller.principal.clone() }
    }
}

/// Which limit was met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Full {
    /// All callers together hold too much.
    All,
    /// This caller does.
    Each,
}

/// The books of one kind of thing.
pub(crate) struct Shares {
    limits: Share,
    taken: Mutex<Taken>,
    /// Counts what is held, for whoever watches the gateway.
    gauge: Gauge,
}

/// Takes one from a gauge, until it is dropped.
type Gauge = Box<dyn Fn() -> Held + Send + Sync>;

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    each: HashMap<Owner, usize>,
}

impl fmt::Debug for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Shares {
    pub(crate) fn new(limits: Share, gauge: impl Fn() -> Held + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { limits, taken: Mutex::default(), gauge: Box::new(gauge) })
    }

    /// Takes one, until the hold is dropped.
    pub(crate) fn take(self: &Arc<Self>, owner: Owner) -> Result<Hold, Full> {
        let mut taken = self.lock();
        if taken.all >= self.limits.all {
            return Err(Full::All);
        }
        let own = taken.each.get(&owner).copied().unwrap_or(0);
        if own >= self.limits.each {
            return Err(Full::Each);
        }
        taken.all += 1;
        taken.each.insert(owner.clone(), own + 1);
        drop(taken);
        Ok(Hold { shares: Arc::clone(self), owner, _counted: (self.gauge)() })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thing that is held.
#[derive(Debug)]
pub(crate) struct Hold {
    shares: Arc<Shares>,
    owner: Owner,
    _counted: Held,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.each.get_mut(&self.owner) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.each.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Full, Owner, Share, Shares};
    use crate::front::fixture::caller;
    use crate::metrics::{Held, Metrics};

    fn gauge() -> Held {
        Metrics::new().stream()
    }

    #[test]
    fn what_is_dropped_can_be_taken_again_and_leaves_nothing_behind() {
        let shares = Shares::new(Share { all: 3, each: 2 }, gauge);
        let (ann, bob) = (Owner::of(&caller("ann")), Owner::of(&caller("bob")));
        let first = shares.take(ann.clone()).unwrap();
        let second = shares.take(ann.clone()).unwrap();
        assert_eq!(shares.take(ann.clone()).unwrap_err(), Full::Each);
        let third = shares.take(bob.clone()).unwrap();
        assert_eq!(shares.take(bob).unwrap_err(), Full::All);
        drop(first);
        let again = shares.take(ann).unwrap();
        drop((second, third, again));
        assert_eq!(shares.lock().all, 0);
        assert!(shares.lock().each.is_empty());
    }

    #[test]
    fn a_limit_of_nought_allows_nothing() {
        let shares = Shares::new(Share { all: 1, each: 0 }, gauge);
        assert_eq!(shares.take(Owner::of(&caller("ann"))).unwrap_err(), Full::Each);
    }
}
