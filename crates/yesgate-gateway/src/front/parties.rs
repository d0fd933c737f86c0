//! Modern clients by what they say of themselves: requests that say the same come from the same party.
//!
//! INVARIANT: two requests share a party only if caller, revision, capabilities and client info are equal as
//! values. How many parties are remembered is bounded; one that was forgotten comes back under the same key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use yesgate_core::caller::Caller;
use yesgate_core::digest::{Digest, Hasher};
use yesgate_core::json::{CanonicalJson, JsonError, Limits, parse_strict};

use super::revision::Revision;
use crate::talk::{Party, PartyKey};

/// The modern parties that were seen lately.
#[derive(Debug)]
pub(crate) struct Parties {
    most: usize,
    seen: Mutex<Seen>,
}

/// Two generations: when the young one is full it becomes the old one, and the old one is forgotten.
#[derive(Debug, Default)]
struct Seen {
    young: HashMap<Digest, Arc<Party>>,
    old: HashMap<Digest, Arc<Party>>,
}

impl Parties {
    /// Remembers up to about twice `most` of them.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), seen: Mutex::default() }
    }

    /// The party that sends a request like this.
    ///
    /// # Errors
    /// When what it says of itself can be read in two ways.
    pub(crate) fn of(
        &self,
        caller: &Caller,
        capabilities: &RawValue,
        info: Option<&RawValue>,
    ) -> Result<Arc<Party>, JsonError> {
        // A client spells itself the same in every request: only the first one is read closely.
        let spelling = digest(
            "yesgate/party/spelling/1",
            caller,
            capabilities.get().as_bytes(),
            info.map(|info| info.get().as_bytes()),
        );
        if let Some(party) = self.find(&spelling) {
            return Ok(party);
        }
        let canonical =
            |value: &RawValue| CanonicalJson::of(&parse_strict(value.get().as_bytes(), Limits::default())?);
        let plain_capabilities = canonical(capabilities)?;
        let plain_info = info.map(canonical).transpose()?;
        let key = digest(
            "yesgate/party/1",
            caller,
            plain_capabilities.as_bytes(),
            plain_info.as_ref().map(CanonicalJson::as_bytes),
        );
        let party = self.find(&key).unwrap_or_else(|| {
            Arc::new(Party {
                key: PartyKey(key.to_string()),
                caller: caller.clone(),
                era: Revision::July2026.era(),
                version: Revision::July2026.as_str().to_owned(),
                capabilities: capabilities.to_owned(),
                info: info.map(ToOwned::to_owned),
                session: None,
            })
        });
        self.remember(spelling, &party);
        self.remember(key, &party);
        Ok(party)
    }

    fn find(&self, digest: &Digest) -> Option<Arc<Party>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(party) = seen.young.get(digest) {
            return Some(Arc::clone(party));
        }
        let party = seen.old.remove(digest)?;
        seen.keep(*digest, &party, self.most);
        Some(party)
    }

    fn remember(&self, digest: Digest, party: &Arc<Party>) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).keep(digest, party, self.most);
    }
}

impl Seen {
    fn keep(&mut self, digest: Digest, party: &Arc<Party>, most: usize) {
        if self.young.len() >= most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, Arc::clone(party));
    }
}

fn digest(domain: &'static str, caller: &Caller, capabilities: &[u8], info: Option<&[u8]>) -> Digest {
    let mut hasher = Hasher::new(domain);
    hasher
        .field(caller.org.as_str().as_bytes())
        .field(caller.principal.as_str().as_bytes())
        .field(caller.client.as_str().as_bytes())
        .field(capabilities);
    if let Some(info) = info {
        hasher.field(info);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Parties;
    use crate::front::fixture::caller;
    use crate::raw::raw;

    #[test]
    fn requests_that_say_the_same_in_other_words_share_a_party() {
        let parties = Parties::new(8);
        let of = |who: &str, capabilities: &str| {
            parties.of(&caller(who), &raw(capabilities.into()), Some(&raw(r#"{"name":"c"}"#.into()))).unwrap()
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
        let of = |who: &str| parties.of(&caller(who), &raw("{}".into()), None).unwrap();
        let key = of("ann").key.clone();
        for n in 0..20 {
            assert_ne!(of(&format!("user{n}")).key, key);
        }
        let seen = parties.seen.lock().unwrap();
        assert!(seen.young.len() + seen.old.len() <= 4);
        drop(seen);
        assert_eq!(of("ann").key, key);
    }
}
