//! Requests for authorization: what must fit before a person is asked.
//!
//! INVARIANTS:
//! - Before the client and its address are known, nothing goes anywhere: the person is told (O-A1).
//! - A look at a request mints nothing. What is parked is worth nothing without a person's answer (O-A6).

use std::net::IpAddr;

use form_urlencoded::byte_serialize;
use yesgate_core::oauth::{
    Challenge, ConsentSecret, GrantType, OAuthClient, OAuthClientId, Parked, ParkedState, Ticket,
};
use yesgate_core::person::{Person, Session};
use yesgate_ledger::LedgerError;

use crate::asking::{Authorizing, NotAsked};
use crate::clients::Lookup;
use crate::documents::Freshness;
use crate::fault::{Fault, Word};
use crate::form::Form;
use crate::governed::Governed;
use crate::limits::{TooOften, neighbour};
use crate::redirect;
use crate::server::AuthServer;

#[cfg(test)]
mod tests;

impl AuthServer {
    /// Looks at a request for authorization: its parameters in the order in which they came, the secret that the browser
    /// holds from earlier requests, and where it comes from. Nothing is minted.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn authorize(
        &self,
        parameters: &[(String, String)],
        browser: Option<&ConsentSecret>,
        signed_in: Option<(&Person, &Session)>,
        from: IpAddr,
    ) -> Result<Authorizing, LedgerError> {
        let governed = self.governed();
        let (limits, now) = (governed.config.limits, self.ledger.now());
        let turn = self.limits.authorize.take(neighbour(from), limits.authorize_per_address, now);
        if let Err(TooOften(after)) = turn {
            return Ok(Authorizing::TooOften(after));
        }
        self.sweep_now_and_then();
        let (client, redirect_uri) = match self.first_phase(parameters, &governed).await? {
            Ok(known) => known,
            Err(not_asked) => return Ok(Authorizing::Refuse(not_asked)),
        };
        let reply = Reply { redirect_uri: &redirect_uri, state: state(parameters), issuer: self.issuer() };
        let request = match second_phase(parameters, &client, &governed) {
            Ok(request) => request,
            Err(fault) => return Ok(Authorizing::Redirect(reply.error(&fault))),
        };
        let prompt = request.prompt;
        // O-A9: nobody is allowed anything without being asked, so that whoever may not be asked is refused.
        if prompt == Prompt::Nobody {
            let word = if signed_in.is_some() { Word::ConsentRequired } else { Word::LoginRequired };
            let fault = Fault::new(word, "the person has to be asked");
            return Ok(Authorizing::Redirect(reply.error(&fault)));
        }
        let dice = self.entropy.draw().and_then(|ticket| Ok((ticket, self.entropy.draw()?)));
        let Ok((for_ticket, for_browser)) = dice else {
            let fault = Fault::new(Word::TemporarilyUnavailable, "this cannot be done now");
            return Ok(Authorizing::Redirect(reply.error(&fault)));
        };
        let ticket = Ticket::from_entropy(for_ticket);
        let browser = browser.cloned().unwrap_or_else(|| ConsentSecret::from_entropy(for_browser));
        let parked = Parked {
            client: client.id,
            redirect_uri: redirect_uri.clone(),
            state: reply.state.map(str::to_owned),
            challenge: request.challenge,
            scopes: request.scopes,
            resources: request.resources,
            browser: browser.hash(),
            signed_in_since: (prompt == Prompt::SignIn).then_some(now),
            made_at: now,
            state_of: ParkedState::Waiting,
        };
        match self.ledger.park(ticket.hash(), parked, limits.parked).await? {
            Ok(()) => Ok(Authorizing::Ask(ticket, browser)),
            Err(_) => Ok(Authorizing::TooOften(FULL_SECS)),
        }
    }

    /// O-A1: who asks, and where the answer goes. What is wrong here is told to nobody but the person.
    async fn first_phase(
        &self,
        parameters: &[(String, String)],
        governed: &Governed,
    ) -> Result<Result<(OAuthClient, String), NotAsked>, LedgerError> {
        let length: usize = parameters.iter().map(|(name, value)| name.len() + value.len()).sum();
        if length > LONGEST {
            return Ok(Err(NotAsked::new("The request of the client is too long.", START_AGAIN)));
        }
        let Ok(id) = once(parameters, "client_id").and_then(|id| id.parse::<OAuthClientId>().map_err(|_| ()))
        else {
            return Ok(Err(NotAsked::new("The request does not say which client it is from.", START_AGAIN)));
        };
        let client = match self.look_up(&id, Freshness::Anew).await? {
            Lookup::Known(client) => *client,
            Lookup::Ended | Lookup::Unknown => {
                return Ok(Err(NotAsked::new("This client is not known here, or was removed.", FORGET)));
            }
            Lookup::Refused(why) => {
                let what = format!("This client cannot be told from others: {why}.");
                let remedy = if why.is_passing() { START_AGAIN } else { "Tell whoever makes the client." };
                return Ok(Err(NotAsked::new(&what, remedy)));
            }
        };
        let asked = match once(parameters, "redirect_uri") {
            Ok(asked) => asked,
            Err(()) => match client.redirect_uris.as_slice() {
                // OAuth 2.1 §4.1.1: where there is one only, it goes without saying.
                [only] if parameters.iter().all(|(name, _)| name != "redirect_uri") => only.as_str(),
                _ => {
                    return Ok(Err(NotAsked::new(
                        "The request does not say where to go back to.",
                        START_AGAIN,
                    )));
                }
            },
        };
        let is_known = client.redirect_uris.iter().any(|known| redirect::is_registered(known, asked));
        if !is_known || governed.redirects.judge(asked).is_err() {
            return Ok(Err(other_address(&client, asked)));
        }
        let asked = asked.to_owned();
        Ok(Ok((client, asked)))
    }
}

