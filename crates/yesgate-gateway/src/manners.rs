//! How clients really behave when their human is to be asked, whatever they declare.
//!
//! A client that answers faster than anybody can read, that answers nothing, or that never answers, has nobody
//! there: from then on its human is asked another way. One that a human once answered through is believed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use yesgate_core::caller::Caller;

/// What was seen of all clients.
#[derive(Debug, Default)]
pub struct Manners {
    seen: Mutex<HashMap<Caller, Seen>>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Seen {
    /// A human answered through it.
    Answers,
    /// Nobody was there.
    Unable,
}

impl Manners {
    /// Whether it is worth asking through this client.
    pub(crate) fn may_be_asked(&self, caller: &Caller) -> bool {
        self.lock().get(caller) != Some(&Seen::Unable)
    }

    /// Somebody answered.
    pub(crate) fn answered(&self, caller: &Caller) {
        self.note(caller, Seen::Answers);
    }

    /// Nobody can have answered: what came was no human's doing.
    pub(crate) fn nobody_there(&self, caller: &Caller) {
        self.note(caller, Seen::Unable);
    }

    /// No answer came. Somebody who answered before may just be slow.
    pub(crate) fn silent(&self, caller: &Caller) {
        if self.lock().get(caller) != Some(&Seen::Answers) {
            self.note(caller, Seen::Unable);
        }
    }

    fn note(&self, caller: &Caller, what: Seen) {
        let mut seen = self.lock();
        // Names cost nothing to make up: beyond any real number of clients it is begun anew.
        if seen.len() >= MOST_CLIENTS && !seen.contains_key(caller) {
            seen.clear();
        }
        seen.insert(caller.clone(), what);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Caller, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const MOST_CLIENTS: usize = 4096;

#[cfg(test)]
mod tests {
    use yesgate_core::caller::Caller;

    use super::Manners;

    fn caller(client: &str) -> Caller {
        Caller {
            org: "acme".parse().unwrap(),
            principal: "ada".parse().unwrap(),
            client: client.parse().unwrap(),
        }
    }

    #[test]
    fn a_client_with_nobody_there_is_not_asked_again() {
        let manners = Manners::default();
        assert!(manners.may_be_asked(&caller("a")));
        manners.nobody_there(&caller("a"));
        assert!(!manners.may_be_asked(&caller("a")));
        assert!(manners.may_be_asked(&caller("b")));
    }

    #[test]
    fn silence_counts_against_those_only_who_never_answered() {
        let manners = Manners::default();
        manners.answered(&caller("a"));
        for client in ["a", "b"] {
            manners.silent(&caller(client));
        }
        assert!(manners.may_be_asked(&caller("a")));
        assert!(!manners.may_be_asked(&caller("b")));
    }
}
