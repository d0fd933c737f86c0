//! REST for people: what the pages do, for programs that somebody who is signed in runs in their browser.
//!
//! - INVARIANT: a person comes with the session that the pages have, and never with a key; nothing here calls a tool.
//! - INVARIANT: what changes something comes from a page of ours, as JSON, with a token of that very session (O-K3).
//! - INVARIANT: it decides through [`crate::saying`], as the pages do, and sees one organisation, as they do.

mod account;
mod clients;
mod export;
mod grants;
mod intents;
pub(crate) mod openapi;
mod read;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};
use serde_json::Value;
use yesgate_core::refusal::Why;
use yesgate_http::problem::Problem;
use yesgate_ledger::LedgerError;

use self::read::Fields;
use crate::answer::{self, Answer};
use crate::desk::DeskError;
use crate::form::Form;
use crate::site::{Site, Trouble, Visit};
use crate::table::Access;
use crate::token::Tokens;
use crate::visit::{Address, Visitor};

/// What there is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Api {
    /// Describes all this.
    Document,
    /// Who is signed in.
    Me,
    /// Their signed-in browsers.
    Sessions,
    /// Ends one.
    EndSession,
    /// Ends all of them, and revokes all keys of theirs (O7).
    EndEverything,
    /// The questions.
    List,
    /// One question.
    Look,
    /// Decides one.
    Decide,
    /// Withdraws one.
    Cancel,
    /// The yeses that are remembered.
    Grants,
    /// One of them.
    Grant,
    /// Takes one back.
    RevokeGrant,
    /// The audit trail, whole.
    Export,
    /// The keys of agents.
    Clients,
    /// Revokes one.
    RevokeClient,
    /// Revokes what was allowed a client (O-V4).
    RevokeConnected,
}

/// Why something was not done.
#[derive(Debug)]
pub(crate) struct Undone(Problem);

/// What came of a request.
type Told = Result<Answer, Undone>;

impl Undone {
    fn new(status: StatusCode, code: &str, words: &str) -> Self {
        Self(Problem::new(status, code, words))
    }

    fn invalid(words: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", &format!("{words}. Nothing was changed."))
    }

    fn nothing_here() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "There is no such thing for you.")
    }
}

impl From<Problem> for Undone {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<LedgerError> for Undone {
    fn from(error: LedgerError) -> Self {
        tracing::error!(%error, "a request of a person could not be answered: {error}");
        Self(Problem::refusal(&Why::ConsentUnavailable { reason: error.public_reason() }.into()))
    }
}

impl From<DeskError> for Undone {
    fn from(error: DeskError) -> Self {
        tracing::error!(%error, "a request of a person could not be answered: {error}");
        let words = "The gateway cannot do that at this moment; its log says why. Nothing was changed.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_now", words)
    }
}

impl From<Trouble> for Undone {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Ledger(error) => error.into(),
            Trouble::Desk(error) => error.into(),
            Trouble::NoEntropy => {
                let words = "This machine has no random bytes to give. Nothing was changed.";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "not_now", words)
            }
            Trouble::NotFound => Self::nothing_here(),
            Trouble::Form(why) => {
                Self::new(StatusCode::FORBIDDEN, "not_from_here", &format!("Nothing was changed: {why}."))
            }
            Trouble::Nonsense(why) => Self::invalid(why),
        }
    }
}

impl Site {
    /// Answers one request for something under `/api`.
    pub(crate) async fn api(
        &self,
        (api, access, name): (Api, Access, String),
        parts: Parts,
        body: &Bytes,
    ) -> Answer {
        let told = self.told(api, access, name, parts, body).await;
        told.unwrap_or_else(|Undone(problem)| answer::problem(problem))
    }

    async fn told(&self, api: Api, access: Access, name: String, parts: Parts, body: &Bytes) -> Told {
        let here = Address::of(&parts.headers, self.public());
        let address = here.ok_or_else(Undone::nothing_here)?;
        let visitor = self.visitor(&address, &parts).await?.ok_or_else(|| {
            let words = "Sign in first: nobody is, in this browser. Nothing was changed.";
            Undone::new(StatusCode::UNAUTHORIZED, "unauthorized", words)
        })?;
        match access {
            Access::AtLeast(role) if !visitor.person.may(role) => {
                let words = format!("Only people with the role `{role}` may do that. Nothing was changed.");
                return Err(Undone::new(StatusCode::FORBIDDEN, "role_too_low", &words));
            }
            Access::AtLeast(_) | Access::Anyone => {}
        }
        let visit = Visit { address, name, parts, form: Form::default(), now: self.ledger.now() };
        if visit.parts.method != Method::GET && visit.parts.method != Method::HEAD {
            is_meant(&visit, &visitor)?;
        }
        match api {
            Api::Document => Ok(answer::json(StatusCode::OK, &self.desk.document())),
            Api::Me => self.me(&visit, &visitor),
            Api::Sessions => self.list_sessions(&visit, &visitor).await,
            Api::EndSession => self.end_session(&visit, &visitor).await,
            Api::EndEverything => self.end_everything(&visit, &visitor).await,
            Api::List => self.list_intents(&visit, &visitor).await,
            Api::Look => self.look_at(&visit, &visitor).await,
            Api::Decide => {
                let fields = Fields::read(&visit.parts.headers, body, &intents::DECIDE_KEYS)?;
                self.decide_by_rest(&visit, &visitor, &fields).await
            }
            Api::Cancel => {
                Fields::read(&visit.parts.headers, body, &[])?;
                self.cancel(&visit, &visitor).await
            }
            Api::Grants => self.list_grants(&visit, &visitor).await,
            Api::Grant => self.one_grant(&visit, &visitor).await,
            Api::RevokeGrant => self.take_back(&visit, &visitor).await,
            Api::Export => self.export(&visit, &visitor).await,
            Api::Clients => self.list_clients(&visitor).await,
            Api::RevokeClient => self.revoke_client(&visit, &visitor).await,
            Api::RevokeConnected => self.revoke_connected_by_rest(&visit, &visitor).await,
        }
    }
}

/// O-K3: a browser that holds the cookie of a session sends it along whoever asks it to. What changes something must
/// come from a page of ours, and bring what only a page of that session can read.
fn is_meant(visit: &Visit, visitor: &Visitor) -> Result<(), Undone> {
    if !visit.address.sent(&visit.parts.headers) {
        let words =
            "This did not come from a page of this gateway: `Origin` must be its own. Nothing was changed.";
        return Err(Undone::new(StatusCode::FORBIDDEN, "not_from_here", words));
    }
    let mut tokens = visit.parts.headers.get_all(TOKEN).into_iter();
    let token = match (tokens.next(), tokens.next()) {
        (Some(token), None) => token.to_str().unwrap_or_default(),
        (None, _) | (Some(_), Some(_)) => "",
    };
    Tokens::look(&visitor.secret, PURPOSE, token, visit.now).map_err(|why| {
        let words = format!(
            "{why}. Nothing was changed. Send the `token` of GET /api/me in the header X-Yesgate-Token."
        );
        Undone::new(StatusCode::FORBIDDEN, "not_from_here", &words)
    })
}

/// A JSON document.
fn json(value: &Value) -> Told {
    Ok(answer::json(StatusCode::OK, value))
}

/// The header with the token of a session's requests.
const TOKEN: &str = "x-yesgate-token";
/// What that token is made for.
const PURPOSE: &str = "/api";
