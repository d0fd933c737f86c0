//! The parser table: what is read, what is refused, and with which words.

mod plain;

use serde_json::json;

use super::{CallKey, CallRequest, Untouched, WishedChannel};
use crate::mode::Mode;

fn parse(params: &str) -> Result<CallRequest, String> {
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    CallRequest::parse(message.as_bytes()).map_err(|error| format!("{} {error}", error.code()))
}

#[test]
fn a_plain_call_is_read_as_it_stands() {
    let call = parse(r#"{"name":"rm","arguments":{"b":1,"a":[true,null]}}"#).unwrap();
    assert_eq!(call.name, "rm");
    assert_eq!(call.arguments.as_str(), r#"{"a":[true,null],"b":1}"#);
    assert_eq!(call.untouched, Untouched::Yes);
    assert_eq!(call.id, json!(1));
}

/// K3: meta-arguments are read from the raw payload and stripped before anything is forwarded.
#[test]
fn the_gateways_own_arguments_are_taken_out() {
    let call = parse(
        r#"{"name":"rm","arguments":{"path":"/x","confirm_token":"pbc_1","__confirm":true,"__mode":"plan","__channel":"web","__reason":"asked to"}}"#,
    )
    .unwrap();
    assert_eq!(call.arguments.as_str(), r#"{"path":"/x"}"#);
    assert_eq!(call.presented.token.unwrap().expose(), "pbc_1");
    assert_eq!(call.presented.key, CallKey::Turned);
    assert_eq!(call.presented.mode, Some(Mode::Plan));
    assert_eq!(call.presented.channel, Some(WishedChannel::Web));
    assert_eq!(call.presented.reason.as_deref(), Some("asked to"));
    assert_eq!(call.untouched, Untouched::No);
}

/// X2: a reason is a few sentences or none; what is longer is refused, and never cut.
#[test]
fn a_reason_is_short_or_none() {
    let reason = |text: &str| {
        let call = parse(&json!({"name": "rm", "arguments": {"__reason": text}}).to_string());
        call.map(|call| call.presented.reason)
    };
    assert_eq!(reason(" \n").unwrap(), None);
    assert_eq!(reason(&"é".repeat(1000)).unwrap().unwrap().chars().count(), 1000);
    assert!(reason(&"é".repeat(1001)).is_err());
}

/// K3: `__confirm` is a strict boolean.
#[test]
fn only_the_boolean_true_turns_the_key() {
    for value in [r#""true""#, "1", "null", "false", "[true]", r#"{"a":true}"#, r#""yes""#] {
        let call = parse(&format!(r#"{{"name":"rm","arguments":{{"__confirm":{value}}}}}"#)).unwrap();
        assert_eq!(call.presented.key, CallKey::Absent, "{value}");
        assert_eq!(call.arguments.as_str(), "{}", "{value}");
    }
}

#[test]
fn every_ambiguous_or_ill_typed_call_is_refused_with_a_reason() {
    let rows = [
        r#"{"name":"read","name":"delete"}"#,
        r#"{"name":"a","arguments":{"x":1,"x":2}}"#,
        r#"{"name":"a","arguments":{"o":{"k":1,"k":1}}}"#,
        r#"{"name":"a","Name":"b"}"#,
        r#"{"name":"a","ARGUMENTS":{}}"#,
        r#"{"name":"a","arguments":"{}"}"#,
        r#"{"name":"a","arguments":[]}"#,
        r#"{"name":"a","arguments":null}"#,
        r#"{"name":1}"#,
        r#"{}"#,
        r#"{"name":"a","requestState":5}"#,
        r#"{"name":"a","inputResponses":[]}"#,
        r#"{"name":"a","task":true}"#,
        r#"{"name":"a","_meta":7}"#,
        r#"{"name":"a","arguments":{"confirm_token":5}}"#,
        r#"{"name":"a","arguments":{"__mode":"yolo"}}"#,
        r#"{"name":"a","arguments":{"__channel":"sms"}}"#,
        r#"{"name":"a","arguments":{"__reason":["because"]}}"#,
        r#"{"name":"a","arguments":{"n":9007199254740993}}"#,
        r#"{"name":"a","arguments":{"n":1e400}}"#,
        r#"{"name":"a","arguments":{"Key":1,"key":2}}"#,
        r#"[]"#,
        r#"null"#,
    ];
    let table: String =
        rows.iter().map(|row| format!("{row}\n    {}\n", parse(row).expect_err(row))).collect();
    insta::assert_snapshot!(table);
}

#[test]
fn an_envelope_that_two_readers_read_differently_is_refused() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{{"d":{}{}}}}}}}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    let rows = [
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list","params":{"name":"a"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"Method":"tools/list","method":"tools/call","params":{"name":"a"}}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"param\u{17f}\":{},\"params\":{\"name\":\"a\"}}",
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"a"}}"#,
        r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call ","params":{"name":"a"}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}} {}"#,
        "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#,
        &deep,
    ];
    let table: String = rows
        .iter()
        .map(|row| {
            let error = CallRequest::parse(row.as_bytes()).expect_err(row);
            format!("{}\n    {} {error}\n", row.chars().take(120).collect::<String>(), error.code())
        })
        .collect();
    insta::assert_snapshot!(table);
}

#[test]
fn a_hosts_own_meta_is_noticed_and_the_transports_kept() {
    let call = parse(
        r#"{"name":"a","_meta":{"progressToken":2,"claudecode/toolUseId":"toolu_1","io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
    )
    .unwrap();
    assert_eq!(call.meta.vendor().keys().collect::<Vec<_>>(), ["claudecode/toolUseId"]);
    assert_eq!(
        call.meta.transport().keys().collect::<Vec<_>>(),
        ["io.modelcontextprotocol/protocolVersion", "progressToken"]
    );
}

#[test]
fn keys_nobody_knows_are_listed_for_the_gate_to_judge() {
    let call = parse(r#"{"name":"a","extra":1,"requestState":"s"}"#).unwrap();
    assert_eq!(call.extras.unknown_keys, ["extra"]);
    assert!(call.extras.continuation);
}
