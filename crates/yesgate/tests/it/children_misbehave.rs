//! Servers that die, hang, babble or lie: the host keeps its session, and nothing runs twice.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, error_code, intent_id, refusal, structured, text, until};

use crate::support::{Era, legacy, stage, state, upstream_count};

fn read(host: &mut Host) -> Value {
    host.call("read_note", json!({"id": "a"}))
}

/// Asks about deleting a note, and brings the token back.
#[track_caller]
fn delete(host: &mut Host, note: &str) -> Value {
    let token = confirm_token(&host.call("delete_note", json!({"id": note})));
    host.call("delete_note", json!({"id": note, "confirm_token": token}))
}

/// Whether a read was answered by the server.
fn works(answer: &Value) -> bool {
    answer.get("result").is_some_and(|result| result["isError"] != true)
}

/// Reads until it works: a server that died is started again when it is wanted, after a moment.
#[track_caller]
fn wait_for_server(host: &mut Host) {
    until("the server is back", || Some(read(host)).filter(works));
}

#[track_caller]
fn finish(stage: &Stage, mut host: Host, gated: usize) {
    host.assert_only_json_rpc();
    assert!(host.unclaimed().is_empty(), "{:#?}", host.unclaimed());
    host.close();
    assert_eq!(stage.check_history().gated, gated);
}

/// X3, FC-20: a server that dies with a gated call leaves an unknown outcome: said to the agent, listed for the human,
/// never sent again, not after a restart either, until a human settles it.
#[test]
fn a_gated_call_whose_server_dies_is_unknown_and_never_sent_again() {
    for era in Era::BOTH {
        let stage = stage();
        stage.behave(&["--die-on", "delete_note"]);
        let mut host = era.greet(stage.host());
        let held = host.call("delete_note", json!({"id": "a"}));
        let call = json!({"id": "a", "confirm_token": confirm_token(&held)});
        let intent = intent_id(&held);
        let lost = host.call("delete_note", call.clone());
        assert_eq!((refusal(&lost), intent_id(&lost)), ("execution_unknown", intent.clone()));
        assert!(structured(&lost)["message"].as_str().unwrap().contains("may or may not have"));

        stage.behave(&[]);
        wait_for_server(&mut host);
        for again in [call.clone(), json!({"id": "a"})] {
            assert_eq!(refusal(&host.call("delete_note", again)), "execution_unknown");
        }
        let approve = host.call("yesgate_approve", json!({ "intent_id": intent }));
        assert_eq!(refusal(&approve), "execution_unknown");
        let listed = stage.pending();
        assert_eq!((listed.len(), &listed[0]["state"]), (1, &json!("unknown")));
        assert!(stage.yesgate(&["pending"]).ok().stdout.contains("yesgate resolve"));
        assert_eq!(upstream_count(&stage, "delete_note"), 1);

        stage.yesgate(&["resolve", &intent, "--did-not-run"]).ok();
        assert_eq!(stage.yesgate(&["resolve", &intent, "--ran"]).code(), 3, "settled is settled");
        assert_eq!(refusal(&host.call("delete_note", call)), "consent_token_invalid");
        assert_eq!(structured(&delete(&mut host, "a"))["deleted"], "a");
        finish(&stage, host, 2);
    }
}

/// A read that loses its server is an error, not a hang; the next request finds a new server, and the host's
/// session with it, without a word about that on the wire.
#[test]
fn a_server_that_dies_with_a_read_is_started_again() {
    for era in Era::BOTH {
        let stage = stage();
        stage.behave(&["--die-on", "read_note"]);
        let mut host = era.greet(stage.host());
        let lost = read(&mut host);
        assert_eq!(error_code(&lost), -32603);
        assert!(lost["error"]["message"].as_str().unwrap().contains("exit code 3"), "{lost:#}");
        stage.behave(&[]);
        wait_for_server(&mut host);
        assert_eq!(structured(&delete(&mut host, "a"))["deleted"], "a");

        let lines = stage.upstream_lines();
        let pids: BTreeSet<u32> = lines.iter().map(|line| line.pid).collect();
        assert_eq!(pids.len(), 2);
        let last = lines.last().unwrap().pid;
        let second: Vec<Value> =
            lines.iter().filter(|line| line.pid == last).filter_map(|line| line.message()).collect();
        if let Era::Legacy = era {
            let first = lines.iter().find_map(|line| line.message()).unwrap();
            assert_eq!(second[0]["method"], "initialize");
            assert_eq!(second[0]["params"], first["params"], "the host's own hello");
            assert_eq!(second[1]["method"], "notifications/initialized");
        }
        finish(&stage, host, 1);
    }
}

