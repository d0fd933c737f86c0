//! What is wrong with a client's request, in the protocol's words.
//!
//! INVARIANT: nothing that a client sent, and nothing of our insides, stands in what it is told.

use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::json;
use yesgate_core::clock::EntropyError;
use yesgate_http::edge::body::Body;
use yesgate_ledger::LedgerError;

use crate::answer;
use crate::endpoints::UnknownResource;

/// Why a client does not get what it wants.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Fault {
    word: Word,
    says: String,
    status: StatusCode,
    challenge: Option<&'static str>,
    after: Option<u32>,
}

/// The protocol's words for what is wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Word {
    /// RFC 6749 §5.2.
    InvalidRequest,
    /// The client is unknown, was ended, or did not prove itself.
    InvalidClient,
    /// The code or token does not count.
    InvalidGrant,
    /// The client may not get tokens in this way.
    UnauthorizedClient,
    /// Nobody gets tokens in this way.
    UnsupportedGrantType,
    /// No scope that there is.
    InvalidScope,
    /// RFC 8707 §2.
    InvalidTarget,
    /// RFC 6750 §3.1.
    InvalidToken,
    /// RFC 7591 §3.2.2.
    InvalidRedirectUri,
    /// RFC 7591 §3.2.2.
    InvalidClientMetadata,
    /// RFC 8628 §3.5.
    AuthorizationPending,
    /// RFC 8628 §3.5, and for whoever comes too often.
    SlowDown,
    /// RFC 8628 §3.5.
    AccessDenied,
    /// RFC 8628 §3.5.
    ExpiredToken,
    /// Not now.
    TemporarilyUnavailable,
    /// There is nothing at that address.
    NotFound,
    /// RFC 6749 §4.1.2.1.
    UnsupportedResponseType,
    /// OpenID Connect Core §3.1.2.6.
    LoginRequired,
    /// OpenID Connect Core §3.1.2.6.
    ConsentRequired,
    /// OpenID Connect Core §3.1.2.6.
    RequestNotSupported,
    /// OpenID Connect Core §3.1.2.6.
    RequestUriNotSupported,
}

impl Fault {
    /// What this word says, in a sentence.
    pub(crate) fn new(word: Word, says: impl Into<String>) -> Self {
        Self { word, says: says.into(), status: word.status(), challenge: None, after: None }
    }

    /// The body has too many bytes.
    pub(crate) fn too_long() -> Self {
        let fault = Self::new(Word::InvalidRequest, "the body is too long");
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, ..fault }
    }

    /// O-S8: too many requests; the seconds after which to come back.
    pub(crate) fn too_often(after: u32) -> Self {
        let fault = Self::new(Word::SlowDown, "too many requests, try again later");
        Self { status: StatusCode::TOO_MANY_REQUESTS, after: Some(after), ..fault }
    }

    /// O-R6: so many have registered, and about all of them somebody may be deciding right now.
    pub(crate) fn too_many() -> Self {
        let fault = Self::new(Word::SlowDown, "too many clients wait to be let in, try again later");
        Self { status: StatusCode::TOO_MANY_REQUESTS, after: Some(FULL_SECS), ..fault }
    }

    /// There is no room for one more.
    pub(crate) fn no_room() -> Self {
        let fault = Self::new(Word::TemporarilyUnavailable, "too many others wait, try again later");
        Self { after: Some(FULL_SECS), ..fault }
    }

    /// The endpoint is not used in this way.
    pub(crate) fn not_allowed() -> Self {
        let fault = Self::new(Word::InvalidRequest, "this endpoint is not used with this method");
        Self { status: StatusCode::METHOD_NOT_ALLOWED, ..fault }
    }

    /// Nobody may do this here.
    pub(crate) fn forbidden(says: &'static str) -> Self {
        Self { status: StatusCode::FORBIDDEN, ..Self::new(Word::AccessDenied, says) }
    }

    /// The same, with what would let somebody in.
    #[must_use]
    pub(crate) const fn with_challenge(mut self, challenge: &'static str) -> Self {
        self.challenge = Some(challenge);
        self
    }

    /// The protocol's word.
    pub(crate) const fn word(&self) -> Word {
        self.word
    }

    /// The sentence.
    pub(crate) fn says(&self) -> &str {
        &self.says
    }

    /// As it goes to the client.
    pub(crate) fn response(&self) -> http::Response<Body> {
        let body = json!({ "error": self.word.as_str(), "error_description": self.says });
        let mut response = answer::json(self.status, &body);
        let headers = response.headers_mut();
        if let Some(challenge) = self.challenge {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(after) = self.after {
            headers.insert(RETRY_AFTER, after.into());
        }
        response
    }
}

impl Word {
    /// As it is written.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::InvalidToken => "invalid_token",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::AccessDenied => "access_denied",
            Self::ExpiredToken => "expired_token",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::NotFound => "not_found",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::LoginRequired => "login_required",
            Self::ConsentRequired => "consent_required",
            Self::RequestNotSupported => "request_not_supported",
            Self::RequestUriNotSupported => "request_uri_not_supported",
        }
    }

    const fn status(self) -> StatusCode {
        match self {
            Self::InvalidClient | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::InvalidRequest
            | Self::InvalidGrant
            | Self::UnauthorizedClient
            | Self::UnsupportedGrantType
            | Self::InvalidScope
            | Self::InvalidTarget
            | Self::InvalidRedirectUri
            | Self::InvalidClientMetadata
            | Self::AuthorizationPending
            | Self::SlowDown
            | Self::AccessDenied
            | Self::ExpiredToken
            | Self::UnsupportedResponseType
            | Self::LoginRequired
            | Self::ConsentRequired
            | Self::RequestNotSupported
            | Self::RequestUriNotSupported => StatusCode::BAD_REQUEST,
        }
    }
}

impl From<LedgerError> for Fault {
    fn from(error: LedgerError) -> Self {
        tracing::warn!(%error, "a client could not be answered");
        let fault = Self::new(Word::TemporarilyUnavailable, "this cannot be done now, try again later");
        Self { after: Some(TROUBLE_SECS), ..fault }
    }
}

impl From<EntropyError> for Fault {
    fn from(error: EntropyError) -> Self {
        tracing::error!(%error, "a client could not be answered");
        Self::new(Word::TemporarilyUnavailable, "this cannot be done now, try again later")
    }
}

impl From<UnknownResource> for Fault {
    fn from(unknown: UnknownResource) -> Self {
        Self::new(Word::InvalidTarget, unknown.to_string())
    }
}

const FULL_SECS: u32 = 60;
const TROUBLE_SECS: u32 = 5;
