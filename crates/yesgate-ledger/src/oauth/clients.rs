//! Clients: stored, listed and ended.
//!
//! INVARIANT: strangers can make so many clients and no more, all of them together and those of one address, and what they
//! do to them leaves no audit rows. Whoever has as many as they may have drives out their own and nobody else's. A client
//! that somebody allowed something stays known after its end, so that it hears that it has ended.

use std::net::IpAddr;

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::oauth::{ClientKind, End, OAuthClient, OAuthClientId, OAuthEvent, Parked};

use super::change::{OAuthTarget, OAuthWrite, RoomFound};
use super::ending::end_all;
use super::{NoRoom, Room};
use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Stores a client that registered from this address. Where there is no room for another one that nobody has allowed
    /// anything, the oldest such one that was never used makes room, else the one whose last use is longest ago, once
    /// nobody can be deciding about it; `Err(NoRoom)`: none can. An address that has as many as it may have makes room
    /// with one of its own.
    ///
    /// From where it came is forgotten when somebody allows it something, and goes with it otherwise.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the change is not durable.
    pub async fn register_client(
        &self,
        client: OAuthClient,
        from: IpAddr,
        room: Room,
    ) -> Result<Result<(), NoRoom>, LedgerError> {
        self.put_client(client, Some(from), room).await
    }

    /// Stores a new client, or one that changed, with room for so many that nobody has allowed anything, whoever made them.
    ///
    /// What the ledger itself knows stays: since when the client is known, its last use, and whether it was ever allowed
    /// anything. One that had registered and was ended stays ended; one with a document begins anew.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the change is not durable.
    pub async fn store_client(
        &self,
        client: OAuthClient,
        most: u32,
    ) -> Result<Result<(), NoRoom>, LedgerError> {
        self.put_client(client, None, Room { all: most, each: most }).await
    }

    async fn put_client(
        &self,
        client: OAuthClient,
        from: Option<IpAddr>,
        room: Room,
    ) -> Result<Result<(), NoRoom>, LedgerError> {
        let target = Target::OAuth(OAuthTarget::Storing { id: client.id.clone(), from, room });
        self.change(target, move |Found { oauth, .. }, now| {
            let (has_bound, mut writes) = (has_bound(client.kind) && !client.is_bound, Vec::new());
            let stored = match (&oauth.client, oauth.room) {
                (Some(known), _) => match merged(client, known) {
                    Some(client) => client,
                    None => return (Ok(()), Effects::default()),
                },
                (None, RoomFound::Full(going)) if has_bound => {
                    let going = going.filter(|going| may_go(going, now));
                    let Some(going) = going.filter(|_| room.all > 0 && room.each > 0) else {
                        return (Err(NoRoom), Effects::default());
                    };
                    writes.push(Write::OAuth(OAuthWrite::ForgetClient(going.id)));
                    client
                }
                (None, RoomFound::Full(_) | RoomFound::Free) => client,
            };
            writes.push(Write::OAuth(OAuthWrite::Client(Box::new(stored), from)));
            (Ok(()), Effects { writes, ..Effects::default() })
        })
        .await
    }

    /// The client of this id, one that was ended too.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn client(&self, id: &OAuthClientId) -> Result<Option<OAuthClient>, LedgerError> {
        self.store().client(id.clone()).await
    }

    /// All clients that were not ended, the latest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn oauth_clients(&self) -> Result<Vec<OAuthClient>, LedgerError> {
        self.store().oauth_clients().await
    }

    /// Ends a client and all that people allowed it, and withdraws what it has asked. It stays known as ended, unless nobody
    /// had ever allowed it anything. Says how many connections ended; `None`: there was no such client.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn end_client(&self, id: &OAuthClientId, by: &str) -> Result<Option<usize>, LedgerError> {
        let by = by.to_owned();
        self.change(Target::OAuth(OAuthTarget::Client(id.clone())), move |found, now| {
            let Found { oauth, intents, .. } = found;
            let Some(client) = oauth.client.filter(|client| client.ended_at.is_none()) else {
                return (None, Effects::default());
            };
            if !client.is_bound {
                let writes = vec![Write::OAuth(OAuthWrite::ForgetClient(client.id))];
                return (Some(0), Effects { writes, ..Effects::default() });
            }
            let ended = oauth.connections.len();
            let (mut effects, _) = end_all(&oauth.connections, &[], intents, End::ClientEnded, &by, now);
            // The store ends the client when it writes this row.
            effects.events.push(AuditEvent::OAuth(OAuthEvent::ClientEnded { client: client.id, by }));
            (Some(ended), effects)
        })
        .await
    }
}

/// Whether strangers can make clients of this kind.
const fn has_bound(kind: ClientKind) -> bool {
    match kind {
        ClientKind::Operator => false,
        ClientKind::Registered | ClientKind::Document => true,
    }
}

/// What is stored of a client that is known already; `None`: nothing changes.
fn merged(client: OAuthClient, known: &OAuthClient) -> Option<OAuthClient> {
    let ended_at = match (known.ended_at, client.kind) {
        (Some(_), ClientKind::Registered) => return None,
        (Some(_), ClientKind::Operator | ClientKind::Document) | (None, _) => None,
    };
    Some(OAuthClient {
        created_at: known.created_at,
        used_at: client.used_at.max(known.used_at),
        is_bound: client.is_bound || known.is_bound,
        ended_at,
        ..client
    })
}

/// Whether one makes room: nobody ever came for it, or whoever did had time enough to be asked.
fn may_go(client: &OAuthClient, now: Timestamp) -> bool {
    client.used_at <= client.created_at || now.duration_since(client.used_at) >= Parked::LIFETIME
}
