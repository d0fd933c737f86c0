//! What a server answers to a request without a token: the challenge that says who gives one, and for what.
//!
//! The OAuth library looks for it with GET, which a server of MCP need not know. So a real request is made:
//! `server/discover`, which leaves nothing behind at any server, whatever revision it speaks.
//!
//! INVARIANT: it goes to the operator's own address and carries nothing that anybody gave us.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use rmcp::transport::auth::WWWAuthenticateParams;
use serde_json::json;
use url::Url;

use crate::era::{Era, MODERN_VERSION};
use crate::mirror;
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{FetchLimits, HttpClient};

/// The challenge of the server at this address. `None` where it makes none, or is silent: then there are
/// other ways to find its authorization server, and they say what is wrong.
pub(super) async fn challenge(server: &Url) -> Option<String> {
    let client = HttpClient::new(LIMITS);
    let answer = client.send(question(server)?).await.ok()?;
    (answer.status == StatusCode::UNAUTHORIZED).then(|| best(server, &answer.headers)).flatten()
}

fn question(server: &Url) -> Option<Request<Parts>> {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {"_meta": Era::own_meta()},
    });
    let mut request = Request::new(Parts::from_iter([Bytes::from(message.to_string())]));
    *request.method_mut() = http::Method::POST;
    *request.uri_mut() = server.as_str().parse().ok()?;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(mirror::PROTOCOL_VERSION, HeaderValue::from_static(MODERN_VERSION));
    headers.insert(mirror::METHOD, HeaderValue::from_static(METHOD));
    Some(request)
}

/// Of several challenges the one that says most.
fn best(server: &Url, headers: &HeaderMap) -> Option<String> {
    let challenges = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let worth = |challenge: &&str| {
        let said = WWWAuthenticateParams::parse(challenge, server);
        (said.resource_metadata_url.is_some(), said.scope.is_some())
    };
    // `max_by_key` takes the last of equals; the server's own order says the first.
    challenges.rev().max_by_key(worth).map(str::to_owned)
}

const METHOD: &str = "server/discover";

/// Only the head of the answer is of use.
const LIMITS: FetchLimits = FetchLimits {
    connect: Duration::from_secs(10),
    answer: Duration::from_secs(20),
    silence: Duration::from_secs(10),
    whole: Duration::from_secs(20),
    answer_bytes: 256 * 1024,
    event_bytes: 256 * 1024,
    stream_silence: Some(Duration::from_secs(10)),
};

#[cfg(test)]
mod tests;
