//! Calls that are more than a question and an answer: servers that ask back, tell how far they are, are told
//! to stop, or hand out tasks.

use std::time::Duration;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, error_code, text, until};

use super::{Era, YESGATE, all_pass, audited, bank, everything, open};

/// Asks for a gated call, and makes it again with the token; gives back the id of the second request.
#[track_caller]
fn approve_in_chat(host: &mut Host, tool: &str, arguments: &Value, meta: Value) -> u64 {
    let held = host.call(tool, arguments.clone());
    let mut arguments = arguments.clone();
    arguments["confirm_token"] = confirm_token(&held).into();
    host.call_with(tool, arguments, meta)
}

/// X10: a gated tool asks the user while it runs; the question and its answer pass.
#[test]
fn the_everything_server_elicits_while_a_gated_call_runs() {
    // The host can show forms; our own question is put in the conversation here.
    let stage = Stage::new(YESGATE).config("channel = \"chat\"\n");
    let mut host = everything().gated(&stage).capable(json!({"elicitation": {}}));
    open(&mut host, Era::Legacy);
    for (answer, expected) in [
        (json!({"action": "accept", "content": {"name": "Ann"}}), "User provided the requested information"),
        (json!({"action": "decline"}), "User declined"),
        (json!({"action": "cancel"}), "User cancelled"),
    ] {
        let running = approve_in_chat(&mut host, "trigger-elicitation-request", &json!({}), json!({}));
        let question = host.next_of("elicitation/create");
        assert_eq!(question["params"]["requestedSchema"]["required"], json!(["name"]));
        host.respond(&question, answer);
        let ran = host.answer_to(running);
        assert!(text(&ran).contains(expected), "{ran:#}");
    }
    host.assert_only_json_rpc();
    assert!(host.close().success());
    assert_eq!(audited(&stage, "redeemed"), 3);
}

/// X10: the same for a request to the host's model.
#[test]
fn the_everything_server_samples_while_a_gated_call_runs() {
    let stage = Stage::new(YESGATE);
    let mut host = everything().gated(&stage).capable(json!({"sampling": {}}));
    open(&mut host, Era::Legacy);
    let arguments = json!({"prompt": "flowers", "maxTokens": 10});
    let running = approve_in_chat(&mut host, "trigger-sampling-request", &arguments, json!({}));
    let question = host.next_of("sampling/createMessage");
    assert_eq!(question["params"]["maxTokens"], 10);
    let content = json!({"type": "text", "text": "roses"});
    host.respond(&question, json!({"role": "assistant", "model": "none", "content": content}));
    let ran = host.answer_to(running);
    assert!(text(&ran).contains("roses"), "{ran:#}");
    assert!(host.close().success());
    assert_eq!(audited(&stage, "redeemed"), 1);
}

const LONG_RUN: &str = "trigger-long-running-operation";

/// A stage on which the long-running operation is gated, though the server says that it only reads.
fn long_run_gated() -> Stage {
    Stage::new(YESGATE).config("[[rules]]\ntool = \"everything/trigger-*\"\nclass = \"dangerous\"\n")
}

/// So long that it can be cancelled after the first of its three steps.
fn long() -> Value {
    json!({"duration": 2.4, "steps": 3})
}

#[track_caller]
fn next_progress(host: &mut Host) -> Value {
    host.next_of("notifications/progress")["params"].clone()
}

