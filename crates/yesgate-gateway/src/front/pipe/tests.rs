//! The stdio front, through its two pipes.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::stdio;
use crate::board::Scope;
use crate::front::FrontSettings;
use crate::front::fixture::client::legacy_call;
use crate::front::fixture::{Dice, Script, caller};
use crate::raw::raw;
use crate::talk::Notice;
use crate::wrap::Host;

struct Pipes {
    board: Arc<Script>,
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Pipes {
    fn new() -> Self {
        let board = Arc::new(Script::default());
        let (to, input) = tokio::io::duplex(64 * 1024);
        let (output, from) = tokio::io::duplex(64 * 1024);
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = {
            let board = Arc::clone(&board);
            async move {
                let shutdown = async {
                    if stopped.await.is_err() {
                        std::future::pending::<()>().await;
                    }
                };
                let host = Host { input, output };
                let settings = FrontSettings::default();
                stdio(board, Scope::All, caller("ann"), host, settings, Arc::new(Dice::default()), shutdown)
                    .await;
            }
        };
        Self { board, to, from: BufReader::new(from).lines(), stop, served: tokio::spawn(serving) }
    }

    async fn open(version: &str, capabilities: Value) -> Self {
        let mut pipes = Self::new();
        pipes
            .say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "a client"}}}))
            .await;
        assert_eq!(pipes.hear().await["result"]["protocolVersion"], version);
        pipes
    }

    async fn say(&mut self, message: &Value) {
        self.write(message.to_string().as_bytes()).await;
    }

    async fn write(&mut self, line: &[u8]) {
        self.to.write_all(line).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.from.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn code(&mut self) -> (Value, i64) {
        let answer = self.hear().await;
        (answer["id"].clone(), answer["error"]["code"].as_i64().unwrap())
    }
}

fn modern(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn modern_call(id: u32, tool: &str) -> Value {
    modern(id, "tools/call", json!({"name": tool, "arguments": {}}))
}

/// A23: both eras on one pipe, and the same board behind.
#[tokio::test]
async fn both_eras_are_spoken_on_one_pipe() {
    let mut pipes = Pipes::new();
    pipes.say(&modern(1, "server/discover", json!({}))).await;
    assert_eq!(pipes.hear().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    pipes.say(&legacy_call(2, "echo")).await;
    assert_eq!(pipes.code().await, (json!(2), -32600));
    drop(pipes);

    let mut pipes = Pipes::open("2025-11-25", json!({})).await;
    assert_eq!(pipes.board.party().caller.client.as_str(), "a client");
    pipes.say(&legacy_call(1, "echo")).await;
    pipes.say(&modern_call(2, "echo")).await;
    pipes.say(&json!({"jsonrpc": "2.0", "id": 3, "method": "ping"})).await;
    for id in 1..4 {
        assert_eq!(pipes.hear().await["id"], id);
    }
    pipes.say(&modern(4, "ping", json!({}))).await;
    assert_eq!(pipes.code().await, (json!(4), -32601));
    pipes.say(&json!({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})).await;
    assert_eq!(pipes.code().await, (json!(5), -32600));
    pipes.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    pipes.board.noted("told notifications/initialized").await;
}

#[tokio::test]
async fn a_slow_call_holds_nothing_up_and_notices_come_as_lines() {
    let mut pipes = Pipes::open("2025-11-25", json!({})).await;
    pipes.say(&legacy_call(1, "wait")).await;
    pipes.say(&legacy_call(1, "echo")).await;
    assert_eq!(pipes.code().await, (json!(1), -32600));
    pipes.say(&modern_call(2, "progress")).await;
    assert_eq!(pipes.hear().await["params"]["progress"], 1);
    assert_eq!(pipes.hear().await["params"]["progress"], 2);
    assert_eq!(pipes.hear().await["id"], 2);
    pipes.board.go.notify_one();
    assert_eq!(pipes.hear().await, json!({"jsonrpc": "2.0", "id": 1, "result": {"said": "done"}}));
}

#[tokio::test]
async fn what_is_written_is_one_line_a_message() {
    let mut pipes = Pipes::open("2025-11-25", json!({})).await;
    pipes.say(&legacy_call(1, "pretty")).await;
    assert_eq!(pipes.hear().await["result"]["said"], "done");
    pipes.write(b"{\"jsonrpc\":\"2.0\",\r\"id\":1,\"method\":\"tools/list\"}").await;
    assert_eq!(pipes.code().await, (Value::Null, -32600));
    pipes.write(b"nonsense").await;
    assert_eq!(pipes.code().await, (Value::Null, -32700));
    pipes.say(&json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "danger"}})).await;
    assert_eq!(pipes.code().await, (Value::Null, -32600));
    pipes.write(&vec![b' '; 4 * 1024 * 1024 + 10]).await;
    assert_eq!(pipes.code().await, (Value::Null, -32600));
    assert!(!pipes.board.log().contains(&"request danger".to_owned()));
}

