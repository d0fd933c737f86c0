//! Crashes: whatever is killed, a call that left is never sent again, and nothing is left running.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, intent_id, refusal, structured, text, until};

use crate::support::{Era, legacy, runs, stage, state, upstream_count};

/// Lets the tool `slow`, which is gated, leave for a server that does not answer; gives back the token's call and
/// the question.
#[track_caller]
fn send_slow(stage: &Stage, host: &mut Host) -> (Value, String) {
    let held = host.call("slow", json!({}));
    let call = json!({"confirm_token": confirm_token(&held)});
    host.call_async("slow", call.clone());
    until("the call is out", || (upstream_count(stage, "slow") == 1).then_some(()));
    (call, intent_id(&held))
}

/// X3, FC-29: `kill -9` of the gateway while a gated call is out: the outcome is unknown to whoever comes next, the call is
/// never sent again, and the chain holds.
#[test]
fn a_killed_gateway_leaves_an_unknown_outcome_and_no_second_run() {
    for era in Era::BOTH {
        let stage = stage().gate();
        let mut host = era.greet(stage.host());
        let (call, intent) = send_slow(&stage, &mut host);
        let server = stage.upstream_lines().last().unwrap().pid;
        host.kill9();
        assert!(!runs(server), "the server went with its gateway");

        let listed = stage.pending();
        assert_eq!((&listed[0]["intent_id"], &listed[0]["state"]), (&json!(intent), &json!("unknown")));
        stage.open_gate();
        let mut host = era.greet(stage.host());
        let own = json!({ "intent_id": intent });
        assert_eq!(refusal(&host.call("slow", call)), "execution_unknown");
        assert_eq!(refusal(&host.call("slow", json!({}))), "execution_unknown");
        assert_eq!(refusal(&host.call("yesgate_approve", own.clone())), "execution_unknown");
        assert_eq!(structured(&host.call("yesgate_status", own))["status"], "unknown");
        assert_eq!(stage.yesgate(&["approve", &intent, "--yes"]).code(), 3);
        assert_eq!(upstream_count(&stage, "slow"), 1);

        stage.yesgate(&["resolve", &intent, "--ran"]).ok();
        let held = host.call("slow", json!({}));
        assert_ne!(intent_id(&held), intent);
        assert_eq!(
            text(&host.call("slow", json!({"confirm_token": confirm_token(&held)}))),
            "run 1: slowly done"
        );
        assert!(host.close().success());
        let history = stage.check_history();
        assert_eq!((history.gated, history.redeemed), (2, 2));
    }
}

/// X3, FC-29: a question outlives the gateway that asked it; its token still runs it, once.
#[test]
fn a_question_outlives_a_killed_gateway() {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    host.kill9();
    let mut host = legacy(&stage);
    let call = json!({"id": "a", "confirm_token": confirm_token(&held)});
    assert_eq!(structured(&host.call("delete_note", call.clone()))["deleted"], "a");
    host.kill9();
    let mut host = legacy(&stage);
    assert_eq!(refusal(&host.call("delete_note", call)), "consent_token_invalid");
    let status = host.call("yesgate_status", json!({"intent_id": intent_id(&held)}));
    assert_eq!(structured(&status)["result"]["structuredContent"]["deleted"], "a", "the answer is not lost");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// FC-30: told to end while a gated call is out, the gateway ends, says that the outcome is unknown, and takes its
/// server along.
#[test]
fn a_gateway_that_is_told_to_end_leaves_an_honest_outcome() {
    for (signal, code) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let stage = stage().gate();
        let mut host = legacy(&stage);
        let (_, intent) = send_slow(&stage, &mut host);
        host.signal(signal);
        assert_eq!(host.ended().code(), Some(code));
        assert_eq!(state(&stage, &intent), "unknown");
        host.assert_only_json_rpc();
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// X3: a host that is killed closes both pipes at once: the gateway and its server end, and what was out is unknown.
#[test]
fn a_killed_host_leaves_nobody_behind() {
    let stage = stage().gate();
    let mut asking = legacy(&stage);
    let held = asking.call("slow", json!({}));
    assert!(asking.close().success());

    let mut command = stage.command(&["wrap", "--name", "mock", "--"]);
    command.args(stage.server_words()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut gateway = command.spawn().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "testkit", "version": "1.0.0"},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "slow", "arguments": {"confirm_token": confirm_token(&held)},
    }});
    let mut stdin = gateway.stdin.take().unwrap();
    writeln!(stdin, "{hello}\n{ready}\n{call}").unwrap();
    until("the call is out", || (upstream_count(&stage, "slow") == 1).then_some(()));
    let server = stage.upstream_lines().last().unwrap().pid;
    // What the system does for a process that is killed.
    drop((stdin, gateway.stdout.take()));
    until("the gateway's end", || gateway.try_wait().unwrap());
    until("the server's end", || (!runs(server)).then_some(()));
    assert_eq!(state(&stage, &intent_id(&held)), "unknown");
    assert_eq!(stage.check_history().gated, 1);
}

/// X3, FC-29: a gateway killed over and over, each time with a call under way, never sends one twice.
#[test]
fn killing_again_and_again_never_sends_a_call_twice() {
    let stage = stage();
    for round in 0..6 {
        let mut host = legacy(&stage);
        let note = format!("note {round}");
        let held = host.call("delete_note", json!({"id": note}));
        host.call_async("delete_note", json!({"id": note, "confirm_token": confirm_token(&held)}));
        if round % 2 == 0 {
            // Half of the time the call is known to be out; else the kill comes wherever it comes.
            until("the call is out", || (upstream_count(&stage, "delete_note") > round / 2).then_some(()));
        }
        host.kill9();
        let mut host = legacy(&stage);
        let again = host.call("delete_note", json!({"id": note, "confirm_token": confirm_token(&held)}));
        let ended = state(&stage, &intent_id(&held));
        match ended.as_str() {
            "unknown" => assert_eq!(refusal(&again), "execution_unknown"),
            "done" => {}
            other => panic!("round {round}: {other} {again:#}"),
        }
        assert!(host.close().success());
    }
    let history = stage.check_history();
    assert!(history.gated <= history.redeemed && history.redeemed <= 6, "{history:?}");
}
