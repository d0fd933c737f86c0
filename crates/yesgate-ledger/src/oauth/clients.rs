//! Clients: stored, listed and ended.
//!
//! INVARIANT: strangers can make so many clients and no more, and what they do to them leaves no audit rows. A client that
//! somebody allowed something stays known after its end, so that it hears that it has ended.

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::oauth::{ClientKind, End, OAuthClient, OAuthClientId, OAuthEvent, Parked};

use super::NoRoom;
use super::change::{OAuthTarget, OAuthWrite};
use super::ending::end_all;
use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Stores a new client, or one that changed. Where there is no room for another one that nobody has allowed anything,
    /// the oldest such one that was never used makes room, else the one whose last use is longest ago, once nobody can be
    /// deciding about it; `Err(NoRoom)`: none can.
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
        let target = Target::OAuth(OAuthTarget::Storing(client.id.clone()));
        self.change(target, move |Found { oauth, .. }, now| {
            let (has_bound, mut writes) = (has_bound(client.kind) && !client.is_bound, Vec::new());
            let stored = match &oauth.client {
                Some(known) => match merged(client, known) {
                    Some(client) => client,
                    None => return (Ok(()), Effects::default()),
                },
                None if has_bound && oauth.count >= u64::from(most) => {
                    let going = oauth.first_to_go.filter(|going| may_go(going, now));
                    let Some(going) = going.filter(|_| most > 0) else {
                        return (Err(NoRoom), Effects::default());
                    };
                    writes.push(Write::OAuth(OAuthWrite::ForgetClient(going.id)));
                    client
                }
                None => client,
            };
            writes.push(Write::OAuth(OAuthWrite::Client(Box::new(stored))));
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
