//! What calls for people: clients that they connected and keys of machines, for programs of people. Everybody has their
//! own, and an owner those of all.

use std::collections::HashMap;

use serde_json::{Value, json};
use yesgate_core::caller::Caller;
use yesgate_core::key::KeyRecord;
use yesgate_core::oauth::End;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Asks, KeptConnection};

use super::{Told, Undone, json as told};
use crate::clients::Connected;
use crate::site::{Site, Visit};
use crate::visit::Visitor;

impl Site {
    pub(super) async fn list_clients(&self, visitor: &Visitor) -> Told {
        let asks = self.asks().await?;
        let keys = self.keys_for(visitor).await?;
        let connections = self.connections_for(visitor).await?;
        let clients: Vec<Value> = connections
            .iter()
            .map(|kept| described_connection(kept, &asks))
            .chain(keys.iter().map(|key| described(key, &asks)))
            .collect();
        told(&json!({"clients": clients}))
    }

    /// Revokes one. It counts no more from the next request on.
    pub(super) async fn revoke_client(&self, visit: &Visit, visitor: &Visitor) -> Told {
        let found = self.connected(&visit.name, visitor).await?.ok_or_else(Undone::nothing_here)?;
        self.revoke(&found, visitor).await?;
        let asks = self.asks().await?;
        match &found {
            Connected::Client(kept) => {
                let ended = Some((visit.now, End::Revoked));
                let kept = KeptConnection { ended, ..kept.as_ref().clone() };
                told(&described_connection(&kept, &asks))
            }
            Connected::Key(key) => {
                let revoked = self.keys_for(visitor).await?.into_iter().find(|other| other.id == key.id);
                told(&described(&revoked.ok_or_else(Undone::nothing_here)?, &asks))
            }
        }
    }

    /// O-V4: revokes one connection, or all that a client has of this person; for an owner, of their organisation.
    pub(super) async fn revoke_connected_by_rest(&self, visit: &Visit, visitor: &Visitor) -> Told {
        match self.revoke_named(&decoded(&visit.name), visitor).await? {
            0 => Err(Undone::nothing_here()),
            connections => told(&json!({ "connections": connections })),
        }
    }
}

/// A segment of a path without its percent signs. What means something in a query means itself in a path.
fn decoded(segment: &str) -> String {
    let marks = [('+', "%2B"), ('&', "%26"), ('=', "%3D")];
    let segment = marks.iter().fold(segment.to_owned(), |text, (mark, code)| text.replace(*mark, code));
    form_urlencoded::parse(segment.as_bytes()).next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

/// A key without the key. What it was used for is known as far as it led to questions.
fn described(key: &KeyRecord, asks: &HashMap<Caller, Asks>) -> Value {
    let asks = asks.get(&key.caller);
    json!({
        "kind": "key",
        "id": key.id,
        "name": key.name,
        "user": key.caller.principal,
        "org": key.caller.org,
        "client": Sanitized::line(key.caller.client.as_str()).as_str(),
        "verified_host": null,
        "scopes": null,
        "resources": null,
        "created_at": key.created_at,
        "revoked_at": key.revoked_at,
        "used_at": null,
        "used_from": null,
        "asks": asks.map_or(0, |asks| asks.count),
        "first_asked_at": asks.map(|asks| asks.first),
        "last_asked_at": asks.map(|asks| asks.last),
    })
}

/// A connection without its tokens.
fn described_connection(kept: &KeptConnection, asks: &HashMap<Caller, Asks>) -> Value {
    let connection = &kept.connection;
    let asks = asks.get(&connection.caller);
    let shown = |text: &str| Sanitized::line(text).to_string();
    let name = connection.client_name.as_deref().unwrap_or(connection.client.as_str());
    json!({
        "kind": "connection",
        "id": connection.id,
        "name": shown(name),
        "user": connection.caller.principal,
        "org": connection.caller.org,
        "client": shown(connection.client.as_str()),
        "verified_host": connection.verified_host.as_deref().map(shown),
        "scopes": connection.scopes.iter().collect::<Vec<_>>(),
        "resources": connection.resources,
        "created_at": connection.made_at,
        "revoked_at": kept.ended.map(|(at, _)| at),
        "used_at": kept.used_at,
        "used_from": kept.used_from.as_deref().map(shown),
        "asks": asks.map_or(0, |asks| asks.count),
        "first_asked_at": asks.map(|asks| asks.first),
        "last_asked_at": asks.map(|asks| asks.last),
    })
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn a_segment_is_decoded_as_a_path_is() {
        for (segment, text) in [
            ("conn_0123", "conn_0123"),
            ("https%3A%2F%2Fa.example%2Fc%3Fx%3D1%262", "https://a.example/c?x=1&2"),
            ("a+b=c&d", "a+b=c&d"),
            ("%", "%"),
        ] {
            assert_eq!(decoded(segment), text, "{segment}");
        }
    }
}
