//! What the pages need to ask a person whether a client may: the request, what it asks for, and what becomes of the answer.

use std::net::IpAddr;

use jiff::Timestamp;
use yesgate_core::caller::Caller;
use yesgate_core::id::{ConnectionId, ScopeName};
use yesgate_core::oauth::{
    AuthorizationCode, ClientKind, Code, Connection, ConsentSecret, DeviceRequest, OAuthClient,
    OAuthClientId, Parked, ParkedState, Resources, Scopes, Ticket, UserCode,
};
use yesgate_core::person::{Person, Session};
use yesgate_ledger::{Consent, DeviceAnswered, LedgerError, ParkedAnswer};

use crate::authorize::Reply;
use crate::clients::Lookup;
use crate::documents::Freshness;
use crate::fault::{Fault, Word};
use crate::governed::Governed;
use crate::limits::neighbour;
use crate::register::is_same;
use crate::server::AuthServer;

/// What becomes of a request at the authorization endpoint.
#[derive(Debug)]
pub enum Authorizing {
    /// Somebody has to be asked: show the page of this ticket, to the browser that holds this secret from here on.
    Ask(Ticket, ConsentSecret),
    /// The client hears at once: an error that it may know of, by way of the browser.
    Redirect(String),
    /// The client cannot be told, for nobody knows that it is one. The person is told instead; status 400.
    Refuse(NotAsked),
    /// Too many requests from there; the seconds after which to come back. Status 429.
    TooOften(u32),
}

/// Why nobody is asked, in words for a person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotAsked {
    /// What is wrong, in one sentence.
    pub what: String,
    /// What to do, in one sentence.
    pub remedy: String,
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The client.
    pub client: OAuthClient,
    /// Where the answer goes; `None`: the client fetches it (device flow).
    pub redirect_uri: Option<String>,
    /// Each scope that it asks for, what it means, and whether a fresh sign-in is wanted for it.
    pub scopes: Vec<AskedScope>,
    /// Where it wants to use them.
    pub resources: Resources,
    /// Whether the person has to sign in anew before they answer, given the session they have.
    pub wants_fresh: bool,
}

/// One scope that is asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AskedScope {
    /// Its name.
    pub name: ScopeName,
    /// What it means, in the operator's words.
    pub says: String,
    /// Whether it is given only by somebody who has just signed in.
    pub wants_fresh: bool,
}

/// What became of an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answered {
    /// The browser goes there, with the code or the no.
    Go(String),
    /// The answer holds, and the client fetches it by itself (device flow).
    Noted,
    /// It was answered before; nothing changed.
    Already,
    /// There is no such request, it is too old, or another browser was shown it.
    Gone,
    /// A fresh sign-in is wanted first.
    SignInAnew,
}

