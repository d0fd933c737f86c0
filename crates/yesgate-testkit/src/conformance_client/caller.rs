//! A small MCP client over Streamable HTTP, for both eras; JSON goes out and comes in as it is.
//!
//! It says yes to everything it is asked, with the defaults of a form where it has some.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Map, Value, json};

use super::{Failure, mirror};

/// A client of one server.
#[derive(Debug)]
pub(super) struct Caller {
    line: Line,
    last_id: u64,
    /// The input schemas of the tools that were listed.
    schemas: BTreeMap<String, Value>,
}

/// The first revision without a handshake.
const MODERN: &str = "2026-07-28";

/// How often a call may be answered with questions.
const MOST_ROUNDS: u32 = 10;

impl Caller {
    /// Connects; in the legacy era that is a handshake, in the modern era nothing.
    pub(super) async fn open(url: &str, version: &str) -> Result<Self, Failure> {
        let line = Line {
            // No connection is used twice: one that the server has closed meanwhile would fail the scenario.
            http: Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http(),
            url: url.to_owned(),
            version: version.to_owned(),
            session: None,
            is_greeted: false,
        };
        let mut caller = Self { line, last_id: 0, schemas: BTreeMap::new() };
        if !caller.line.is_modern() {
            let greeting = json!({
                "protocolVersion": version, "capabilities": capabilities(), "clientInfo": client_info(),
            });
            caller.request("initialize", greeting).await?;
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            caller.line.post(&initialized, &[]).await?;
            caller.line.listen().await?;
        }
        Ok(caller)
    }

    /// Lists all `tools`, `resources` or `prompts`.
    pub(super) async fn list(&mut self, what: &str) -> Result<Vec<Value>, Failure> {
        let mut page = self.request(&format!("{what}/list"), json!({})).await?;
        let Value::Array(items) = page[what].take() else {
            return Err(format!("the answer has no {what}").into());
        };
        if what == "tools" {
            let schema =
                |tool: &Value| Some((tool["name"].as_str()?.to_owned(), tool["inputSchema"].clone()));
            self.schemas = items.iter().filter_map(schema).collect();
        }
        Ok(items)
    }

    /// Calls a tool, and answers what it asks until it is done.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, Failure> {
        let call = json!({"name": tool, "arguments": arguments});
        let mut params = call.clone();
        for _round in 0..MOST_ROUNDS {
            let result = self.request("tools/call", params).await?;
            if result["resultType"] != "input_required" {
                let failed = result["isError"] == true;
                return if failed {
                    Err(format!("`{tool}` failed: {}", result["content"]).into())
                } else {
                    Ok(result)
                };
            }
            let questions = result["inputRequests"].as_object().into_iter().flatten();
            let answers: Map<String, Value> =
                questions.map(|(key, question)| (key.clone(), answer(question))).collect();
            params = call.clone();
            params["inputResponses"] = Value::Object(answers);
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
        Err(format!("`{tool}` does not stop asking").into())
    }

    /// Sends a request and waits for its result; a JSON-RPC error is a failure.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        let first = self.exchange(method, &params).await?;
        let unsupported = first["error"]["code"] == -32022;
        let offered = first["error"]["data"]["supported"].as_array();
        let again = unsupported && offered.is_some_and(|offered| offered.contains(&json!(self.line.version)));
        let mut answer = if again { self.exchange(method, &params).await? } else { first };
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(format!("`{method}` was refused: {}", answer["error"]).into()),
        }
    }

    async fn exchange(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut headers = vec![];
        if self.line.is_modern() {
            message["params"]["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.line.version,
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": capabilities(),
            });
            let schema = params["name"].as_str().and_then(|tool| self.schemas.get(tool));
            headers = mirror::headers(method, params, schema);
        }
        let response = self.line.post(&message, &headers).await?;
        let session = response.headers().get("mcp-session-id").map(|id| id.to_str().map(str::to_owned));
        if method == "initialize" {
            self.line.session = session.transpose()?;
            self.line.is_greeted = true;
        }
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            let answer = self.line.follow(response.into_body(), Some(id)).await?;
            return answer.ok_or_else(|| "the stream ended before the answer".into());
        }
        let body = response.into_body().collect().await?.to_bytes();
        serde_json::from_slice(&body)
            .map_err(|_| format!("`{method}` got {status}: {}", String::from_utf8_lossy(&body)).into())
    }
}

/// The way to the server, which several tasks may use.
#[derive(Clone, Debug)]
struct Line {
    http: Client<HttpConnector, Full<Bytes>>,
    url: String,
    version: String,
    session: Option<String>,
    /// Whether `initialize` was answered.
    is_greeted: bool,
}

