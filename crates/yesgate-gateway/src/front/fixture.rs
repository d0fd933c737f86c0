//! What the tests of the fronts share: a board that does as it is told, and a client of either era.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use yesgate_core::caller::Caller;
use yesgate_core::clock::{Entropy, EntropyError};

use super::{FrontSettings, HttpFront, ResponseBody};
use crate::board::{Ask, Board, Listening, Scope, Wanted};
use crate::raw::raw;
use crate::reply::Reply;
use crate::talk::{Boxed, Given, InputMethod, InputRequest, Notice, Party};

/// A caller of this name.
pub(crate) fn caller(name: &str) -> Caller {
    Caller {
        org: "acme".parse().unwrap(),
        principal: name.parse().unwrap(),
        client: "tester".parse().unwrap(),
    }
}

/// Dice that never show the same twice.
#[derive(Debug, Default)]
pub(crate) struct Dice(AtomicU8);

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([self.0.fetch_add(1, Ordering::Relaxed); 32])
    }
}

/// A board whose tools have telling names.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// What happened, in words.
    log: Mutex<Vec<String>>,
    news: Notify,
    /// Lets one waiting call go on.
    pub(crate) go: Notify,
    listener: Mutex<Option<mpsc::Sender<Notice>>>,
    parties: Mutex<Vec<Arc<Party>>>,
}

