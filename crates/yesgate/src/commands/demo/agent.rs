//! The scripted agent: it starts the gate as an MCP host would, and speaks JSON-RPC with it.
//!
//! INVARIANT: it has no other way to the server than through the gate, and every wait has an end.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use yesgate_core::render::{Sanitized, render_call};
use yesgate_core::token::ConfirmToken;
use yesgate_gateway::era::LEGACY_VERSION;

use super::human::as_printed;

/// An agent with a session.
#[derive(Debug)]
pub(super) struct Agent {
    gate: Child,
    /// None: the session is over.
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    last_id: u64,
    /// The request that has no answer yet.
    unanswered: Option<u64>,
}

/// One call of a tool, as the agent makes it.
#[derive(Clone, Debug)]
pub(super) struct ToolUse {
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
}

/// What came back for a call.
#[derive(Debug)]
pub(super) enum Answer {
    /// The server's answer.
    Ran(Ran),
    /// The gate asks a human first.
    Held(Held),
    /// The gate refuses.
    Refused(Refused),
}

/// The server's answer, in its words.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) words: Sanitized,
    /// Which run of this tool it was, as the server counts them.
    pub(super) run: Option<u64>,
}

/// What the gate says of a call that waits for a human.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) summary: Sanitized,
    pub(super) match_code: Sanitized,
    /// None: the yes must come from outside the conversation.
    pub(super) token: Option<ConfirmToken>,
    pub(super) ttl_seconds: u64,
}

/// Why the gate does not run a call.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) code: Sanitized,
    pub(super) message: Sanitized,
}

impl Agent {
    /// Starts the gate with this command.
    pub(super) fn start(mut wrap: Command) -> anyhow::Result<Self> {
        wrap.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // A Ctrl-C at the terminal is for the demo alone, which then ends the session in good order.
        wrap.process_group(0);
        let mut gate = wrap.spawn().context("the gate cannot be started")?;
        let input = gate.stdin.take().context("the gate has no stdin")?;
        let output = BufReader::new(gate.stdout.take().context("the gate has no stdout")?).lines();
        Ok(Self { gate, input: Some(input), output, last_id: 0, unanswered: None })
    }

    /// Opens a session, and says how many tools are offered, without the gate's own.
    pub(super) async fn greet(&mut self) -> anyhow::Result<usize> {
        let hello = json!({
            "protocolVersion": LEGACY_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "demo-agent", "version": env!("CARGO_PKG_VERSION")},
        });
        let welcome = self.request("initialize", hello).await?;
        anyhow::ensure!(welcome.get("result").is_some(), "the gate did not open a session");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        let list = self.request("tools/list", json!({})).await?;
        let tools = list
            .pointer("/result/tools")
            .and_then(Value::as_array)
            .context("the list of tools is unreadable")?;
        let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        Ok(names.filter(|name| !name.starts_with("yesgate_")).count())
    }

    /// Calls a tool.
    pub(super) async fn call(&mut self, call: &ToolUse) -> anyhow::Result<Answer> {
        self.call_with(call.tool, call.arguments.clone()).await
    }

    /// Calls a tool, and says with the token that the user agreed.
    pub(super) async fn confirm(&mut self, call: &ToolUse, token: &ConfirmToken) -> anyhow::Result<Answer> {
        let mut arguments = call.arguments.clone();
        if let Some(members) = arguments.as_object_mut() {
            members.insert("confirm_token".into(), token.expose().into());
        }
        self.call_with(call.tool, arguments).await
    }

    async fn call_with(&mut self, tool: &str, arguments: Value) -> anyhow::Result<Answer> {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        Answer::read(&answer).with_context(|| format!("the answer to `{tool}` is unreadable"))
    }

    /// Ends the session, and gives the gate's exit code; none: it had to be killed.
    pub(super) async fn stop(mut self) -> Option<i32> {
        if let Some(id) = self.unanswered {
            let params = json!({"requestId": id, "reason": "the demo is over"});
            // A gate that is gone needs no telling.
            self.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                .await
                .ok();
        }
        self.input = None;
        match timeout(FAREWELL, self.gate.wait()).await {
            Ok(status) => status.ok()?.code(),
            Err(_) => {
                // It did not end by itself, and without it its server ends too.
                self.gate.kill().await.ok();
                None
            }
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        self.unanswered = Some(id);
        let answer = async {
            while let Some(line) = self.output.next_line().await? {
                let message: Value =
                    serde_json::from_str(&line).context("the gate said something that is no JSON")?;
                if message.get("id").and_then(Value::as_u64) == Some(id) {
                    self.unanswered = None;
                    return Ok(message);
                }
            }
            Err(anyhow::anyhow!("the gate ended before it answered `{method}`"))
        };
        timeout(PATIENCE, answer).await.with_context(|| format!("the gate does not answer `{method}`"))?
    }

    async fn send(&mut self, message: Value) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("the session is over")?;
        let line = format!("{message}\n");
        let sent = timeout(PATIENCE, input.write_all(line.as_bytes())).await;
        sent.context("the gate does not read")?.context("the gate is gone")
    }
}

impl ToolUse {
    /// The call in one line.
    pub(super) fn words(&self) -> Sanitized {
        render_call(self.tool, &self.arguments)
    }
}

impl Answer {
    /// Reads the answer to a `tools/call`. None: it is not one that this agent knows.
    fn read(message: &Value) -> Option<Self> {
        if let Some(error) = message.get("error") {
            return Refused::read(error.get("data")?.as_object()?).map(Self::Refused);
        }
        let result = message.get("result")?;
        let structure = result.get("structuredContent").and_then(Value::as_object)?;
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            Refused::read(structure).map(Self::Refused)
        } else if structure.get("confirm_required").and_then(Value::as_bool) == Some(true) {
            Held::read(structure).map(Self::Held)
        } else {
            let words = Sanitized::line(result.pointer("/content/0/text")?.as_str()?);
            Some(Self::Ran(Ran { words, run: structure.get("run").and_then(Value::as_u64) }))
        }
    }
}

impl Held {
    fn read(payload: &Map<String, Value>) -> Option<Self> {
        Some(Self {
            summary: as_printed(payload.get("summary")?.as_str()?),
            match_code: text(payload, "match_code")?,
            token: payload.get("confirm_token").and_then(Value::as_str).map(ConfirmToken::presented),
            ttl_seconds: payload.get("ttl_seconds").and_then(Value::as_u64)?,
        })
    }
}

impl Refused {
    fn read(payload: &Map<String, Value>) -> Option<Self> {
        Some(Self { code: text(payload, "error")?, message: text(payload, "message")? })
    }
}

fn text(payload: &Map<String, Value>, key: &str) -> Option<Sanitized> {
    payload.get(key)?.as_str().map(Sanitized::line)
}

/// How long an answer may take: longer than the gate holds a call open, which is at most 45 seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the gate may take to end: longer than it gives its server, which is 5 seconds.
const FAREWELL: Duration = Duration::from_secs(15);
