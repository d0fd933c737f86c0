//! Signing in with a link.
//!
//! INVARIANT: opening a link uses nothing up, for programs open links before people do; only the form on the page
//! does. The secret stands behind the `#`, which browsers keep to themselves, so that no log has it. A link that was asked
//! for by mail counts in the browser that asked, or with the digits that it shows.

use askama::Template;
use http::StatusCode;
use yesgate_core::id::SessionId;
use yesgate_core::person::{LinkSecret, Opener, SessionSecret};
use yesgate_ledger::{LinkUse, NewSession};

use crate::answer::{self, Answer};
use crate::assets;
use crate::goal::Goal;
use crate::site::{Site, Trouble, Visit};
use crate::visit::{Visitor, browser};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page {
    /// What the visitor came for.
    to: Option<Goal>,
    shown: Shown,
    /// Whether passkeys can be used here.
    passkeys: bool,
    /// Whether links come by mail here.
    mail: bool,
    /// Who else says who people are.
    upstream: Option<String>,
    assets: assets::Names,
}

/// What the page has to say.
pub(crate) enum Shown {
    /// Nothing.
    Nothing,
    /// Who is signed in already.
    SignedIn(String),
    /// The same, to somebody who came for something: it wants a fresh sign-in, or waits for them as they are.
    Anew {
        /// Who.
        name: String,
        /// Where it waits.
        back: String,
    },
    /// A client waits for whoever signs in.
    ForClient,
    /// Something went wrong.
    Notice(&'static str),
    /// A link is on its way, perhaps.
    Sent {
        /// What is wanted where the link is opened elsewhere.
        digits: String,
    },
    /// A link was asked for in another browser.
    WantsDigits {
        /// The link.
        code: String,
        /// What went wrong.
        notice: Option<&'static str>,
    },
}

impl Site {
    pub(crate) fn sign_in_page(&self, visit: &Visit, visitor: Option<&Visitor>) -> Answer {
        let to = visit.query("to").and_then(|to| to.parse::<Goal>().ok());
        let shown = match (visitor, to.as_ref()) {
            (Some(visitor), Some(goal)) => {
                Shown::Anew { name: visitor.person.name.to_string(), back: goal.path() }
            }
            (Some(visitor), None) => Shown::SignedIn(visitor.person.name.to_string()),
            (None, Some(Goal::Connect(_) | Goal::Device(_))) => Shown::ForClient,
            (None, Some(Goal::Question(_) | Goal::Clients) | None) => Shown::Nothing,
        };
        self.sign_in_with(StatusCode::OK, to, shown)
    }

    pub(crate) fn sign_in_with(&self, status: StatusCode, to: Option<Goal>, shown: Shown) -> Answer {
        let (passkeys, mail) = (self.keys().is_some(), self.post.is_some());
        let upstream = self.upstream.as_ref().map(|upstream| upstream.name().to_owned());
        let is_for_a_client = to.as_ref().is_some_and(Goal::is_for_a_client);
        let page = Page { to, shown, passkeys, mail, upstream, assets: assets::NAMES.clone() };
        let mut answer = answer::page(status, &page);
        if is_for_a_client {
            answer::keep_opener(&mut answer);
        }
        answer
    }

    pub(crate) async fn use_link(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let to = visit.goal();
        let code = visit.form.words("code").unwrap_or_default();
        // A whole link works where its end is wanted.
        let code = code.rsplit_once('#').map_or(code.as_str(), |(_, code)| code);
        let link = LinkSecret::presented(code).hash();
        let opener = Opener {
            browser: visit.address.asked(&visit.parts.headers).map(|held| held.hash()),
            digits: visit.form.words("digits"),
        };
        let secret = SessionSecret::from_entropy(self.draw()?);
        let new = NewSession {
            id: SessionId::from_entropy(self.draw()?),
            secret: self.hash(&secret),
            browser: browser(&visit.parts.headers),
        };
        let wants = |notice| Shown::WantsDigits { code: code.to_owned(), notice };
        match self.ledger.use_link(link, opener, new).await? {
            LinkUse::In(_) => Ok(self.welcome(visit, to.as_ref(), &secret)),
            LinkUse::WantsDigits => Ok(self.sign_in_with(StatusCode::OK, to, wants(None))),
            LinkUse::WrongDigits if self.post.as_ref().is_none_or(|post| post.is_guessed_at(link)) => {
                self.ledger.spend_mailed_link(link).await?;
                let why =
                    "The digits were wrong too often, and the link counts no more. Ask for another one.";
                Ok(self.sign_in_with(StatusCode::FORBIDDEN, to, Shown::Notice(why)))
            }
            LinkUse::WrongDigits => {
                let why = "Those are not the digits on the page that asked for this link.";
                Ok(self.sign_in_with(StatusCode::FORBIDDEN, to, wants(Some(why))))
            }
            LinkUse::No => {
                let why = "That link was used already, is older than 15 minutes, or was never made.";
                Ok(self.sign_in_with(StatusCode::FORBIDDEN, to, Shown::Notice(why)))
            }
        }
    }

    /// Sends somebody who has just signed in to what they came for.
    pub(crate) fn welcome(&self, visit: &Visit, to: Option<&Goal>, secret: &SessionSecret) -> Answer {
        let mut answer = answer::see(&to.map_or_else(|| "/".to_owned(), Goal::path));
        if to.is_some_and(Goal::is_for_a_client) {
            answer::keep_opener(&mut answer);
        }
        let headers = answer.headers_mut();
        headers.extend(visit.address.hold(secret));
        if visit.address.asked(&visit.parts.headers).is_some()
            && let Some((name, forgotten)) = visit.address.forget_asked()
        {
            headers.append(name, forgotten);
        }
        answer
    }
}