/// A22: a withdrawn call is not answered, in either era.
#[tokio::test]
async fn a_cancelled_request_is_withdrawn_and_not_answered() {
    let mut pipes = Pipes::open("2025-11-25", json!({})).await;
    pipes.say(&legacy_call(1, "wait")).await;
    pipes
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    pipes.board.noted("withdrawn wait").await;
    pipes.say(&modern_call(2, "stubborn")).await;
    pipes
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}))
        .await;
    pipes.board.noted("dropped stubborn").await;
    pipes.say(&legacy_call(3, "echo")).await;
    assert_eq!(pipes.hear().await["id"], 3);
}

#[tokio::test]
async fn an_old_client_is_asked_by_a_request_and_a_modern_one_by_an_answer() {
    let mut pipes = Pipes::open("2025-06-18", json!({"elicitation": {}})).await;
    pipes.say(&legacy_call(1, "ask")).await;
    let question = pipes.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    pipes.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})).await;
    assert_eq!(pipes.hear().await["result"]["said"], r#"a={"action":"accept"}"#);

    pipes.say(&modern_call(2, "ask")).await;
    let asked = pipes.hear().await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    let mut again = modern_call(3, "ask");
    again["params"]["requestState"] = asked["result"]["requestState"].clone();
    again["params"]["inputResponses"] = json!({"a": {"action": "decline"}});
    pipes.say(&again).await;
    assert_eq!(pipes.hear().await["result"]["said"], r#"a={"action":"decline"}"#);
    again["id"] = 4.into();
    pipes.say(&again).await;
    assert_eq!(pipes.code().await, (json!(4), -32602));
}

#[tokio::test]
async fn batches_are_answered_together_where_the_revision_has_them() {
    let mut pipes = Pipes::open("2025-03-26", json!({})).await;
    pipes.say(&json!([legacy_call(1, "echo"), legacy_call(2, "progress"), {"jsonrpc": "2.0", "id": 3, "method": "ping"}])).await;
    pipes.hear().await;
    pipes.hear().await;
    assert_eq!(pipes.hear().await.as_array().unwrap().len(), 3);
    pipes.say(&json!([])).await;
    assert_eq!(pipes.code().await, (Value::Null, -32600));
    let mut pipes = Pipes::open("2025-11-25", json!({})).await;
    pipes.say(&json!([legacy_call(1, "echo")])).await;
    assert_eq!(pipes.code().await, (Value::Null, -32600));
}

#[tokio::test]
async fn listening_goes_on_among_other_messages_and_ends_at_the_clients_wish_or_ours() {
    let mut pipes = Pipes::new();
    let listen =
        |id| modern(id, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    pipes.say(&listen(1)).await;
    assert_eq!(pipes.hear().await["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let changed =
        Notice { method: "notifications/tools/list_changed".into(), params: Some(raw("{}".into())) };
    pipes.board.tell(Some(changed)).await;
    assert_eq!(pipes.hear().await["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    pipes
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))
        .await;
    pipes.say(&listen(2)).await;
    assert_eq!(pipes.hear().await["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 2);
    let Pipes { mut from, stop, served, to, board } = pipes;
    stop.send(()).unwrap();
    served.await.unwrap();
    let mut rest = Vec::new();
    while let Some(line) = from.next_line().await.unwrap() {
        rest.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    assert_eq!(rest[0]["params"]["requestId"], 2);
    assert_eq!(rest[1]["result"]["resultType"], "complete");
    assert_eq!(rest.len(), 2);
    drop((to, board));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_leaves_nothing_running() {
    let mut pipes = Pipes::open("2025-11-25", json!({})).await;
    pipes.say(&legacy_call(1, "stubborn")).await;
    pipes.board.noted("request stubborn").await;
    let Pipes { board, to, served, stop, from } = pipes;
    let start = tokio::time::Instant::now();
    drop(to);
    served.await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert!(board.log().ends_with(&["dropped stubborn".to_owned(), "left".to_owned()]), "{:?}", board.log());
    drop((stop, from));
}