impl AuthServer {
    /// What the person is asked. `None`: there is no such request for this browser.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn asked(
        &self,
        ticket: &Ticket,
        browser: &ConsentSecret,
        session: &Session,
    ) -> Result<Option<Asked>, LedgerError> {
        let Some(parked) = self.parked(ticket, browser).await? else { return Ok(None) };
        if parked.state_of == ParkedState::Answered {
            return Ok(None);
        }
        let Some(client) = self.still_known(&parked.client).await? else { return Ok(None) };
        let governed = self.governed();
        let freshness = Freshly { since: parked.signed_in_since, scopes: &parked.scopes };
        let wants_fresh = freshness.is_too_old(session, &governed, self.ledger.now());
        Ok(Some(Asked {
            client,
            redirect_uri: Some(parked.redirect_uri),
            scopes: in_words(&parked.scopes, &governed),
            resources: parked.resources,
            wants_fresh,
        }))
    }

    /// The person says yes to these of the scopes. O-A5: more than was asked for is never given; nothing at all is a no.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn allow(
        &self,
        ticket: &Ticket,
        browser: &ConsentSecret,
        by: (&Person, &Session),
        scopes: &Scopes,
    ) -> Result<Answered, LedgerError> {
        let (person, session) = by;
        let governed = self.governed();
        let now = self.ledger.now();
        let Some(parked) = self.parked(ticket, browser).await? else { return Ok(Answered::Gone) };
        if parked.state_of == ParkedState::Answered {
            return Ok(Answered::Already);
        }
        let given = scopes.within(&parked.scopes);
        if given.is_empty() {
            return self.deny(ticket, browser, person).await;
        }
        // O-K9: only what is given counts, so that whoever leaves out what is dangerous need not sign in anew.
        let freshness = Freshly { since: parked.signed_in_since, scopes: &given };
        if freshness.is_too_old(session, &governed, now) {
            return Ok(Answered::SignInAnew);
        }
        let Some(client) = self.still_known(&parked.client).await? else { return Ok(Answered::Gone) };
        let about = (&given, &parked.resources, Some(parked.redirect_uri.clone()));
        let Some(connection) = self.connection(person, &client, about, now)? else {
            return Ok(Answered::Gone);
        };
        self.keep(&client).await?;
        let secret = AuthorizationCode::from_entropy(self.entropy.draw().map_err(|_| LedgerError::Closed)?);
        let code = Code {
            connection: connection.id.clone(),
            client: parked.client.clone(),
            redirect_uri: parked.redirect_uri.clone(),
            challenge: parked.challenge.clone(),
            resources: parked.resources.clone(),
            ends_at: now + governed.config.times.code,
            used_at: None,
        };
        let yes = Consent::Yes(Box::new(connection), Some((secret.hash(), code)), session.id.clone());
        let answered = self.ledger.answer_parked(ticket.hash(), browser.hash(), yes).await?;
        Ok(self.went(answered, &parked, |reply| reply.code(secret.expose())))
    }

    /// O-K6: the person says no. The client hears it, and nothing is remembered of it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn deny(
        &self,
        ticket: &Ticket,
        browser: &ConsentSecret,
        by: &Person,
    ) -> Result<Answered, LedgerError> {
        let Some(parked) = self.parked(ticket, browser).await? else { return Ok(Answered::Gone) };
        let no = Consent::No(by.id.clone());
        let answered = self.ledger.answer_parked(ticket.hash(), browser.hash(), no).await?;
        let fault = Fault::new(Word::AccessDenied, "the person said no");
        Ok(self.went(answered, &parked, |reply| reply.error(&fault)))
    }

    /// What a client without a browser asks, by the code that a person typed. `Ok(None)`: nothing waits under that code, or too
    /// many wrong ones were typed from there or by this person.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn asked_by_device(
        &self,
        code: &UserCode,
        by: (&Person, &Session),
        from: IpAddr,
    ) -> Result<Option<Asked>, LedgerError> {
        let (person, session) = by;
        let Some((request, client)) = self.typed(code, person, from).await? else { return Ok(None) };
        let governed = self.governed();
        let freshness = Freshly { since: None, scopes: &request.scopes };
        let wants_fresh = freshness.is_too_old(session, &governed, self.ledger.now());
        let scopes = in_words(&request.scopes, &governed);
        let resources = request.resources;
        Ok(Some(Asked { client, redirect_uri: None, scopes, resources, wants_fresh }))
    }

    /// The person says yes to it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn allow_device(
        &self,
        code: &UserCode,
        by: (&Person, &Session),
        scopes: &Scopes,
        from: IpAddr,
    ) -> Result<Answered, LedgerError> {
        let (person, session) = by;
        let Some((request, client)) = self.typed(code, person, from).await? else {
            return Ok(Answered::Gone);
        };
        let given = scopes.within(&request.scopes);
        if given.is_empty() {
            return self.answer_device(code, Consent::No(person.id.clone())).await;
        }
        let (governed, now) = (self.governed(), self.ledger.now());
        if (Freshly { since: None, scopes: &given }).is_too_old(session, &governed, now) {
            return Ok(Answered::SignInAnew);
        }
        let about = (&given, &request.resources, None);
        let Some(connection) = self.connection(person, &client, about, now)? else {
            return Ok(Answered::Gone);
        };
        self.keep(&client).await?;
        self.answer_device(code, Consent::Yes(Box::new(connection), None, session.id.clone())).await
    }

    /// The person says no to it.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn deny_device(
        &self,
        code: &UserCode,
        by: &Person,
        from: IpAddr,
    ) -> Result<Answered, LedgerError> {
        if self.typed(code, by, from).await?.is_none() {
            return Ok(Answered::Gone);
        }
        self.answer_device(code, Consent::No(by.id.clone())).await
    }

    async fn answer_device(&self, code: &UserCode, consent: Consent) -> Result<Answered, LedgerError> {
        Ok(match self.ledger.answer_device(code.hash(), consent).await? {
            DeviceAnswered::Done => Answered::Noted,
            DeviceAnswered::Gone => Answered::Gone,
        })
    }

    /// O-S4: what waits under a code that somebody typed. Wrong ones are counted, and after a few nothing is found any more
    /// for a while.
    async fn typed(
        &self,
        code: &UserCode,
        by: &Person,
        from: IpAddr,
    ) -> Result<Option<(DeviceRequest, OAuthClient)>, LedgerError> {
        let (now, from) = (self.ledger.now(), neighbour(from));
        let at = self.limits.typed_at.look(&from, MOST_WRONG, now);
        let by_person = self.limits.typed_by.look(&by.id, MOST_WRONG, now);
        if at.and(by_person).is_err() {
            return Ok(None);
        }
        let Some(request) = self.ledger.device_by_user_code(code.hash()).await? else {
            // Both were looked at, and whether there was room for this one makes no difference.
            let (_, _) = (
                self.limits.typed_at.take(from, MOST_WRONG, now),
                self.limits.typed_by.take(by.id.clone(), MOST_WRONG, now),
            );
            return Ok(None);
        };
        Ok(self.still_known(&request.client).await?.map(|client| (request, client)))
    }

    /// O-K4: the request of a ticket, for the browser that was shown it.
    async fn parked(&self, ticket: &Ticket, browser: &ConsentSecret) -> Result<Option<Parked>, LedgerError> {
        let parked = self.ledger.parked(ticket.hash()).await?;
        Ok(parked.filter(|parked| is_same(parked.browser, browser.hash())))
    }

    async fn still_known(&self, id: &OAuthClientId) -> Result<Option<OAuthClient>, LedgerError> {
        Ok(match self.look_up(id, Freshness::Kept).await? {
            Lookup::Known(client) => Some(*client),
            Lookup::Ended | Lookup::Unknown | Lookup::Refused(_) => None,
        })
    }

    /// Has the ledger know a client that did not register, once a person says yes to it: it is listed from here on, and known
    /// after a restart while its document cannot be had.
    async fn keep(&self, client: &OAuthClient) -> Result<(), LedgerError> {
        match client.kind {
            ClientKind::Registered => Ok(()),
            ClientKind::Operator | ClientKind::Document => {
                let client = OAuthClient { is_bound: true, ..client.clone() };
                let most = self.governed().config.limits.unbound;
                // One that is bound always has room.
                self.ledger.store_client(client, most).await.map(|_| ())
            }
        }
    }

    /// What a yes allows.
    fn connection(
        &self,
        person: &Person,
        client: &OAuthClient,
        about: (&Scopes, &Resources, Option<String>),
        now: Timestamp,
    ) -> Result<Option<Connection>, LedgerError> {
        let (scopes, resources, redirect_uri) = about;
        let Ok(name) = client.id.client() else { return Ok(None) };
        let dice = self.entropy.draw().map_err(|_| LedgerError::Closed)?;
        Ok(Some(Connection {
            id: ConnectionId::from_entropy(dice),
            person: person.id.clone(),
            caller: Caller { org: person.org.clone(), principal: person.name.clone(), client: name },
            client: client.id.clone(),
            client_name: client.presentation.name.clone(),
            verified_host: client.verified_host().map(str::to_owned),
            redirect_uri,
            scopes: scopes.clone(),
            resources: resources.clone(),
            made_at: now,
        }))
    }

    /// O-K7: where the browser goes. A second answer goes nowhere.
    fn went(
        &self,
        answered: ParkedAnswer,
        parked: &Parked,
        to: impl FnOnce(&Reply<'_>) -> String,
    ) -> Answered {
        let (redirect_uri, state) = (&parked.redirect_uri, parked.state.as_deref());
        match answered {
            ParkedAnswer::Done => Answered::Go(to(&Reply { redirect_uri, state, issuer: self.issuer() })),
            ParkedAnswer::Already => Answered::Already,
            ParkedAnswer::Gone => Answered::Gone,
        }
    }
}

