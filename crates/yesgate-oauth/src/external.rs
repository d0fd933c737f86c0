//! Tokens of somebody else: an issuer that the operator trusts says who calls, instead of the gateway itself.
//!
//! INVARIANTS:
//! - Nobody is let in without a signature under a key of that issuer, for this gateway, within its time (RFC 9068 §4). Where that
//!   cannot be told, nobody is.
//! - The organisation is the operator's word and never the token's.
//! - What is open for somebody closes when their token's time is over. There is no other way to take one back.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::sleep;
use yesgate_core::clock::Clock;
use yesgate_core::policy::{ExternalIssuer, OAuthConfig, ScopePolicy};
use yesgate_http::edge::bearer::{Bearer, Bearers, Standing, Unadmitted};
use yesgate_http::edge::body::Body;
use yesgate_oidc::{Issuer, IssuerError, Unverified};

use self::claims::Claims;
use crate::answer as answering;
use crate::endpoints::{Endpoint, Endpoints};
use crate::fault::{Fault, Word};
use crate::server::OAuthSettings;

mod claims;

/// Lets in whom somebody else's tokens name.
pub struct ExternalBearers {
    /// The origin that clients know us by.
    origin: String,
    clock: Arc<dyn Clock>,
    governed: RwLock<Arc<Governed>>,
}

/// What the operator decides about it.
#[derive(Debug)]
struct Governed {
    trusted: ExternalIssuer,
    issuer: Arc<Issuer>,
    endpoints: Endpoints,
    scopes: ScopePolicy,
}

/// Why nobody else can say who calls.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The configuration names nobody.
    #[error("no external issuer is configured")]
    Nobody,
    /// The one that it names cannot be trusted.
    #[error("the external issuer cannot be trusted: {0}")]
    Issuer(#[from] IssuerError),
}

impl ExternalBearers {
    /// Trusts the issuer that the settings name. Nothing is asked of it before the first token comes.
    ///
    /// # Errors
    /// When they name none, or none that can be trusted.
    pub fn new(settings: OAuthSettings, clock: Arc<dyn Clock>) -> Result<Self, ExternalError> {
        let OAuthSettings { issuer: origin, config, servers } = settings;
        let governed = Governed::new(&origin, config, servers, None)?;
        Ok(Self { origin, clock, governed: RwLock::new(Arc::new(governed)) })
    }

    /// Goes by another configuration from here on. The keys of the same issuer stay known.
    ///
    /// # Errors
    /// As [`Self::new`]; the one before stays then.
    pub fn govern(&self, config: OAuthConfig, servers: Vec<String>) -> Result<(), ExternalError> {
        let before = self.governed();
        let governed = Governed::new(&self.origin, config, servers, Some(&before))?;
        *self.governed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(governed);
        Ok(())
    }

    fn governed(&self) -> Arc<Governed> {
        Arc::clone(&self.governed.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Governed {
    fn new(
        origin: &str,
        config: OAuthConfig,
        servers: Vec<String>,
        before: Option<&Self>,
    ) -> Result<Self, ExternalError> {
        let trusted = config.external.ok_or(ExternalError::Nobody)?;
        let is_same = |before: &&Self| {
            (&before.trusted.issuer, &before.trusted.keys) == (&trusted.issuer, &trusted.keys)
        };
        let issuer = match before.filter(is_same) {
            Some(before) => Arc::clone(&before.issuer),
            None => Arc::new(Issuer::new(trusted.issuer.clone(), trusted.keys.clone())?),
        };
        let endpoints = Endpoints::new(origin.to_owned(), servers);
        Ok(Self { trusted, issuer, endpoints, scopes: config.scopes })
    }
}

#[async_trait]
impl Bearers for ExternalBearers {
    async fn admit(&self, token: &str, path: &str) -> Result<Bearer, Unadmitted> {
        let governed = self.governed();
        let now = self.clock.now();
        let verified = governed.issuer.open(token, now).await.map_err(|unverified| match unverified {
            Unverified::Token(error) => {
                tracing::debug!(%error, "a token of the external issuer does not count");
                Unadmitted::InvalidToken
            }
            Unverified::Keys(error) => {
                tracing::warn!(%error, "the keys of the external issuer cannot be had, and nobody is let in");
                Unadmitted::Unknown
            }
            Unverified::Lately => Unadmitted::Unknown,
        })?;
        let Claims { caller, scopes, resources, expires_at } =
            Claims::read(&verified, &governed.trusted, &governed.endpoints, now).map_err(|error| {
                tracing::debug!(%error, "a token of the external issuer does not count");
                Unadmitted::InvalidToken
            })?;
        if !governed.endpoints.admit(&resources, path) {
            return Err(Unadmitted::InvalidToken);
        }
        let scopes = scopes.within(&governed.scopes.known());
        Ok(Bearer { caller, scopes, standing: until(expires_at, now) })
    }

    fn challenge(&self, path: &str, why: &Unadmitted) -> HeaderValue {
        let governed = self.governed();
        governed.endpoints.challenge(path, why, &governed.scopes.usual())
    }

    /// Those of the built-in server too: nobody finds there what they look for, and is told so clearly (O-D3).
    fn has(&self, path: &str) -> bool {
        self.governed().endpoints.endpoint(path).is_some()
    }

    async fn answer(&self, parts: Parts, _: Bytes, _: SocketAddr) -> Response<Body> {
        if parts.method == Method::OPTIONS {
            return answering::preflight(METHODS);
        }
        let governed = self.governed();
        let described = match governed.endpoints.endpoint(parts.uri.path()) {
            Some(Endpoint::ResourceMetadata(path)) => {
                let usual = governed.scopes.usual();
                Some(governed.endpoints.resource_metadata(&path, governed.issuer.as_str(), &usual))
            }
            Some(
                Endpoint::ServerMetadata
                | Endpoint::Register
                | Endpoint::Registration(_)
                | Endpoint::Token
                | Endpoint::Revoke
                | Endpoint::Introspect
                | Endpoint::Device
                | Endpoint::Nothing,
            )
            | None => None,
        };
        let is_read = [Method::GET, Method::HEAD].contains(&parts.method);
        let mut response = match described {
            Some(described) if is_read => answering::description(&described),
            Some(_) => {
                let mut response = Fault::not_allowed().response();
                answering::say_methods(&mut response, METHODS);
                response
            }
            None => Fault::new(Word::NotFound, "tokens are had elsewhere").response(),
        };
        answering::open_to_pages(&mut response);
        response
    }
}

impl fmt::Debug for ExternalBearers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalBearers").finish_non_exhaustive()
    }
}

/// Good until then. What waits for that goes when nobody watches any more.
fn until(expires_at: Timestamp, now: Timestamp) -> watch::Receiver<Standing> {
    let (sender, standing) = watch::channel(Standing::Good);
    let left = Duration::try_from(expires_at.duration_since(now)).unwrap_or(Duration::ZERO);
    drop(tokio::spawn(async move {
        tokio::select! {
            () = sender.closed() => {}
            () = sleep(left.min(LONGEST)) => drop(sender.send_replace(Standing::Over)),
        }
    }));
    standing
}

/// With which methods descriptions are read.
const METHODS: &str = "GET, HEAD";
/// No stream is open for longer on one look at a token, however long the token counts.
const LONGEST: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests;
