//! Signing in by way of a provider that the operator trusts to say who people are.
//!
//! INVARIANT: whoever comes back with an answer has, in the browser, what that browser was given when it left, so nobody can
//! be signed in as somebody else by a link (O-K4). What was begun is good once, for a few minutes. A provider says who
//! somebody is; whether they may come in, and as what, is the gateway's to say.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use askama::Template;
use http::StatusCode;
use http::header::{HeaderName, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::{OrgId, PersonId, PrincipalId, SessionId};
use yesgate_core::person::{BrowserSecret, Person, Role, SecretHash, SessionSecret, SignInWay};
use yesgate_http::edge::pages::Peer;
use yesgate_ledger::NewSession;
use yesgate_oidc::{Begun, Identity, Provider};

use crate::answer::{self, Answer};
use crate::assets;
use crate::goal::Goal;
use crate::limits::{Limiter, Turn, neighbour};
use crate::sign_in::Shown;
use crate::site::{Site, Trouble, Visit};
use crate::visit::browser;

/// What the operator says of a provider.
#[derive(Debug)]
pub struct UpstreamSettings {
    /// The provider.
    pub provider: Provider,
    /// What people call it.
    pub name: String,
    /// Whose people come this way.
    pub org: OrgId,
    /// Whom it knows by something else than their address.
    pub subjects: BTreeMap<PrincipalId, String>,
    /// Domains whose people are added when they first come.
    pub new: BTreeMap<String, Role>,
}

/// A provider, and who is on the way there.
#[derive(Debug)]
pub(crate) struct Upstream {
    settings: UpstreamSettings,
    away: Mutex<HashMap<String, Away>>,
    by_neighbour: Limiter<Option<IpAddr>>,
}

/// Somebody who is on the way.
#[derive(Debug)]
struct Away {
    since: Timestamp,
    browser: SecretHash,
    begun: Begun,
    to: Option<Goal>,
}

#[derive(Template)]
#[template(path = "onward.html")]
struct Onward<'a> {
    name: &'a str,
    url: &'a str,
    assets: assets::Names,
}

impl Upstream {
    /// What people call it.
    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Remembers somebody. `false`: too many are on the way.
    fn leave(&self, away: Away, now: Timestamp) -> bool {
        let mut all = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, away| now.duration_since(away.since) < LIFETIME);
        let has_room = all.len() < MOST;
        if has_room {
            all.insert(away.begun.state.clone(), away);
        }
        has_room
    }

    /// Takes somebody who comes back, once, in the browser that left.
    fn come_back(&self, state: &str, browser: SecretHash, now: Timestamp) -> Option<Away> {
        let mut all = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        let is_theirs = |away: &Away| away.browser == browser && now.duration_since(away.since) < LIFETIME;
        // An answer in another browser takes nothing away from the one that waits for it.
        all.get(state).is_some_and(is_theirs).then(|| all.remove(state)).flatten()
    }
}

impl Site {
    /// Has people sign in by way of a provider, too.
    #[must_use]
    pub fn with_upstream(mut self, settings: UpstreamSettings) -> Self {
        let by_neighbour = Limiter::new(PER_NEIGHBOUR, LIFETIME);
        self.upstream = Some(Upstream { settings, away: Mutex::default(), by_neighbour });
        self
    }

    /// Sends somebody to the provider.
    pub(crate) async fn go_upstream(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let upstream = self.upstream.as_ref().ok_or(Trouble::NotFound)?;
        let to = visit.goal();
        let peer = visit.parts.extensions.get::<Peer>().map(|Peer(address)| neighbour(*address));
        let secret = BrowserSecret::from_entropy(self.draw()?);
        let redirect = format!("{}{CALLBACK}", visit.address.origin);
        let begun = Begun::new(self.draw()?, self.draw()?, self.draw()?, redirect);
        if upstream.by_neighbour.take(peer, visit.now) == Turn::TooOften {
            let words = "Too many sign-ins were begun from there. Wait some minutes.";
            return Ok(answer::trouble(StatusCode::TOO_MANY_REQUESTS, "Not now", words));
        }
        let url = match upstream.settings.provider.address(&begun, visit.now).await {
            Ok(url) => url,
            Err(error) => {
                tracing::error!(%error, "nobody can sign in by way of the provider: {error}");
                return Ok(self.not_by_provider(StatusCode::BAD_GATEWAY, to, UNASKED));
            }
        };
        let for_a_client = to.as_ref().is_some_and(Goal::is_for_a_client);
        let away = Away { since: visit.now, browser: secret.hash(), begun, to };
        if !upstream.leave(away, visit.now) {
            return Ok(answer::trouble(
                StatusCode::SERVICE_UNAVAILABLE,
                "Not now",
                "Too many sign in at once.",
            ));
        }
        // A page, not a redirect: browsers forbid a form to be led elsewhere (O-K5).
        let page = Onward { name: upstream.name(), url: &url, assets: assets::NAMES.clone() };
        let mut answer = answer::page(StatusCode::OK, &page);
        if for_a_client {
            answer::keep_opener(&mut answer);
        }
        let headers = answer.headers_mut();
        if let Ok(value) = HeaderValue::try_from(format!("0; url={url}")) {
            headers.insert(REFRESH, value);
        }
        let lifetime = LIFETIME.as_secs();
        headers.extend(visit.address.set_cookie(AWAY, &format!("{}; Max-Age={lifetime}", secret.expose())));
        Ok(answer)
    }

