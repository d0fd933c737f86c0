//! The strongest yes that a set-up can get, which changes as people come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use yesgate_core::assurance::Assurance;

/// The strongest yes that can be had at this moment. Clones share it.
#[derive(Clone, Debug)]
pub struct Strongest(Arc<AtomicU8>);

impl Strongest {
    /// This one, until another is set.
    pub fn new(level: Assurance) -> Self {
        let shared = Self(Arc::default());
        shared.set(level);
        shared
    }

    /// Another one from here on.
    pub fn set(&self, level: Assurance) {
        let index = Assurance::ALL.iter().position(|known| *known == level).unwrap_or_default();
        self.0.store(u8::try_from(index).unwrap_or_default(), Ordering::Relaxed);
    }

    /// The one that holds now.
    pub fn get(&self) -> Assurance {
        let index = usize::from(self.0.load(Ordering::Relaxed));
        Assurance::ALL.get(index).copied().unwrap_or(Assurance::Asserted)
    }
}

#[cfg(test)]
mod tests {
    use yesgate_core::assurance::Assurance;

    use super::Strongest;

    #[test]
    fn a_level_is_the_one_that_was_set_last_for_everybody() {
        let shared = Strongest::new(Assurance::Local);
        let other = shared.clone();
        for known in Assurance::ALL {
            other.set(known);
            assert_eq!(shared.get(), known);
        }
    }
}
