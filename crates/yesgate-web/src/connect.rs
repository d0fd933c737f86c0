//! Asking a person whether a client may: where clients send people, the page on which they answer, and the way back.
//!
//! Invariants:
//! - Opening the page mints nothing (O-A6). The yes is a form of ours, sent once, by the person and in the browser that
//!   were shown it (O-K3, O-K4).
//! - What travels through the sign-in is a ticket, never an address (O-A7, O-S2).
//! - Nobody is answered without a person who said yes or no here (O-K1).

use askama::Template;
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use yesgate_core::oauth::{ConsentSecret, Ticket};
use yesgate_core::render::Sanitized;
use yesgate_oauth::{Answered, Asked, AuthServer, Authorizing, NotAsked};

use crate::answer::{self, Answer};
use crate::assets;
use crate::consent::{Client, HASTY, Line, NOTHING_TICKED, Page, Says, in_words, ticked};
use crate::goal::{Goal, ticket};
use crate::redirect::Redirect;
use crate::site::{Site, Trouble, Visit};
use crate::token::Untaken;
use crate::view::moment;
use crate::visit::Visitor;

/// What is told to somebody who has nothing to answer (any more).
#[derive(Template)]
#[template(path = "unasked.html")]
struct Unasked<'a> {
    title: &'static str,
    what: Sanitized,
    remedy: Sanitized,
    /// A link that goes on, and its words.
    onward: Option<(&'a str, &'static str)>,
    assets: assets::Names,
}

impl Site {
    /// Who connects clients.
    pub(crate) fn server(&self) -> Result<&AuthServer, Trouble> {
        self.connecting.as_deref().ok_or(Trouble::NotFound)
    }

    /// Looks at what a client asks for, and has a person asked.
    pub(crate) async fn authorize(
        &self,
        visit: &Visit,
        visitor: Option<&Visitor>,
    ) -> Result<Answer, Trouble> {
        let query = visit.parts.uri.query().unwrap_or_default();
        let parameters: Vec<(String, String)> = match visit.form.fields() {
            [] => form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            fields => fields.to_vec(),
        };
        let size: usize = parameters.iter().map(|(name, value)| name.len() + value.len()).sum();
        if size > MOST_BYTES {
            let what = "What your program asks for is longer than anything that is understood here.";
            return Ok(unasked(StatusCode::BAD_REQUEST, what, START_AGAIN));
        }
        let held = visit.address.consenting(&visit.parts.headers);
        let signed_in = visitor.map(|visitor| (&visitor.person, &visitor.session));
        let server = self.server()?;
        match server.authorize(&parameters, held.first(), signed_in, visit.from()).await? {
            Authorizing::Ask(ticket, secret) => {
                let mut answer = answer::see(&Goal::Connect(ticket.clone()).path());
                answer::keep_opener(&mut answer);
                let cookie = visit.address.hold_consenting(&ticket, &secret, &visit.parts.headers);
                answer.headers_mut().extend(cookie);
                Ok(answer)
            }
            Authorizing::Redirect(place) => Ok(answer::leave(&place).unwrap_or_else(nowhere)),
            Authorizing::Refuse(NotAsked { what, remedy }) => {
                Ok(unasked(StatusCode::BAD_REQUEST, &what, &remedy))
            }
            Authorizing::TooOften(seconds) => {
                let what = "Too many programs ask to be connected at the moment.";
                let remedy = format!("Wait {seconds} seconds, then connect once more in your program.");
                let mut answer = unasked(StatusCode::TOO_MANY_REQUESTS, what, &remedy);
                answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
                Ok(answer)
            }
        }
    }

    /// The page on which a person answers.
    pub(crate) async fn consent_page(
        &self,
        visit: &Visit,
        visitor: &Visitor,
        notice: Option<&'static str>,
    ) -> Result<Answer, Trouble> {
        let Some((ticket, _, asked)) = self.asked_here(visit, visitor).await? else { return Ok(gone()) };
        let goal = Goal::Connect(ticket);
        if asked.wants_fresh {
            return Ok(sign_in_anew(&goal));
        }
        let status = if notice.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
        let page = self.consent((visit, visitor), &asked, &goal, (goal.path(), None), notice)?;
        Ok(answer::page_that_leads_out(status, &page))
    }

    /// What a page shows of what is asked.
    pub(crate) fn consent(
        &self,
        (visit, visitor): (&Visit, &Visitor),
        asked: &Asked,
        goal: &Goal,
        (action, code): (String, Option<String>),
        notice: Option<&'static str>,
    ) -> Result<Page, Trouble> {
        let issuer = self.server()?.issuer();
        Ok(Page {
            client: Client::of(asked),
            redirect: asked.redirect_uri.as_deref().map(Redirect::of),
            scopes: asked.scopes.iter().map(Line::of).collect(),
            places: asked.resources.0.iter().map(|resource| in_words(resource, issuer)).collect(),
            name: visitor.person.name.to_string(),
            sign_out: self.token(visitor, "/sign-out", visit.now)?,
            to: goal.to_string(),
            token: self.token(visitor, &action, visit.now)?,
            action,
            notice,
            code,
            now: moment(visit.now),
            assets: assets::NAMES.clone(),
        })
    }

