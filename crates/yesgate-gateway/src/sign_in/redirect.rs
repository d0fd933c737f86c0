//! What comes back from the authorization server through the person's browser.
//!
//! INVARIANT: a redirect counts only with the state of the sign-in that was begun; every other one, whoever
//! sends it, changes nothing.

use std::fmt;

use url::Url;

use super::error::SignInError;

/// What came back. The code in it is a secret until it is exchanged.
#[derive(Clone, Eq, PartialEq)]
pub struct Redirected {
    pub(super) state: String,
    pub(super) issuer: Option<String>,
    pub(super) answer: Answer,
}

/// What the authorization server decided.
#[derive(Clone, Eq, PartialEq)]
pub(super) enum Answer {
    Code(String),
    Error(String),
}

impl Redirected {
    /// Reads the address that the browser was sent to.
    ///
    /// # Errors
    /// When it is not one; a parameter that stands there twice (RFC 6749 §3.1) makes it none.
    pub fn parse(address: &str) -> Result<Self, SignInError> {
        let url = Url::parse(address.trim()).map_err(|_| SignInError::NotOurs)?;
        let one = |name: &str| {
            let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value);
            match (values.next(), values.next()) {
                (value, None) => Ok(value.map(std::borrow::Cow::into_owned)),
                (_, Some(_)) => Err(SignInError::NotOurs),
            }
        };
        let answer = match (one("code")?, one("error")?) {
            (Some(code), None) => Answer::Code(code),
            (None, Some(error)) => Answer::Error(match one("error_description")? {
                Some(words) => format!("{error} ({words})"),
                None => error,
            }),
            (Some(_), Some(_)) | (None, None) => return Err(SignInError::NotOurs),
        };
        Ok(Self { state: one("state")?.ok_or(SignInError::NotOurs)?, issuer: one("iss")?, answer })
    }
}

impl fmt::Debug for Redirected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redirected").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
