//! The keys of one issuer, kept for a while and fetched anew when a token names one that is not among them.
//!
//! INVARIANT: whoever sends tokens with names of keys that do not exist has them fetched once a minute, not once each. What no
//! key at all could have signed has nothing fetched.
//! INVARIANT: a token under a key that is kept waits for no fetch.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex;
use yesgate_core::policy::HttpUrl;
use yesgate_http::fetch::HttpClient;

use crate::fetching::{self, FetchFault};
use crate::jws::{JwsError, KeySet, Verified, open};

/// The keys of one issuer.
#[derive(Debug)]
pub struct Keys {
    client: HttpClient,
    url: HttpUrl,
    kept: SyncMutex<Option<(Timestamp, Arc<KeySet>)>>,
    /// Held while fetching: many tokens at once have one fetch. When the last one failed, if it did.
    failed_at: Mutex<Option<Timestamp>>,
}

/// Why a token counts for nothing.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    /// It is not what it should be.
    #[error(transparent)]
    Token(#[from] JwsError),
    /// The keys cannot be had.
    #[error("the keys of the issuer cannot be fetched: {0}")]
    Keys(#[from] FetchFault),
    /// They could not be had a moment ago.
    #[error("the keys of the issuer could not be fetched a moment ago")]
    Lately,
}

impl Keys {
    /// Those at this address.
    pub fn new(client: HttpClient, url: HttpUrl) -> Self {
        Self { client, url, kept: SyncMutex::new(None), failed_at: Mutex::new(None) }
    }

    /// Where they are.
    pub(crate) const fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// Verifies a token under them, and gives back what it says.
    ///
    /// # Errors
    /// When it counts for nothing, or nobody can tell.
    pub async fn verify(&self, token: &str, now: Timestamp) -> Result<Value, Unverified> {
        self.open(token, now).await.map(|verified| verified.says)
    }

    /// Verifies a token under them, and gives back what it says and which kind it is.
    ///
    /// # Errors
    /// As [`Self::verify`].
    pub async fn open(&self, token: &str, now: Timestamp) -> Result<Verified, Unverified> {
        match open(token, &KeySet::default()) {
            Ok(_) | Err(JwsError::UnknownKey) => {}
            Err(error @ (JwsError::Malformed | JwsError::Algorithm | JwsError::Signature)) => {
                return Err(error.into());
            }
        }
        if let Some(verified) = self.by_kept(token, now) {
            return Ok(verified?);
        }
        let mut failed_at = self.failed_at.lock().await;
        // Somebody else may have fetched them meanwhile.
        if let Some(verified) = self.by_kept(token, now) {
            return Ok(verified?);
        }
        if failed_at.is_some_and(|failed_at| is_within(now, failed_at, PAUSE)) {
            return Err(Unverified::Lately);
        }
        let keys = match self.fetch().await {
            Ok(keys) => Arc::new(keys),
            Err(error) => {
                *failed_at = Some(now);
                return Err(error);
            }
        };
        *failed_at = None;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Arc::clone(&keys)));
        Ok(open(token, &keys)?)
    }

    /// What those keys say of a token that are kept. `None`: they are too old to say so.
    fn by_kept(&self, token: &str, now: Timestamp) -> Option<Result<Verified, JwsError>> {
        let (fetched_at, keys) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        match open(token, &keys) {
            Err(JwsError::UnknownKey) if !is_within(now, fetched_at, SELDOM) => None,
            verified if is_within(now, fetched_at, LONGEST) => Some(verified),
            Ok(_) | Err(_) => None,
        }
    }

    async fn fetch(&self) -> Result<KeySet, Unverified> {
        let text = fetching::get(&self.client, &self.url).await?;
        // What is no set of keys is the issuer's fault and not the token's.
        Ok(KeySet::parse(&text).map_err(|_| FetchFault::Unreadable)?)
    }
}

fn is_within(now: Timestamp, since: Timestamp, time: SignedDuration) -> bool {
    now.duration_since(since) < time
}

/// How long keys are kept: what an issuer withdraws counts no longer than this.
const LONGEST: SignedDuration = SignedDuration::from_hours(1);
/// How soon they are fetched anew for the sake of a key that is not among them.
const SELDOM: SignedDuration = SignedDuration::from_mins(1);
/// How soon they are asked for again where they could not be had.
const PAUSE: SignedDuration = SignedDuration::from_secs(5);

#[cfg(test)]
mod tests;
