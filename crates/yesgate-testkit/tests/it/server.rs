//! An honest mock server, in both eras.
#![cfg(test)]

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use yesgate_testkit::{error_code, structured, text, until};

use crate::stage;

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const TOOLS: [&str; 10] = [
    "read_note",
    "write_note",
    "delete_note",
    "pay",
    "delete_everything",
    "ask_user",
    "slow",
    "log_and_list_changed",
    "fail",
    "rpc_error",
];

#[test]
fn a_legacy_session_works_from_greeting_to_end() {
    let stage = stage();
    let mut host = stage.bare();
    assert_eq!(host.initialize_legacy()["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(names(&host.list_tools()), TOOLS);
    assert_eq!(text(&host.call("write_note", json!({"id": "b", "text": "two"}))), "run 1: wrote b");
    assert_eq!(text(&host.call("read_note", json!({"id": "b"}))), "two");
    let deleted = host.call("delete_note", json!({"id": "b"}));
    assert_eq!(structured(&deleted), &json!({"deleted": "b", "run": 3}));
    assert_eq!(deleted["result"].get("resultType"), None);
    let paid = host.call("pay", json!({"amount": 12.5, "currency": "EUR", "to": "bob"}));
    assert_eq!(text(&paid), "run 4: paid 12.5 EUR to bob");
    assert_eq!(host.call("fail", json!({}))["result"]["isError"], true);
    assert_eq!(error_code(&host.call("rpc_error", json!({}))), 4242);
    assert_eq!(error_code(&host.call("no_such_tool", json!({}))), -32602);
    assert!(host.close().success());
    host.assert_only_json_rpc();
    assert_eq!(host.stderr().lines().count(), 1);
}

#[test]
fn a_modern_request_stands_alone_and_its_answer_is_complete() {
    let stage = stage();
    let mut host = stage.bare();
    let discovered = host.discover_modern();
    assert_eq!(discovered["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(names(&host.list_tools()), TOOLS);
    let list = host.request("tools/list", json!({"_meta": host.modern_meta()}));
    for (key, expected) in
        [("resultType", json!("complete")), ("ttlMs", json!(0)), ("cacheScope", json!("private"))]
    {
        assert_eq!(list["result"][key], expected);
    }
    let read = host.call("read_note", json!({"id": "a"}));
    assert_eq!((text(&read), &read["result"]["resultType"]), ("the first note", &json!("complete")));
    // The same request without what a modern one carries is a legacy one, outside a session.
    assert_eq!(error_code(&host.request("tools/list", json!({}))), -32600);
    let mut meta = host.modern_meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    assert_eq!(error_code(&host.request("tools/list", json!({"_meta": meta}))), -32022);
}

#[test]
fn a_server_of_one_era_refuses_the_other() {
    let legacy = stage().server_args(&["--era", "legacy"]);
    assert_eq!(error_code(&legacy.bare().discover_modern()), -32601);
    let modern = stage().server_args(&["--era", "modern"]);
    assert_eq!(error_code(&modern.bare().initialize_legacy()), -32602);
    assert!(modern.bare().discover_modern()["result"].is_object());
}

#[test]
fn nothing_is_answered_before_the_session_is_open() {
    let stage = stage();
    let mut host = stage.bare();
    assert_eq!(error_code(&host.request("tools/list", json!({}))), -32600);
    assert_eq!(host.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn the_log_has_every_line_as_it_came() {
    let stage = stage();
    let mut host = stage.bare();
    host.initialize_legacy();
    let odd =
        r#"{ "jsonrpc":"2.0", "id": "odd" ,"method":"tools/call","params":{"name":"read_note","x":1.0}}"#;
    host.send_raw(odd);
    host.answer_to("odd");
    host.send_bytes(b"\xff not JSON\n");
    assert_eq!(host.answer_to(Value::Null)["error"]["code"], -32700);
    let pid = host.pid();
    host.kill9();
    let lines = stage.upstream_lines();
    assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(lines.iter().map(|line| line.pid).collect::<BTreeSet<_>>(), BTreeSet::from([pid]));
    assert!(lines.is_sorted_by_key(|line| line.at));
    assert_eq!(lines[2].raw, odd);
    assert_eq!(lines[3].raw, "\u{fffd} not JSON");
    assert_eq!(stage.upstream_calls().len(), 1);
}

#[test]
fn a_legacy_client_is_asked_in_the_middle_of_a_call() {
    let stage = stage();
    let mut host = stage.bare().capable(json!({"elicitation": {}}));
    host.initialize_legacy();
    let call = host.call_async("ask_user", json!({"question": "Really?"}));
    let question = host.next_of("elicitation/create");
    assert_eq!(question["params"]["message"], "Really?");
    // The server goes on with other things meanwhile.
    host.call("read_note", json!({"id": "a"}));
    host.respond(&question, json!({"action": "accept", "content": {"words": "yes"}}));
    let said: Value = serde_json::from_str(text(&host.answer_to(call))).unwrap();
    assert_eq!(said["content"]["words"], "yes");
}

#[test]
fn a_modern_client_is_asked_between_two_calls() {
    let stage = stage();
    let mut host = stage.bare();
    host.speak_modern();
    let asked = host.call("ask_user", json!({}));
    assert_eq!(asked["result"]["resultType"], "input_required");
    let again = json!({
        "name": "ask_user",
        "arguments": {},
        "requestState": asked["result"]["requestState"],
        "inputResponses": {"answer": {"action": "decline"}},
        "_meta": host.modern_meta(),
    });
    assert_eq!(text(&host.request("tools/call", again)), r#"{"action":"decline"}"#);
}

#[test]
fn a_slow_call_reports_progress_and_waits_for_its_gate() {
    let stage = stage().gate();
    let mut host = stage.bare();
    host.initialize_legacy();
    let call = host.call_with("slow", json!({}), json!({"progressToken": "p"}));
    for step in 1..=3 {
        let progress = host.next_of("notifications/progress");
        assert_eq!(progress["params"], json!({"progressToken": "p", "progress": step, "total": 3}));
    }
    // Others are answered in between; this one is not.
    host.request("ping", json!({}));
    assert_eq!(host.unclaimed(), Vec::<Value>::new());
    stage.open_gate();
    assert_eq!(text(&host.answer_to(call)), "run 1: slowly done");
}

#[test]
fn changes_are_announced_in_the_way_of_the_era() {
    let stage = stage();
    let mut host = stage.bare();
    host.initialize_legacy();
    host.call("log_and_list_changed", json!({}));
    let methods: Vec<Value> = host.unclaimed().iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, ["notifications/message", "notifications/tools/list_changed"]);

    let mut host = stage.bare();
    host.speak_modern();
    host.call("log_and_list_changed", json!({}));
    assert_eq!(host.unclaimed(), Vec::<Value>::new(), "nobody asked for it");
    let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": host.modern_meta()});
    let id = host.request_async("subscriptions/listen", listen);
    host.next_of("notifications/subscriptions/acknowledged");
    host.call("log_and_list_changed", json!({}));
    let changed = host.next_of("notifications/tools/list_changed");
    assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
}

#[test]
fn hints_are_what_the_tests_rely_on() {
    let stage = stage().read_only(&["slow"]);
    let mut host = stage.bare();
    host.speak_modern();
    let tools = host.list_tools();
    let read_only: Vec<&str> = tools
        .iter()
        .filter(|tool| tool["annotations"]["readOnlyHint"] == true)
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(read_only, ["read_note", "delete_everything", "slow"]);
    assert_eq!(tools[2]["annotations"], json!({"destructiveHint": true}));
    assert_eq!(tools[2]["inputSchema"]["additionalProperties"], false);
    assert!(tools[2]["outputSchema"].is_object());
}

#[test]
fn a_host_that_hears_nothing_says_so_in_time() {
    let stage = stage();
    let mut host = stage.bare();
    assert_eq!(host.recv_where(|_| true, Duration::from_millis(1)), None);
    assert!(host.close().success());
    assert_eq!(until("nothing", || Some(host.unclaimed().len())), 0);
}
