//! Modern clients by what they say of themselves: requests that say the same come from the same party.
//!
//! INVARIANT: two requests share a party only if caller, revision, capabilities and client info are equal as
//! values. How many parties are remembered is bounded; one that was forgotten comes back under the same key.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use yesgate_core::caller::Caller;
use yesgate_core::digest::{Digest, Hasher};
use yesgate_core::json::{CanonicalJson, JsonError, Limits, parse_strict};

use super::revision::Revision;
use crate::raw::Raw;
use crate::talk::{Party, PartyKey, own_name};

/// The modern parties that were seen lately.
#[derive(Debug)]
pub(crate) struct Parties {
    most: usize,
    hashing: RandomState,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The one that was seen last: most requests come from the same client as the one before.
    last: Option<Arc<Spelled>>,
    /// By the hash of how a client spells itself; whether it is the same spelling has to be looked at.
    spelled: Generations<u64, Arc<Spelled>>,
    known: Generations<Digest, Arc<Party>>,
}

/// A party, and one way in which it spelled itself.
#[derive(Debug)]
struct Spelled {
    caller: Caller,
    capabilities: Box<RawValue>,
    info: Option<Box<RawValue>>,
    party: Arc<Party>,
}

impl Spelled {
    fn is(&self, caller: &Caller, capabilities: Raw<'_>, info: Option<Raw<'_>>) -> bool {
        self.caller == *caller
            && self.capabilities.get() == capabilities.get()
            && self.info.as_deref().map(RawValue::get) == info.map(Raw::get)
    }
}

impl Parties {
    /// Remembers up to about twice `most` of them.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), hashing: RandomState::new(), seen: Mutex::default() }
    }

    /// The party that sends a request like this.
    ///
    /// # Errors
    /// When what it says of itself can be read in two ways.
    pub(crate) fn of(
        &self,
        caller: &Caller,
        capabilities: Raw<'_>,
        info: Option<Raw<'_>>,
    ) -> Result<Arc<Party>, JsonError> {
        if let Some(last) = &self.seen().last
            && last.is(caller, capabilities, info)
        {
            return Ok(Arc::clone(&last.party));
        }
        // A client spells itself the same in every request: only the first one is read closely.
        let spelling = self.hashing.hash_one((caller, capabilities.get(), info.map(Raw::get)));
        let mut seen = self.seen();
        if let Some(spelled) = seen.spelled.find(&spelling, self.most).cloned()
            && spelled.is(caller, capabilities, info)
        {
            let party = Arc::clone(&spelled.party);
            seen.last = Some(spelled);
            return Ok(party);
        }
        drop(seen);
        let canonical =
            |value: Raw<'_>| CanonicalJson::of(&parse_strict(value.get().as_bytes(), Limits::default())?);
        let plain_capabilities = canonical(capabilities)?;
        let plain_info = info.map(canonical).transpose()?;
        let key = digest(caller, &plain_capabilities, plain_info.as_ref());
        let mut seen = self.seen();
        let known = seen.known.find(&key, self.most).cloned();
        let party = known.unwrap_or_else(|| {
            Arc::new(Party {
                key: PartyKey(key.to_string()),
                caller: caller.clone(),
                era: Revision::July2026.era(),
                version: Revision::July2026.as_str().to_owned(),
                capabilities: capabilities.value().to_owned(),
                info: info.map(|info| info.value().to_owned()),
                client: own_name(info.map(Raw::value)),
                session: None,
            })
        });
        let spelled = Arc::new(Spelled {
            caller: caller.clone(),
            capabilities: capabilities.value().to_owned(),
            info: info.map(|info| info.value().to_owned()),
            party: Arc::clone(&party),
        });
        seen.last = Some(Arc::clone(&spelled));
        seen.spelled.keep(spelling, spelled, self.most);
        seen.known.keep(key, Arc::clone(&party), self.most);
        Ok(party)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two generations: when the young one is full it becomes the old one, and the old one is forgotten.
#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Copy + Eq + Hash, V> Generations<K, V> {
    /// What is remembered under a key; it is young again.
    fn find(&mut self, key: &K, most: usize) -> Option<&V> {
        if let Some(value) = self.old.remove(key) {
            self.keep(*key, value, most);
        }
        self.young.get(key)
    }

    fn keep(&mut self, key: K, value: V, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

fn digest(caller: &Caller, capabilities: &CanonicalJson, info: Option<&CanonicalJson>) -> Digest {
    let mut hasher = Hasher::new("yesgate/party/1");
    hasher
        .field(caller.org.as_str().as_bytes())
        .field(caller.principal.as_str().as_bytes())
        .field(caller.client.as_str().as_bytes())
        .field(capabilities.as_bytes());
    if let Some(info) = info {
        hasher.field(info.as_bytes());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Parties;
    use crate::front::fixture::caller;
    use crate::raw::Raw;

    #[test]
    fn requests_that_say_the_same_in_other_words_share_a_party() {
        let parties = Parties::new(8);
        let of = |who: &str, capabilities: &str| {
            let info = Raw::rehydrate(r#"{"name":"c"}"#);
            parties.of(&caller(who), Raw::rehydrate(capabilities), Some(info)).unwrap()
        };
        let first = of("ann", r#"{"roots":{},"sampling":{}}"#);
        assert!(Arc::ptr_eq(&first, &of("ann", r#"{"roots":{},"sampling":{}}"#)));
        assert!(Arc::ptr_eq(&first, &of("ann", r#"{ "sampling":{}, "roots":{} }"#)));
        assert_ne!(first.key, of("ann", r#"{"roots":{}}"#).key);
        assert_ne!(first.key, of("bob", r#"{"roots":{},"sampling":{}}"#).key);
    }

    #[test]
    fn a_party_that_was_forgotten_comes_back_under_its_key() {
        let parties = Parties::new(2);
        let of = |who: &str| parties.of(&caller(who), Raw::EMPTY, None).unwrap();
        let key = of("ann").key.clone();
        for n in 0..20 {
            assert_ne!(of(&format!("user{n}")).key, key);
        }
        let seen = parties.seen.lock().unwrap();
        assert!(seen.known.young.len() + seen.known.old.len() <= 4);
        assert!(seen.spelled.young.len() + seen.spelled.old.len() <= 4);
        drop(seen);
        assert_eq!(of("ann").key, key);
    }
}
