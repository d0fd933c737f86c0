//! Signing in with a link.
//!
//! INVARIANT: opening a link uses nothing up, for programs open links before people do; only the form on the page
//! does. The secret stands behind the `#`, which browsers keep to themselves, so that no log has it.

use askama::Template;
use http::StatusCode;
use yesgate_core::id::{IntentId, SessionId};
use yesgate_core::person::{LinkSecret, SessionSecret};
use yesgate_ledger::NewSession;

use crate::answer::{self, Answer};
use crate::assets;
use crate::site::{Site, Trouble, Visit};
use crate::visit::{Visitor, browser};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct Page {
    /// The question that the visitor came for.
    to: Option<IntentId>,
    /// Who is signed in already.
    signed_in: Option<String>,
    notice: Option<&'static str>,
    /// Whether passkeys can be used here.
    passkeys: bool,
    assets: assets::Names,
}

impl Site {
    pub(crate) fn sign_in_page(&self, visit: &Visit, visitor: Option<&Visitor>) -> Answer {
        let to = visit.query("to").and_then(|to| to.parse().ok());
        let signed_in = visitor.map(|visitor| visitor.person.name.to_string());
        let page = Page {
            to,
            signed_in,
            notice: None,
            passkeys: self.keys().is_some(),
            assets: assets::NAMES.clone(),
        };
        answer::page(StatusCode::OK, &page)
    }

    pub(crate) async fn use_link(&self, visit: &Visit) -> Result<Answer, Trouble> {
        let to = visit.form.one("to").and_then(|to| to.parse::<IntentId>().ok());
        let code = visit.form.words("code").unwrap_or_default();
        // A whole link works where its end is wanted.
        let code = code.rsplit_once('#').map_or(code.as_str(), |(_, code)| code);
        let secret = SessionSecret::from_entropy(self.draw()?);
        let new = NewSession {
            id: SessionId::from_entropy(self.draw()?),
            secret: self.hash(&secret),
            browser: browser(&visit.parts.headers),
        };
        let Some(_) = self.ledger.use_link(LinkSecret::presented(code).hash(), new).await? else {
            let notice = Some("That link was used already, is older than 15 minutes, or was never made.");
            let page = Page {
                to,
                signed_in: None,
                notice,
                passkeys: self.keys().is_some(),
                assets: assets::NAMES.clone(),
            };
            return Ok(answer::page(StatusCode::FORBIDDEN, &page));
        };
        let mut answer = match to {
            Some(id) => answer::see(&format!("/approve/{id}")),
            None => answer::see("/"),
        };
        answer.headers_mut().extend(visit.address.hold(&secret));
        Ok(answer)
    }
}
