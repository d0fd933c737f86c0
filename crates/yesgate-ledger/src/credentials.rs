//! The keys with which people prove themselves: enrolled, listed, revoked.
//!
//! INVARIANT: what stands in one is for whoever sealed it to read; here it is a text. That a key was enrolled or
//! revoked is in the audit trail, in the same transaction.

use yesgate_core::audit::AuditEvent;
use yesgate_core::id::{CredentialId, PersonId};
use yesgate_core::person::PersonEvent;

use crate::change::{Effects, PeopleWrite, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

/// A key of somebody's, as it is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeptCredential {
    /// Its id.
    pub id: CredentialId,
    /// Whose it is.
    pub person: PersonId,
    /// The key itself, sealed by whoever enrolled it.
    pub sealed: String,
}

impl Ledger {
    /// The keys that count: those that nobody revoked. Who is removed loses theirs.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn credentials(&self) -> Result<Vec<KeptCredential>, LedgerError> {
        self.store().credentials().await
    }

    /// Enrols a key.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn enrol(&self, kept: KeptCredential, by: &str) -> Result<(), LedgerError> {
        let enrolled = PersonEvent::KeyEnrolled {
            person: kept.person.clone(),
            credential: kept.id.clone(),
            by: by.to_owned(),
        };
        self.change(Target::Nothing, move |_, _| {
            let writes = vec![Write::People(PeopleWrite::Credential(kept))];
            ((), Effects { writes, events: vec![AuditEvent::Person(enrolled)], ..Effects::default() })
        })
        .await
    }

    /// Keeps a key as it is after a use, in place of how it was.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn keep_credential(&self, kept: KeptCredential) -> Result<(), LedgerError> {
        let writes = vec![Write::People(PeopleWrite::Credential(kept))];
        self.change(Target::Nothing, move |_, _| ((), Effects { writes, ..Effects::default() })).await
    }

    /// Revokes a key of somebody's, and says whether there was one to revoke.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn revoke_credential(
        &self,
        person: &PersonId,
        id: &CredentialId,
        by: &str,
    ) -> Result<bool, LedgerError> {
        let (person, id, by) = (person.clone(), id.clone(), by.to_owned());
        self.change(Target::People, move |found, _| {
            let is_there = found.credentials.iter().any(|kept| kept.id == id && kept.person == person);
            if !is_there {
                return (false, Effects::default());
            }
            let writes = vec![Write::People(PeopleWrite::RevokeCredential(id.clone()))];
            let revoked = AuditEvent::Person(PersonEvent::KeyRevoked { person, credential: id, by });
            (true, Effects { writes, events: vec![revoked], ..Effects::default() })
        })
        .await
    }
}