impl Line {
    /// Opens the session's own stream, if the server has one, and answers the questions on it.
    async fn listen(&self) -> Result<(), Failure> {
        let request = self.head(Method::GET).header(ACCEPT, "text/event-stream");
        let response = self.http.request(request.body(Full::default())?).await?;
        if response.status().is_success() {
            let line = self.clone();
            // It ends with the process.
            tokio::spawn(async move { line.follow(response.into_body(), None).await });
        }
        Ok(())
    }

    /// Reads a stream up to the answer or to its end, and answers the questions on it.
    async fn follow(&self, mut stream: Incoming, id: Option<u64>) -> Result<Option<Value>, Failure> {
        let mut unread = vec![];
        while let Some(frame) = stream.frame().await {
            unread.extend_from_slice(&frame?.into_data().unwrap_or_default());
            while let Some(event) = take_event(&mut unread) {
                // An event without data, such as the first one of a stream, has nothing for us.
                let Ok(message) = serde_json::from_str::<Value>(&event) else { continue };
                match (message.get("method"), message.get("id")) {
                    (None, Some(found)) if found.as_u64() == id => return Ok(Some(message)),
                    (Some(_), Some(question)) => {
                        let answer = json!({"jsonrpc": "2.0", "id": question, "result": answer(&message)});
                        self.post(&answer, &[]).await?;
                    }
                    (Some(_) | None, Some(_) | None) => {}
                }
            }
        }
        Ok(None)
    }

    async fn post(
        &self,
        message: &Value,
        headers: &[(String, String)],
    ) -> Result<http::Response<Incoming>, Failure> {
        let mut request = self.head(Method::POST);
        request = request.header(CONTENT_TYPE, "application/json");
        request = request.header(ACCEPT, "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = Full::new(Bytes::from(message.to_string()));
        Ok(self.http.request(request.body(body)?).await?)
    }

    /// Begins a request; there is a session and, in the legacy era, a version only after the greeting.
    fn head(&self, method: Method) -> http::request::Builder {
        let mut request = Request::builder().method(method).uri(&self.url);
        if self.is_modern() || self.is_greeted {
            request = request.header("MCP-Protocol-Version", &self.version);
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        request
    }

    fn is_modern(&self) -> bool {
        self.version.as_str() >= MODERN
    }
}

/// Takes the data of the first whole event out of what was read.
fn take_event(unread: &mut Vec<u8>) -> Option<String> {
    let end = unread.windows(2).position(|pair| pair == b"\n\n")?;
    let event: Vec<u8> = unread.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&event);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    Some(data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n"))
}

fn client_info() -> Value {
    json!({"name": "conformance-driver", "version": env!("CARGO_PKG_VERSION")})
}

fn capabilities() -> Value {
    json!({"elicitation": {}, "sampling": {}, "roots": {}})
}

/// Answers a request of a server.
fn answer(question: &Value) -> Value {
    match question["method"].as_str() {
        Some("elicitation/create") => {
            let properties = question["params"]["requestedSchema"]["properties"].as_object();
            let content: Map<String, Value> =
                properties.into_iter().flatten().map(|(name, schema)| (name.clone(), fill(schema))).collect();
            json!({"action": "accept", "content": content})
        }
        Some("sampling/createMessage") => json!({
            "role": "assistant", "model": "none", "content": {"type": "text", "text": "An answer"},
        }),
        Some("roots/list") => json!({"roots": []}),
        Some(_) | None => json!({}),
    }
}

/// Fills a field of a form: its default, or anything of its type.
fn fill(schema: &Value) -> Value {
    match (schema.get("default"), schema["type"].as_str()) {
        (Some(default), _) => default.clone(),
        (None, Some("boolean")) => json!(true),
        (None, Some("integer" | "number")) => json!(1),
        (None, Some(_) | None) => json!("text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_one_by_one_and_only_whole() {
        let mut unread = b"id: 1\ndata: \n\ndata: {\"a\":\ndata: 1}\n\ndata: half".to_vec();
        assert_eq!(take_event(&mut unread).as_deref(), Some(""));
        assert_eq!(take_event(&mut unread).as_deref(), Some("{\"a\":\n1}"));
        assert_eq!(take_event(&mut unread), None);
        assert_eq!(unread, b"data: half");
    }

    #[test]
    fn a_form_is_filled_with_its_defaults() {
        let question = json!({"method": "elicitation/create", "params": {"requestedSchema": {"properties": {
            "a": {"type": "string", "default": "x"}, "b": {"type": "boolean"}, "c": {"type": "integer"},
        }}}});
        assert_eq!(answer(&question), json!({"action": "accept", "content": {"a": "x", "b": true, "c": 1}}));
    }
}
