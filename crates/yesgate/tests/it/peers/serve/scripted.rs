//! Clients that are libraries: a script of ours (`peers/scripts/`) has one do what a test orders, line by line.
//!
//! Every order is a line on stdin and is answered with a line on stdout:
//!
//! - `{"connect": URL, "mode": MODE, "key": KEY}` opens a conversation in place of the one before, with or without
//!   a bearer key; the answer is `{"version": …}`. The mode is `legacy`, `auto` or a version of the protocol.
//! - `{"tools": true}`, `{"resources": true}` and `{"prompts": true}` ask for names or addresses.
//! - `{"call": TOOL, "arguments": {…}, "accept": {…}}` calls a tool; `accept` is what the user says to every
//!   question. The answer is `{"result": …}` or `{"error": …}`, with what was `asked` and the `progress`.
//! - `{"read": URI}` and `{"prompt": NAME, "arguments": {…}}` are answered in the same way.
//!
//! `{"broken": WHY}` answers an order that the library could not carry out.

use std::ffi::OsString;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage};

use super::super::{START, on_stage, python};
use super::{Client, installed, pinned_node};

/// A process that is a host.
pub(super) struct ScriptedHost {
    process: Host,
    mode: &'static str,
}

impl ScriptedHost {
    /// The TypeScript SDK's client.
    #[track_caller]
    pub(super) fn typescript(stage: &Stage, mode: &'static str) -> Self {
        Self::start(stage, mode, pinned_node().into(), "typescript_host.cjs")
    }

    /// The Python SDK's client.
    #[track_caller]
    pub(super) fn python(stage: &Stage, mode: &'static str) -> Self {
        Self::start(stage, mode, python().into(), "python_host.py")
    }

    /// FastMCP's client.
    #[track_caller]
    pub(super) fn fastmcp(stage: &Stage, mode: &'static str) -> Self {
        Self::start(stage, mode, python().into(), "fastmcp_host.py")
    }

    fn start(stage: &Stage, mode: &'static str, program: OsString, script: &str) -> Self {
        let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers/scripts");
        let mut command = on_stage(stage, &[program, scripts.join(script).into()]);
        command.env("NODE_PATH", installed("npm/node_modules"));
        // The scripts' folder is part of the source, and stays as it is.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Self { process: Host::spawn(command), mode }
    }

    /// Gives an order; the answer may say that it could not be carried out.
    #[track_caller]
    pub(super) fn try_order(&mut self, order: &Value) -> Value {
        self.process.send(order);
        let answer = self.process.recv_where(|_| true, START);
        answer.unwrap_or_else(|| panic!("no answer to {order}; stderr:\n{}", self.process.stderr()))
    }

    /// Gives an order that must be carried out.
    #[track_caller]
    pub(super) fn order(&mut self, order: &Value) -> Value {
        let answer = self.try_order(order);
        assert!(answer.get("broken").is_none(), "the client broke off at {order}: {answer:#}");
        answer
    }

    /// Tries to open a conversation.
    #[track_caller]
    pub(super) fn try_connect(&mut self, url: &str, mode: &str, key: Option<&str>) -> Value {
        self.try_order(&json!({"connect": url, "mode": mode, "key": key}))
    }

    /// Ends the conversation and the process.
    #[track_caller]
    pub(super) fn leave(mut self) {
        let status = self.process.close();
        assert!(status.success(), "{status}; stderr:\n{}", self.process.stderr());
    }

    #[track_caller]
    pub(super) fn names(&mut self, what: &str) -> Vec<String> {
        let answer = self.order(&json!({what: true}));
        let names = answer[what].as_array().unwrap_or_else(|| panic!("no {what}: {answer:#}"));
        names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    }
}

impl Client for ScriptedHost {
    #[track_caller]
    fn connect(&mut self, url: &str) -> String {
        let answer = self.order(&json!({"connect": url, "mode": self.mode}));
        answer["version"].as_str().unwrap_or_else(|| panic!("not connected: {answer:#}")).to_owned()
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        self.names("tools")
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.order(&json!({"call": tool, "arguments": arguments}))
    }
}
