//! Bearer keys: made, listed, revoked and looked up.
//!
//! INVARIANT: a key is stored as its hash, together with the audit row that tells of it. A revoked
//! key is found by nobody from the commit on, in whatever process.

use std::collections::HashMap;

use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::id::KeyId;
use yesgate_core::key::{BearerKeyHash, KeyRecord};

use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;
use crate::oauth::ending::withdraw;

impl Ledger {
    /// Stores a new key.
    ///
    /// # Errors
    /// When the key is not durable, or its id or hash is there already.
    pub async fn add_key(&self, record: KeyRecord, hash: BearerKeyHash, by: &str) -> Result<(), LedgerError> {
        let added = AuditEvent::KeyAdded {
            id: record.id.clone(),
            name: record.name.clone(),
            caller: record.caller.clone(),
            fingerprint: hash.fingerprint(),
            by: by.to_owned(),
        };
        self.change(Target::Nothing, move |_, _| {
            let writes = vec![Write::Key(record, hash)];
            ((), Effects { writes, events: vec![added], ..Effects::default() })
        })
        .await
    }

    /// Lists all keys, revoked ones too, the oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn keys(&self) -> Result<Vec<KeyRecord>, LedgerError> {
        self.store().keys().await
    }

    /// Revokes a key, and says whether there was one to revoke. What was asked with it is withdrawn (FC-34), unless the same
    /// caller has another one.
    ///
    /// # Errors
    /// When that is not durable.
    pub async fn revoke_key(&self, id: &KeyId, by: &str) -> Result<bool, LedgerError> {
        let (id, by) = (id.clone(), by.to_owned());
        self.change(Target::Keys, move |Found { keys, mut intents, .. }, now| {
            let (mine, others): (Vec<_>, Vec<_>) =
                keys.into_iter().filter(|key| key.revoked_at.is_none()).partition(|key| key.id == id);
            let Some(key) = mine.first() else { return (false, Effects::default()) };
            if !others.iter().any(|other| other.caller == key.caller) {
                withdraw(&mut intents, &key.caller, &by, now);
            }
            // The store revokes the key when it writes this row.
            let events = vec![AuditEvent::KeyRevoked { id, by }];
            (true, Effects { intents, events, ..Effects::default() })
        })
        .await
    }

    /// Looks up the key with this hash. `None`: there is none, or it is revoked.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn key(&self, hash: &BearerKeyHash) -> Result<Option<KeyRecord>, LedgerError> {
        self.store().key(*hash).await
    }

    /// All keys that count, for a cache that is read again whenever [`Self::changes`] resolves.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn live_keys(&self) -> Result<HashMap<BearerKeyHash, Caller>, LedgerError> {
        self.store().live_keys().await
    }
}
