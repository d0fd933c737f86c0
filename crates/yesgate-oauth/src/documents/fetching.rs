//! Fetches one document: one request, one answer, and nothing that it leads to.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AGE, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderName, USER_AGENT};
use http::{Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tokio::time::timeout;
use yesgate_http::fetch::error::{FetchError, NotSentReason};
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{Answer, AnswerBody, FetchLimits, HttpClient};

use super::address::DocumentUrl;
use super::document;
use super::fault::DocumentFault;
use super::kept::Known;
use crate::redirect::RedirectPolicy;

/// Fetches a document and reads it.
pub(super) async fn fetch(
    client: &HttpClient,
    url: &DocumentUrl,
    redirects: &RedirectPolicy,
    now: Timestamp,
) -> Result<Known, DocumentFault> {
    let request = Request::get(url.as_str())
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "yesgate")
        // The next one looks the name up anew, and does not meet a connection that was closed meanwhile.
        .header(CONNECTION, "close")
        .body(Parts::default())
        .map_err(|_| DocumentFault::Address)?;
    let answer = match timeout(IN_ALL, client.send(request)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            tracing::debug!(host = url.host(), %error, "a client's document could not be fetched");
            return Err(fault_of(error));
        }
        Err(_) => return Err(DocumentFault::TooSlow),
    };
    let (good_for, text) = judge(answer)?;
    let client = document::read(url.as_str(), &text, redirects, now)?;
    Ok(Known::new(client, good_for, now))
}

/// O-C1: what is taken is status 200 with `application/json`.
fn judge(answer: Answer) -> Result<(SignedDuration, Bytes), DocumentFault> {
    if answer.status != StatusCode::OK {
        return Err(DocumentFault::Status(answer.status.as_u16()));
    }
    let kind = text(&answer.headers, &CONTENT_TYPE).split(';').next().unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(DocumentFault::ContentType);
    }
    match answer.body {
        AnswerBody::Whole(text) => Ok((good_for(&answer.headers), text)),
        AnswerBody::Events(_) => Err(DocumentFault::ContentType),
    }
}

/// For how long an answer is good by its own word (RFC 9111 §4.2); one that says nothing is good for now.
fn good_for(headers: &HeaderMap) -> SignedDuration {
    let mut longest = None;
    for line in headers.get_all(CACHE_CONTROL) {
        for directive in line.to_str().unwrap_or("no-store").split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" | "no-cache" => return SignedDuration::ZERO,
                "max-age" => {
                    let seconds = value.trim().trim_matches('"').parse::<u32>().unwrap_or(0);
                    // RFC 9111 §4.2.1: of several the shortest.
                    longest = Some(longest.map_or(seconds, |longest: u32| longest.min(seconds)));
                }
                _ => {}
            }
        }
    }
    let age = text(headers, &AGE).trim().parse::<u32>().unwrap_or(0);
    SignedDuration::from_secs(longest.unwrap_or(0).saturating_sub(age).into())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether a name exists inside our network is nobody's business: out of reach is as good as not there.
fn fault_of(error: FetchError) -> DocumentFault {
    match error {
        FetchError::TooLarge => DocumentFault::TooLarge,
        FetchError::TooSlow | FetchError::NotSent(NotSentReason::TooSlow) => DocumentFault::TooSlow,
        FetchError::NotSent(NotSentReason::Tls | NotSentReason::NoTrust) => DocumentFault::Tls,
        FetchError::NotSent(NotSentReason::Address) => DocumentFault::Address,
        FetchError::NotSent(
            NotSentReason::OutOfReach
            | NotSentReason::Refused
            | NotSentReason::Unreachable
            | NotSentReason::Closed,
        )
        | FetchError::Lost(_) => DocumentFault::Unreachable,
    }
}

/// O-C1: from the lookup of the name to the last byte.
const IN_ALL: Duration = Duration::from_secs(10);

/// O-C1: what a document's server may take.
pub(super) const LIMITS: FetchLimits = FetchLimits {
    connect: IN_ALL,
    answer: IN_ALL,
    silence: IN_ALL,
    whole: IN_ALL,
    answer_bytes: 5 * 1024,
    event_bytes: 1024,
    stream_silence: Some(Duration::from_secs(1)),
};
