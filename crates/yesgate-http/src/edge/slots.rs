//! How many connections there may be, in all and from one address.
//!
//! INVARIANT: a slot is given back exactly once, when its connection ends; an address without connections
//! is forgotten.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
mod tests;

/// The connections that are open.
#[derive(Debug)]
pub(super) struct Slots {
    cap: usize,
    cap_per_address: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// The place of one connection. Its drop makes room.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Arc<Slots>,
    network: IpAddr,
}

impl Slots {
    pub(super) fn new(cap: usize, cap_per_address: usize) -> Self {
        Self { cap, cap_per_address, taken: Mutex::default() }
    }

    /// Takes a place for a connection from there, if there is one.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Slot> {
        let network = network(address);
        let mut taken = self.lock();
        let here = taken.by_network.get(&network).copied().unwrap_or_default();
        if taken.all >= self.cap || here >= self.cap_per_address {
            return None;
        }
        taken.all += 1;
        taken.by_network.insert(network, here + 1);
        Some(Slot { slots: Arc::clone(self), network })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Entry::Occupied(mut here) = taken.by_network.entry(self.network) {
            if *here.get() <= 1 {
                here.remove();
            } else {
                *here.get_mut() -= 1;
            }
        }
    }
}

/// Whoever has one IPv6 address has the 2^64 addresses of its network; they count as one.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> HOST_BITS << HOST_BITS)),
    }
}

const HOST_BITS: u32 = 64;
