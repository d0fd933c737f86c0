//! A sign-in as the credentials of a server: what a request carries, and what a refusal leads to.

use http::{HeaderValue, StatusCode};

use super::SignIn;
use crate::talk::Boxed;
use crate::upstream::web::Credentials;

impl Credentials for SignIn {
    fn authorization(&self) -> Boxed<'_, Result<HeaderValue, String>> {
        Box::pin(async {
            self.bearer().await.map_err(|error| match error.hint(self.server()) {
                Some(hint) => format!("{}; {hint}", error.public_reason()),
                None => error.public_reason().to_owned(),
            })
        })
    }

    fn rejected<'a>(
        &'a self,
        used: &'a HeaderValue,
        status: StatusCode,
        challenge: Option<&'a HeaderValue>,
    ) -> Boxed<'a, bool> {
        Box::pin(async move {
            match Self::rejected(self, used, status, challenge).await {
                Ok(()) => true,
                Err(error) => {
                    tracing::warn!(server.name = %self.server(), "a server does not take our sign-in: {}", error.public_reason());
                    false
                }
            }
        })
    }
}
