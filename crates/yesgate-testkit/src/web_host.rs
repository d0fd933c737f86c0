//! An MCP client over Streamable HTTP for tests, in either era, without any SDK in between.
//!
//! What it sends is right unless a test breaks it: [`WebHost::draft`] gives a request that is ready to go,
//! and every header and byte of it can be changed before [`Draft::send`]. Everything has a deadline, and
//! whatever fails shows what went over the wire.

mod answer;
mod draft;

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

pub use self::answer::{WebAnswer, WebEvent};
pub use self::draft::Draft;
use crate::mock_server::protocol::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LEGACY_VERSION, MODERN_VERSION, PROTOCOL_VERSION,
};

/// A client of one endpoint. It speaks the modern era until [`Self::initialize`].
#[derive(Debug)]
pub struct WebHost {
    endpoint: Uri,
    client: Client<HttpConnector, Full<Bytes>>,
    /// What every request carries besides its era's own.
    headers: HeaderMap,
    name: String,
    capabilities: Value,
    session: Option<Session>,
    last_id: AtomicU64,
}

/// A session of the old era.
#[derive(Clone, Debug)]
struct Session {
    id: Option<HeaderValue>,
    version: HeaderValue,
}

impl WebHost {
    /// A client of the endpoint at this URL.
    ///
    /// # Panics
    /// When it is no URL.
    #[track_caller]
    pub fn new(url: impl AsRef<str>) -> Self {
        let url = url.as_ref();
        Self {
            endpoint: url.parse().unwrap_or_else(|error| panic!("no URL ({error}): {url}")),
            client: Client::builder(TokioExecutor::new()).build(HttpConnector::new()),
            headers: HeaderMap::new(),
            name: "testkit".into(),
            capabilities: json!({}),
            session: None,
            last_id: AtomicU64::new(0),
        }
    }

    /// Shows this key with every request.
    #[must_use]
    pub fn bearer(self, key: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {key}"))
    }

