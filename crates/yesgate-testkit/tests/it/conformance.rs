//! The conformance fixture as a program: what the suite's runner and the gateway rely on.
//!
//! Whether it has all that the suite asks for is for the suite to say: `cargo xtask conformance --bare`.
#![cfg(test)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

/// A fixture on stdin and stdout.
struct Fixture {
    process: Child,
    input: ChildStdin,
    output: BufReader<std::process::ChildStdout>,
}

impl Fixture {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_conformance-server"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        writeln!(self.input, "{message}").unwrap();
        serde_json::from_str(&self.line()).unwrap()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _reaped = self.process.wait();
    }
}

#[test]
fn over_http_its_first_line_is_its_url() {
    let mut fixture = Fixture::start(&["--http", "127.0.0.1:0"]);
    let line = fixture.line();
    assert!(line.starts_with("http://127.0.0.1:") && line.ends_with("/mcp\n"), "{line}");
}

#[test]
fn over_stdio_it_answers_in_the_era_it_is_spoken_to() {
    let mut modern = Fixture::start(&["--stdio"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    modern.ask("server/discover", &json!({"_meta": meta}));
    let call = modern.ask("tools/call", &json!({"name": "test_simple_text", "_meta": meta}));
    assert_eq!(call["result"]["resultType"], "complete");

    let mut legacy = Fixture::start(&["--stdio"]);
    let client = json!({"name": "test", "version": "1"});
    let greeting = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    assert_eq!(legacy.ask("initialize", &greeting)["result"]["protocolVersion"], "2025-11-25");
    writeln!(legacy.input, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    let call = legacy.ask("tools/call", &json!({"name": "test_simple_text"}));
    assert_eq!(call["result"].get("resultType"), None);
    assert_eq!(call["result"]["content"][0]["type"], "text");
}

#[test]
fn a_state_that_was_changed_on_the_way_is_refused() {
    let mut fixture = Fixture::start(&["--stdio"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    fixture.ask("server/discover", &json!({"_meta": meta}));
    let mut call = json!({"name": "test_input_required_result_tampered_state", "_meta": meta});
    let asked = fixture.ask("tools/call", &call);
    let state = asked["result"]["requestState"].as_str().unwrap();
    call["inputResponses"] = json!({"confirm": {"action": "accept", "content": {"ok": true}}});
    call["requestState"] = json!(format!("{state}-changed"));
    assert_eq!(fixture.ask("tools/call", &call)["error"]["code"], -32602);
    call["requestState"] = json!(state);
    assert_eq!(fixture.ask("tools/call", &call)["result"]["resultType"], "complete");
}
