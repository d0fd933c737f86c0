//! What this process stored last, still open: whoever looks it up again need not unseal and read it.
//!
//! INVARIANT: what is recalled is what the row holds. It is found by the very bytes that were sealed for it, a nonce among
//! them, so a row that anybody has changed since, or that was never committed, is read like any other.

use std::collections::{HashMap, VecDeque};

/// The last ones, by their id.
#[derive(Debug)]
pub(super) struct Recall<T> {
    kept: HashMap<String, (Vec<u8>, T)>,
    /// The ids, the oldest first, and of how many bytes each was. One that was taken out meanwhile is still among them.
    order: VecDeque<(String, usize)>,
    bytes: usize,
}

impl<T> Recall<T> {
    pub(super) fn new() -> Self {
        Self { kept: HashMap::new(), order: VecDeque::new(), bytes: 0 }
    }

    /// Remembers what was stored under these bytes.
    pub(super) fn keep(&mut self, id: &str, sealed: Vec<u8>, what: T) {
        let bytes = sealed.len();
        if bytes > LONGEST {
            self.kept.remove(id);
            return;
        }
        self.order.push_back((id.to_owned(), bytes));
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept.insert(id.to_owned(), (sealed, what));
        while self.order.len() > MOST || self.bytes > MOST_BYTES {
            let Some((oldest, bytes)) = self.order.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(bytes);
            self.kept.remove(&oldest);
        }
    }

    /// What these bytes were sealed for, if that is known. It is not known any more afterwards.
    pub(super) fn take(&mut self, id: &str, sealed: &[u8]) -> Option<T> {
        self.kept.remove(id).filter(|(known, _)| known == sealed).map(|(_, what)| what)
    }

    /// Forgets everything: something of it is to be nowhere any more.
    pub(super) fn forget(&mut self) {
        *self = Self::new();
    }
}

/// How many are remembered, of how many bytes together, and of how many each.
const MOST: usize = 512;
const MOST_BYTES: usize = 1 << 20;
const LONGEST: usize = 1 << 16;

#[cfg(test)]
mod tests;
