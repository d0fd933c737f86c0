//! A client of the REST front for tests: a path, a body, and an answer that is read whole.

use http::HeaderMap;
use serde_json::Value;

use crate::web_host::{Draft, WebAnswer, WebHost};

/// A client of the REST front of one gateway.
#[derive(Debug)]
pub struct RestHost(WebHost);

/// An answer, read to its end.
#[derive(Debug)]
pub struct RestAnswer {
    /// The status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, where it is JSON; else null.
    pub body: Value,
    /// The body as it came.
    pub text: String,
}

impl RestHost {
    /// A client of the gateway at this origin.
    #[track_caller]
    pub fn new(url: &str) -> Self {
        Self(WebHost::new(url))
    }

    /// Shows this key with every request.
    #[must_use]
    pub fn bearer(self, key: &str) -> Self {
        Self(self.0.bearer(key))
    }

    /// Posts a JSON document.
    pub async fn post(&self, path: &str, body: Value) -> RestAnswer {
        RestAnswer::read(self.draft("POST", path).body(body.to_string()).send().await).await
    }

    /// Calls a tool.
    pub async fn call(&self, server: &str, tool: &str, arguments: Value) -> RestAnswer {
        self.post(&format!("/api/tools/{server}/{tool}"), arguments).await
    }

    /// Reads a path.
    pub async fn get(&self, path: &str) -> RestAnswer {
        RestAnswer::read(self.draft("GET", path).without("content-type").send().await).await
    }

    /// A request with a JSON content type that is ready to be sent, or to be broken first.
    #[track_caller]
    pub fn draft(&self, method: &str, path: &str) -> Draft<'_> {
        self.0.raw("").method(method).path(path).without("mcp-protocol-version").without("accept")
    }
}

impl RestAnswer {
    /// Waits for all of it.
    pub async fn read(mut answer: WebAnswer) -> Self {
        let text = String::from_utf8_lossy(&answer.rest().await).into_owned();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Self { status: answer.status(), headers: answer.headers().clone(), body, text }
    }

    /// The header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// A text member of the body.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn text_of(&self, key: &str) -> String {
        let text = self.body[key].as_str();
        text.unwrap_or_else(|| panic!("no `{key}` in {} {}", self.status, self.text)).to_owned()
    }
}
