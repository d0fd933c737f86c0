//! What is not gated passes byte for byte, in both directions: the gateway's lines are the bare server's lines.

use serde_json::json;
use yesgate_testkit::{Host, Stage};

use crate::support::{Era, stage};

/// One conversation with everything that a host and a server may say to each other.
fn converse(stage: &Stage, era: Era, host: Host) -> Host {
    let mut host = era.greet(host);
    let params = |rest: &str, host: &Host| match era {
        Era::Legacy => format!("{{{rest}}}"),
        Era::Modern => format!("{{{rest},\"_meta\":{}}}", host.modern_meta()),
    };
    host.list_tools();
    // Odd spelling, odd order, and members that nobody knows.
    for (id, rest) in [
        ("1e0", r#" "arguments" : {"id":"\u0061", "x":1.0e+2 ,"y":"\/ü" } ,"name":"read_note" "#),
        (r#""odd id""#, r#""name":"read_note","arguments":{"id":"a"},"vendor":{"b":2,"a":[ ]}"#),
        ("-7", r#""name":"read_note""#),
    ] {
        let params = params(rest, &host);
        host.send_raw(&format!(
            r#"{{ "method":"tools/call","id":{id} , "params":{params},"jsonrpc":"2.0","z":null }}"#
        ));
        host.recv_where(|message| message.get("result").is_some(), yesgate_testkit::DEADLINE)
            .expect("an answer");
    }
    host.call("fail", json!({}));
    host.call("rpc_error", json!({}));
    let cursor = params(r#""cursor":"no such page""#, &host);
    host.request("tools/list", serde_json::from_str(&cursor).unwrap());
    host.request("prompts/list", serde_json::from_str(&params(r#""a":1"#, &host)).unwrap());
    host.request("resources/read", serde_json::from_str(&params(r#""uri":"note://a""#, &host)).unwrap());

    // Progress, a request of the server, its answer.
    let slow = host.call_with("slow", json!({}), json!({"progressToken": "token of the host"}));
    for _ in 0..3 {
        host.next_of("notifications/progress");
    }
    host.cancel(slow);
    stage.open_gate();
    host.answer_to(slow);
    match era {
        Era::Legacy => {
            let ask = host.call_async("ask_user", json!({"question": "What?"}));
            let question = host.next_of("elicitation/create");
            host.respond(&question, json!({"action": "accept", "content": {"words": "so"}}));
            host.answer_to(ask);
            host.request("logging/setLevel", json!({"level": "debug"}));
            host.notify("notifications/roots/list_changed", json!({}));
            host.call("log_and_list_changed", json!({}));
            host.next_of("notifications/message");
            host.next_of("notifications/tools/list_changed");
        }
        Era::Modern => {
            let asked = host.call("ask_user", json!({"question": "What?"}));
            let state = asked["result"]["requestState"].clone();
            let rest = json!({
                "name": "ask_user", "arguments": {"question": "What?"}, "requestState": state,
                "inputResponses": {"answer": {"action": "accept", "content": {"words": "so"}}},
                "_meta": host.modern_meta(),
            });
            host.request("tools/call", rest);
            let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": host.modern_meta()});
            host.request_async("subscriptions/listen", listen);
            host.next_of("notifications/subscriptions/acknowledged");
            host.call_with(
                "log_and_list_changed",
                json!({}),
                json!({"io.modelcontextprotocol/logLevel": "info"}),
            );
            host.next_of("notifications/message");
            host.next_of("notifications/tools/list_changed");
        }
    }
    host.call("read_note", json!({"id": "a"}));
    host
}

/// X10: progress, logging, list changes, requests of the server and their answers, errors and cancellations: each
/// line arrives as it was sent.
#[test]
fn a_conversation_without_gated_calls_is_the_bare_servers() {
    for era in Era::BOTH {
        let stage = stage().config("[[rules]]\ntool = \"*\"\nthen = \"run\"\n").gate().ungated(&[
            "fail",
            "rpc_error",
            "slow",
            "ask_user",
            "log_and_list_changed",
        ]);
        let mut bare = converse(&stage, era, stage.bare().capable(json!({"elicitation": {}})));
        bare.close();
        let heard_bare = stage.upstream_lines();
        let mut gated = converse(&stage, era, stage.host().capable(json!({"elicitation": {}})));
        gated.assert_only_json_rpc();
        assert!(gated.close().success());
        pretty(&gated.all_stdout(), &bare.all_stdout());

        let all = stage.upstream_lines();
        let heard: Vec<String> = all[heard_bare.len()..].iter().map(|line| line.raw.clone()).collect();
        // The gateway looks at the list itself after it was told that the list changed.
        let heard: Vec<String> =
            heard.into_iter().filter(|line| !line.contains("\"id\":\"yesgate-")).collect();
        pretty(&heard, &heard_bare.iter().map(|line| line.raw.clone()).collect::<Vec<_>>());
    }
}

/// Compares line by line, to show the first difference.
#[track_caller]
fn pretty(seen: &[String], expected: &[String]) {
    for (seen, expected) in seen.iter().zip(expected) {
        assert_eq!(seen, expected);
    }
    assert_eq!(seen.len(), expected.len(), "{seen:#?}\n{expected:#?}");
}

/// MCP §5: a gated call that runs keeps its progress, and cancelling it reaches the server under the id it knows.
#[test]
fn progress_and_cancellation_of_a_gated_call_reach_the_other_side() {
    let stage = stage().gate();
    let mut host = Era::Legacy.greet(stage.host());
    let token = yesgate_testkit::confirm_token(&host.call("slow", json!({})));
    let slow = host.call_with("slow", json!({ "confirm_token": token }), json!({"progressToken": 42}));
    for step in 1..=3 {
        let progress = host.next_of("notifications/progress");
        assert_eq!(progress["params"], json!({"progressToken": 42, "progress": step, "total": 3}));
    }
    let sent = stage.upstream_calls().pop().unwrap()["id"].clone();
    host.cancel(slow);
    let cancelled = yesgate_testkit::until("the server hears of it", || {
        let lines = stage.upstream_lines();
        lines
            .iter()
            .filter_map(|line| line.message())
            .find(|line| line["method"] == "notifications/cancelled")
    });
    assert_eq!(cancelled["params"]["requestId"], sent);
    stage.open_gate();
    // It ran, so its outcome is written down, but nobody is answered who gave up.
    let question = stage.audit().into_iter().find(|row| row["entry"]["event"] == "opened").unwrap();
    let intent = question["entry"]["intent"].as_str().unwrap().to_owned();
    yesgate_testkit::until("the outcome", || {
        (crate::support::state(&stage, &intent) == "done").then_some(())
    });
    host.call("read_note", json!({"id": "a"}));
    assert!(host.unclaimed().is_empty());
    let status = host.call("yesgate_status", json!({ "intent_id": intent }));
    assert_eq!(status["result"]["structuredContent"]["result"]["content"][0]["text"], "run 1: slowly done");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
