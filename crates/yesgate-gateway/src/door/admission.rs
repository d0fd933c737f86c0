//! Who is let in: with a key that is known here, or with a token that somebody else verified.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::json;
use tokio::sync::watch;
use yesgate_core::caller::Caller;
use yesgate_core::key::{BearerKey, BearerKeyHash};
use yesgate_http::edge::bearer::{Bearer, Standing, Unadmitted};
use yesgate_http::edge::body::Body;
use yesgate_ledger::Ledger;

use super::{failure, json_response};
use crate::board::Visitor;

/// Knows who may come in with a key.
#[derive(Debug)]
pub struct Doorkeeper {
    keys: RwLock<Arc<HashMap<BearerKeyHash, Caller>>>,
    /// Who comes in without a key; nobody once there was one.
    anybody: RwLock<Option<Caller>>,
}

impl Doorkeeper {
    /// Lets in whoever has one of these keys; where there are none, the local user, if one is named.
    pub fn new(keys: HashMap<BearerKeyHash, Caller>, local: Option<Caller>) -> Self {
        let local = local.filter(|_| keys.is_empty());
        Self { keys: RwLock::new(Arc::new(keys)), anybody: RwLock::new(local) }
    }

    /// Other keys are valid from here on. The first key closes the door for those without one, and the
    /// last one that goes does not open it again.
    pub fn renew(&self, keys: HashMap<BearerKeyHash, Caller>) {
        if !keys.is_empty() {
            *self.anybody.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Who calls.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        if !headers.contains_key(AUTHORIZATION) {
            let anybody = self.anybody.read().unwrap_or_else(PoisonError::into_inner);
            return anybody.clone().ok_or(Stranger::NoKey);
        }
        let key = presented(headers).ok_or(Stranger::WrongKey)?;
        let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
        // Who shows a key that nobody gave out is not the local user.
        keys.get(&BearerKey::presented(key).hash()).cloned().ok_or(Stranger::WrongKey)
    }
}

/// Who comes with a key that the doorkeeper has not heard of: another process may have made it a moment ago.
pub(super) async fn newly_made(ledger: &Ledger, headers: &HeaderMap) -> Result<Caller, Stranger> {
    let key = presented(headers).filter(|key| key.starts_with(BearerKey::PREFIX));
    let key = BearerKey::presented(key.ok_or(Stranger::WrongKey)?);
    match ledger.key(&key.hash()).await {
        Ok(found) => found.map(|record| record.caller).ok_or(Stranger::WrongKey),
        Err(error) => {
            tracing::warn!(%error, "a key could not be looked up");
            Err(Stranger::Unadmitted(Unadmitted::Unknown))
        }
    }
}

/// The one bearer token of a request. It is looked for in the header and nowhere else (O-D7).
pub(super) fn presented(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

/// Somebody who was let in.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) visitor: Visitor,
    /// Whether they still are; `None`: a key is looked at once for each request.
    standing: Option<watch::Receiver<Standing>>,
}

impl Visit {
    /// Somebody with a key.
    pub(super) fn keyed(caller: Caller) -> Self {
        Self { visitor: caller.into(), standing: None }
    }

    /// Somebody with a token.
    pub(super) fn of(bearer: Bearer) -> Self {
        let Bearer { caller, scopes, standing } = bearer;
        Self { visitor: Visitor { caller, scopes: Some(Arc::new(scopes)) }, standing: Some(standing) }
    }

    /// Waits until they are not let in any more.
    pub(super) fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        let standing = self.standing.clone();
        async move {
            let Some(mut standing) = standing else { return std::future::pending().await };
            if standing.wait_for(|standing| *standing == Standing::Over).await.is_err() {
                // Nobody is there who could say so.
                std::future::pending().await
            }
        }
    }

    /// A response whose stream, if it is one, ends with that.
    pub(super) fn bound(&self, response: Response<Body>) -> Response<Body> {
        match self.standing {
            Some(_) => response.map(|body| body.until(self.over())),
            None => response,
        }
    }
}

/// Why somebody does not come in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Stranger {
    NoKey,
    WrongKey,
    Unadmitted(Unadmitted),
}

impl Stranger {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::NoKey | Self::WrongKey => StatusCode::UNAUTHORIZED,
            Self::Unadmitted(Unadmitted::NoToken | Unadmitted::InvalidToken) => StatusCode::UNAUTHORIZED,
            Self::Unadmitted(Unadmitted::InsufficientScope(_)) => StatusCode::FORBIDDEN,
            Self::Unadmitted(Unadmitted::Unknown) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// What programs match on.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::NoKey | Self::WrongKey => "unauthorized",
            Self::Unadmitted(Unadmitted::NoToken) => "unauthorized",
            Self::Unadmitted(Unadmitted::InvalidToken) => "invalid_token",
            Self::Unadmitted(Unadmitted::InsufficientScope(_)) => "insufficient_scope",
            Self::Unadmitted(Unadmitted::Unknown) => "temporarily_unavailable",
        }
    }

    pub(super) const fn words(&self) -> &'static str {
        match self {
            Self::NoKey => "a bearer key is needed",
            Self::WrongKey => "the bearer key is not valid",
            Self::Unadmitted(Unadmitted::NoToken) => {
                "an access token is needed; this client has to be connected"
            }
            Self::Unadmitted(Unadmitted::InvalidToken) => "the access token does not count, or not here",
            Self::Unadmitted(Unadmitted::InsufficientScope(_)) => "the access token does not allow this",
            Self::Unadmitted(Unadmitted::Unknown) => {
                "whether the key or token counts cannot be told at the moment; try again"
            }
        }
    }

    /// RFC 6750 §3: whoever showed nothing is told only what to show.
    pub(super) const fn challenge(&self) -> HeaderValue {
        match self {
            Self::NoKey | Self::Unadmitted(Unadmitted::NoToken) => {
                HeaderValue::from_static("Bearer realm=\"yesgate\"")
            }
            Self::WrongKey | Self::Unadmitted(_) => {
                HeaderValue::from_static("Bearer realm=\"yesgate\", error=\"invalid_token\"")
            }
        }
    }

    /// What a client of MCP is told: where clients are connected, in the words of RFC 6750, which they read there.
    pub(super) fn told(&self) -> Response<Body> {
        match self {
            Self::NoKey | Self::WrongKey => failure(self.status(), self.words()),
            Self::Unadmitted(_) => json_response(
                self.status(),
                &json!({"error": self.code(), "error_description": self.words()}),
            ),
        }
    }
}

/// By which name clients are told to come.
#[derive(Debug)]
pub struct KnownAs {
    /// As it stands in `Host`.
    authority: String,
    has_noticed: AtomicBool,
}

impl KnownAs {
    /// This name, as it stands in `Host`.
    pub const fn new(authority: String) -> Self {
        Self { authority, has_noticed: AtomicBool::new(false) }
    }

    /// Says once in the log that clients come by another name: what they are told is not where they are, and many give up then.
    pub(super) fn notice(&self, host: &str) {
        if host.eq_ignore_ascii_case(&self.authority) || self.has_noticed.swap(true, Ordering::Relaxed) {
            return;
        }
        tracing::warn!(
            http.host = %host.escape_debug(),
            "clients come for another host than the one they are told, {}; set `public_url` in [serve] to the address that \
             they paste",
            self.authority
        );
    }
}
