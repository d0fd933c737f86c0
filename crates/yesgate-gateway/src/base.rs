//! Where clients and humans reach this gateway: what the addresses in held answers begin with.
//!
//! INVARIANT: an address names a question and nothing else. It carries no secret, and nothing is decided or run
//! by opening it (H3).

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use http::header::HOST;
use serde_json::{Map, Value};
use yesgate_core::held::Links;
use yesgate_core::id::IntentId;

/// An origin such as `https://gate.example.org`, without a slash at its end, and what is there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Base {
    scheme: Scheme,
    /// What comes after the scheme.
    rest: Arc<str>,
    offers: Offers,
}

/// What an origin begins with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Scheme {
    /// `http://`
    Http,
    /// Whatever the rest begins with.
    Other,
}

/// What there is at an origin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Offers {
    /// Pages for people, and what agents poll.
    PagesAndPolls,
    /// Pages for people only.
    Pages,
}

/// Says where our pages are at this moment, where the way that a call came does not tell.
pub trait Whereabouts: fmt::Debug + Send + Sync {
    /// Where they are; `None`: nowhere.
    fn base(&self) -> Option<Base>;
}

/// There are no pages, or the way that a call came tells where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Whereabouts for Nowhere {
    fn base(&self) -> Option<Base> {
        None
    }
}

impl Base {
    /// The origin that the operator gave.
    pub fn new(origin: &str) -> Self {
        Self::at(origin, Offers::PagesAndPolls)
    }

    /// The origin of pages for people, with nothing for agents beside them.
    pub fn of_pages(origin: &str) -> Self {
        Self::at(origin, Offers::Pages)
    }

    fn at(origin: &str, offers: Offers) -> Self {
        let origin = origin.trim_end_matches('/');
        match origin.strip_prefix(HTTP) {
            Some(rest) => Self { scheme: Scheme::Http, rest: rest.into(), offers },
            None => Self { scheme: Scheme::Other, rest: origin.into(), offers },
        }
    }

    /// The name that a request came for. Whoever calls has seen to it that the name is one of ours, so a client
    /// cannot have addresses of somebody else put into its answers.
    ///
    /// We speak plain HTTP; where a proxy ends TLS in front, the operator gives the origin.
    pub(crate) fn of_host(headers: &HeaderMap) -> Option<Self> {
        let host = headers.get(HOST)?.to_str().ok()?;
        Some(Self { scheme: Scheme::Http, rest: host.into(), offers: Offers::PagesAndPolls })
    }

    /// Where a question can be looked up.
    pub(crate) fn polling(&self, id: &str) -> String {
        format!("{self}/api/intents/{id}")
    }

    /// Where a human decides about a question.
    pub(crate) fn approval(&self, id: &IntentId) -> String {
        format!("{self}/approve/{id}")
    }

    /// Adds to a held answer where it can be decided and looked up.
    pub(crate) fn link(&self, payload: &mut Map<String, Value>) {
        let id = payload.get("intent_id").and_then(Value::as_str).and_then(|id| id.parse::<IntentId>().ok());
        if let Some(id) = id {
            let polling = match self.offers {
                Offers::PagesAndPolls => Some(self.polling(id.as_str())),
                Offers::Pages => None,
            };
            Links { approval: Some(self.approval(&id)), polling }.add_to(payload);
        }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scheme {
            Scheme::Http => f.write_str(HTTP)?,
            Scheme::Other => {}
        }
        f.write_str(&self.rest)
    }
}

const HTTP: &str = "http://";
