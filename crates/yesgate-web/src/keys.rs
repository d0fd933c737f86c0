//! The keys of people at this site: which count, and the ceremonies that are under way.
//!
//! INVARIANT: what a ceremony began with stays here, is good once, for a few minutes, and for the browser that began
//! it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::{PersonId, SessionId};
use yesgate_ledger::{KeptCredential, Ledger, LedgerError};
use yesgate_proof::ceremony::{Ceremonies, Enrolment, Passkey, SignIn};
use yesgate_proof::credential::Credential;
use yesgate_proof::registry::Registry;
use yesgate_proof::seal::{SealError, SealKey, SealedCredential};

/// The keys of people at one site.
#[derive(Debug)]
pub struct Keys {
    /// Those that count now.
    pub(crate) registry: Arc<Registry>,
    seal: SealKey,
    pub(crate) ceremonies: Ceremonies,
    begun: Mutex<HashMap<String, (Timestamp, Begun)>>,
}

/// A ceremony that is under way.
#[derive(Debug)]
pub(crate) enum Begun {
    /// Somebody enrols a passkey.
    Enrolment {
        /// In which browser.
        session: SessionId,
        state: Box<Enrolment>,
        /// What they call it.
        label: String,
        /// What a key that they have must sign first, where they have one.
        confirm: Option<[u8; 32]>,
    },
    /// Somebody signs in.
    SignIn(Box<SignIn>),
}

impl Keys {
    /// Keys under this seal, and ceremonies at one origin.
    pub fn new(registry: Arc<Registry>, seal: SealKey, ceremonies: Ceremonies) -> Self {
        Self { registry, seal, ceremonies, begun: Mutex::default() }
    }

    /// The passkeys of a person.
    pub(crate) fn passkeys(&self, person: &PersonId) -> Vec<Passkey> {
        self.registry.of(person).iter().filter_map(|credential| credential.passkey().cloned()).collect()
    }

    /// A key as the ledger keeps it.
    pub(crate) fn kept(&self, credential: &Credential) -> Result<KeptCredential, SealError> {
        let sealed =
            serde_json::to_string(&self.seal.seal(credential)?).map_err(|_| SealError::Unreadable)?;
        Ok(KeptCredential { id: credential.id.clone(), person: credential.person.clone(), sealed })
    }

    /// Remembers a ceremony under a name that nobody can guess. `None`: too many are under way.
    pub(crate) fn begin(&self, entropy: [u8; 32], begun: Begun, now: Timestamp) -> Option<String> {
        let mut all = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (at, _)| now.duration_since(*at) < LIFETIME);
        if all.len() >= MOST {
            return None;
        }
        let name: String = entropy.iter().map(|byte| format!("{byte:02x}")).collect();
        all.insert(name.clone(), (now, begun));
        Some(name)
    }

    /// Takes a ceremony that is under way, once.
    pub(crate) fn finish(&self, name: &str, now: Timestamp) -> Option<Begun> {
        let taken = self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        taken.filter(|(at, _)| now.duration_since(*at) < LIFETIME).map(|(_, begun)| begun)
    }
}

/// Has a registry know the keys that the ledger has. A key whose seal does not hold is none, and that is said loudly:
/// somebody wrote into the ledger.
///
/// # Errors
/// When the ledger cannot be read.
pub async fn refresh(registry: &Registry, ledger: &Ledger) -> Result<(), LedgerError> {
    let kept = ledger.credentials().await?;
    let read = |kept: &KeptCredential| serde_json::from_str::<SealedCredential>(&kept.sealed).ok();
    let sealed: Vec<SealedCredential> = kept.iter().filter_map(read).collect();
    let broken = registry.replace(&sealed).len() + kept.len().saturating_sub(sealed.len());
    if broken > 0 {
        tracing::error!(
            keys = broken,
            "keys in the ledger were not written by this gateway, and count for nothing"
        );
    }
    Ok(())
}

/// How long a ceremony may take.
const LIFETIME: SignedDuration = SignedDuration::from_mins(5);
/// How many may be under way.
const MOST: usize = 2_000;