/// A server that takes its time to come back holds up neither what the gateway itself can answer nor its end.
#[test]
fn a_server_that_is_slow_to_come_back_holds_up_nobody_else() {
    let stage = stage();
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    stage.behave(&["--slow-start-ms", "60000"]);
    let server = stage.upstream_lines().last().unwrap().pid;
    let killed = std::process::Command::new("kill").args(["-9", &server.to_string()]).status().unwrap();
    assert!(killed.success());
    // One of these finds it dead, and the gateway starts another.
    let started = |host: &Host| host.stderr().matches("mock-server: process").count() == 2;
    until("a new server", || {
        host.call_async("read_note", json!({"id": "a"}));
        started(&host).then_some(())
    });
    let status = host.call("yesgate_status", json!({ "intent_id": intent }));
    assert_eq!(structured(&status)["status"], "pending");
    host.signal("TERM");
    assert_eq!(host.ended().code(), Some(128 + 15));
    assert_eq!(stage.check_history().gated, 0);
}

/// I4: noise on a server's stdout is not passed on, and does not get in the way.
#[test]
fn noise_on_stdout_is_dropped() {
    for era in Era::BOTH {
        let stage = stage().server_args(&["--garbage"]);
        let mut host = era.greet(stage.host());
        host.list_tools();
        assert_eq!(text(&read(&mut host)), "the first note");
        assert_eq!(structured(&delete(&mut host, "a")), &json!({"deleted": "a", "run": 2}));
        assert!(host.stderr().contains("no JSON-RPC message"), "a person can find out: {}", host.stderr());
        finish(&stage, host, 1);
    }
}

/// B7: the first answer counts; a second one, and one that nobody asked for, are dropped.
#[test]
fn answers_that_nobody_asked_for_are_dropped() {
    for flag in ["--answer-twice", "--answer-wrong-id"] {
        let stage = stage().server_args(&[flag]);
        let mut host = legacy(&stage);
        assert_eq!(text(&read(&mut host)), "the first note");
        assert_eq!(structured(&delete(&mut host, "a")), &json!({"deleted": "a", "run": 2}));
        assert_eq!(text(&read(&mut host)), "");
        finish(&stage, host, 1);
    }
}

/// B8, X3: an answer beyond all measure is dropped, and its caller is told; how a gated call ended that gave it
/// is not known.
#[test]
fn an_answer_that_is_too_long_is_dropped_and_said_so() {
    let stage = stage().server_args(&["--huge", "fail", "--huge", "slow"]).read_only(&["slow"]);
    let mut host = legacy(&stage);
    let dropped = host.call("slow", json!({}));
    assert_eq!(error_code(&dropped), -32603);
    assert!(dropped["error"]["message"].as_str().unwrap().contains("larger than allowed"), "{dropped:#}");

    let held = host.call("fail", json!({}));
    let ran = host.call("fail", json!({"confirm_token": confirm_token(&held)}));
    assert_eq!(refusal(&ran), "execution_unknown", "{ran:#}");
    assert_eq!(state(&stage, &intent_id(&held)), "unknown");
    assert_eq!(upstream_count(&stage, "fail"), 1);
    assert_eq!(text(&read(&mut host)), "the first note");
    finish(&stage, host, 1);
}

