//! An MCP host for tests: starts a server, or the gateway in front of one, and talks with it line by line.
//!
//! Everything blocks, and everything has a deadline; a test is a plain function. What nobody asked for yet
//! (notifications, requests of the server, answers that come early) waits in the order it came until it is
//! asked for. INVARIANT: nothing here can block on a peer that does not read or does not speak: threads
//! write and read.

pub(crate) mod pipes;

use std::collections::VecDeque;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::pipes::Pipes;
use crate::mock_server::protocol::{
    CLIENT_CAPABILITIES, CLIENT_INFO, LEGACY_VERSION, MODERN_VERSION, PROTOCOL_VERSION,
};
use crate::wait::DEADLINE;

/// A host and the process it talks with. Dropped, it kills that process.
#[derive(Debug)]
pub struct Host {
    pipes: Pipes,
    /// Messages that came and were not asked for yet.
    inbox: VecDeque<Value>,
    last_id: u64,
    era: HostEra,
    name: String,
    capabilities: Value,
    revision: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum HostEra {
    Legacy,
    Modern,
}

impl Host {
    /// Starts a process and listens to it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn spawn(command: Command) -> Self {
        Self {
            pipes: Pipes::open(command),
            inbox: VecDeque::new(),
            last_id: 0,
            era: HostEra::Legacy,
            name: "testkit".into(),
            capabilities: json!({}),
            revision: LEGACY_VERSION.into(),
        }
    }

    /// Gives the host another name than `testkit`. To be said before the first message.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// Gives the host capabilities, such as `{"elicitation": {}}`. To be said before the first message.
    #[must_use]
    pub fn capable(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Has legacy sessions ask for another revision than the newest. To be said before the first message.
    #[must_use]
    pub fn revision(mut self, revision: &str) -> Self {
        self.revision = revision.into();
        self
    }

    /// Opens a legacy session, `notifications/initialized` included; gives back the answer to `initialize`.
    #[track_caller]
    pub fn initialize_legacy(&mut self) -> Value {
        self.era = HostEra::Legacy;
        let params = json!({
            "protocolVersion": self.revision,
            "capabilities": self.capabilities,
            "clientInfo": self.info(),
        });
        let answer = self.request("initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Speaks the modern era from here on; gives back the answer to `server/discover`.
    #[track_caller]
    pub fn discover_modern(&mut self) -> Value {
        self.speak_modern();
        self.request("server/discover", json!({"_meta": self.modern_meta()}))
    }

    /// Speaks the modern era from here on, without a `server/discover` first.
    pub fn speak_modern(&mut self) {
        self.era = HostEra::Modern;
    }

    /// What a modern request of this host carries in `_meta`.
    pub fn modern_meta(&self) -> Value {
        json!({
            PROTOCOL_VERSION: MODERN_VERSION,
            CLIENT_CAPABILITIES: self.capabilities,
            CLIENT_INFO: self.info(),
        })
    }

    /// Calls a tool in the host's era, and waits for the answer.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.call_async(tool, arguments);
        self.answer_to(id)
    }

    /// Calls a tool in the host's era; [`Self::answer_to`] waits for the answer.
    pub fn call_async(&mut self, tool: &str, arguments: Value) -> u64 {
        self.call_with(tool, arguments, json!({}))
    }

    /// Calls a tool with further keys in `_meta`, such as a `progressToken`.
    pub fn call_with(&mut self, tool: &str, arguments: Value, meta: Value) -> u64 {
        let mut params = self.in_era(json!({"name": tool, "arguments": arguments}));
        for (key, value) in meta.as_object().into_iter().flatten() {
            params["_meta"][key] = value.clone();
        }
        self.request_async("tools/call", params)
    }

    /// All tools, page by page, in the host's era.
    ///
    /// # Panics
    /// When the answer is no list.
    #[track_caller]
    pub fn list_tools(&mut self) -> Vec<Value> {
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut params = self.in_era(json!({}));
            if let Some(cursor) = cursor {
                params["cursor"] = cursor.into();
            }
            let answer = self.request("tools/list", params);
            let page = answer.pointer("/result/tools").and_then(Value::as_array);
            tools.extend(page.unwrap_or_else(|| panic!("no list of tools: {answer:#}")).iter().cloned());
            cursor = answer.pointer("/result/nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                return tools;
            }
        }
    }

    /// Makes a request exactly as given, and waits for the answer: the whole message.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.request_async(method, params);
        self.answer_to(id)
    }

