//! What can be seen from outside: single requests and their answers, with the cookies that a browser would keep.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{AnswerBody, FetchLimits, HttpClient};

use super::{Stepped, fault, text};

/// Somebody outside.
pub(super) struct Outside {
    client: HttpClient,
    origin: url::Origin,
    /// Whom it came to last is always the same host.
    cookies: Mutex<BTreeMap<String, String>>,
}

/// What was answered.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: u16,
    headers: HeaderMap,
    body: Bytes,
}

impl Outside {
    pub(super) fn new(endpoint: &Url) -> anyhow::Result<Self> {
        let limits = FetchLimits {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            whole: Duration::from_secs(20),
            ..FetchLimits::default()
        };
        let client = HttpClient::for_address(endpoint.as_str(), limits)?;
        Ok(Self { client, origin: endpoint.origin(), cookies: Mutex::default() })
    }

    pub(super) async fn get(&self, address: &str) -> Stepped<Said> {
        self.send("GET", address, &[], String::new()).await
    }

    pub(super) async fn form(&self, address: &str, fields: &[(&str, &str)]) -> Stepped<Said> {
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        let origin = self.origin.ascii_serialization();
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", origin.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        self.send("POST", address, &headers, body).await
    }

    /// A message of MCP, with a token or without one.
    pub(super) async fn call(
        &self,
        method: &str,
        address: &str,
        token: Option<&str>,
        message: &Value,
    ) -> Stepped<Said> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let rpc = text(message, "method").unwrap_or_default().to_owned();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", rpc.as_str()),
        ];
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let body = if method == "POST" { message.to_string() } else { String::new() };
        self.send(method, address, &headers, body).await
    }

    /// Opens an address as a browser does, and follows where it leads within the gateway.
    pub(super) async fn follow(&self, address: &str) -> Stepped<Said> {
        let mut address = address.to_owned();
        for _ in 0..MOST_REDIRECTS {
            let said = self.get(&address).await?;
            match said.one("location").and_then(|place| self.within(&address, place)) {
                Some(next) if (300..400).contains(&said.status) => address = next,
                Some(_) | None => return Ok(said),
            }
        }
        Err(fault(
            "the page leads on and on",
            "a proxy may rewrite addresses; `public_url` in [serve] must be what it serves",
        ))
    }

    /// An address of the gateway's that a page names; `None`: it is somebody else's.
    pub(super) fn within(&self, page: &str, place: &str) -> Option<String> {
        let place = Url::parse(page).ok()?.join(place).ok()?;
        (place.origin() == self.origin).then(|| place.into())
    }

    pub(super) async fn send(
        &self,
        method: &str,
        address: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Stepped<Said> {
        let mut request = Request::builder().method(method).uri(address);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(cookies) = self.kept_cookies() {
            request = request.header("cookie", cookies);
        }
        let request = request.body(Parts::from(Bytes::from(body))).map_err(|error| {
            fault(format!("{address} cannot be asked: {error}"), "is it an http or https address?")
        })?;
        let answer = self.client.send(request).await.map_err(|error| {
            fault(
                format!("{address} cannot be reached: {error}"),
                "is `yesgate serve` running, does the name lead to it, and is its certificate one that others trust?",
            )
        })?;
        let body = match answer.body {
            AnswerBody::Whole(body) => body,
            AnswerBody::Events(_) => Bytes::new(),
        };
        self.keep_cookies(&answer.headers);
        Ok(Said { status: answer.status.as_u16(), headers: answer.headers, body })
    }

    fn kept_cookies(&self) -> Option<String> {
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let pairs: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Some(pairs.join("; ")).filter(|pairs| !pairs.is_empty())
    }

    fn keep_cookies(&self, headers: &HeaderMap) {
        let mut cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let set = headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
        for (name, value) in set.filter_map(|cookie| cookie.split(';').next()?.split_once('=')) {
            if value.is_empty() {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

impl Said {
    /// The values of a header.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or_default()).collect()
    }

    /// The value of a header that is there.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether it is something for people.
    pub(super) fn is_page(&self) -> bool {
        self.one("content-type").is_some_and(|kind| kind.starts_with("text/html"))
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The word of OAuth for what went wrong; empty where there is none.
    pub(super) fn error(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        text(&body, "error").unwrap_or_default().to_owned()
    }

    /// What it says as JSON.
    pub(super) fn json(&self, what: &str) -> Stepped<Value> {
        self.json_of(200, what)
    }

    pub(super) fn json_of(&self, status: u16, what: &str) -> Stepped<Value> {
        let is_json = self.one("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        match serde_json::from_slice(&self.body) {
            Ok(value) if is_json && self.status == status => Ok(value),
            Ok(_) | Err(_) => Err(fault(
                format!("{what} is answered with {} and no JSON that could be read", self.status),
                "a proxy must send /.well-known/ and /api/mcp/oauth/ to the gateway, as they are",
            )),
        }
    }
}

const MOST_REDIRECTS: usize = 5;
