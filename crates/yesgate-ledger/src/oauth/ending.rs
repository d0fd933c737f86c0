//! The end of connections: one, those of a client, or everything of a person.
//!
//! INVARIANT: a connection that ends counts for nothing from the commit on, in whatever process. Questions of other callers
//! are never touched.

use std::collections::BTreeSet;

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::id::{ConnectionId, PersonId};
use yesgate_core::intent::Intent;
use yesgate_core::oauth::{End, OAuthClientId, OAuthEvent};
use yesgate_core::person::PersonEvent;
use yesgate_core::secret::SecretHash;

use super::change::{OAuthTarget, OAuthWrite};
use super::tokens::{THE_GATEWAY, counting};
use super::{EndedAll, KeptConnection};
use crate::change::{Effects, Found, PeopleWrite, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// All connections that count, of everybody, the latest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn connections(&self) -> Result<Vec<KeptConnection>, LedgerError> {
        self.store().connections().await
    }

    /// Those that ended since then because somebody else had a copy of a secret of theirs, the latest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn ended_by_copies(&self, since: Timestamp) -> Result<Vec<KeptConnection>, LedgerError> {
        self.store().ended_by_copies(since).await
    }

    /// Ends a connection, and withdraws what its client has asked through it. Says whether there was one.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn end_connection(&self, id: &ConnectionId, why: End, by: &str) -> Result<bool, LedgerError> {
        let by = by.to_owned();
        self.change(Target::OAuth(OAuthTarget::Connection(id.clone())), move |found, now| {
            let Found { oauth, intents, .. } = found;
            let Some((kept, _)) = oauth.connection.filter(|(kept, _)| kept.ended.is_none()) else {
                return (false, Effects::default());
            };
            let (effects, _) = end_all(&[kept], &oauth.connections, intents, why, &by, now);
            (true, effects)
        })
        .await
    }

    /// Gives back a token of this client's (RFC 7009): a refresh token ends its connection, an access token only itself.
    /// What is not the client's is left alone.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn give_back(&self, token: SecretHash, client: &OAuthClientId) -> Result<(), LedgerError> {
        let client = client.clone();
        let has_ended = self
            .change(Target::OAuth(OAuthTarget::Token(token)), move |Found { oauth, .. }, _| {
                let mine = counting(oauth.connection).filter(|kept| kept.connection.client == client);
                let Some(kept) = mine else { return (false, Effects::default()) };
                let connection = kept.connection.id;
                if oauth.access.is_none() {
                    let (why, by) = (End::GivenBack, client.to_string());
                    let events = vec![AuditEvent::OAuth(OAuthEvent::Ended { connection, why, by })];
                    return (true, Effects { events, ..Effects::default() });
                }
                let writes = vec![Write::OAuth(OAuthWrite::ForgetAccess(token))];
                let events = vec![AuditEvent::OAuth(OAuthEvent::AccessGivenBack { connection })];
                (false, Effects { writes, events, ..Effects::default() })
            })
            .await?;
        if has_ended { self.settle_ended().await } else { Ok(()) }
    }

    /// Ends everything of one person in one step: sessions, links, bearer keys, connections, the clients that are theirs alone,
    /// requests that wait, and what was asked for them.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn end_everything_of(&self, person: &PersonId, by: &str) -> Result<EndedAll, LedgerError> {
        let (id, by) = (person.clone(), by.to_owned());
        self.change(Target::OAuth(OAuthTarget::Person(id.clone())), move |found, now| {
            let Found { people, sessions, keys, oauth, mut intents, .. } = found;
            let Some(person) = people.into_iter().find(|person| person.id == id) else {
                return (EndedAll::default(), Effects::default());
            };
            let mut ended = EndedAll::default();
            let (theirs, others): (Vec<_>, Vec<_>) =
                oauth.connections.into_iter().partition(|kept| kept.connection.person == id);
            // All that was asked for them, through whatever client.
            let is_theirs = |caller: &Caller| caller.org == person.org && caller.principal == person.name;
            let open = intents.iter_mut().filter(|intent| is_theirs(&intent.question().binding.caller));
            ended.intents = open.filter_map(|intent| intent.cancel(&by, now).ok()).count();
            ended.intents += withdraw_yeses(&mut intents, person.name.as_str(), &by, now);
            let (mut effects, withdrawn) = end_all(&theirs, &others, intents, End::PersonEnded, &by, now);
            ended.intents += withdrawn;
            ended.connections = theirs.len();
            let shared: BTreeSet<_> = others.iter().map(|kept| &kept.connection.client).collect();
            for client in oauth.clients.into_iter().filter(|client| !shared.contains(&client.id)) {
                ended.clients += 1;
                let event = OAuthEvent::ClientEnded { client: client.id, by: by.clone() };
                effects.events.push(AuditEvent::OAuth(event));
            }
            for session in sessions.iter().filter(|one| one.person == id && one.counts(now)) {
                ended.sessions += 1;
                effects.writes.push(Write::People(PeopleWrite::EndSession(session.id.clone())));
                let (person, session, by) = (id.clone(), session.id.clone(), by.clone());
                effects.events.push(AuditEvent::Person(PersonEvent::SignedOut { person, session, by }));
            }
            effects.writes.push(Write::People(PeopleWrite::SpendLinks(id.clone())));
            for key in keys.iter().filter(|key| key.revoked_at.is_none() && is_theirs(&key.caller)) {
                ended.keys += 1;
                // The store revokes the key when it writes this row.
                effects.events.push(AuditEvent::KeyRevoked { id: key.id.clone(), by: by.clone() });
            }
            (ended, effects)
        })
        .await
    }

    /// Withdraws what was asked through connections that have ended, some at a time.
    pub(super) async fn settle_ended(&self) -> Result<(), LedgerError> {
        loop {
            let settled = self
                .change(Target::OAuth(OAuthTarget::Unsettled), |found, now| {
                    let Found { oauth, mut intents, .. } = found;
                    let mut effects = Effects::default();
                    for unsettled in &oauth.unsettled {
                        let caller = &unsettled.connection.caller;
                        if !has_other(&oauth.connections, caller) {
                            withdraw(&mut intents, caller, &unsettled.by, now);
                        }
                        let id = unsettled.connection.id.clone();
                        effects.writes.push(Write::OAuth(OAuthWrite::Settled(id)));
                    }
                    (oauth.unsettled.len(), Effects { intents, ..effects })
                })
                .await?;
            if settled == 0 {
                return Ok(());
            }
        }
    }
}

