//! Clients that are libraries: a script of ours (`peers/scripts/`) has one do what a test orders, line by line.
//!
//! Every order is a line on stdin with a number, and is answered with a line on stdout that has the same number:
//!
//! - `{"connect": TARGET, "mode": MODE, "key": KEY, "name": NAME}` opens a conversation in place of the one before,
//!   with or without a bearer key; the answer is `{"version": …}`. The target is an address, or `{"command": …,
//!   "args": […], "env": {…}, "cwd": …}`. The mode is `legacy`, `auto` or a version of the protocol.
//! - `{"hang_up": true}` ends the conversation, and the process that it started.
//! - `{"tools": true}`, `{"resources": true}` and `{"prompts": true}` ask for names or addresses.
//! - `{"call": TOOL, "arguments": {…}, "accept": {…}, "human": {…}, "timeout": MS}` calls a tool; `accept` is what the
//!   user says to every question, and `human` is the whole answer in its place. With `"human": "test"` every question
//!   comes out as `{"form": …}`, and the test answers it with `{"answer": {…}}`, when it likes and if it likes. The
//!   answer to the order is `{"result": …}` or `{"error": …}`, with what was `asked` and the `progress`.
//! - `{"read": URI}` and `{"prompt": NAME, "arguments": {…}}` are answered in the same way.
//!
//! `{"broken": WHY}` answers an order that the library could not carry out.

use std::ffi::OsString;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage};

use super::super::{START, on_stage, python};
use super::{Client, installed, pinned_node};

/// An SDK whose client leaves forms to whoever uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Library {
    TypeScript,
    Python,
}

impl Library {
    pub(crate) const ALL: [Self; 2] = [Self::TypeScript, Self::Python];

    /// Starts its client.
    #[track_caller]
    pub(crate) fn start(self, stage: &Stage, mode: &'static str) -> ScriptedHost {
        match self {
            Self::TypeScript => ScriptedHost::typescript(stage, mode),
            Self::Python => ScriptedHost::python(stage, mode),
        }
    }
}

/// A process that is a host.
pub(crate) struct ScriptedHost {
    process: Host,
    mode: &'static str,
    orders: u64,
}

impl ScriptedHost {
    /// The TypeScript SDK's client.
    #[track_caller]
    pub(crate) fn typescript(stage: &Stage, mode: &'static str) -> Self {
        Self::start(stage, mode, pinned_node().into(), "typescript_host.cjs")
    }

    /// The Python SDK's client.
    #[track_caller]
    pub(crate) fn python(stage: &Stage, mode: &'static str) -> Self {
        Self::start(stage, mode, python().into(), "python_host.py")
    }

    /// FastMCP's client.
    #[track_caller]
    pub(crate) fn fastmcp(stage: &Stage, mode: &'static str) -> Self {
        Self::start(stage, mode, python().into(), "fastmcp_host.py")
    }

    fn start(stage: &Stage, mode: &'static str, program: OsString, script: &str) -> Self {
        let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers/scripts");
        let mut command = on_stage(stage, &[program, scripts.join(script).into()]);
        command.env("NODE_PATH", installed("npm/node_modules"));
        // The scripts' folder is part of the source, and stays as it is.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Self { process: Host::spawn(command), mode, orders: 0 }
    }

    /// Gives an order; the answer may say that it could not be carried out.
    #[track_caller]
    pub(crate) fn try_order(&mut self, order: &Value) -> Value {
        let number = self.begin(order);
        self.answer(number)
    }

    /// Gives an order without waiting.
    pub(crate) fn begin(&mut self, order: &Value) -> u64 {
        self.orders += 1;
        let mut order = order.clone();
        order["order"] = self.orders.into();
        self.process.send(&order);
        self.orders
    }

    /// Waits for the answer to an order.
    #[track_caller]
    pub(crate) fn answer(&mut self, number: u64) -> Value {
        self.line(&format!("an answer to order {number}"), |line| line["order"] == number)
    }

    /// Waits for the next form that the user is shown, who is the test itself.
    #[track_caller]
    pub(crate) fn form(&mut self) -> Value {
        self.line("a form", |line| line.get("form").is_some())["form"].clone()
    }

    /// Answers the form that has been open longest.
    pub(crate) fn fill_in(&mut self, result: &Value) {
        self.process.send(&json!({"answer": result}));
    }

    #[track_caller]
    fn line(&mut self, what: &str, pred: impl Fn(&Value) -> bool) -> Value {
        let line = self.process.recv_where(pred, START);
        line.unwrap_or_else(|| panic!("never: {what}; stderr:\n{}", self.process.stderr()))
    }

    /// Gives an order that must be carried out.
    #[track_caller]
    pub(crate) fn order(&mut self, order: &Value) -> Value {
        let answer = self.try_order(order);
        assert!(answer.get("broken").is_none(), "the client broke off at {order}: {answer:#}");
        answer
    }

    /// Tries to open a conversation.
    #[track_caller]
    pub(crate) fn try_connect(&mut self, url: &str, mode: &str, key: Option<&str>) -> Value {
        self.try_order(&json!({"connect": url, "mode": mode, "key": key}))
    }

    /// Ends the conversation; a process that it started is gone then.
    #[track_caller]
    pub(crate) fn hang_up(&mut self) {
        self.order(&json!({"hang_up": true}));
    }

    /// Ends the conversation and the process.
    #[track_caller]
    pub(crate) fn leave(mut self) {
        let status = self.process.close();
        assert!(status.success(), "{status}; stderr:\n{}", self.process.stderr());
    }

    #[track_caller]
    pub(crate) fn names(&mut self, what: &str) -> Vec<String> {
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
