//! The keys of one issuer, kept for a while and fetched anew when a token names one that is not among them.
//!
//! INVARIANT: whoever sends tokens with names of keys that do not exist has them fetched once a minute, not once each.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex;
use yesgate_core::policy::HttpUrl;
use yesgate_http::fetch::HttpClient;

use crate::fetching::{self, FetchFault};
use crate::jws::{JwsError, KeySet, verify};

/// The keys of one issuer.
#[derive(Debug)]
pub struct Keys {
    client: HttpClient,
    url: HttpUrl,
    kept: Mutex<Option<(Timestamp, KeySet)>>,
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
}

impl Keys {
    /// Those at this address.
    pub fn new(client: HttpClient, url: HttpUrl) -> Self {
        Self { client, url, kept: Mutex::new(None) }
    }

    /// Verifies a token under them, and gives back what it says.
    ///
    /// # Errors
    /// When it counts for nothing, or nobody can tell.
    pub async fn verify(&self, token: &str, now: Timestamp) -> Result<Value, Unverified> {
        // Held while fetching: many tokens at once have one fetch.
        let mut kept = self.kept.lock().await;
        if let Some((fetched_at, keys)) = &*kept {
            let age = now.duration_since(*fetched_at);
            match verify(token, keys) {
                Err(JwsError::UnknownKey) if age >= SELDOM => {}
                verified if age < LONGEST => return Ok(verified?),
                Ok(_) | Err(_) => {}
            }
        }
        let keys = KeySet::parse(&fetching::get(&self.client, &self.url).await?)?;
        let verified = verify(token, &keys);
        *kept = Some((now, keys));
        Ok(verified?)
    }
}

/// How long keys are kept: what an issuer withdraws counts no longer than this.
const LONGEST: SignedDuration = SignedDuration::from_hours(1);
/// How soon they are fetched anew for the sake of a key that is not among them.
const SELDOM: SignedDuration = SignedDuration::from_mins(1);

#[cfg(test)]
mod tests;
