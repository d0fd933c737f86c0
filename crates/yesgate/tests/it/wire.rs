//! The wire: what two readers could take for two things is refused, and never reaches the server.
//!
//! The cases are the parser table of the threat model and its notes on gating. Each carries a word that the
//! server's log must not have.

use serde_json::{Value, json};
use yesgate_testkit::{Host, confirm_token, error_code, intent_id, structured, text};

use crate::support::{Era, legacy, stage, upstream_count};

/// The word that must not arrive.
pub(crate) const EVIL: &str = "evil-note";

/// What becomes of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// It is answered with this error under its own id, which is the text `x`.
    Error(i64),
    /// It is answered with this error, and nobody can say to which request.
    Anonymous(i64),
    /// It is a notification, or looks like one: there is nobody to answer.
    Dropped,
}

use Fate::{Anonymous, Dropped, Error};

/// A call of `delete_note` with these words in place of its `params`.
pub(crate) fn call(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{params}}}"#)
}

/// A call of `write_note` with this in its arguments.
fn with(argument: &str) -> String {
    call(&format!(r#"{{"name":"write_note","arguments":{{"id":"{EVIL}","text":{argument}}}}}"#))
}

/// The call as it should be, but under another method.
fn under(method: &str) -> String {
    call(PLAIN).replace(r#""tools/call""#, method)
}

pub(crate) const PLAIN: &str = r#"{"name":"delete_note","arguments":{"id":"evil-note"}}"#;

pub(crate) fn messages() -> Vec<(String, Fate)> {
    let params =
        |rest: &str| call(&format!(r#"{{"name":"delete_note","arguments":{{"id":"{EVIL}"}},{rest}}}"#));
    let id = |id: &str| call(PLAIN).replace(r#""x""#, id);
    let deep = |depth: usize| with(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    vec![
        // Not a request.
        (call(PLAIN).replace(r#""id":"x","#, ""), Dropped),
        (under(r#""notifications/tools/call""#).replace(r#""id":"x","#, ""), Dropped),
        (id("null"), Error(-32600)),
        (id("1.5"), Error(-32600)),
        (id("true"), Error(-32600)),
        (id("[1]"), Error(-32600)),
        (id("{}"), Error(-32600)),
        (call(PLAIN).replace(r#""id":"x""#, r#""id":"x","result":{}"#), Error(-32600)),
        (call(PLAIN).replace(r#""id":"x""#, r#""id":"x","error":{"code":1,"message":""}"#), Error(-32600)),
        (call(PLAIN).replace(r#""jsonrpc":"2.0","#, ""), Error(-32600)),
        (call(PLAIN).replace("2.0", "1.0"), Anonymous(-32600)),
        (call(PLAIN).replace(r#""2.0""#, "2.0"), Anonymous(-32600)),
        // More than one message, or not one.
        (format!("[{}]", call(PLAIN)), Anonymous(-32600)),
        (format!("[{},{}]", call(PLAIN), call(PLAIN)), Anonymous(-32600)),
        (format!("{}{}", call(PLAIN), call(PLAIN)), Anonymous(-32700)),
        (format!("{} x", call(PLAIN)), Anonymous(-32700)),
        (" ".to_owned(), Anonymous(-32700)),
        (format!("\u{feff}{}", call(PLAIN)), Anonymous(-32700)),
        (call(PLAIN).trim_end_matches('}').to_owned(), Anonymous(-32700)),
        // Methods that only resemble the one that is judged.
        (under(r#""tools/call ""#), Error(-32601)),
        (under(r#"" tools/call""#), Error(-32601)),
        (under(r#""tools/call\u0000""#), Error(-32601)),
        (under(r#""Tools/Call""#), Error(-32601)),
        (under(r#""tools//call""#), Error(-32601)),
        (under(r#""tools/execute""#), Error(-32601)),
        (under(r#""""#), Error(-32601)),
        (under("7"), Anonymous(-32600)),
        (under("null"), Anonymous(-32600)),
        // Keys that stand twice, plainly or in disguise.
        (call(PLAIN).replace(r#""method""#, r#""method":"ping","method""#), Anonymous(-32600)),
        (call(PLAIN).replace(r#""params""#, r#""params":{},"params""#), Anonymous(-32600)),
        (call(PLAIN).replace(r#""id":"x""#, r#""id":"x","id":"y""#), Anonymous(-32600)),
        (call(PLAIN).replace(r#""name""#, r#""name":"read_note","name""#), Error(-32600)),
        (call(PLAIN).replace(r#""name""#, r#""n\u0061me":"read_note","name""#), Error(-32600)),
        (call(PLAIN).replace(r#""arguments""#, r#""arguments":{},"arguments""#), Error(-32600)),
        (with(r#"{"a":1,"a":2}"#), Error(-32600)),
        (with(r#"[{"b":{"a":1,"\u0061":2}}]"#), Error(-32600)),
        (with(r#"{"é":1,"é":2}"#), Error(-32600)),
        (with(r#"{"Key":1,"key":2}"#), Error(-32600)),
        // Keys that some reader takes for another.
        (call(PLAIN).replace("method", "Method"), Anonymous(-32600)),
        (call(PLAIN).replace("params", "param\u{17f}"), Anonymous(-32600)),
        (call(PLAIN).replace(r#""id":"x""#, r#""id":"x","PARAMS":{}"#), Anonymous(-32600)),
        (params(r#""Name":"read_note""#), Error(-32600)),
        (params(r#""Arguments":{}"#), Error(-32600)),
        (params(r#""argument\u017f":{}"#), Error(-32600)),
        (call(&format!(r#"{{"Name":"delete_note","arguments":{{"id":"{EVIL}"}}}}"#)), Error(-32602)),
        (params(r#""extra":1"#), Error(-32602)),
        (params(r#""task":{"ttl":1}"#), Error(-32602)),
        // Members of the wrong kind, which a typed reader may take for an unknown request.
        (params(r#""requestState":5"#), Error(-32602)),
        (params(r#""requestState":"s""#), Error(-32602)),
        (params(r#""inputResponses":[]"#), Error(-32602)),
        (params(r#""inputResponses":{}"#), Error(-32602)),
        (params(r#""task":true"#), Error(-32602)),
        (params(r#""_meta":7"#), Error(-32602)),
        (call(&format!(r#"{{"name":"delete_note","arguments":"{{\"id\":\"{EVIL}\"}}"}}"#)), Error(-32602)),
        (call(&format!(r#"{{"name":"delete_note","arguments":["{EVIL}"]}}"#)), Error(-32602)),
        (call(&format!(r#"{{"name":7,"arguments":{{"id":"{EVIL}"}}}}"#)), Error(-32602)),
        (call(&format!(r#"{{"arguments":{{"id":"{EVIL}"}}}}"#)), Error(-32602)),
        (call(&format!(r#"["delete_note",{{"id":"{EVIL}"}}]"#)), Error(-32602)),
        (call("null"), Error(-32602)),
        (r#"{"jsonrpc":"2.0","id":"x","method":"tools/call"}"#.to_owned(), Error(-32602)),
        // Values that readers understand differently.
        (with("9007199254740993"), Error(-32600)),
        (with("18446744073709551616"), Error(-32600)),
        (with("1e400"), Error(-32600)),
        (with("0.1000000000000000055511151231257827"), Error(-32600)),
        (with("NaN"), Anonymous(-32700)),
        (with(r#""\ud800""#), Error(-32700)),
        (with(&format!("\"{EVIL}\n\"")).replace('\n', "\t"), Anonymous(-32700)),
        // Too much of it.
        (deep(70), Error(-32600)),
        (deep(100_000), Error(-32600)),
        (with(&format!("\"{}\"", "y".repeat(1 << 20))), Error(-32600)),
        (with(&format!("\"{}\"", "z".repeat(5 << 20))), Anonymous(-32600)),
    ]
}

pub(crate) fn bytes() -> Vec<Vec<u8>> {
    let around = |bytes: &[u8]| {
        let message = with("\"#\"");
        let (before, after) = message.split_once('#').unwrap();
        [before.as_bytes(), bytes, after.as_bytes()].concat()
    };
    // Not UTF-8: a lone byte, an overlong slash, a surrogate, and a byte order of another age.
    vec![around(b"\xff"), around(b"\xc0\xaf"), around(b"\xed\xa0\x80"), b"\xfe\xff\x00{\x00}".to_vec()]
}

/// Has a message answered as its fate says.
#[track_caller]
fn meet(host: &mut Host, message: &str, fate: Fate) {
    let short: String = message.chars().take(300).collect();
    let sent: Value = serde_json::from_str(message).unwrap_or_default();
    let expected = match fate {
        Dropped => return,
        Error(code) => (sent.get("id").cloned().unwrap_or_else(|| json!("x")), code),
        Anonymous(code) => (Value::Null, code),
    };
    let answer =
        host.expect_message(&format!("an answer to {short}"), |message| message.get("method").is_none());
    assert_eq!((answer["id"].clone(), error_code(&answer)), expected, "{short}\n{answer:#}");
    assert!(!answer["error"]["message"].as_str().unwrap().is_empty());
}

/// H7, A16, A17, FC-17: none of them reaches the server, each gets a clear error, and after all of them a call is a call.
#[test]
fn no_malformed_call_reaches_the_server() {
    for era in Era::BOTH {
        let stage = stage();
        let mut host = era.greet(stage.host());
        host.list_tools();
        let received = stage.upstream_lines().len();
        for (message, fate) in messages() {
            host.send_raw(&message);
            meet(&mut host, &message, fate);
        }
        for message in bytes() {
            host.send_bytes(&[&message[..], b"\n"].concat());
            meet(&mut host, &String::from_utf8_lossy(&message), Anonymous(-32700));
        }
        ["", "\r"].iter().for_each(|line| host.send_raw(line));
        assert_eq!(stage.upstream_lines().len(), received, "nothing at all passed");

        let held = host.call("delete_note", json!({"id": "a"}));
        let token = confirm_token(&held);
        let ran = host.call("delete_note", json!({"id": "a", "confirm_token": token}));
        assert_eq!(structured(&ran), &json!({"deleted": "a", "run": 1}));
        assert!(host.unclaimed().is_empty(), "nothing is answered twice: {:#?}", host.unclaimed());
        host.assert_only_json_rpc();
        assert!(host.close().success());
        assert!(stage.upstream_lines().iter().all(|line| !line.raw.contains(EVIL)));
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// H7, A16: what is one line to us must be one line to the server. Python's text mode, which its MCP servers read
/// with, ends a line at a lone `\r` too: a call hidden between two of them would be a line of its own there.
#[test]
fn a_call_cannot_hide_behind_another_kind_of_line_end() {
    let hidden = call(PLAIN);
    let stage = stage();
    let mut host = legacy(&stage);
    let request = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{method}","params":"#);
    let methods =
        ["ping", "prompts/list", "completion/complete", "logging/setLevel", "tools/list", "initialize"];
    for method in methods {
        host.send_raw(&format!("{}\r{hidden}\r}}", request(method)));
        host.expect_message("an answer", |message| message.get("method").is_none());
    }
    let read = format!(r#"{}{{"name":"read_note","arguments":"#, request("tools/call"));
    host.send_raw(&format!("{read}\r{hidden}\r}}}}"));
    host.expect_message("an answer", |message| message.get("method").is_none());
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"#;
    host.send_raw(&format!("{note}\r{hidden}\r}}"));
    host.send_raw(&format!("{{\"jsonrpc\":\"2.0\",\"id\":\"y\",\"result\":\r{hidden}\r}}"));
    // The end of a line itself may be the one of Windows.
    host.send_raw("{\"jsonrpc\":\"2.0\",\"id\":\"z\",\"method\":\"ping\"}\r");
    assert_eq!(host.answer_to("z")["result"], json!({}));
    assert_eq!(text(&host.call("read_note", json!({"id": "a"}))), "the first note");
    assert!(host.close().success());
    for line in stage.upstream_lines() {
        assert!(!line.raw.contains('\r'), "a server may read several lines here: {:?}", line.raw);
    }
}

/// A17, FC-17: a request or a notification that nobody knows does not pass, whatever it may mean to the server.
#[test]
fn what_nobody_knows_does_not_pass() {
    let stage = stage();
    let mut host = legacy(&stage);
    host.request("ping", json!({}));
    let before = stage.upstream_lines().len();
    for method in
        ["tools/run", "rpc.discover", "sampling/createMessage", "elicitation/create", "roots/list", "x"]
    {
        assert_eq!(error_code(&host.request(method, json!({}))), -32601, "{method}");
        host.notify(method, json!({}));
        host.notify(&format!("notifications/{method}"), json!({}));
    }
    host.notify("tools/list", json!({}));
    host.notify("ping", json!({}));
    assert_eq!(host.request("ping", json!({}))["result"], json!({}));
    assert_eq!(stage.upstream_lines().len(), before + 1, "the one ping");
    assert!(host.unclaimed().is_empty());
    assert!(host.close().success());
}

/// B7: an id that is in use cannot be used again, and the first request is answered all the same.
#[test]
fn an_id_that_is_in_use_is_refused() {
    let stage = stage()
        .gate()
        .read_only(&["slow"])
        .config("[[rules]]\ntool = \"*/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n");
    let mut host = legacy(&stage);
    let slow =
        r#"{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"slow","arguments":{}}}"#;
    host.send_raw(slow);
    host.send_raw(slow);
    host.send_raw(&slow.replace("same", "s\\u0061me"));
    for _ in 0..2 {
        let refused = host.answer_to("same");
        assert!(refused["error"]["message"].as_str().unwrap().contains("already in use"), "{refused:#}");
    }
    stage.open_gate();
    assert_eq!(text(&host.answer_to("same")), "run 1: slowly done");

    let delete = slow.replace("same", "held").replace("slow", "delete_note").replace("{}", r#"{"id":"a"}"#);
    host.send_raw(&delete);
    let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
    host.send_raw(&delete);
    assert_eq!(error_code(&host.answer_to("held")), -32600);
    stage.yesgate(&["approve", &intent, "--yes"]).ok();
    assert_eq!(structured(&host.answer_to("held"))["deleted"], "a");
    assert_eq!((upstream_count(&stage, "slow"), upstream_count(&stage, "delete_note")), (1, 1));
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// B7: a host that knows how our own ids look cannot use one, so it cannot pose as us or take our answers.
#[test]
fn an_id_like_ours_is_refused() {
    let stage = stage();
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    host.call("yesgate_approve", json!({ "intent_id": intent }));
    let ours = stage.upstream_calls().pop().unwrap()["id"].as_str().unwrap().to_owned();
    assert!(ours.starts_with("yesgate-"), "{ours}");
    let before = stage.upstream_lines().len();
    for id in [ours.clone(), format!("{ours}9"), ours.replace("yesgate", "y\\u0065sgate")] {
        host.send_raw(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#));
        let id: Value = serde_json::from_str(&format!("\"{id}\"")).unwrap();
        assert_eq!(error_code(&host.answer_to(id)), -32600);
    }
    assert_eq!(stage.upstream_lines().len(), before);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
