//! A request that has not left yet, and can still be spoilt.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

use super::answer::{self, WebAnswer};
use super::{WebHost, header_name, header_value};

/// A request, ready to be sent.
#[derive(Debug)]
#[must_use = "a draft that is not sent is nothing"]
pub struct Draft<'a> {
    host: &'a WebHost,
    method: Method,
    endpoint: Uri,
    headers: HeaderMap,
    body: Bytes,
    /// The id under which an answer is waited for.
    id: Option<Value>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(host: &'a WebHost, method: Method, headers: HeaderMap) -> Self {
        Self { host, method, endpoint: host.endpoint.clone(), headers, body: Bytes::new(), id: None }
    }

    /// Takes another HTTP method.
    ///
    /// # Panics
    /// When it is none.
    #[track_caller]
    pub fn method(mut self, method: &str) -> Self {
        self.method = method.parse().expect("a method");
        self
    }

    /// Sets a header, in place of any of that name.
    #[track_caller]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(header_name(name), header_value(value));
        self
    }

    /// Adds a header beside others of that name.
    #[track_caller]
    pub fn and_header(mut self, name: &str, value: &str) -> Self {
        self.headers.append(header_name(name), header_value(value));
        self
    }

    /// Leaves a header out.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Replaces the body, word for word; the headers stay.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Replaces some words of the body.
    ///
    /// # Panics
    /// When the body does not have them.
    #[track_caller]
    pub fn replace(self, words: &str, others: &str) -> Self {
        let body = String::from_utf8_lossy(&self.body).into_owned();
        assert!(body.contains(words), "`{words}` is not in {body}");
        self.body(body.replace(words, others))
    }

    /// Adds a key to `params._meta`, such as a `progressToken`.
    ///
    /// # Panics
    /// When the body is no message any more.
    #[track_caller]
    pub fn meta(self, key: &str, value: Value) -> Self {
        let mut message: Value = serde_json::from_slice(&self.body).expect("a draft is a message");
        message["params"]["_meta"][key] = value;
        self.body(message.to_string())
    }

    /// Sends it to another path of the same server.
    ///
    /// # Panics
    /// When it is no path.
    #[track_caller]
    pub fn path(mut self, path: &str) -> Self {
        let mut parts = self.endpoint.into_parts();
        parts.path_and_query = Some(path.parse().expect("a path"));
        self.endpoint = Uri::from_parts(parts).expect("a URL with another path is one");
        self
    }

    /// Waits for an answer under this id.
    pub fn answering(mut self, id: Value) -> Self {
        self.id = Some(id);
        self
    }

    /// Sends it, and waits until the answer begins.
    ///
    /// # Panics
    /// When it does not begin in time, or the connection breaks.
    pub async fn send(self) -> WebAnswer {
        match self.try_send().await {
            Ok(answer) => answer,
            Err(problem) => panic!("{problem}"),
        }
    }

    /// Sends it, and waits until the answer begins.
    ///
    /// # Errors
    /// When the connection breaks: what happened, and what was sent.
    ///
    /// # Panics
    /// When the answer does not begin in time.
    pub async fn try_send(self) -> Result<WebAnswer, String> {
        let wire = self.to_string();
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.endpoint;
        *request.headers_mut() = self.headers;
        let sent = answer::within("the head of an answer", &wire, self.host.client.request(request)).await;
        match sent {
            Ok(response) => Ok(WebAnswer::new(response, self.id, wire)),
            Err(error) => Err(format!("no answer: {error:?}\n{wire}")),
        }
    }

    /// Sends it, and reads the answer to its end: the status, and the message that answers.
    ///
    /// # Errors
    /// When there is none in time, or none that can be read: a client in bad weather goes on.
    pub async fn attempt(self, longest: Duration) -> Result<(u16, Value), String> {
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = self.endpoint;
        *request.headers_mut() = self.headers;
        let exchange = async {
            let answer = self.host.client.request(request).await.map_err(|error| error.to_string())?;
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
            Ok((status, body.to_bytes()))
        };
        let exchange: Result<Result<_, String>, _> = tokio::time::timeout(longest, exchange).await;
        let (status, body) = exchange.map_err(|_| "no answer in time")??;
        let text = String::from_utf8_lossy(&body);
        // The body is the message, or each event is one.
        let lines = std::iter::once(text.as_ref())
            .chain(text.lines().filter_map(|line| line.strip_prefix("data:").map(str::trim_start)));
        let mut messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_it = |message: &Value| self.id.is_none() || message.get("id") == self.id.as_ref();
        messages.rfind(is_it).map(|message| (status, message)).ok_or_else(|| text.into_owned())
    }
}

impl std::fmt::Display for Draft<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "> {} {}", self.method, self.endpoint)?;
        for (name, value) in &self.headers {
            writeln!(f, "> {name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        writeln!(f, "> {}", answer::shortened(&self.body))
    }
}

/// A name as a header carries it: as it is where it can be, else in base64.
pub(super) fn mirrored(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && name.trim() == name
        && !name.starts_with("=?base64?");
    if is_plain { name.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(name)) }
}
