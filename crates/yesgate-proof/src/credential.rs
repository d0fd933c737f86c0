//! A person's key, as it is kept.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use yesgate_core::id::{CredentialId, PersonId};
use yesgate_core::proof::{Evidence, Proof, Statement};

use crate::ceremony::Passkey;
use crate::ssh::SshKey;

/// One key of one person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Credential {
    /// Its id.
    pub id: CredentialId,
    /// Whose it is.
    pub person: PersonId,
    /// What tells this person from another, as callers are named: it must not be one who asks for themselves.
    pub identity: String,
    /// What it is.
    pub key: Key,
    /// What its owner calls it.
    pub label: String,
    /// When it was enrolled.
    pub created_at: Timestamp,
}

/// What a person signs with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    /// A passkey.
    Passkey(Box<Passkey>),
    /// An SSH key.
    Ssh(SshKey),
}

impl Credential {
    /// What is kept of a signature that it made under this statement.
    pub fn proof(&self, statement: &Statement, evidence: Evidence) -> Proof {
        Proof {
            credential: self.id.clone(),
            person: self.person.clone(),
            identity: self.identity.clone(),
            until: statement.until,
            evidence,
        }
    }

    /// The passkey, where it is one.
    pub const fn passkey(&self) -> Option<&Passkey> {
        match &self.key {
            Key::Passkey(passkey) => Some(passkey),
            Key::Ssh(_) => None,
        }
    }
}
