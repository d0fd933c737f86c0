//! Who could say yes in a set-up, which changes as people come and go.

use std::sync::{Arc, PoisonError, RwLock};

use yesgate_core::approvers::Reach;

/// Who could say yes at this moment. Clones share it.
#[derive(Clone, Debug)]
pub struct SharedReach(Arc<RwLock<Arc<Reach>>>);

impl SharedReach {
    /// This, until another is set.
    pub fn new(reach: Reach) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(reach))))
    }

    /// Another from here on.
    pub fn set(&self, reach: Reach) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(reach);
    }

    /// What holds now.
    pub fn get(&self) -> Arc<Reach> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use yesgate_core::approvers::Reach;
    use yesgate_core::assurance::Assurance;

    use super::SharedReach;

    #[test]
    fn what_was_set_last_holds_for_everybody() {
        let shared = SharedReach::new(Reach::anybody(Assurance::Local));
        let other = shared.clone();
        for known in Assurance::ALL {
            other.set(Reach::anybody(known));
            assert_eq!(shared.get().strongest(), known);
        }
    }
}
