//! The keys with which agents call, for programs of people: everybody has their own, and an owner those of all.

use std::collections::HashMap;

use serde_json::{Value, json};
use yesgate_core::caller::Caller;
use yesgate_core::id::KeyId;
use yesgate_core::key::KeyRecord;
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;
use yesgate_ledger::Asks;

use super::{Told, Undone, json as told};
use crate::site::{Site, Visit};
use crate::visit::Visitor;

impl Site {
    pub(super) async fn list_clients(&self, visitor: &Visitor) -> Told {
        let asks = self.asks().await?;
        let keys = self.keys_for(visitor).await?;
        let clients: Vec<Value> = keys.iter().map(|key| described(key, &asks)).collect();
        told(&json!({"clients": clients}))
    }

    /// Revokes one. It counts no more from the next request on.
    pub(super) async fn revoke_client(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let id = visit.name.parse::<KeyId>().map_err(|_| Undone::nothing_here())?;
        let is_meant = |key: &KeyRecord| key.id == id;
        self.keys_for(visitor).await?.into_iter().find(is_meant).ok_or_else(Undone::nothing_here)?;
        self.desk.revoke_clients(vec![id.clone()], &self.approver(visitor, None).name).await?;
        let asks = self.asks().await?;
        let revoked = self.keys_for(visitor).await?.into_iter().find(is_meant);
        told(&described(&revoked.ok_or_else(Undone::nothing_here)?, &asks))
    }

    /// The keys that a person may see.
    async fn keys_for(&self, visitor: &Visitor) -> Result<Vec<KeyRecord>, Undone> {
        let person = &visitor.person;
        let mut keys = self.ledger.keys().await?;
        keys.retain(|key| {
            let Caller { org, principal, .. } = &key.caller;
            *org == person.org && (person.may(Role::Owner) || *principal == person.name)
        });
        Ok(keys)
    }

    async fn asks(&self) -> Result<HashMap<Caller, Asks>, Undone> {
        let asks = self.ledger.asks().await?;
        Ok(asks.into_iter().map(|asks| (asks.caller.clone(), asks)).collect())
    }
}

/// A key without the key. What it was used for is known as far as it led to questions.
fn described(key: &KeyRecord, asks: &HashMap<Caller, Asks>) -> Value {
    let asks = asks.get(&key.caller);
    json!({
        "id": key.id,
        "name": key.name,
        "user": key.caller.principal,
        "org": key.caller.org,
        "client": Sanitized::line(key.caller.client.as_str()).as_str(),
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
        "asks": asks.map_or(0, |asks| asks.count),
        "first_asked_at": asks.map(|asks| asks.first),
        "last_asked_at": asks.map(|asks| asks.last),
    })
}