    /// Makes a request exactly as given, under the id that is given back.
    pub fn request_async(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    /// Waits for the answer to a request, by its id: the whole message.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn answer_to(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.expect_message(&format!("the answer to request {id}"), |message| {
            message.get("method").is_none() && message.get("id") == Some(&id)
        })
    }

    /// Waits for the next notification or request of the server with this method.
    ///
    /// # Panics
    /// When it does not come in time.
    #[track_caller]
    pub fn next_of(&mut self, method: &str) -> Value {
        self.expect_message(method, |message| message["method"] == method)
    }

    /// Waits for a message that must come.
    ///
    /// # Panics
    /// When it does not come in time, or the process ends before.
    #[track_caller]
    pub fn expect_message(&mut self, what: &str, pred: impl Fn(&Value) -> bool) -> Value {
        match self.recv_where(pred, DEADLINE) {
            Some(message) => message,
            None => panic!("never: {what}\nunclaimed: {:#?}\nstderr:\n{}", self.inbox, self.stderr()),
        }
    }

    /// Takes the first message for which `pred` holds, from those that wait or those that come within the
    /// time given. `None` where there is none, or the process has ended.
    pub fn recv_where(&mut self, pred: impl Fn(&Value) -> bool, within: Duration) -> Option<Value> {
        if let Some(index) = self.inbox.iter().position(&pred) {
            return self.inbox.remove(index);
        }
        let deadline = Instant::now() + within;
        // What is no JSON stays in `all_stdout`.
        while let Some(line) = self.pipes.line(deadline) {
            match serde_json::from_str::<Value>(&line) {
                Ok(message) if pred(&message) => return Some(message),
                Ok(message) => self.inbox.push_back(message),
                Err(_) => {}
            }
        }
        None
    }

    /// What came and was not asked for. To know that nothing more is on its way, make a request first.
    pub fn unclaimed(&self) -> Vec<Value> {
        self.inbox.iter().cloned().collect()
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Cancels a request of ours.
    pub fn cancel(&mut self, id: impl Into<Value>) {
        self.notify("notifications/cancelled", json!({"requestId": id.into(), "reason": "the test says so"}));
    }

    /// Answers a request of the server.
    pub fn respond(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(&message.to_string());
    }

    /// Sends a line as it is; its end is added. Never blocks; a process that is gone hears nothing.
    pub fn send_raw(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.pipes.send(bytes);
    }

    /// Every line that came on stdout so far, as it came.
    pub fn all_stdout(&self) -> Vec<String> {
        self.pipes.stdout().iter().map(|line| line.strip_suffix('\n').unwrap_or(line).to_owned()).collect()
    }

    /// I4: nothing but JSON-RPC came on stdout.
    ///
    /// # Panics
    /// When something else did.
    #[track_caller]
    pub fn assert_only_json_rpc(&self) {
        for line in self.all_stdout() {
            let message: Value = serde_json::from_str(&line).unwrap_or_default();
            let has = |key: &str| message.get(key).is_some();
            let is_message = has("method") || (has("id") && (has("result") != has("error")));
            assert!(message["jsonrpc"] == "2.0" && is_message, "no JSON-RPC on stdout: {line}");
        }
    }

    /// Everything that came on stderr so far.
    pub fn stderr(&self) -> String {
        self.pipes.stderr()
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.pipes.pid()
    }

    /// Sends the process a signal by its name, such as `TERM`.
    ///
    /// # Panics
    /// When that is not possible.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        self.pipes.signal(name);
    }

    /// Closes stdin, as a host does that has enough, and waits for the end of the process and of all that
    /// share its stderr. What it said to the end is in [`Self::all_stdout`].
    ///
    /// # Panics
    /// When it does not end in time; it is killed then.
    #[track_caller]
    pub fn close(&mut self) -> ExitStatus {
        self.pipes.close();
        self.ended()
    }

    /// Waits until the process, and all that share its stderr, have ended by themselves.
    ///
    /// # Panics
    /// When they do not in time; the process is killed then.
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        let status = self.pipes.ended(DEADLINE);
        self.take_rest();
        status
    }

    /// Kills the process with `SIGKILL`, and waits until all that share its stderr are gone: a server that
    /// outlives its gateway fails the test here.
    ///
    /// # Panics
    /// When they are not gone in time.
    #[track_caller]
    pub fn kill9(&mut self) -> ExitStatus {
        self.pipes.kill();
        self.ended()
    }

    /// Takes in what had been said, so that it can be asked for after the end.
    fn take_rest(&mut self) {
        self.recv_where(|_| false, Duration::ZERO);
    }

    fn info(&self) -> Value {
        json!({"name": self.name, "version": "1.0.0"})
    }

    /// Parameters with what the host's era demands of every request.
    pub(crate) fn in_era(&self, mut params: Value) -> Value {
        match self.era {
            HostEra::Legacy => {}
            HostEra::Modern => params["_meta"] = self.modern_meta(),
        }
        params
    }
}
