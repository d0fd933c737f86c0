//! One webhook, signed as Standard Webhooks 1.0.0 says, and tried again for a while.
//!
//! INVARIANT: what is signed is what is sent, byte for byte. No redirect is followed: the answer of the one address that
//! the operator wrote counts, and only 2xx is a yes. Neither the secret nor the address is ever logged.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Request, StatusCode};
use jiff::Timestamp;
use ring::hmac;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::sleep;
use yesgate_core::policy::HttpUrl;
use yesgate_http::fetch::error::{FetchError, TrustError};
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{FetchLimits, HttpClient};
use yesgate_ledger::Ledger;

use crate::notice::{Link, Notice};

/// The secret that both sides know.
#[derive(Clone)]
pub struct WebhookSecret(hmac::Key);

/// A text is no secret of a webhook. It is never repeated.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SecretError {
    /// It begins otherwise.
    #[error("it does not begin with `whsec_`")]
    Prefix,
    /// What follows is no base64.
    #[error("what follows `whsec_` is not base64")]
    Encoding,
    /// It is too short to be safe, or too long to be one.
    #[error("it does not hold 24 to 64 bytes")]
    Length,
}

impl WebhookSecret {
    /// Reads a secret in the form `whsec_` and base64.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &SecretString) -> Result<Self, SecretError> {
        let encoded = text.expose_secret().strip_prefix("whsec_").ok_or(SecretError::Prefix)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| SecretError::Encoding)?;
        if !(24..=64).contains(&bytes.len()) {
            return Err(SecretError::Length);
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The value of `webhook-signature`.
    fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.0);
        context.update(format!("{id}.{timestamp}.").as_bytes());
        context.update(body);
        format!("v1,{}", STANDARD.encode(context.sign()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSecret").finish_non_exhaustive()
    }
}

/// An address that is told.
#[derive(Clone)]
pub struct Webhook {
    client: HttpClient,
    url: HttpUrl,
    secret: WebhookSecret,
    link: Link,
}

impl Webhook {
    /// Makes one.
    ///
    /// # Errors
    /// When the certificates that the system trusts cannot be read.
    pub fn new(url: HttpUrl, secret: WebhookSecret, link: Link) -> Result<Self, TrustError> {
        Ok(Self { client: HttpClient::for_address(url.as_str(), LIMITS)?, url, secret, link })
    }

    /// Sends a notice until it is taken, or until it is given up.
    pub(crate) async fn deliver(&self, notice: &Notice, ledger: &Ledger) {
        let body = Bytes::from(notice.json(&self.link).to_string());
        let mut pauses = PAUSES.into_iter();
        loop {
            let Err(error) = self.send(&notice.id, body.clone(), ledger.now()).await else { return };
            let Some(pause) = pauses.next() else {
                tracing::error!(
                    intent.id = %notice.intent, notice.id, attempts = PAUSES.len() + 1, %error,
                    "a webhook is given up: {error}"
                );
                return;
            };
            tracing::warn!(
                intent.id = %notice.intent, notice.id, pause_s = pause.as_secs(), %error,
                "a webhook was not taken, and is sent again: {error}"
            );
            sleep(pause).await;
        }
    }

    /// Sends a text once, under an id by which the receiver knows one that comes twice.
    ///
    /// # Errors
    /// When it was not taken.
    pub async fn send(&self, id: &str, body: Bytes, now: Timestamp) -> Result<(), NotTaken> {
        let timestamp = now.as_second();
        let request = Request::post(self.url.as_str())
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, "yesgate")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", self.secret.sign(id, timestamp, &body))
            .body(Parts::from(body))
            .map_err(|_| NotTaken::Unwritable)?;
        let status = self.client.send(request).await?.status;
        if status.is_success() { Ok(()) } else { Err(NotTaken::Status(status)) }
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Some addresses are secrets.
        f.debug_struct("Webhook").field("link", &self.link).finish_non_exhaustive()
    }
}

/// Why something counts as not delivered. It does not say to where.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// The receiver did not say yes.
    #[error("the answer was {0}")]
    Status(StatusCode),
    /// It could not be reached, or did not answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// There is no such request.
    #[error("the request cannot be written")]
    Unwritable,
}

/// What a receiver may take, of time and of memory.
const LIMITS: FetchLimits = FetchLimits {
    connect: Duration::from_secs(5),
    answer: Duration::from_secs(10),
    silence: Duration::from_secs(5),
    whole: Duration::from_secs(5),
    answer_bytes: 64 * 1024,
    event_bytes: 1024,
    stream_silence: Some(Duration::from_secs(1)),
};

/// How long is waited before each further attempt: six in all, over six minutes.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(16),
    Duration::from_secs(64),
    Duration::from_secs(256),
];

#[cfg(test)]
mod tests;
