//! The keys that count now: the witness of what was signed.
//!
//! INVARIANT: it holds only what the gateway's seal is under. Who keeps it fills it anew whenever a key is enrolled or
//! revoked; what is not in it signs nothing, also not again.

use std::sync::{Arc, PoisonError, RwLock};

use yesgate_core::id::PersonId;
use yesgate_core::proof::{Evidence, NotProven, Proof, Proven, Statement, Witness};

use crate::ceremony::Ceremonies;
use crate::credential::{Credential, Key};
use crate::seal::{SealError, SealKey, SealedCredential};

/// The keys that count now.
#[derive(Debug)]
pub struct Registry {
    seal: SealKey,
    ceremonies: Option<Ceremonies>,
    credentials: RwLock<Arc<[Credential]>>,
}

impl Registry {
    /// One without keys. Without an origin there are no ceremonies, and passkeys sign nothing.
    pub fn new(seal: SealKey, ceremonies: Option<Ceremonies>) -> Self {
        Self { seal, ceremonies, credentials: RwLock::new(Arc::default()) }
    }

    /// Takes these keys in place of all that it had, and says what was wrong with those that it did not take.
    #[must_use = "somebody may have written into the database"]
    pub fn replace(&self, sealed: &[SealedCredential]) -> Vec<SealError> {
        let (mut credentials, mut wrong) = (Vec::new(), Vec::new());
        for sealed in sealed {
            match self.seal.open(sealed) {
                Ok(credential) => credentials.push(credential),
                Err(error) => wrong.push(error),
            }
        }
        *self.credentials.write().unwrap_or_else(PoisonError::into_inner) = credentials.into();
        wrong
    }

    /// The keys of a person.
    pub fn of(&self, person: &PersonId) -> Vec<Credential> {
        self.all().iter().filter(|credential| credential.person == *person).cloned().collect()
    }

    /// Has somebody's signature confirmed: it is one of whichever of their keys made it.
    ///
    /// # Errors
    /// When none of their keys signed exactly this.
    pub fn prove(
        &self,
        person: &PersonId,
        statement: &Statement,
        evidence: &Evidence,
    ) -> Result<Proven, NotProven> {
        let theirs = self.of(person);
        let mut tried = theirs.iter().map(|credential| {
            Proven::by(self, credential.proof(statement, evidence.clone()), statement.clone())
        });
        tried.find_map(Result::ok).ok_or(NotProven)
    }

    fn all(&self) -> Arc<[Credential]> {
        Arc::clone(&self.credentials.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn signed(&self, key: &Key, evidence: &Evidence, statement: &Statement) -> bool {
        match (key, evidence) {
            (Key::Passkey(passkey), Evidence::Passkey { nonce, assertion }) => {
                let challenge = statement.challenge(nonce);
                self.ceremonies.as_ref().is_some_and(|ceremonies| {
                    ceremonies.check_approval(&challenge, assertion.as_str(), passkey).is_ok()
                })
            }
            (Key::Ssh(key), Evidence::Signature { armored }) => {
                key.check(statement, armored.as_str()).is_ok()
            }
            (Key::Passkey(_), Evidence::Signature { .. }) | (Key::Ssh(_), Evidence::Passkey { .. }) => false,
        }
    }
}

impl Witness for Registry {
    fn holds(&self, proof: &Proof, statement: &Statement) -> bool {
        let all = self.all();
        let mut named = all.iter().filter(|credential| credential.id == proof.credential);
        named.any(|credential| {
            credential.person == proof.person
                && credential.identity == proof.identity
                && self.signed(&credential.key, &proof.evidence, statement)
        })
    }
}
