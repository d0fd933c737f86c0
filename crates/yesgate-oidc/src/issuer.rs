//! An issuer of tokens that the operator trusts: its keys, wherever its metadata says that they are.
//!
//! INVARIANT: metadata counts only where it names the issuer that was asked for, to the letter.

use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex;
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::policy::{HttpUrl, Scheme};
use yesgate_http::fetch::HttpClient;
use yesgate_http::fetch::error::TrustError;

use crate::fetching::{self, FetchFault, LIMITS};
use crate::jws::{JwsError, KeySet, Verified, open};
use crate::keys::{Keys, Unverified};

/// An issuer.
#[derive(Debug)]
pub struct Issuer {
    issuer: HttpUrl,
    client: HttpClient,
    place: Place,
}

/// Where its keys are.
#[derive(Debug)]
enum Place {
    /// Where the operator says.
    Written(Box<Keys>),
    /// Where its metadata says.
    Described(Described),
}

#[derive(Debug, Default)]
struct Described {
    keys: SyncMutex<Option<(Timestamp, Arc<Keys>)>>,
    /// Held while looking. When the last look failed, if it did.
    failed_at: Mutex<Option<Timestamp>>,
}

/// Why nobody can be trusted by it.
#[derive(Debug, thiserror::Error)]
pub enum IssuerError {
    /// Whoever is on the way could sign in its name.
    #[error("its address, and that of its keys, must be https unless they are on this machine")]
    Clear,
    /// The system trusts nobody.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl Issuer {
    /// One that has its keys at this address, or where its metadata says. Nothing is asked of it yet.
    ///
    /// # Errors
    /// When it could not be trusted, or the certificates that the system trusts cannot be read.
    pub fn new(issuer: HttpUrl, keys: Option<HttpUrl>) -> Result<Self, IssuerError> {
        let is_safe = |url: &HttpUrl| match url.origin().scheme() {
            Scheme::Https => true,
            Scheme::Http => url.origin().authority().is_loopback(),
        };
        if !is_safe(&issuer) || !keys.as_ref().is_none_or(is_safe) {
            return Err(IssuerError::Clear);
        }
        let client = HttpClient::for_address(issuer.as_str(), LIMITS)?;
        let place = match keys {
            Some(url) => Place::Written(Box::new(Keys::new(client.clone(), url))),
            None => Place::Described(Described::default()),
        };
        Ok(Self { issuer, client, place })
    }

    /// Its name, word for word.
    pub fn as_str(&self) -> &str {
        self.issuer.as_str()
    }

    /// Verifies a token under its keys. What the token says is not looked at.
    ///
    /// # Errors
    /// When it counts for nothing, or nobody can tell.
    pub async fn open(&self, token: &str, now: Timestamp) -> Result<Verified, Unverified> {
        match open(token, &KeySet::default()) {
            Ok(_) | Err(JwsError::UnknownKey) => {}
            Err(error @ (JwsError::Malformed | JwsError::Algorithm | JwsError::Signature)) => {
                return Err(error.into());
            }
        }
        match &self.place {
            Place::Written(keys) => keys.open(token, now).await,
            Place::Described(described) => self.described(described, now).await?.open(token, now).await,
        }
    }

    /// The keys that its metadata names, which is looked at now and then. Those that are known are used while somebody looks, and
    /// where nobody can: they have an age of their own.
    async fn described(&self, described: &Described, now: Timestamp) -> Result<Arc<Keys>, Unverified> {
        let is_new = |looked_at: Timestamp| now.duration_since(looked_at) < KEPT;
        let mut failed_at = match described.known() {
            Some((looked_at, keys)) if is_new(looked_at) => return Ok(keys),
            Some((_, keys)) => match described.failed_at.try_lock() {
                Ok(failed_at) => failed_at,
                Err(_) => return Ok(keys),
            },
            None => described.failed_at.lock().await,
        };
        // Somebody else may have looked meanwhile.
        let known = match described.known() {
            Some((looked_at, keys)) if is_new(looked_at) => return Ok(keys),
            known => known.map(|(_, keys)| keys),
        };
        if failed_at.is_some_and(|failed_at| now.duration_since(failed_at) < PAUSE) {
            return known.ok_or(Unverified::Lately);
        }
        match self.look().await {
            Ok(url) => {
                let same = known.filter(|keys| *keys.url() == url);
                let keys = same.unwrap_or_else(|| Arc::new(Keys::new(self.client.clone(), url)));
                *failed_at = None;
                *described.lock() = Some((now, Arc::clone(&keys)));
                Ok(keys)
            }
            Err(fault) => {
                *failed_at = Some(now);
                known.ok_or(fault.into())
            }
        }
    }

    /// Looks where its keys are: as OpenID Connect Discovery 1.0 §4 has it, then as RFC 8414 §3.
    async fn look(&self) -> Result<HttpUrl, FetchFault> {
        let issuer = self.issuer.as_str().trim_end_matches('/');
        let origin = self.issuer.origin().to_string();
        let path = issuer.strip_prefix(&origin).unwrap_or_default();
        let places = [
            format!("{issuer}/.well-known/openid-configuration"),
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
        ];
        let mut last = FetchFault::Address;
        for place in places {
            match self.read(&place).await {
                Ok(url) => return Ok(url),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    async fn read(&self, place: &str) -> Result<HttpUrl, FetchFault> {
        let place: HttpUrl = place.parse().map_err(|_| FetchFault::Address)?;
        let text = fetching::get(&self.client, &place).await?;
        let said = parse_lenient(&text, Limits::default()).map_err(|_| FetchFault::Unreadable)?;
        let word = |name: &str| said.get(name).and_then(Value::as_str);
        if word("issuer") != Some(self.issuer.as_str()) {
            return Err(FetchFault::Unreadable);
        }
        fetching::address(word("jwks_uri").ok_or(FetchFault::Unreadable)?, &self.issuer)
    }
}

impl Described {
    fn known(&self) -> Option<(Timestamp, Arc<Keys>)> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Timestamp, Arc<Keys>)>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long it is believed what an issuer says of itself.
const KEPT: SignedDuration = SignedDuration::from_hours(1);
/// How soon it is asked again where it did not answer.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);

#[cfg(test)]
mod tests;
