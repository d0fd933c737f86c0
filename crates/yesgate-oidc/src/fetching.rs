//! Fetches documents of an issuer.
//!
//! INVARIANT: an address that a document names is fetched over TLS, or on this machine where the operator wrote an issuer
//! that is on it.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Request, StatusCode};
use yesgate_core::policy::{HttpUrl, Scheme};
use yesgate_http::fetch::error::FetchError;
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{Answer, AnswerBody, FetchLimits, HttpClient};

/// Why a document could not be had.
#[derive(Debug, thiserror::Error)]
pub enum FetchFault {
    /// There was no answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The answer was no.
    #[error("the answer was {0}")]
    Status(StatusCode),
    /// The address is none that may be fetched.
    #[error("it names an address that may not be fetched")]
    Address,
    /// What came is not what should have come.
    #[error("what came cannot be read")]
    Unreadable,
}

/// Fetches a document.
pub(crate) async fn get(client: &HttpClient, url: &HttpUrl) -> Result<Bytes, FetchFault> {
    let request = Request::get(url.as_str())
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "yesgate")
        .body(Parts::default())
        .map_err(|_| FetchFault::Address)?;
    whole(client.send(request).await?)
}

/// All of an answer that is a yes.
pub(crate) fn whole(answer: Answer) -> Result<Bytes, FetchFault> {
    match (answer.status, answer.body) {
        (StatusCode::OK, AnswerBody::Whole(body)) => Ok(body),
        (StatusCode::OK, AnswerBody::Events(_)) => Err(FetchFault::Unreadable),
        (status, _) => Err(FetchFault::Status(status)),
    }
}

/// An address in a document of an issuer, where it may be fetched.
pub(crate) fn address(text: &str, issuer: &HttpUrl) -> Result<HttpUrl, FetchFault> {
    let url: HttpUrl = text.parse().map_err(|_| FetchFault::Address)?;
    let is_local = |url: &HttpUrl| url.origin().authority().is_loopback();
    match url.origin().scheme() {
        Scheme::Https => Ok(url),
        Scheme::Http if is_local(&url) && is_local(issuer) => Ok(url),
        Scheme::Http => Err(FetchFault::Address),
    }
}

/// What an issuer may take, of time and of memory.
pub(crate) const LIMITS: FetchLimits = FetchLimits {
    connect: Duration::from_secs(5),
    answer: Duration::from_secs(10),
    silence: Duration::from_secs(5),
    whole: Duration::from_secs(10),
    answer_bytes: 256 * 1024,
    event_bytes: 1024,
    stream_silence: Some(Duration::from_secs(1)),
};
