//! Codes and tokens: exchanged, refreshed, and looked up with each request.
//!
//! INVARIANT: whatever comes of a code or a token is stored in the transaction that looked whether its connection and its
//! person still count.

use jiff::{SignedDuration, Timestamp};
use yesgate_core::audit::AuditEvent;
use yesgate_core::id::ConnectionId;
use yesgate_core::oauth::{
    Access, CodeFault, Connection, End, Exchange, OAuthClientId, OAuthEvent, Poll, Presented, Refresh,
    Resources, Scopes,
};
use yesgate_core::person::Person;
use yesgate_core::secret::SecretHash;

use super::change::{OAuthFound, OAuthTarget, OAuthWrite};
use super::{Admitted, Exchanged, Issued, KeptConnection, NewTokens, Refreshed, Refreshing};
use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Exchanges a code for tokens. Whoever brings it has proven to be the client.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn exchange(
        &self,
        code: SecretHash,
        exchange: Exchange,
        new: NewTokens,
    ) -> Result<Exchanged, LedgerError> {
        let exchanged = self
            .change(Target::OAuth(OAuthTarget::Code(code)), move |Found { oauth, .. }, now| {
                let OAuthFound { code: known, connection, .. } = oauth;
                let Some((known, kept)) = known.zip(counting(connection)) else {
                    return (Exchanged::Unknown, Effects::default());
                };
                let used = Write::OAuth(OAuthWrite::CodeUsed(code));
                match known.check(&exchange, now) {
                    Ok(()) => {
                        let wanted = exchange.resources;
                        let resources = if wanted.0.is_empty() { known.resources } else { wanted };
                        let (issued, mut effects) = first_tokens(&kept.connection, resources, &new, now);
                        effects.writes.push(used);
                        (Exchanged::Tokens(issued), effects)
                    }
                    Err(fault @ CodeFault::Replayed) => {
                        (Exchanged::Fault(fault), ended(&kept, End::CodeReplayed))
                    }
                    Err(fault @ CodeFault::Verifier) => {
                        (Exchanged::Fault(fault), Effects { writes: vec![used], ..Effects::default() })
                    }
                    Err(
                        fault @ (CodeFault::OtherClient
                        | CodeFault::Old
                        | CodeFault::Redirect
                        | CodeFault::Resource),
                    ) => (Exchanged::Fault(fault), Effects::default()),
                }
            })
            .await?;
        if exchanged == Exchanged::Fault(CodeFault::Replayed) {
            self.settle_ended().await?;
        }
        Ok(exchanged)
    }

    /// Exchanges a refresh token for the next tokens.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn refresh(&self, refreshing: Refreshing) -> Result<Refreshed, LedgerError> {
        let target = Target::OAuth(OAuthTarget::Refresh(refreshing.token));
        let refreshed =
            self.change(target, move |Found { oauth, .. }, now| next_tokens(oauth, refreshing, now)).await?;
        if let Refreshed::Reused(_) = refreshed {
            self.settle_ended().await?;
        }
        Ok(refreshed)
    }

    /// Says to a client without a browser how it stands; once it is allowed, the tokens count. `None`: there is no such code of
    /// that client.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn poll_device(
        &self,
        device: SecretHash,
        client: &OAuthClientId,
        new: NewTokens,
    ) -> Result<Option<(Poll, Option<Issued>)>, LedgerError> {
        let client = client.clone();
        self.change(Target::OAuth(OAuthTarget::Device(device)), move |Found { oauth, .. }, now| {
            let asked = oauth.device.filter(|(_, request)| request.client == client);
            let Some((_, mut request)) = asked else { return (None, Effects::default()) };
            let (poll, issued, mut effects) = match request.poll(now) {
                Poll::Allowed(id) => match counting(oauth.connection) {
                    Some(kept) if kept.connection.id == id => {
                        let resources = kept.connection.resources.clone();
                        let (issued, effects) = first_tokens(&kept.connection, resources, &new, now);
                        (Poll::Allowed(id), Some(issued), effects)
                    }
                    // It was revoked before the client came for it.
                    Some(_) | None => (Poll::Denied, None, Effects::default()),
                },
                poll @ (Poll::Pending | Poll::SlowDown | Poll::Denied | Poll::Expired | Poll::Spent) => {
                    (poll, None, Effects::default())
                }
            };
            effects.writes.push(Write::OAuth(OAuthWrite::DeviceChanged(device, Box::new(request))));
            (Some((poll, issued)), effects)
        })
        .await
    }

    /// Who comes with this access token. `None`: it does not count.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn admitted(&self, token: SecretHash) -> Result<Option<Admitted>, LedgerError> {
        let now = self.now();
        let found = self.store().access(token).await?;
        let Some((access, kept, person)) = found.filter(|(access, ..)| now < access.ends_at) else {
            return Ok(None);
        };
        let Some(kept) = counting(Some((kept, person.clone()))) else { return Ok(None) };
        Ok(Some(Admitted { access: access.under(&kept.connection), kept, person }))
    }

    /// What a refresh token stands for, where it counts.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn refresh_token(
        &self,
        token: SecretHash,
    ) -> Result<Option<(Refresh, KeptConnection)>, LedgerError> {
        let now = self.now();
        let found = self.store().refresh_token(token).await?;
        let unused = found.filter(|(refresh, ..)| refresh.rotated.is_none() && now < refresh.ends_at);
        Ok(unused.and_then(|(refresh, kept, person)| Some((refresh, counting(Some((kept, person)))?))))
    }

    /// Notes that a connection is in use, and from where. Within a minute of the last time nothing is written.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn see_connection(&self, id: &ConnectionId, from: Option<String>) -> Result<(), LedgerError> {
        let id = id.clone();
        self.change(Target::OAuth(OAuthTarget::InUse(id)), move |Found { oauth, .. }, now| {
            let is_due = |kept: &KeptConnection| {
                kept.used_from != from || now.duration_since(kept.used_at) >= Connection::USED_STEP
            };
            let writes = counting(oauth.connection)
                .filter(is_due)
                .map(|kept| Write::OAuth(OAuthWrite::Used(kept.connection.id, from)))
                .into_iter()
                .collect();
            ((), Effects { writes, ..Effects::default() })
        })
        .await
    }
}

