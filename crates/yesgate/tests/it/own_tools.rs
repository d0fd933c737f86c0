//! The gateway's own tools: an id proves nothing, and looking changes nothing.

use serde_json::{Value, json};
use yesgate_testkit::{Host, confirm_token, intent_id, refusal, structured, text};

use crate::support::{Era, legacy, legacy_named, stage, state};

const TOOLS: [&str; 3] = ["yesgate_approve", "yesgate_reject", "yesgate_status"];

fn own(host: &mut Host, tool: &str, intent: &Value) -> Value {
    host.call(tool, json!({ "intent_id": intent }))
}

/// I3, H4: another client can neither see nor answer a question, and cannot tell it from one that never was.
#[test]
fn another_client_can_neither_see_nor_answer_a_question() {
    for era in Era::BOTH {
        let stage = stage();
        let mut host = era.greet(stage.host());
        let held = host.call("delete_note", json!({"id": "a"}));
        let intent = intent_id(&held);
        let mut stranger = era.greet(stage.host().named("somebody else"));
        for tool in TOOLS {
            let about_ours = own(&mut stranger, tool, &json!(intent));
            assert_eq!(refusal(&about_ours), "consent_token_invalid");
            let mut about_none = own(&mut stranger, tool, &json!("intent_0000000000000000"));
            about_none["id"] = about_ours["id"].clone();
            assert_eq!(about_ours, about_none, "{tool} tells them apart");
        }
        assert_eq!(state(&stage, &intent), "pending");
        assert!(stranger.close().success());
        assert!(stage.upstream_calls().is_empty());

        let token = confirm_token(&held);
        let ran = host.call("delete_note", json!({"id": "a", "confirm_token": token}));
        assert_eq!(structured(&ran)["deleted"], "a");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// I3: an id is a string that names a question; anything else is refused and runs nothing.
#[test]
fn an_id_that_is_none_is_refused() {
    let stage = stage();
    let mut host = legacy(&stage);
    host.call("delete_note", json!({"id": "a"}));
    for id in
        [json!(null), json!(""), json!(7), json!(["x"]), json!("intent_"), json!("../ledger.db"), json!("%")]
    {
        for tool in TOOLS {
            assert_eq!(refusal(&own(&mut host, tool, &id)), "consent_token_invalid", "{tool} {id}");
        }
    }
    assert_eq!(host.call("yesgate_approve", json!({}))["error"]["data"]["error"], "consent_token_invalid");
    assert_eq!(stage.pending().len(), 1);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// I3: looking decides nothing, however often; a result can be read again and again, and it is always the first.
#[test]
fn looking_changes_nothing() {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = host.call("write_note", json!({"id": "b", "text": "x"}));
    let intent = json!(intent_id(&held));
    for _ in 0..5 {
        let answer = own(&mut host, "yesgate_status", &intent);
        let status = structured(&answer);
        assert_eq!(status["status"], "pending");
        assert_eq!(status["summary"], structured(&held)["summary"]);
        assert_eq!(status["match_code"], structured(&held)["match_code"]);
        assert!(status.get("confirm_token").is_none());
    }
    assert!(stage.upstream_calls().is_empty());
    assert_eq!(text(&own(&mut host, "yesgate_approve", &intent)), "run 1: wrote b");
    for _ in 0..3 {
        let answer = own(&mut host, "yesgate_status", &intent);
        assert_eq!(structured(&answer)["result"]["content"][0]["text"], "run 1: wrote b");
    }
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X3: a tool that fails, or answers with an error, has run: its answer comes as it was, and the yes is spent.
#[test]
fn a_failed_run_is_a_run() {
    let stage = stage();
    let mut host = legacy(&stage);
    let intent = json!(intent_id(&host.call("fail", json!({}))));
    let answer = own(&mut host, "yesgate_approve", &intent);
    assert_eq!((text(&answer), &answer["result"]["isError"]), ("run 1: it failed", &json!(true)));
    assert_eq!(refusal(&own(&mut host, "yesgate_approve", &intent)), "consent_token_invalid");
    assert_eq!(structured(&own(&mut host, "yesgate_status", &intent))["outcome"], "tool_error");

    let intent = json!(intent_id(&host.call("rpc_error", json!({}))));
    let answer = own(&mut host, "yesgate_approve", &intent);
    let error = json!({"code": 4242, "message": "the mock refuses", "data": {"run": 2}});
    assert_eq!(answer["error"], error);
    assert_eq!(structured(&own(&mut host, "yesgate_status", &intent))["error"], error);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 2);
}

/// A server cannot take the place of our tools, nor hide behind their names.
#[test]
fn our_names_are_ours() {
    let stage = stage();
    let mut host = legacy_named(&stage, "testkit");
    for tool in ["yesgate_approve ", "Yesgate_approve", "yesgate_set_mode"] {
        let answer = host.call(tool, json!({"intent_id": "intent_x"}));
        assert_eq!(answer["error"]["code"], -32602, "{answer:#}");
    }
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
}