/// What a client asks for, where it may.
struct Request {
    challenge: Challenge,
    scopes: yesgate_core::oauth::Scopes,
    resources: yesgate_core::oauth::Resources,
    prompt: Prompt,
}

/// Whether, and how, the person is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Prompt {
    /// As always.
    Usual,
    /// After they signed in anew.
    SignIn,
    /// Not at all.
    Nobody,
}

/// O-A1: everything else. What is wrong here the client may know.
fn second_phase(
    parameters: &[(String, String)],
    client: &OAuthClient,
    governed: &Governed,
) -> Result<Request, Fault> {
    let invalid = |says: &'static str| Fault::new(Word::InvalidRequest, says);
    let form = Form::once(parameters.to_vec()).ok_or_else(|| invalid("a parameter came more than once"))?;
    if form.value("request").is_some() {
        return Err(Fault::new(Word::RequestNotSupported, "request objects are not supported"));
    }
    if form.value("request_uri").is_some() {
        return Err(Fault::new(Word::RequestUriNotSupported, "request objects are not supported"));
    }
    if form.needed("response_type")? != "code" {
        return Err(Fault::new(Word::UnsupportedResponseType, "response_type must be code"));
    }
    if form.value("response_mode").is_some_and(|mode| mode != "query") {
        return Err(invalid("response_mode must be query"));
    }
    if !client.grants.contains(&GrantType::AuthorizationCode) {
        return Err(Fault::new(Word::UnauthorizedClient, "the client did not register for codes"));
    }
    // O-A3: for every client, and a method that goes without saying would be `plain` (RFC 7636 §4.3).
    if form.value("code_challenge_method") != Some("S256") {
        return Err(invalid("code_challenge_method must be S256"));
    }
    let challenge = Challenge::read(form.needed("code_challenge")?)
        .ok_or_else(|| invalid("code_challenge is not one of S256"))?;
    Ok(Request {
        challenge,
        scopes: governed.asked_scopes(form.value("scope"))?,
        resources: governed.endpoints.resources(form.resources())?,
        prompt: prompt(form.value("prompt"))?,
    })
}

/// O-A9, OpenID Connect Core §3.1.2.1: words that are not known are passed over, as the person is asked anyway.
fn prompt(asked: Option<&str>) -> Result<Prompt, Fault> {
    let words: Vec<&str> = asked.unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["none"] => Ok(Prompt::Nobody),
        several if several.contains(&"none") => {
            Err(Fault::new(Word::InvalidRequest, "prompt none stands alone"))
        }
        several if several.contains(&"login") => Ok(Prompt::SignIn),
        _ => Ok(Prompt::Usual),
    }
}

/// The value of a parameter that came once.
fn once<'a>(parameters: &'a [(String, String)], name: &str) -> Result<&'a str, ()> {
    let mut found = parameters.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
    match (found.next(), found.next()) {
        (Some(value), None) if !value.is_empty() => Ok(value),
        (Some(_) | None, Some(_) | None) => Err(()),
    }
}

/// What a client wants to hear back; not where it came twice.
fn state(parameters: &[(String, String)]) -> Option<&str> {
    once(parameters, "state").ok()
}

/// A client that asks for another address than it registered. Both are named: some clients register one name of the own
/// machine and ask for another.
fn other_address(client: &OAuthClient, asked: &str) -> NotAsked {
    let known: Vec<&str> = client.redirect_uris.iter().map(String::as_str).collect();
    NotAsked::new(
        &format!(
            "The client wants to go back to {asked:?}, but is known with {}.",
            known.iter().map(|known| format!("{known:?}")).collect::<Vec<_>>().join(", ")
        ),
        "Remove the connection in the client and add it again; if that does not help, its maker has to use one \
         address for both.",
    )
}

impl NotAsked {
    pub(crate) fn new(what: &str, remedy: &str) -> Self {
        Self { what: what.to_owned(), remedy: remedy.to_owned() }
    }
}

/// Where an answer goes, and what goes with every one.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    pub(crate) redirect_uri: &'a str,
    pub(crate) state: Option<&'a str>,
    pub(crate) issuer: &'a str,
}

impl Reply<'_> {
    /// With a code.
    pub(crate) fn code(&self, code: &str) -> String {
        self.with(&[("code", code)])
    }

    /// With what is wrong.
    pub(crate) fn error(&self, fault: &Fault) -> String {
        self.with(&[("error", fault.word().as_str()), ("error_description", fault.says())])
    }

    /// O-A8: what the address had in its query stays, and each of ours is there once (RFC 9207: the issuer always).
    fn with(&self, pairs: &[(&str, &str)]) -> String {
        let state = self.state.map(|state| ("state", state));
        let all = pairs.iter().copied().chain(state).chain([("iss", self.issuer)]);
        let mut uri = self.redirect_uri.to_owned();
        for (name, value) in all {
            let last = uri.chars().next_back();
            uri.push_str(match last {
                Some('?' | '&') if uri.contains('?') => "",
                _ if uri.contains('?') => "&",
                _ => "?",
            });
            uri.push_str(name);
            uri.push('=');
            // As a space, `+` is read by forms only, and `%20` by everybody.
            uri.push_str(&byte_serialize(value.as_bytes()).collect::<String>().replace('+', "%20"));
        }
        uri
    }
}

const LONGEST: usize = 8 * 1024;
const FULL_SECS: u32 = 60;
const START_AGAIN: &str = "Start again in your client.";
const FORGET: &str = "Remove the connection in your client, or have it forget its sign-in, and add it again: it then registers anew.";