    /// Takes somebody who comes back.
    pub(crate) async fn return_from_upstream(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let upstream = self.upstream.as_ref().ok_or(Trouble::NotFound)?;
        let held = visit.address.held(&visit.parts.headers, AWAY).map(BrowserSecret::presented);
        let state = visit.query("state").unwrap_or_default();
        let away = held.and_then(|held| upstream.come_back(&state, held.hash(), visit.now));
        let Some(Away { begun, to, .. }) = away else {
            let why =
                "That sign-in was not begun in this browser, or took longer than 10 minutes. Begin again.";
            return Ok(self.not_by_provider(StatusCode::FORBIDDEN, None, why));
        };
        let Some(code) = visit.query("code") else {
            return Ok(self.not_by_provider(
                StatusCode::FORBIDDEN,
                to,
                "The provider did not say who you are.",
            ));
        };
        let issuer = visit.query("iss");
        let finished = upstream.settings.provider.finish(begun, &code, issuer.as_deref(), visit.now).await;
        let identity = match finished {
            Ok(identity) => identity,
            Err(error) => {
                tracing::warn!(%error, "somebody was not signed in by way of the provider: {error}");
                return Ok(self.not_by_provider(StatusCode::FORBIDDEN, to, UNASKED));
            }
        };
        let Some(person) = self.person_of(&upstream.settings, &identity, visit.now).await? else {
            tracing::warn!("somebody whom the provider knows is not known here");
            let why =
                "Nobody here has the address or the name under which the provider knows you. Ask an owner.";
            return Ok(self.not_by_provider(StatusCode::FORBIDDEN, to, why));
        };
        let secret = SessionSecret::from_entropy(self.draw()?);
        let new = NewSession {
            id: SessionId::from_entropy(self.draw()?),
            secret: self.hash(&secret),
            browser: browser(&visit.parts.headers),
        };
        let Some(_) = self.ledger.begin_session(&person, SignInWay::Oidc, new).await? else {
            return Err(Trouble::NotFound);
        };
        let mut answer = self.welcome(visit, to.as_ref(), &secret);
        if let Some((name, forgotten)) = visit.address.set_cookie(AWAY, "; Max-Age=0") {
            answer.headers_mut().append(name, forgotten);
        }
        Ok(answer)
    }

    /// Who somebody is here: by the name that the operator wrote down, by their verified address, or as somebody new
    /// where the operator lets people of that domain in.
    async fn person_of(
        &self,
        settings: &UpstreamSettings,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<Option<PersonId>, Trouble> {
        let people = self.ledger.people().await?;
        let ours = people.into_iter().filter(|person| person.org == settings.org);
        let (people, removed): (Vec<Person>, Vec<Person>) =
            ours.partition(|person| person.removed_at.is_none());
        let written = settings.subjects.iter().find(|(_, subject)| **subject == identity.subject);
        if let Some((name, _)) = written {
            return Ok(people.into_iter().find(|person| person.name == *name).map(|person| person.id));
        }
        let Some(mail) = &identity.mail else { return Ok(None) };
        let has_mail = |person: &Person| person.mail.as_ref().is_some_and(|known| known.is(mail.as_str()));
        if let Some(known) = people.iter().find(|person| has_mail(person)) {
            // Whoever has another subject written down comes by that one alone.
            return Ok((!settings.subjects.contains_key(&known.name)).then(|| known.id.clone()));
        }
        // Whoever was removed does not come back by themselves.
        if removed.iter().any(has_mail) {
            return Ok(None);
        }
        let (_, domain) = mail.as_str().rsplit_once('@').unwrap_or_default();
        let Some(role) = settings.new.get(&domain.to_ascii_lowercase()) else { return Ok(None) };
        let Ok(name) = mail.as_str().to_ascii_lowercase().parse::<PrincipalId>() else { return Ok(None) };
        let person = Person {
            id: PersonId::from_entropy(self.draw()?),
            name,
            org: settings.org.clone(),
            mail: Some(mail.clone()),
            role: *role,
            groups: std::collections::BTreeSet::new(),
            added_at: now,
            removed_at: None,
        };
        let id = person.id.clone();
        Ok(self.ledger.set_person(person, "the sign-in provider").await?.is_ok().then_some(id))
    }

    fn not_by_provider(&self, status: StatusCode, to: Option<Goal>, why: &'static str) -> Answer {
        self.sign_in_with(status, to, Shown::Notice(why))
    }
}

const UNASKED: &str =
    "The provider could not be asked, or its answer proves nothing. The gateway's log says why.";

/// Where answers of the provider come to.
pub(crate) const CALLBACK: &str = "/sign-in/oidc/callback";
/// The end of the name of what a browser holds that is on the way.
const AWAY: &str = "-oidc";
/// How long somebody may take.
const LIFETIME: SignedDuration = SignedDuration::from_mins(10);
/// How many may be on the way.
const MOST: usize = 2_000;
/// How many sign-ins may be begun from one place in that time.
const PER_NEIGHBOUR: usize = 100;
/// Has a browser go on by itself.
const REFRESH: HeaderName = HeaderName::from_static("refresh");