/// A call that is never answered holds up no other, nor the gateway's own tools, nor the end.
#[test]
fn a_server_that_hangs_holds_up_nothing_else() {
    let stage = stage().server_args(&["--hang-on", "delete_note", "--hang-on", "slow"]).read_only(&["slow"]);
    let mut host = legacy(&stage);
    host.call_async("slow", json!({}));
    let held = host.call("delete_note", json!({"id": "a"}));
    let intent = intent_id(&held);
    let hanging = host.call_async("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
    until("the call is out", || (upstream_count(&stage, "delete_note") == 1).then_some(()));
    assert_eq!(text(&read(&mut host)), "the first note");
    let status = host.call("yesgate_status", json!({ "intent_id": intent }));
    assert_eq!(structured(&status)["status"], "running");
    let again = host.call("yesgate_approve", json!({ "intent_id": intent }));
    assert_eq!(refusal(&again), "consent_token_invalid", "one run, and it is under way");

    host.close();
    assert_eq!(refusal(&host.answer_to(hanging)), "execution_unknown");
    assert_eq!(state(&stage, &intent), "unknown");
    host.assert_only_json_rpc();
    assert_eq!(stage.check_history().gated, 1);
}

/// A server that stops reading is not waited for: the rest is told that it cannot be reached, and the end comes.
#[test]
fn a_server_that_stops_reading_holds_up_nobody() {
    let stage = stage();
    stage.behave(&["--stop-reading-after", "4"]);
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    let big = json!({"padding": "x".repeat(3_500_000)});
    for _ in 0..21 {
        host.request_async("prompts/list", big.clone());
    }
    let refused =
        host.expect_message("a request that cannot be passed on", |message| message.get("error").is_some());
    assert_eq!(error_code(&refused), -32603, "{refused:#}");
    let status = host.call("yesgate_status", json!({ "intent_id": intent }));
    assert_eq!(structured(&status)["status"], "pending");
    host.close();
    host.assert_only_json_rpc();
    assert_eq!(stage.check_history().gated, 0);
}

/// A command that does not work is said plainly, on stderr only, with the exit code that a shell would give.
#[test]
fn a_command_that_does_not_start_is_said_plainly() {
    let stage = stage();
    let plain_file = stage.work().join("plain-file");
    fs::write(&plain_file, "not a program").unwrap();
    let cases = [
        ("no-such-program", 127, "could not be started"),
        (plain_file.to_str().unwrap(), 126, "Permission denied"),
    ];
    for (program, code, words) in cases {
        let mut host = Host::spawn(stage.command(&["wrap", "--name", "mock", "--", program]));
        assert_eq!(host.ended().code(), Some(code), "{}", host.stderr());
        assert!(host.all_stdout().is_empty());
        let plainly = |line: &str| line.starts_with("Error: ") && line.contains(words);
        assert!(host.stderr().lines().any(plainly), "{}", host.stderr());
        // A host that is gone at once makes no difference.
        let output = stage.yesgate(&["wrap", "--name", "mock", "--", program]);
        assert_eq!((output.code(), output.stdout.as_str()), (code, ""), "{output:#?}");
        assert!(output.stderr.contains(words), "{output:#?}");
    }
}

/// A server that dies before it said a word is not started again and again: its exit code is ours.
#[test]
fn a_server_that_dies_at_once_ends_us_with_its_code() {
    let stage = stage().server_args(&["--die-at-start"]);
    let mut host = stage.host();
    assert_eq!(host.ended().code(), Some(3));
    assert!(host.all_stdout().is_empty());
    assert!(host.stderr().contains("Error: ") && host.stderr().contains("exit code 3"), "{}", host.stderr());
}

/// FC-19: a yes for a server that cannot be reached runs nothing, and says so instead of guessing.
#[test]
fn a_call_that_cannot_be_sent_did_not_run() {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    stage.behave(&["--die-at-start"]);
    let server = stage.upstream_lines().last().unwrap().pid;
    assert!(std::process::Command::new("kill").args(["-9", &server.to_string()]).status().unwrap().success());
    until("the server is gone", || Some(read(&mut host)).filter(|answer| !works(answer)));
    let answer = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
    assert_eq!(error_code(&answer), -32603, "{answer:#}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("Nothing ran"), "{answer:#}");
    assert_eq!(state(&stage, &intent_id(&held)), "pending", "the yes was not spent");
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    host.close();
    assert_eq!(stage.check_history().gated, 0);
}
