//! What is kept of one sign-in: the client that we are there, what was granted, and what is still wanted.

use std::collections::BTreeSet;
use std::fmt;

use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use oauth2::TokenResponse as _;
use oauth2::basic::BasicTokenType;
use rmcp::transport::auth::StoredCredentials;
use serde::{Deserialize, Serialize};

/// What is kept of one sign-in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) client: Client,
    pub(super) credentials: StoredCredentials,
    /// Scopes that the server asked for and that were not granted yet.
    #[serde(default)]
    pub(super) wanted: BTreeSet<String>,
}

/// Who we are at the authorization server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    /// Only a secret that the authorization server gave us by itself; the operator's is never kept.
    pub(super) secret: Option<String>,
    pub(super) redirect: String,
}

/// A token that can be used now.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) header: HeaderValue,
    /// From here on it is renewed, although it still holds for a little.
    pub(super) renew_at: Option<Timestamp>,
    pub(super) ends_at: Option<Timestamp>,
}

/// What was granted, in words that may be shown.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SignedIn {
    /// Who granted it; an old server may not say.
    pub issuer: Option<String>,
    /// What was granted.
    pub scopes: Vec<String>,
    /// When the present token ends, where that is known.
    pub ends_at: Option<Timestamp>,
    /// Whether the gateway can renew it without a person.
    pub renews: bool,
    /// What the server wants besides.
    pub wanted: Vec<String>,
}

impl Record {
    pub(super) fn issuer(&self) -> Option<&str> {
        self.credentials.issuer.as_deref()
    }

    /// The token, whether it still holds or not; `None` where there is none that a header can carry.
    pub(super) fn token(&self) -> Option<Live> {
        let tokens = self.credentials.token_response.as_ref()?;
        let secret = tokens.access_token().secret();
        if *tokens.token_type() != BasicTokenType::Bearer || secret.len() > LONGEST_TOKEN {
            return None;
        }
        let mut header = HeaderValue::try_from(format!("Bearer {secret}")).ok()?;
        header.set_sensitive(true);
        let ends_at = self.ends_at();
        let renew_at = ends_at.zip(tokens.expires_in()).map(|(end, lifetime)| {
            let margin = MARGIN.min(lifetime / 5);
            let margin = SignedDuration::try_from(margin).unwrap_or(SignedDuration::ZERO);
            end.checked_sub(margin).unwrap_or(end)
        });
        Some(Live { header, renew_at, ends_at })
    }

    fn ends_at(&self) -> Option<Timestamp> {
        let lifetime = self.credentials.token_response.as_ref()?.expires_in()?;
        let from = Timestamp::from_second(i64::try_from(self.credentials.token_received_at?).ok()?).ok()?;
        Some(from.checked_add(SignedDuration::try_from(lifetime).ok()?).unwrap_or(Timestamp::MAX))
    }

    /// Whether the authorization server gave us the means to renew the token.
    pub(super) fn renews(&self) -> bool {
        let tokens = self.credentials.token_response.as_ref();
        tokens.is_some_and(|tokens| tokens.refresh_token().is_some())
    }

    /// What may be shown of it; `None` where nobody is signed in any more.
    pub(super) fn signed_in(&self) -> Option<SignedIn> {
        self.credentials.token_response.as_ref()?;
        Some(SignedIn {
            issuer: self.credentials.issuer.clone(),
            scopes: self.credentials.granted_scopes.clone(),
            ends_at: self.ends_at(),
            renews: self.renews(),
            wanted: self.wanted.iter().cloned().collect(),
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = self.secret.as_ref().map(|_| "[REDACTED]");
        f.debug_struct("Client").field("id", &self.id).field("secret", &secret).finish_non_exhaustive()
    }
}

impl Live {
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.renew_at.is_some_and(|at| now >= at)
    }

    pub(super) fn has_ended(&self, now: Timestamp) -> bool {
        self.ends_at.is_some_and(|at| now >= at)
    }
}

/// The scopes that a challenge names, as far as they can be scopes (RFC 6749 §3.3).
pub(super) fn scopes_of(text: &str) -> BTreeSet<String> {
    let is_scope = |word: &&str| {
        word.len() <= 128 && word.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
    };
    text.split_ascii_whitespace().filter(is_scope).take(MOST_SCOPES).map(str::to_owned).collect()
}

/// How long before its end a token is renewed, if it lives long enough for that.
const MARGIN: std::time::Duration = std::time::Duration::from_secs(60);
/// More than any honest token has, and less than most servers accept as a header.
const LONGEST_TOKEN: usize = 16 * 1024;
/// A server that wants more scopes than these at once wants to fill our disk.
pub(super) const MOST_SCOPES: usize = 64;
