//! Requests that wait for a person: in the browser that the client opened, or under a code that is typed.
//!
//! INVARIANT: a request is answered once, by somebody who is signed in at that moment, and with no more than was asked.

use jiff::Timestamp;
use yesgate_core::audit::AuditEvent;
use yesgate_core::id::PersonId;
use yesgate_core::oauth::{
    ClientKind, Connection, DeviceAnswer, DeviceRequest, End, OAuthClient, OAuthEvent, Parked, ParkedState,
    Way,
};
use yesgate_core::person::Person;
use yesgate_core::secret::SecretHash;

use super::change::{Answering, OAuthFound, OAuthTarget, OAuthWrite};
use super::{Consent, DeviceAnswered, KeptConnection, NoRoom, ParkedAnswer};
use crate::change::{Effects, Found, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Parks a request for authorization under the hash of its ticket. Its client counts as used.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn park(
        &self,
        ticket: SecretHash,
        request: Parked,
        most: u32,
    ) -> Result<Result<(), NoRoom>, LedgerError> {
        self.change(Target::OAuth(OAuthTarget::Parking), move |Found { oauth, .. }, now| {
            if oauth.count >= u64::from(most) {
                return (Err(NoRoom), Effects::default());
            }
            let client = request.client.clone();
            let writes = vec![
                Write::OAuth(OAuthWrite::ForgetParked(before(now, Parked::LIFETIME))),
                Write::OAuth(OAuthWrite::Park(ticket, Box::new(request))),
                Write::OAuth(OAuthWrite::ClientUsed(client)),
            ];
            (Ok(()), Effects { writes, ..Effects::default() })
        })
        .await
    }

    /// The request that was parked under this ticket, as long as it counts; one that was answered too.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn parked(&self, ticket: SecretHash) -> Result<Option<Parked>, LedgerError> {
        let now = self.now();
        Ok(self.store().parked(ticket).await?.filter(|parked| parked.counts(now)))
    }

    /// Answers a request that was parked, from the browser that it was shown to: the connection and its code begin to
    /// count, or the no is written down. What the same person had allowed the same client at the same address ends.
    ///
    /// # Errors
    /// When the change is not durable, or the answer is another one than was asked for.
    pub async fn answer_parked(
        &self,
        ticket: SecretHash,
        browser: SecretHash,
        consent: Consent,
    ) -> Result<ParkedAnswer, LedgerError> {
        let target = Target::OAuth(OAuthTarget::Parked(ticket, answering(&consent)));
        self.change(target, move |Found { oauth, .. }, now| {
            let waiting = oauth.parked.clone();
            let shown = |parked: &Parked| parked.counts(now) && parked.browser == browser;
            let Some(parked) = waiting.filter(shown) else {
                return (Ok(ParkedAnswer::Gone), Effects::default());
            };
            match parked.state_of {
                ParkedState::Waiting => {}
                ParkedState::Answered => return (Ok(ParkedAnswer::Already), Effects::default()),
            }
            let effects = match &consent {
                Consent::No(person) => refused(&oauth, person),
                Consent::Yes(connection, Some((_, code)), _) if parked.is_answered_by(connection, code) => {
                    allowed(&oauth, connection, Way::Browser, now)
                }
                Consent::Yes(..) => return (Err(not_what_was_asked()), Effects::default()),
            };
            let Some(mut effects) = effects else {
                return (Ok(ParkedAnswer::Gone), Effects::default());
            };
            if let Consent::Yes(_, Some((hash, code)), _) = consent {
                effects.writes.push(Write::OAuth(OAuthWrite::Code(hash, Box::new(code))));
            }
            let answered = Parked { state_of: ParkedState::Answered, ..parked };
            effects.writes.push(Write::OAuth(OAuthWrite::Answered(ticket, Box::new(answered))));
            (Ok(ParkedAnswer::Done), effects)
        })
        .await?
    }

    /// Stores what a client without a browser asks for, under the hashes of its two codes. Its client counts as used.
    ///
    /// # Errors
    /// When the change is not durable.
    pub async fn store_device(
        &self,
        device: SecretHash,
        user: SecretHash,
        request: DeviceRequest,
        most: u32,
    ) -> Result<Result<(), NoRoom>, LedgerError> {
        self.change(Target::OAuth(OAuthTarget::Devising(user)), move |Found { oauth, .. }, now| {
            // The same letters for two clients at a time would let a person answer the wrong one.
            if oauth.count >= u64::from(most) || oauth.device.is_some() {
                return (Err(NoRoom), Effects::default());
            }
            let client = request.client.clone();
            let kept = DeviceRequest::LIFETIME.saturating_mul(2);
            let writes = vec![
                Write::OAuth(OAuthWrite::ForgetDevices(before(now, kept))),
                Write::OAuth(OAuthWrite::Device(device, user, Box::new(request))),
                Write::OAuth(OAuthWrite::ClientUsed(client)),
            ];
            (Ok(()), Effects { writes, ..Effects::default() })
        })
        .await
    }

    /// What such a client asks for, found by what a person typed, as long as nobody answered.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn device_by_user_code(&self, user: SecretHash) -> Result<Option<DeviceRequest>, LedgerError> {
        let now = self.now();
        Ok(self.store().device_by_user_code(user).await?.filter(|request| request.waits(now)))
    }

    /// Answers such a client.
    ///
    /// # Errors
    /// When the change is not durable, or the answer is another one than was asked for.
    pub async fn answer_device(
        &self,
        user: SecretHash,
        consent: Consent,
    ) -> Result<DeviceAnswered, LedgerError> {
        let target = Target::OAuth(OAuthTarget::Typed(user, answering(&consent)));
        self.change(target, move |Found { oauth, .. }, now| {
            let waiting = oauth.device.clone().filter(|(_, request)| request.waits(now));
            let Some((device, request)) = waiting else {
                return (Ok(DeviceAnswered::Gone), Effects::default());
            };
            let (effects, answer) = match &consent {
                Consent::No(person) => (refused(&oauth, person), DeviceAnswer::Denied),
                Consent::Yes(connection, None, _) if request.is_answered_by(connection) => {
                    let answer = DeviceAnswer::Allowed { connection: connection.id.clone() };
                    (allowed(&oauth, connection, Way::Device, now), answer)
                }
                Consent::Yes(..) => return (Err(not_what_was_asked()), Effects::default()),
            };
            let Some(mut effects) = effects else {
                return (Ok(DeviceAnswered::Gone), Effects::default());
            };
            let request = Box::new(DeviceRequest { answer, ..request });
            effects.writes.push(Write::OAuth(OAuthWrite::DeviceChanged(device, request)));
            (Ok(DeviceAnswered::Done), effects)
        })
        .await?
    }
}