    /// Takes the answer of a person to the client that asked.
    pub(crate) async fn answer_consent(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let says = Says::read(&visit.form)?;
        match self.take(visit, visitor, says.pace()) {
            Ok(()) => {}
            // O-K7: the second of two clicks.
            Err(Trouble::Form(Untaken::Used)) => return Ok(answered_already()),
            Err(Trouble::Form(Untaken::Hasty)) => {
                return self.consent_page(visit, visitor, Some(HASTY)).await;
            }
            Err(trouble) => return Err(trouble),
        }
        let Some((ticket, secret, asked)) = self.asked_here(visit, visitor).await? else { return Ok(gone()) };
        let server = self.server()?;
        let answered = match says {
            Says::Yes => {
                let scopes = ticked(&visit.form, &asked);
                if scopes.is_empty() && !asked.scopes.is_empty() {
                    return self.consent_page(visit, visitor, Some(NOTHING_TICKED)).await;
                }
                server.allow(&ticket, &secret, (&visitor.person, &visitor.session), &scopes).await?
            }
            Says::No => server.deny(&ticket, &secret, &visitor.person).await?,
        };
        Ok(match answered {
            Answered::Go(place) => answer::leave(&place).unwrap_or_else(nowhere),
            Answered::Noted | Answered::Already => answered_already(),
            Answered::Gone => gone(),
            Answered::SignInAnew => sign_in_anew(&Goal::Connect(ticket)),
        })
    }

    /// What is asked of this person in this browser. `None`: nothing, or nothing any more.
    async fn asked_here(
        &self,
        visit: &Visit,
        visitor: &Visitor,
    ) -> Result<Option<(Ticket, ConsentSecret, Asked)>, Trouble> {
        let server = self.server()?;
        let Some(ticket) = ticket(&visit.name) else { return Ok(None) };
        for secret in visit.address.consenting(&visit.parts.headers) {
            if let Some(asked) = server.asked(&ticket, &secret, &visitor.session).await? {
                return Ok(Some((ticket, secret, asked)));
            }
        }
        Ok(None)
    }
}

/// Says why nobody is asked.
pub(crate) fn unasked(status: StatusCode, what: &str, remedy: &str) -> Answer {
    told(status, "Nobody is asked", what, remedy, None)
}

/// Says that an answer holds, or held before.
pub(crate) fn answered_already() -> Answer {
    let what = "You have answered this already, and your first answer holds.";
    let remedy = "If your program does not go on, start to connect once more there. You can close this page.";
    told(StatusCode::OK, "Answered", what, remedy, Some(("/settings/connected-clients", "What is connected")))
}

/// Wants a sign-in that is fresh (O-K9).
pub(crate) fn sign_in_anew(goal: &Goal) -> Answer {
    let what = "What is asked for here is given only by somebody who has just signed in.";
    let place = goal.sign_in();
    let mut answer = told(
        StatusCode::OK,
        "Sign in once more",
        what,
        "You come back to this question afterwards. Nothing was allowed so far.",
        Some((&place, "Sign in")),
    );
    answer::keep_opener(&mut answer);
    answer
}

/// O-A7: there is no such request for this browser.
fn gone() -> Answer {
    let what = "This request is not open in this browser: it is older than ten minutes, was answered, or was begun in \
                another browser.";
    let remedy = "Start to connect once more in your program. If you signed in by a link that opened elsewhere, go back \
                  to the browser in which you began.";
    told(StatusCode::GONE, "Not open here", what, remedy, None)
}

/// An address that no header can carry.
fn nowhere() -> Answer {
    tracing::error!("an answer to a client could not be written as an address");
    unasked(StatusCode::BAD_REQUEST, "The address of your program is none.", START_AGAIN)
}

pub(crate) fn told(
    status: StatusCode,
    title: &'static str,
    what: &str,
    remedy: &str,
    onward: Option<(&str, &'static str)>,
) -> Answer {
    let (what, remedy) = (Sanitized::line(what), Sanitized::line(remedy));
    answer::page(status, &Unasked { title, what, remedy, onward, assets: assets::NAMES.clone() })
}

/// How long a request for authorization may be (O-A10).
const MOST_BYTES: usize = 8 * 1024;
const START_AGAIN: &str = "Start to connect once more in your program.";

#[cfg(test)]
mod tests;
