//! The mock server by itself, through its own two pipes.

use serde_json::{Value, json};

use super::serve;

/// What the server says to these messages.
fn say(messages: &[Value]) -> Vec<Value> {
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let mut output = Vec::new();
    serve(input.as_bytes(), &mut output).unwrap();
    String::from_utf8(output).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[test]
fn it_counts_what_ran_and_nothing_else() {
    let call =
        |name: &str, arguments: Value| request("tools/call", &json!({"name": name, "arguments": arguments}));
    let said = say(&[
        call("pay", json!({"amount": "1.00", "currency": "EUR", "to": "Ann"})),
        call("pay", json!({"amount": "1.00", "currency": "EUR", "to": "Ann"})),
        call("pay", json!({"amount": 1})),
        call("upgrade_plan", json!({"to": "moon"})),
        call("no_such_tool", json!({})),
        call("call_counts", json!({})),
    ]);
    let told: Vec<String> = said
        .iter()
        .map(|answer| match answer.pointer("/result/content/0/text") {
            Some(text) => text.to_string(),
            None => answer["error"].to_string(),
        })
        .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    "paid 1.00 EUR to Ann"
    "paid 1.00 EUR to Ann"
    {"code":-32602,"message":"the argument `amount` is missing or no text"}
    {"code":-32602,"message":"there is no such plan"}
    {"code":-32602,"message":"there is no tool `no_such_tool`"}
    "get_plan 0, upgrade_plan 0, pay 2, deploy 0"
    "#);
}

#[test]
fn it_speaks_both_eras() {
    let modern = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let said = say(&[
        request("initialize", &json!({"protocolVersion": "2025-06-18"})),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request("server/discover", &modern),
    ]);
    assert_eq!(said.len(), 2, "a notification is not answered");
    assert_eq!(said[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(said[0]["result"].get("resultType"), None);
    assert_eq!(said[1]["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(said[1]["result"]["resultType"], "complete");
}

#[test]
fn what_it_does_not_know_is_an_error_and_not_its_end() {
    let mut output = Vec::new();
    let input = "no JSON\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/fly\"}\n";
    serve(input.as_bytes(), &mut output).unwrap();
    let codes: Vec<Value> = String::from_utf8(output)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["error"]["code"].clone())
        .collect();
    assert_eq!(codes, [json!(-32700), json!(-32601)]);
}