fn answering(consent: &Consent) -> Answering {
    match consent {
        Consent::Yes(connection, _, session) => {
            Answering { person: connection.person.clone(), session: Some(session.clone()) }
        }
        Consent::No(person) => Answering { person: person.clone(), session: None },
    }
}

/// What a no leaves behind. `None`: nobody is there who could say it.
fn refused(found: &OAuthFound, person: &PersonId) -> Option<Effects> {
    let person = found.person.as_ref().filter(|known| known.id == *person && is_here(known))?;
    let client = match (&found.parked, &found.device) {
        (Some(parked), _) => parked.client.clone(),
        (None, Some((_, request))) => request.client.clone(),
        (None, None) => return None,
    };
    let event = OAuthEvent::ConsentDenied { person: person.id.clone(), client };
    Some(Effects { events: vec![AuditEvent::OAuth(event)], ..Effects::default() })
}

/// What a yes leaves behind. `None`: nobody is there who could say it, or to whom.
fn allowed(found: &OAuthFound, connection: &Connection, way: Way, now: Timestamp) -> Option<Effects> {
    let person = found.person.as_ref().filter(|person| connection.is_of(person) && is_here(person))?;
    let session = found.session.as_ref()?;
    if session.person != person.id || !session.counts(now) {
        return None;
    }
    if found.client.as_ref().is_some_and(|client| client.ended_at.is_some()) {
        return None;
    }
    let mut writes = vec![
        Write::OAuth(OAuthWrite::Connection(Box::new(connection.clone()))),
        Write::OAuth(OAuthWrite::ClientBound(connection.client.clone())),
    ];
    let mut events = vec![AuditEvent::OAuth(OAuthEvent::Connected {
        connection: connection.id.clone(),
        person: person.id.clone(),
        caller: connection.caller.clone(),
        client: connection.client.clone(),
        scopes: connection.scopes.clone(),
        resources: connection.resources.clone(),
        fingerprint: connection.fingerprint(),
        way,
    })];
    for KeptConnection { connection: old, .. } in &found.connections {
        if takes_the_place_of(connection, old, found.client.as_ref()) {
            // The new one has the same caller: its questions go on.
            writes.push(Write::OAuth(OAuthWrite::Settled(old.id.clone())));
            let (why, by) = (End::Replaced, person.name.to_string());
            events.push(AuditEvent::OAuth(OAuthEvent::Ended { connection: old.id.clone(), why, by }));
        }
    }
    Some(Effects { writes, events, ..Effects::default() })
}

/// Whether it is the same installation that was allowed again. Where that cannot be told the old one stays.
fn takes_the_place_of(new: &Connection, old: &Connection, client: Option<&OAuthClient>) -> bool {
    let is_same = new.person == old.person && new.client == old.client && new.caller == old.caller;
    // One client may be connected to several of our endpoints, each by a request of its own.
    let is_same = is_same && new.resources == old.resources;
    match (&new.redirect_uri, &old.redirect_uri) {
        (Some(new), Some(old)) => is_same && new == old,
        // Each installation registers for itself; a document and an operator's client are shared by many.
        (None, None) => is_same && client.is_some_and(|client| client.kind == ClientKind::Registered),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn is_here(person: &Person) -> bool {
    person.removed_at.is_none()
}

fn before(now: Timestamp, by: jiff::SignedDuration) -> Timestamp {
    now.checked_sub(by).unwrap_or(Timestamp::MIN)
}

fn not_what_was_asked() -> LedgerError {
    LedgerError::Store("what would be allowed is not what was asked for".to_owned())
}
