//! A sign-in as the credentials of a server: what a request carries, and what a refusal leads to.

use http::{HeaderValue, StatusCode};

use super::{SignIn, SignInError};
use crate::talk::Boxed;
use crate::upstream::web::{Credentials, Recourse};

impl Credentials for SignIn {
    fn authorization(&self) -> Boxed<'_, Result<HeaderValue, String>> {
        Box::pin(async { self.bearer().await.map_err(|error| self.explain(&error)) })
    }

    fn rejected<'a>(
        &'a self,
        used: &'a HeaderValue,
        status: StatusCode,
        challenge: Option<&'a HeaderValue>,
    ) -> Boxed<'a, Recourse> {
        Box::pin(async move {
            let error = match Self::rejected(self, used, status, challenge).await {
                Ok(()) => return Recourse::Again,
                Err(error) => error,
            };
            let why = self.explain(&error);
            tracing::warn!(server.name = %self.server(), "a server does not take our sign-in: {why}");
            match error {
                SignInError::Forbidden => Recourse::Answer,
                SignInError::NeedsPerson(_)
                | SignInError::TokenRefused
                | SignInError::Unreachable(_)
                | SignInError::Unacceptable(_)
                | SignInError::Denied(_)
                | SignInError::NotOurs
                | SignInError::Settings(_)
                | SignInError::Sealed
                | SignInError::Key(_)
                | SignInError::Ledger(_)
                | SignInError::Ourselves(_) => Recourse::None(why),
            }
        })
    }
}

impl SignIn {
    /// What a caller may be told, and what the operator can do.
    fn explain(&self, error: &SignInError) -> String {
        match error.hint(self.server()) {
            Some(hint) => format!("{}; {hint}", error.public_reason()),
            None => error.public_reason().to_owned(),
        }
    }
}
