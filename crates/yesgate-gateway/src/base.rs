//! Where clients and humans reach this gateway: what the addresses in held answers begin with.
//!
//! INVARIANT: an address names a question and nothing else. It carries no secret, and nothing is decided or run
//! by opening it (H3).

use std::sync::Arc;

use http::HeaderMap;
use http::header::HOST;
use serde_json::{Map, Value};
use yesgate_core::held::Links;
use yesgate_core::id::IntentId;

/// An origin such as `https://gate.example.org`, without a slash at its end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Base(Arc<str>);

impl Base {
    /// The origin that the operator gave.
    pub fn new(origin: &str) -> Self {
        Self(origin.trim_end_matches('/').into())
    }

    /// The name that a request came for. Whoever calls has seen to it that the name is one of ours, so a client
    /// cannot have addresses of somebody else put into its answers.
    ///
    /// We speak plain HTTP; where a proxy ends TLS in front, the operator gives the origin.
    pub(crate) fn of_host(headers: &HeaderMap) -> Option<Self> {
        let host = headers.get(HOST)?.to_str().ok()?;
        Some(Self(format!("http://{host}").into()))
    }

    /// Where a question can be looked up.
    pub(crate) fn polling(&self, id: &str) -> String {
        format!("{}/api/intents/{id}", self.0)
    }

    /// Where a human decides about a question.
    pub(crate) fn approval(&self, id: &IntentId) -> String {
        format!("{}/approve/{id}", self.0)
    }

    /// Adds to a held answer where it can be decided and looked up.
    pub(crate) fn link(&self, payload: &mut Map<String, Value>) {
        let id = payload.get("intent_id").and_then(Value::as_str).and_then(|id| id.parse::<IntentId>().ok());
        if let Some(id) = id {
            let approval = Some(self.approval(&id));
            Links { approval, polling: Some(self.polling(id.as_str())) }.add_to(payload);
        }
    }
}

impl std::fmt::Display for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