/// Ends connections, and withdraws what was asked through them where no other one that counts has the same caller. Says how
/// many questions that were.
pub(crate) fn end_all(
    ending: &[KeptConnection],
    others: &[KeptConnection],
    mut intents: Vec<Intent>,
    why: End,
    by: &str,
    now: Timestamp,
) -> (Effects, usize) {
    let (mut effects, mut withdrawn) = (Effects::default(), 0);
    for KeptConnection { connection, .. } in ending {
        let is_ending =
            |other: &&KeptConnection| ending.iter().any(|one| one.connection.id == other.connection.id);
        let others = others.iter().filter(|other| !is_ending(other));
        if !others.clone().any(|other| other.connection.caller == connection.caller) {
            withdrawn += withdraw(&mut intents, &connection.caller, by, now);
        }
        effects.writes.push(Write::OAuth(OAuthWrite::Settled(connection.id.clone())));
        // The store ends the connection when it writes this row.
        let (connection, by) = (connection.id.clone(), by.to_owned());
        effects.events.push(AuditEvent::OAuth(OAuthEvent::Ended { connection, why, by }));
    }
    (Effects { intents, ..effects }, withdrawn)
}

fn has_other(connections: &[KeptConnection], caller: &Caller) -> bool {
    connections.iter().any(|kept| kept.connection.caller == *caller)
}

pub(crate) fn withdraw(intents: &mut [Intent], caller: &Caller, by: &str, now: Timestamp) -> usize {
    let by = if by.is_empty() { THE_GATEWAY } else { by };
    let theirs = intents.iter_mut().filter(|intent| intent.question().binding.caller == *caller);
    theirs.filter_map(|intent| intent.cancel(by, now).ok()).count()
}

/// FC-34: withdraws what would run by a yes of somebody who decides nothing any more. Says how many questions that were.
pub(crate) fn withdraw_yeses(intents: &mut [Intent], person: &str, by: &str, now: Timestamp) -> usize {
    let theirs = intents.iter_mut().filter(|intent| intent.leans_on(person));
    theirs.filter_map(|intent| intent.cancel(by, now).ok()).count()
}
