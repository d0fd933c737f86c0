//! What an ID token must say to be about somebody who has just signed in for us (OpenID Connect Core 1.0 §3.1.3.7).

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use yesgate_core::person::MailAddress;

/// Who somebody is to a provider.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    /// What the provider calls them, for ever.
    pub subject: String,
    /// Their address, where the provider says that it verified it.
    pub mail: Option<MailAddress>,
}

/// Why a token that was really signed is not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ClaimError {
    /// It is another issuer's.
    #[error("it is from another issuer")]
    Issuer,
    /// It is for somebody else.
    #[error("it is for another client")]
    Audience,
    /// It is too old, or from the future.
    #[error("its time is over, or not yet come")]
    Time,
    /// It belongs to another sign-in.
    #[error("it belongs to another sign-in")]
    Nonce,
    /// It says of nobody who they are.
    #[error("it names nobody")]
    Subject,
}

impl Identity {
    /// Reads what a token says whose signature is good.
    pub(super) fn read(
        said: &Value,
        issuer: &str,
        client: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<Self, ClaimError> {
        let text = |name: &str| said.get(name).and_then(Value::as_str);
        if text("iss") != Some(issuer) {
            return Err(ClaimError::Issuer);
        }
        is_for(said, client)?;
        let seconds = |name: &str| said.get(name).and_then(Value::as_i64).ok_or(ClaimError::Time);
        let (expires, issued) = (seconds("exp")?, seconds("iat")?);
        let (now, skew) = (now.as_second(), SKEW.as_secs());
        if now >= expires.saturating_add(skew) || issued > now.saturating_add(skew) {
            return Err(ClaimError::Time);
        }
        if text("nonce") != Some(nonce) {
            return Err(ClaimError::Nonce);
        }
        let subject = text("sub").filter(|subject| !subject.is_empty() && subject.len() <= LONGEST_SUBJECT);
        let is_verified = match said.get("email_verified") {
            Some(Value::Bool(verified)) => *verified,
            // Some providers write it so.
            Some(Value::String(word)) => word == "true",
            Some(Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_)) | None => false,
        };
        let mail = text("email").filter(|_| is_verified).and_then(|mail| mail.parse().ok());
        Ok(Self { subject: subject.ok_or(ClaimError::Subject)?.to_owned(), mail })
    }
}

/// Whether a token is for us: we are whom it is for, and where it is for others too, whom it was given to.
fn is_for(said: &Value, client: &str) -> Result<(), ClaimError> {
    let party = said.get("azp");
    if party.is_some_and(|party| party.as_str() != Some(client)) {
        return Err(ClaimError::Audience);
    }
    let is_ours = match said.get("aud") {
        Some(Value::String(audience)) => audience == client,
        Some(Value::Array(audiences)) => {
            let names_us = audiences.iter().any(|audience| audience.as_str() == Some(client));
            names_us && (audiences.len() == 1 || party.is_some())
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    };
    if is_ours { Ok(()) } else { Err(ClaimError::Audience) }
}

/// How far clocks may be apart.
const SKEW: SignedDuration = SignedDuration::from_secs(60);
/// OpenID Connect Core 1.0 §2.
const LONGEST_SUBJECT: usize = 255;

#[cfg(test)]
mod tests;
