//! An authorization code, and what must fit for it to become tokens.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::client::OAuthClientId;
use super::resource::Resources;
use crate::id::ConnectionId;

/// The hash of what only the client knows (RFC 7636, `S256`): 43 letters.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Challenge(String);

impl Challenge {
    /// Reads one; `None`: it has another form.
    pub fn read(text: &str) -> Option<Self> {
        let fits = text.len() == 43
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        fits.then(|| Self(text.to_owned()))
    }

    /// Whether it is the same as another one. How long that takes says nothing.
    pub fn is(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

/// A code that waits to be exchanged.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// What it stands for. Its scopes and resources are those of the tokens.
    pub connection: ConnectionId,
    /// For whom.
    pub client: OAuthClientId,
    /// Where it was brought.
    pub redirect_uri: String,
    /// What the client must be able to prove.
    pub challenge: Challenge,
    /// Where the tokens are to be good.
    pub resources: Resources,
    /// Until when it counts.
    pub ends_at: Timestamp,
    /// When it was used up.
    pub used_at: Option<Timestamp>,
}

/// What a client brings to exchange a code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exchange {
    /// The client, who has proven itself.
    pub client: OAuthClientId,
    /// Where it says that the code was brought; OAuth 2.1 clients need not say.
    pub redirect_uri: Option<String>,
    /// The hash of the verifier that it sent.
    pub challenge: Challenge,
    /// Where it wants to use the tokens; empty: wherever the code is good.
    pub resources: Resources,
}

/// Why a code is not exchanged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CodeFault {
    /// It is not the client's. Nothing happens to the code.
    #[error("the code was not made for this client")]
    OtherClient,
    /// It came back. Everything that came of it is revoked.
    #[error("the code was used before")]
    Replayed,
    /// It is too old.
    #[error("the code is too old")]
    Old,
    /// It was brought elsewhere. Nothing happens to the code.
    #[error("the code was brought to another redirect_uri")]
    Redirect,
    /// The client wants to use it elsewhere. Nothing happens to the code.
    #[error("the code is for another resource")]
    Resource,
    /// The client cannot prove that it began. The code is used up.
    #[error("the code_verifier does not fit")]
    Verifier,
}

impl Code {
    /// Whether it may be exchanged.
    ///
    /// # Errors
    /// When something does not fit. What must come before what is part of the promise: a stranger who has a code can
    /// neither use it up nor have anything revoked.
    pub fn check(&self, exchange: &Exchange, now: Timestamp) -> Result<(), CodeFault> {
        if self.client != exchange.client {
            return Err(CodeFault::OtherClient);
        }
        if self.used_at.is_some() {
            return Err(CodeFault::Replayed);
        }
        if now >= self.ends_at {
            return Err(CodeFault::Old);
        }
        if exchange.redirect_uri.as_ref().is_some_and(|uri| *uri != self.redirect_uri) {
            return Err(CodeFault::Redirect);
        }
        if !self.resources.cover_all(&exchange.resources) {
            return Err(CodeFault::Resource);
        }
        if !self.challenge.is(&exchange.challenge) {
            return Err(CodeFault::Verifier);
        }
        Ok(())
    }
}
