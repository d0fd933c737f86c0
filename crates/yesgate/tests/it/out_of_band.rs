//! Out of band: a human decides in another shell, and the agent is never in the path.

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, intent_id, refusal, structured, until};

use crate::support::{Era, legacy, stage, state, upstream_count};

const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

fn elsewhere() -> Stage {
    stage().config(ELSEWHERE)
}

/// The same, but the call is held only for a second.
fn held_briefly() -> Stage {
    stage().config(&format!("[times]\nhold = \"1s\"\n{ELSEWHERE}"))
}

fn with_assurance(level: &str) -> Stage {
    stage()
        .config(&format!("[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nassurance = \"{level}\"\n"))
}

fn delete(host: &mut Host, note: &str) -> Value {
    host.call("delete_note", json!({"id": note}))
}

/// Starts the call, and gives back its request and the id of its question.
#[track_caller]
fn ask(stage: &Stage, host: &mut Host, note: &str) -> (u64, String) {
    let request = host.call_async("delete_note", json!({"id": note}));
    let question = stage.wait_for_question();
    (request, question["intent_id"].as_str().unwrap().to_owned())
}

/// I5: a no reaches the agent with the human's words, and the same call is not asked about again for a while.
#[test]
fn a_no_reaches_the_agent_with_its_reason() {
    let stage = elsewhere();
    let mut host = legacy(&stage);
    let (request, intent) = ask(&stage, &mut host, "a");
    stage.yesgate(&["deny", &intent, "--reason", "archive it instead"]).ok();
    let answer = host.answer_to(request);
    assert_eq!((refusal(&answer), intent_id(&answer)), ("denied", intent));
    assert_eq!(structured(&answer)["details"]["reason"], "archive it instead");
    assert!(structured(&answer)["message"].as_str().unwrap().contains("archive it instead"));
    assert_eq!(refusal(&delete(&mut host, "a")), "denied");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// I5, Time: a call is not held for ever; the result waits, and the same call repeated takes it, once.
#[test]
fn the_same_call_repeated_takes_the_waiting_result_once() {
    let stage = held_briefly();
    let mut host = legacy(&stage);
    let held = delete(&mut host, "a");
    let fields = structured(&held);
    assert_eq!((&fields["status"], &fields["confirm_required"]), (&json!("approval_required"), &json!(true)));
    assert!(fields.get("confirm_token").is_none(), "the agent has no handle");
    assert!(fields["message"].as_str().unwrap().contains(&format!("yesgate approve {}", intent_id(&held))));

    let approved = stage.yesgate(&["approve", &intent_id(&held), "--yes", "--json"]).ok().json();
    assert_eq!((&approved["state"], &approved["outcome"]), (&json!("done"), &json!("ok")));
    assert_eq!(structured(&delete(&mut host, "a")), &json!({"deleted": "a", "run": 1}));
    let anew = delete(&mut host, "a");
    assert_eq!(structured(&anew)["status"], "approval_required");
    assert_ne!(intent_id(&anew), intent_id(&held));
    assert_eq!(upstream_count(&stage, "delete_note"), 1);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I5: status hands the waiting result over too, and then the same call is a new question.
#[test]
fn the_status_tool_hands_the_waiting_result_over() {
    let stage = held_briefly();
    let mut host = legacy(&stage);
    let intent = intent_id(&delete(&mut host, "a"));
    stage.yesgate(&["approve", &intent, "--yes"]).ok();
    let status = host.call("yesgate_status", json!({ "intent_id": intent }));
    assert_eq!(structured(&status)["status"], "done");
    assert_eq!(structured(&status)["assurance"], "local");
    assert_eq!(structured(&status)["result"]["structuredContent"], json!({"deleted": "a", "run": 1}));
    assert_ne!(intent_id(&delete(&mut host, "a")), intent);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// FC-23: a question that nobody answers ends, and the call that waits for it is told so, not held on.
#[test]
fn a_held_call_is_told_when_the_time_to_decide_is_over() {
    let stage = stage().config(&format!("[times]\ndecide = \"1s\"\nhold = \"15s\"\n{ELSEWHERE}"));
    let mut host = legacy(&stage);
    let answer = delete(&mut host, "a");
    assert_eq!(refusal(&answer), "expired");
    let status = host.call("yesgate_status", json!({"intent_id": intent_id(&answer)}));
    assert_eq!(structured(&status)["status"], "expired");
    let late = stage.yesgate(&["approve", &intent_id(&answer), "--yes"]);
    assert_eq!(late.code(), 3, "{late:#?}");
    assert!(late.stderr.contains("(expired)"), "{}", late.stderr);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// Time: the same for a question in chat: whoever looks after its end is told that it is over.
#[test]
fn the_status_of_a_question_that_nobody_answered_is_expired() {
    let stage = stage().config("[times]\ntoken = \"1s\"\ndecide = \"1s\"\n");
    let mut host = legacy(&stage);
    let intent = json!({"intent_id": intent_id(&delete(&mut host, "a"))});
    let status = until("the end of the question", || {
        let status = structured(&host.call("yesgate_status", intent.clone())).clone();
        (status["status"] != "pending").then_some(status)
    });
    assert_eq!(status["status"], "expired");
    assert_eq!(refusal(&host.call("yesgate_approve", intent)), "expired");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// Time: a call that the client gave up is withdrawn; a late yes runs nothing, and no answer comes.
#[test]
fn a_cancelled_call_is_withdrawn_and_a_late_yes_is_void() {
    for era in Era::BOTH {
        let stage = elsewhere();
        let mut host = era.greet(stage.host());
        let (request, intent) = ask(&stage, &mut host, "a");
        host.cancel(request);
        until("the withdrawal", || stage.pending().is_empty().then_some(()));
        assert_eq!(state(&stage, &intent), "cancelled");
        let late = stage.yesgate(&["approve", &intent, "--yes"]);
        assert_eq!(late.code(), 3);
        assert!(late.stderr.contains("(cancelled)"), "{}", late.stderr);
        host.call("read_note", json!({"id": "a"}));
        assert!(host.unclaimed().is_empty(), "{:#?}", host.unclaimed());
        let cancels = stage.upstream_lines().iter().filter(|line| line.raw.contains("cancelled")).count();
        assert_eq!(cancels, 0, "the server never heard of the call");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// Time: a no after the yes has run changes nothing and says so.
#[test]
fn an_answer_after_the_end_is_refused() {
    let stage = elsewhere();
    let mut host = legacy(&stage);
    let (request, intent) = ask(&stage, &mut host, "a");
    stage.yesgate(&["approve", &intent, "--yes"]).ok();
    host.answer_to(request);
    for late in [["deny", &intent, "--reason=no"], ["approve", &intent, "--yes"]] {
        let output = stage.yesgate(&late);
        assert_eq!(output.code(), 3, "{output:#?}");
        assert!(output.stdout.is_empty(), "{output:#?}");
    }
    assert_eq!(state(&stage, &intent), "done");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X1, FC-24: what nobody here can prove is refused at once, never downgraded, and nobody is asked in vain.
#[test]
fn a_level_that_cannot_be_reached_is_refused() {
    for level in ["signed_in", "verified"] {
        let stage = with_assurance(level);
        let mut host = legacy(&stage);
        let answer = delete(&mut host, "a");
        assert_eq!(refusal(&answer), "no_approver_reachable");
        assert_eq!(structured(&answer)["details"]["need"], level);
        assert!(stage.pending().is_empty());
        let doctor = stage.yesgate(&["doctor"]);
        assert!(doctor.stdout.contains("cannot be given here"), "{}", doctor.stdout);
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// X1: a yes that proves too little is refused, and the question stays open for one that proves enough.
#[test]
fn a_yes_that_proves_too_little_leaves_the_question_open() {
    for level in ["client", "local"] {
        let stage = with_assurance(level);
        let mut host = legacy(&stage);
        let (request, intent) = ask(&stage, &mut host, "a");
        let relayed = host.call("yesgate_approve", json!({ "intent_id": intent }));
        assert_eq!(refusal(&relayed), "assurance_too_low");
        assert_eq!(structured(&relayed)["details"], json!({"have": "relayed", "need": "local"}));
        assert_eq!(state(&stage, &intent), "pending");
        assert!(stage.upstream_calls().is_empty());
        stage.yesgate(&["approve", &intent, "--yes"]).ok();
        assert_eq!(structured(&host.answer_to(request))["deleted"], "a");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// The profile table: a call may ask to be decided elsewhere, and then the agent's own yes will not do.
#[test]
fn a_call_may_ask_to_be_decided_elsewhere() {
    let stage = stage().config("profile = \"handshake\"\n");
    let mut host = legacy(&stage);
    let request = host.call_async("delete_note", json!({"id": "a", "__channel": "web"}));
    let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
    let relayed = host.call("yesgate_approve", json!({ "intent_id": intent }));
    assert_eq!(refusal(&relayed), "assurance_too_low");
    stage.yesgate(&["approve", &intent, "--yes"]).ok();
    assert_eq!(structured(&host.answer_to(request))["deleted"], "a");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// I5: a question asked in chat can be answered at the command line as well; the first answer wins.
#[test]
fn a_chat_question_can_be_answered_in_another_shell() {
    let stage = stage();
    let mut host = legacy(&stage);
    let held = delete(&mut host, "a");
    stage.yesgate(&["approve", &intent_id(&held), "--yes"]).ok();
    assert_eq!(upstream_count(&stage, "delete_note"), 1, "the yes itself releases it");
    let token = structured(&held)["confirm_token"].clone();
    let taken = host.call("delete_note", json!({"id": "a", "confirm_token": token}));
    assert_eq!(structured(&taken), &json!({"deleted": "a", "run": 1}));
    let again = host.call("delete_note", json!({"id": "a", "confirm_token": token}));
    assert_eq!(refusal(&again), "consent_token_invalid");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// Time: a yes that no gateway uses in its time is none, and whoever said it is told; the call is asked about anew.
#[test]
fn a_yes_that_is_not_used_in_time_is_none() {
    let stage = stage().config("[times]\nrun = \"1s\"\n");
    let mut host = legacy(&stage);
    let intent = intent_id(&delete(&mut host, "a"));
    assert!(host.close().success());
    let unused = stage.yesgate(&["approve", &intent, "--yes"]);
    assert_eq!(unused.code(), 3, "{unused:#?}");
    assert_eq!(state(&stage, &intent), "expired");
    let mut host = legacy(&stage);
    let anew = delete(&mut host, "a");
    assert_ne!(intent_id(&anew), intent);
    assert_eq!(structured(&anew)["status"], "confirmation_required");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}