    /// Carries this header with every request.
    ///
    /// # Panics
    /// When it is no header.
    #[must_use]
    #[track_caller]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(header_name(name), header_value(value));
        self
    }

    /// Gives the client another name than `testkit`.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Gives the client capabilities, such as `{"elicitation": {}}`.
    #[must_use]
    pub fn capable(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Opens a session of the old era, `notifications/initialized` included, and speaks in it from here on;
    /// gives back the answer to `initialize`.
    ///
    /// # Panics
    /// When the server does not open one.
    pub async fn initialize(&mut self) -> Value {
        self.initialize_as(LEGACY_VERSION).await
    }

    /// The same, asking for this revision.
    ///
    /// # Panics
    /// When the server does not open a session.
    pub async fn initialize_as(&mut self, version: &str) -> Value {
        // Whatever was before: this request belongs to no session.
        self.session = Some(Session { id: None, version: header_value(version) });
        let params = json!({
            "protocolVersion": version, "capabilities": self.capabilities, "clientInfo": self.info(),
        });
        let mut answer = self.draft("initialize", params).without("mcp-protocol-version").send().await;
        let message = answer.answer().await;
        let agreed = message.pointer("/result/protocolVersion").and_then(Value::as_str);
        let agreed = agreed.unwrap_or_else(|| panic!("no session: {message:#}\n{}", answer.wire()));
        let id = answer.headers().get("mcp-session-id").cloned();
        self.session = Some(Session { id, version: header_value(agreed) });
        let status = self.notify("notifications/initialized", json!({})).await;
        assert_eq!(status, 202, "`notifications/initialized` is not taken\n{}", answer.wire());
        message
    }

    /// The id of the session, if there is one.
    pub fn session_id(&self) -> Option<&str> {
        self.session.as_ref().and_then(|session| session.id.as_ref()).and_then(|id| id.to_str().ok())
    }

    /// Asks a modern server what it is.
    pub async fn discover(&self) -> Value {
        self.request("server/discover", json!({})).await
    }

    /// Calls a tool, and waits for the answer: the whole message.
    pub async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.draft_call(tool, arguments).send().await.answer().await
    }

    /// Makes a request, and waits for the answer: the whole message.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        self.draft(method, params).send().await.answer().await
    }

    /// All tools, page by page.
    ///
    /// # Panics
    /// When the answer is no list.
    pub async fn list_tools(&self) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let answer = self.request("tools/list", params.clone()).await;
            let page = answer.pointer("/result/tools").and_then(Value::as_array);
            tools.extend(page.unwrap_or_else(|| panic!("no list of tools: {answer:#}")).iter().cloned());
            match answer.pointer("/result/nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => return tools,
            }
        }
    }

    /// Tells the server something; gives back the status.
    pub async fn notify(&self, method: &str, params: Value) -> u16 {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": self.in_era(params)});
        self.raw(message.to_string()).header("mcp-method", method).send().await.status()
    }

    /// Answers a request of the server; gives back the status.
    pub async fn respond(&self, id: &Value, result: Value) -> u16 {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.raw(message.to_string()).send().await.status()
    }

    /// Opens the stream on which a session hears what belongs to no request.
    pub async fn listen(&self) -> WebAnswer {
        self.get().send().await
    }

    /// Ends the session; gives back the status.
    pub async fn leave(&self) -> u16 {
        self.empty(Method::DELETE).send().await.status()
    }

    /// A call of a tool that is ready to be sent, or to be broken first.
    pub fn draft_call(&self, tool: &str, arguments: Value) -> Draft<'_> {
        self.draft("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// A request that is ready to be sent, or to be broken first.
    pub fn draft(&self, method: &str, params: Value) -> Draft<'_> {
        self.draft_as(self.draw_id(), method, params)
    }

    /// An id that no request of this client has had.
    pub(crate) fn draw_id(&self) -> Value {
        json!(self.last_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The same as [`Self::draft`] under an id that was drawn before.
    pub(crate) fn draft_as(&self, id: Value, method: &str, params: Value) -> Draft<'_> {
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            "tasks/get" | "tasks/update" | "tasks/cancel" => params["taskId"].as_str(),
            _ => None,
        };
        let mirrored = name.map(draft::mirrored);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": self.in_era(params)});
        let mut draft = self.raw(message.to_string()).answering(id);
        if self.session.is_none() {
            draft = draft.header("mcp-method", method);
            if let Some(name) = mirrored {
                draft = draft.header("mcp-name", &name);
            }
        }
        draft
    }

    /// A message word for word, with the headers that do not depend on it.
    pub fn raw(&self, body: impl Into<Bytes>) -> Draft<'_> {
        let draft = self
            .empty(Method::POST)
            .header(CONTENT_TYPE.as_str(), "application/json")
            .header(ACCEPT.as_str(), "application/json, text/event-stream");
        draft.body(body)
    }

    /// The request that opens the stream of a session.
    pub fn get(&self) -> Draft<'_> {
        self.empty(Method::GET).header(ACCEPT.as_str(), "text/event-stream")
    }

    /// What a modern request of this client carries in `_meta`.
    pub fn modern_meta(&self) -> Value {
        json!({
            PROTOCOL_VERSION: MODERN_VERSION,
            CLIENT_CAPABILITIES: self.capabilities,
            CLIENT_INFO: self.info(),
        })
    }

    /// A request without a body.
    fn empty(&self, method: Method) -> Draft<'_> {
        let mut headers = self.headers.clone();
        match &self.session {
            None => {
                headers.insert("mcp-protocol-version", HeaderValue::from_static(MODERN_VERSION));
            }
            Some(Session { id, version }) => {
                headers.insert("mcp-protocol-version", version.clone());
                if let Some(id) = id {
                    headers.insert("mcp-session-id", id.clone());
                }
            }
        }
        Draft::new(self, method, headers)
    }

    /// Parameters with what the client's era demands of every message.
    fn in_era(&self, mut params: Value) -> Value {
        if self.session.is_none() {
            for (key, value) in self.modern_meta().as_object().into_iter().flatten() {
                if params["_meta"].get(key).is_none() {
                    params["_meta"][key] = value.clone();
                }
            }
        }
        params
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": "1.0.0"})
    }
}

#[track_caller]
fn header_name(name: &str) -> HeaderName {
    name.parse().unwrap_or_else(|error| panic!("no name of a header ({error}): {name}"))
}

#[track_caller]
fn header_value(value: &str) -> HeaderValue {
    value.parse().unwrap_or_else(|error| panic!("no value of a header ({error}): {value}"))
}