/// What comes of a refresh token.
fn next_tokens(found: OAuthFound, refreshing: Refreshing, now: Timestamp) -> (Refreshed, Effects) {
    let OAuthFound { refresh, connection, .. } = found;
    let mine = counting(connection).filter(|kept| kept.connection.client == refreshing.client);
    let Some((refresh, kept)) = refresh.zip(mine) else { return (Refreshed::Unknown, Effects::default()) };
    let connection = &kept.connection;
    let last_moment = last_moment(connection, &refreshing.new);
    if now >= last_moment {
        return (Refreshed::Unknown, Effects::default());
    }
    if !connection.resources.cover_all(&refreshing.resources) {
        return (Refreshed::OtherResource, Effects::default());
    }
    let generation = refresh.generation.saturating_add(1);
    let issued = Issued {
        connection: connection.id.clone(),
        scopes: clipped(refreshing.scopes, &connection.scopes),
        resources: if refreshing.resources.0.is_empty() {
            connection.resources.clone()
        } else {
            refreshing.resources
        },
        access_for: refreshing.new.access_for.min(last_moment.duration_since(now)),
    };
    let (access, mut effects) = access(&issued, &refreshing.new, now);
    effects
        .events
        .push(AuditEvent::OAuth(OAuthEvent::Refreshed { connection: connection.id.clone(), generation }));
    effects.writes.push(access);
    match (refresh.present(refreshing.window, now), refreshing.new.refresh) {
        (Presented::Rotate, Some((successor, lifetime))) => {
            let next = Refresh {
                connection: connection.id.clone(),
                generation,
                ends_at: later(now, lifetime).min(last_moment),
                rotated: None,
            };
            let (token, sealed) = (refreshing.token, refreshing.sealed);
            effects.writes.push(Write::OAuth(OAuthWrite::Rotate(token, Box::new(refresh), sealed)));
            effects.writes.push(Write::OAuth(OAuthWrite::Refresh(successor, Box::new(next))));
            effects.writes.push(Write::OAuth(OAuthWrite::ClientUsed(connection.client.clone())));
            (Refreshed::Rotated(issued), effects)
        }
        (Presented::Again, _) => match refresh.rotated {
            Some(rotated) => (Refreshed::Again(issued, rotated.sealed), effects),
            None => (Refreshed::Unknown, Effects::default()),
        },
        (Presented::Reused, _) => {
            (Refreshed::Reused(connection.id.clone()), ended(&kept, End::RefreshReused))
        }
        (Presented::Idle, _) | (Presented::Rotate, None) => (Refreshed::Unknown, Effects::default()),
    }
}