impl Script {
    pub(crate) fn note(&self, words: impl Into<String>) {
        self.log.lock().unwrap().push(words.into());
        self.news.notify_waiters();
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Waits until something happened.
    pub(crate) async fn noted(&self, words: &str) {
        loop {
            let news = self.news.notified();
            if self.log().iter().any(|noted| noted == words) {
                return;
            }
            news.await;
        }
    }

    /// The party of the last request.
    pub(crate) fn party(&self) -> Arc<Party> {
        Arc::clone(self.parties.lock().unwrap().last().unwrap())
    }

    /// Tells whoever listens; `None` ends the listening.
    pub(crate) async fn tell(&self, notice: Option<Notice>) {
        let sender = self.listener.lock().unwrap().clone().unwrap();
        match notice {
            Some(notice) => sender.send(notice).await.unwrap(),
            None => *self.listener.lock().unwrap() = None,
        }
    }

    async fn call(&self, tool: &str, ask: &Ask) -> Reply {
        let text = |text: &str| Reply::Result(json!({"said": text}).to_string().into());
        match tool {
            "progress" => {
                ask.talk.notify(progress("1"));
                ask.talk.notify(progress("2"));
                text("done")
            }
            "chatty" => {
                for n in 0..1000 {
                    ask.talk.notify(progress(&n.to_string()));
                }
                text("done")
            }
            "wait" => {
                tokio::select! {
                    () = self.go.notified() => text("done"),
                    () = ask.cancel.fired() => Reply::Silent,
                }
            }
            // It does not even listen for a withdrawal.
            "stubborn" => {
                self.go.notified().await;
                text("done")
            }
            "progress_then_wait" => {
                ask.talk.notify(progress("1"));
                self.go.notified().await;
                text("done")
            }
            "ask" => self.asks(ask, &["a"], r#"{"message":"?","requestedSchema":{}}"#).await,
            "ask_two" => self.asks(ask, &["a", "b"], r#"{"message":"?","requestedSchema":{}}"#).await,
            "ask_url" => self.asks(ask, &["a"], r#"{"mode":"url","url":"https://x","message":"?"}"#).await,
            "ask_again" => {
                let first = self.asks(ask, &["a"], "{}").await;
                ask.talk.notify(progress("2"));
                drop(first);
                self.asks(ask, &["b"], "{}").await
            }
            "pretty" => Reply::Result(Bytes::from_static(b"{\n  \"said\":\r\n \"done\"\n}")),
            "missing" => Reply::error(-32601, "no", None),
            "incapable" => Reply::error(-32021, "no", None),
            "bad" => Reply::error(-32602, "no", None),
            "none" => Reply::Silent,
            "relayed" => Reply::Relayed,
            other => text(other),
        }
    }

    async fn asks(&self, ask: &Ask, keys: &[&str], params: &str) -> Reply {
        let requests = keys
            .iter()
            .map(|key| InputRequest {
                key: (*key).to_owned(),
                method: InputMethod::Elicitation,
                params: raw(params.to_owned()),
            })
            .collect();
        match ask.talk.ask(requests).await {
            Ok(answers) => {
                let words: Vec<String> = answers
                    .iter()
                    .map(|answer| match &answer.answer {
                        Given::Result(result) => format!("{}={}", answer.key, result.get()),
                        Given::Error(error) => format!("{}!{}", answer.key, error.get()),
                    })
                    .collect();
                self.note(format!("answered {}", words.join(" ")));
                Reply::Result(json!({"said": words.join(" ")}).to_string().into())
            }
            Err(error) => {
                self.note(format!("not answered: {error}"));
                Reply::error(-32603, &error.to_string(), None)
            }
        }
    }
}

/// One step of progress.
pub(crate) fn progress(step: &str) -> Notice {
    Notice {
        method: "notifications/progress".into(),
        params: Some(raw(format!(r#"{{"progressToken":"t","progress":{step}}}"#))),
    }
}

/// Notes that a request was dropped before it was answered.
struct Fate<'a>(&'a Script, String, bool);

impl Drop for Fate<'_> {
    fn drop(&mut self) {
        let Self(script, what, answered) = self;
        script.note(format!("{} {what}", if *answered { "answered" } else { "dropped" }));
    }
}

impl Board for Script {
    fn has(&self, scope: &Scope) -> bool {
        *scope != Scope::One("nowhere".parse().unwrap())
    }

    fn request(&self, ask: Ask) -> Boxed<'_, Reply> {
        Box::pin(async move {
            let name = ask.params.as_deref().and_then(|params| {
                let params: Value = serde_json::from_str(params.get()).ok()?;
                Some(params.get("name")?.as_str()?.to_owned())
            });
            let what = name.clone().unwrap_or_else(|| ask.method.clone());
            self.note(format!("request {what}"));
            self.parties.lock().unwrap().push(Arc::clone(&ask.party));
            let mut fate = Fate(self, what, false);
            let reply = match (ask.method.as_str(), name) {
                ("initialize", _) => {
                    let result =
                        json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {}});
                    Reply::Result(result.to_string().into())
                }
                ("tools/call", Some(name)) => self.call(&name, &ask).await,
                _ => Reply::Result(Bytes::from_static(b"{}")),
            };
            fate.2 = true;
            if ask.cancel.is_fired() {
                self.note(format!("withdrawn {}", fate.1));
            }
            reply
        })
    }

    fn notify(&self, _: &Scope, party: &Arc<Party>, method: &str, _: Option<&RawValue>) {
        self.parties.lock().unwrap().push(Arc::clone(party));
        self.note(format!("told {method}"));
    }

    fn listen(&self, _: Scope, _: Arc<Party>, wanted: Wanted) -> Boxed<'_, Result<Listening, Reply>> {
        Box::pin(async move {
            if wanted.prompts {
                return Err(Reply::error(-32602, "no prompts here", None));
            }
            let (sender, notices) = mpsc::channel(4);
            *self.listener.lock().unwrap() = Some(sender);
            let granted = Wanted { resources: false, ..wanted };
            Ok(Listening { granted, notices })
        })
    }

    fn leave(&self, _: &Party) {
        self.note("left");
    }
}

/// One client of a front.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) front: Arc<HttpFront>,
    pub(crate) board: Arc<Script>,
    pub(crate) caller: Caller,
    pub(crate) scope: Scope,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self::with(FrontSettings::default())
    }

    pub(crate) fn with(settings: FrontSettings) -> Self {
        let board = Arc::new(Script::default());
        let front = HttpFront::new(Arc::clone(&board) as _, settings, Arc::new(Dice::default()));
        Self { front: Arc::new(front), board, caller: caller("ann"), scope: Scope::All, headers: Vec::new() }
    }

    pub(crate) fn header(&self, name: &'static str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(other, _)| *other != name);
        client.headers.push((name, value.to_owned()));
        client
    }

    pub(crate) async fn send(&self, method: &str, body: impl Into<Bytes>) -> Response<ResponseBody> {
        let mut request = Request::builder().method(method).uri("/mcp");
        let has = |name: &str| self.headers.iter().any(|(own, _)| *own == name);
        if !has("content-type") {
            request = request.header("content-type", "application/json");
        }
        if !has("accept") {
            request = request.header("accept", "application/json, text/event-stream");
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        self.front.handle(self.scope.clone(), self.caller.clone(), parts, body.into()).await
    }

    pub(crate) async fn post(&self, body: &Value) -> Response<ResponseBody> {
        self.send("POST", body.to_string()).await
    }

    /// Sends a modern request with all headers as they should be.
    pub(crate) async fn modern(&self, id: u32, method: &str, params: Value) -> Response<ResponseBody> {
        self.modern_able(id, method, params, json!({})).await
    }

    /// [`Self::modern`], with capabilities.
    pub(crate) async fn modern_able(
        &self,
        id: u32,
        method: &str,
        mut params: Value,
        capabilities: Value,
    ) -> Response<ResponseBody> {
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities;
        let mut client = self.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        if let Some(name) = params.get("name").and_then(Value::as_str) {
            client = client.header("mcp-name", name);
        }
        client.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await
    }

    /// Calls a tool in the modern era.
    pub(crate) async fn call(&self, id: u32, tool: &str) -> Response<ResponseBody> {
        self.modern(id, "tools/call", json!({"name": tool, "arguments": {}})).await
    }

    /// Opens a session, and gives the client that has it.
    pub(crate) async fn initialize(&self, version: &str, capabilities: Value) -> Self {
        let params = json!({"protocolVersion": version, "capabilities": capabilities,
            "clientInfo": {"name": "c", "version": "1"}});
        let response =
            self.post(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        assert_eq!(response.status(), StatusCode::OK);
        let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        self.header("mcp-session-id", &session)
    }

    /// Calls a tool within a session.
    pub(crate) async fn legacy_call(&self, id: u32, tool: &str) -> Response<ResponseBody> {
        self.post(&legacy_call(id, tool)).await
    }
}

/// A call within a session.
pub(crate) fn legacy_call(id: u32, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
}

/// What a response says, whole.
pub(crate) async fn text(response: Response<ResponseBody>) -> String {
    let body = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// What a response says, as JSON.
pub(crate) async fn json_of(response: Response<ResponseBody>) -> Value {
    assert_eq!(response.headers()["content-type"], "application/json");
    serde_json::from_str(&text(response).await).unwrap()
}

/// The status and the code of an error.
pub(crate) async fn refusal(response: Response<ResponseBody>) -> (u16, i64) {
    let status = response.status().as_u16();
    (status, json_of(response).await["error"]["code"].as_i64().unwrap())
}

/// A stream of events, read one by one.
#[derive(Debug)]
pub(crate) struct Events {
    body: ResponseBody,
    unread: String,
}

impl Events {
    #[track_caller]
    pub(crate) fn of(response: Response<ResponseBody>) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        assert_eq!(response.headers()["cache-control"], "no-cache");
        Self { body: response.into_body(), unread: String::new() }
    }

    /// The next block, comments and all; none at the end.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let block = block.to_owned();
                self.unread = rest.to_owned();
                return Some(block);
            }
            let frame = self.body.frame().await?.unwrap().into_data().unwrap();
            self.unread.push_str(std::str::from_utf8(&frame).unwrap());
        }
    }

    /// The next event with data: its id and its message.
    pub(crate) async fn event(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let block = self.block().await?;
            let field =
                |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
                return Some((field("id: "), serde_json::from_str(&data).unwrap()));
            }
        }
    }

    /// The next message.
    pub(crate) async fn message(&mut self) -> Value {
        self.event().await.expect("the stream goes on").1
    }

    /// All messages to the end.
    pub(crate) async fn rest(mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some((_, message)) = self.event().await {
            messages.push(message);
        }
        messages
    }
}