/// How fresh a sign-in has to be.
struct Freshly<'a> {
    /// The client wants one after this moment.
    since: Option<Timestamp>,
    /// These are to be given.
    scopes: &'a Scopes,
}

impl Freshly<'_> {
    /// Whether the person has to sign in anew.
    fn is_too_old(&self, session: &Session, governed: &Governed, now: Timestamp) -> bool {
        let rules = &governed.config.scopes;
        let wants_fresh = |scope: &ScopeName| rules.rule(scope).is_some_and(|rule| rule.wants_fresh);
        let is_old = now.duration_since(session.begun_at) >= governed.config.times.fresh;
        let is_before = self.since.is_some_and(|since| session.begun_at < since);
        is_before || (is_old && rules.with_included(self.scopes).iter().any(wants_fresh))
    }
}

/// Each scope as people read it.
fn in_words(scopes: &Scopes, governed: &Governed) -> Vec<AskedScope> {
    let asked = scopes.iter().filter_map(|name| {
        let rule = governed.config.scopes.rule(name)?;
        Some(AskedScope { name: name.clone(), says: rule.says.clone(), wants_fresh: rule.wants_fresh })
    });
    asked.collect()
}

/// So many wrong codes in a minute, at one address and by one person.
const MOST_WRONG: u32 = 20;