/// The first tokens under a connection.
fn first_tokens(
    connection: &Connection,
    resources: Resources,
    new: &NewTokens,
    now: Timestamp,
) -> (Issued, Effects) {
    let last_moment = last_moment(connection, new);
    let issued = Issued {
        connection: connection.id.clone(),
        scopes: connection.scopes.clone(),
        resources,
        access_for: new.access_for.min(last_moment.duration_since(now)).max(SignedDuration::ZERO),
    };
    let (access, mut effects) = access(&issued, new, now);
    effects.writes.push(access);
    if let Some((refresh, lifetime)) = new.refresh {
        let first = Refresh {
            connection: connection.id.clone(),
            generation: 1,
            ends_at: later(now, lifetime).min(last_moment),
            rotated: None,
        };
        effects.writes.push(Write::OAuth(OAuthWrite::Refresh(refresh, Box::new(first))));
    }
    effects.writes.push(Write::OAuth(OAuthWrite::ClientUsed(connection.client.clone())));
    effects.events.push(AuditEvent::OAuth(OAuthEvent::Issued { connection: connection.id.clone() }));
    (issued, effects)
}

/// The access token that was issued, and that its connection is in use.
fn access(issued: &Issued, new: &NewTokens, now: Timestamp) -> (Write, Effects) {
    let access = Access {
        connection: issued.connection.clone(),
        scopes: issued.scopes.clone(),
        resources: issued.resources.clone(),
        ends_at: later(now, issued.access_for),
    };
    let used = Write::OAuth(OAuthWrite::Used(issued.connection.clone(), None));
    let write = Write::OAuth(OAuthWrite::Access(new.access, Box::new(access)));
    (write, Effects { writes: vec![used], ..Effects::default() })
}

/// From when on nothing under a connection counts any more.
fn last_moment(connection: &Connection, new: &NewTokens) -> Timestamp {
    new.longest.map_or(Timestamp::MAX, |longest| later(connection.made_at, longest))
}

/// Those of the wanted scopes that were given; where none of them was, all that were: asking for the wrong thing takes
/// nothing away.
fn clipped(wanted: Option<Scopes>, given: &Scopes) -> Scopes {
    let clipped = wanted.map(|wanted| wanted.within(given)).filter(|scopes| !scopes.is_empty());
    clipped.unwrap_or_else(|| given.clone())
}

/// The connection, where it has not ended and its person is here and still the one that it calls for.
pub(super) fn counting(found: Option<(KeptConnection, Person)>) -> Option<KeptConnection> {
    let (kept, person) = found?;
    let counts = kept.ended.is_none() && person.removed_at.is_none() && kept.connection.is_of(&person);
    counts.then_some(kept)
}

/// What is left when a connection ends by what was presented. What it has asked is withdrawn after that.
pub(super) fn ended(kept: &KeptConnection, why: End) -> Effects {
    let (connection, by) = (kept.connection.id.clone(), THE_GATEWAY.to_owned());
    let events = vec![AuditEvent::OAuth(OAuthEvent::Ended { connection, why, by })];
    Effects { events, ..Effects::default() }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Who ends what nobody in particular has ended.
pub(super) const THE_GATEWAY: &str = "the gateway";