/// X10: progress of a gated call comes under the host's own token, though the server knows the call under
/// another id.
#[test]
fn the_everything_server_tells_the_progress_of_a_gated_call() {
    let stage = long_run_gated();
    let mut host = everything().gated(&stage);
    open(&mut host, Era::Legacy);
    let arguments = json!({"duration": 0.2, "steps": 2});
    let running = approve_in_chat(&mut host, LONG_RUN, &arguments, json!({"progressToken": "mine"}));
    for progress in [1, 2] {
        assert_eq!(
            next_progress(&mut host),
            json!({"progress": progress, "total": 2, "progressToken": "mine"})
        );
    }
    assert!(text(&host.answer_to(running)).starts_with("Long running operation completed"));
    assert!(host.close().success());
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// Whether a request was answered by the time that a later one is.
#[track_caller]
fn is_answered(host: &mut Host, id: u64) -> bool {
    host.request("ping", json!({}));
    host.recv_where(|message| message.get("method").is_none() && message["id"] == id, Duration::ZERO)
        .is_some()
}

/// X10: a cancellation passes. This server goes on to tell the progress, and only keeps the answer to itself.
#[test]
fn the_everything_server_hears_of_a_cancelled_read() {
    let stage = Stage::new(YESGATE);
    let mut host = everything().gated(&stage);
    open(&mut host, Era::Legacy);
    let running = host.call_with(LONG_RUN, long(), json!({"progressToken": 1}));
    assert_eq!(next_progress(&mut host)["progress"], 1);
    host.cancel(running);
    while next_progress(&mut host)["progress"] != 3 {}
    assert!(!is_answered(&mut host, running));

    let whole = host.call_with(LONG_RUN, json!({"duration": 0.3, "steps": 3}), json!({"progressToken": 2}));
    while next_progress(&mut host)["progress"] != 3 {}
    assert!(is_answered(&mut host, whole), "without a cancellation the answer comes");
    assert!(host.close().success());
}

/// X3: a gated call that is cancelled while it runs is not answered and not run again. What became of it
/// nobody can say, for the server owes no answer any more; so a human is to settle it.
#[test]
fn a_gated_call_that_is_cancelled_while_it_runs_ends_as_unknown() {
    let stage = long_run_gated();
    let mut host = everything().gated(&stage);
    open(&mut host, Era::Legacy);
    let running = approve_in_chat(&mut host, LONG_RUN, &long(), json!({"progressToken": 1}));
    assert_eq!(next_progress(&mut host)["progress"], 1);
    host.cancel(running);
    while next_progress(&mut host)["progress"] != 3 {}
    assert!(!is_answered(&mut host, running));
    let unknown = until("a call with an unknown outcome", || {
        stage.pending().into_iter().find(|question| question["state"] == "unknown")
    });
    stage.yesgate(&["resolve", unknown["intent_id"].as_str().unwrap(), "--did-not-run"]).ok();
    host.assert_only_json_rpc();
    assert!(host.close().success());
    assert_eq!((audited(&stage, "redeemed"), audited(&stage, "finished")), (1, 0));
}

/// X10: an input-required result of an ungated tool passes, and so does the request that goes on from it.
#[test]
fn a_modern_server_asks_for_input_through_the_gate() {
    let peer = bank();
    let stage = Stage::new(YESGATE).config(&all_pass(&peer));
    let mut host = peer.gated(&stage).capable(json!({"elicitation": {"form": {}}}));
    open(&mut host, Era::Modern);
    let asking = host.call("close_account", json!({"account": "Ann"}));
    let result = &asking["result"];
    assert_eq!(result["resultType"], "input_required", "{asking:#}");
    let (key, question) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["params"]["message"], "Close the account?");

    let go_on = |sure: bool| {
        json!({
            "name": "close_account",
            "arguments": {"account": "Ann"},
            "inputResponses": {key: {"action": "accept", "content": {"sure": sure}}},
            "requestState": result["requestState"],
        })
    };
    for (sure, expected) in [(true, "Ann closed"), (false, "Ann stays open")] {
        let mut params = go_on(sure);
        params["_meta"] = host.modern_meta();
        assert_eq!(text(&host.request("tools/call", params)), expected);
    }
    host.assert_only_json_rpc();
    host.close();
}

/// X10: the same server asks a legacy host with a request of its own.
#[test]
fn a_server_of_both_eras_elicits_from_a_legacy_host_through_the_gate() {
    let peer = bank();
    let stage = Stage::new(YESGATE).config(&all_pass(&peer));
    let mut host = peer.gated(&stage).capable(json!({"elicitation": {}}));
    open(&mut host, Era::Legacy);
    let running = host.call_async("close_account", json!({"account": "Ann"}));
    let question = host.next_of("elicitation/create");
    host.respond(&question, json!({"action": "accept", "content": {"sure": true}}));
    assert_eq!(text(&host.answer_to(running)), "Ann closed");
    host.close();
}

/// X10: a task of an ungated tool is made, polled and fetched through the gate; one of a gated tool is
/// refused with the reason, for nobody could say to what the yes was.
#[test]
fn tasks_of_the_everything_server_pass_unless_the_tool_is_gated() {
    let peer = everything();
    let task = json!({
        "name": "simulate-research-query",
        "arguments": {"topic": "flowers"},
        "task": {"ttl": 60_000},
    });
    let strict = Stage::new(YESGATE);
    let mut host = peer.gated(&strict);
    open(&mut host, Era::Legacy);
    let refused = host.request("tools/call", task.clone());
    assert_eq!(error_code(&refused), -32602);
    assert!(refused.to_string().contains("call it without `task`"), "{refused:#}");
    assert!(host.close().success());

    let stage = Stage::new(YESGATE).config(&all_pass(&peer));
    let mut host = peer.gated(&stage);
    open(&mut host, Era::Legacy);
    let made = host.request("tools/call", task);
    let id = made.pointer("/result/task/taskId").unwrap_or_else(|| panic!("no task: {made:#}")).clone();
    until("the end of the task", || {
        let polled = host.request("tasks/get", json!({"taskId": id}));
        (polled["result"]["status"] == "completed").then_some(())
    });
    let fetched = host.request("tasks/result", json!({"taskId": id}));
    assert!(text(&fetched).contains("flowers"), "{fetched:#}");
    host.assert_only_json_rpc();
    host.close();
}
