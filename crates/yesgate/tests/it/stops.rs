//! Freezing a client and stopping everything: the gate is one process, the human's shell another.

use serde_json::{Value, json};
use yesgate_testkit::{Host, intent_id, refusal, structured, text, until};

use crate::support::{Era, legacy, legacy_named, stage, state, upstream_count};

const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

fn read(host: &mut Host) -> Value {
    host.call("read_note", json!({"id": "a"}))
}

fn delete(host: &mut Host, note: &str) -> Value {
    host.call("delete_note", json!({"id": note}))
}

/// Reads that passed a moment ago are refused within a second.
fn until_reads_are_refused(host: &mut Host) -> Value {
    until("the end of reading", || Some(read(host)).filter(|answer| answer["result"]["isError"] == true))
}

fn message(answer: &Value) -> String {
    structured(answer)["message"].as_str().unwrap().to_owned()
}

/// X6: after the panic switch nothing runs, reads included; what was asked is withdrawn for good, and a token that
/// was handed out before is worth nothing. Lifting it restores everything else.
#[test]
fn after_a_panic_nothing_runs_until_it_is_lifted() {
    for era in Era::BOTH {
        let stage = stage();
        let mut host = era.greet(stage.host());
        assert_eq!(text(&read(&mut host)), "the first note");
        let held = delete(&mut host, "a");
        let token = structured(&held)["confirm_token"].clone();

        let said = stage.yesgate(&["panic", "--reason", "it writes to the wrong account"]).ok();
        assert!(said.stdout.contains("EVERYTHING IS STOPPED"), "{}", said.stdout);
        assert!(said.stdout.contains("One open question was withdrawn."), "{}", said.stdout);

        // What is not a read is refused at once, whatever it brings along.
        for arguments in [json!({"id": "b"}), json!({"id": "a", "confirm_token": token})] {
            let refused = host.call("delete_note", arguments);
            assert_eq!(refusal(&refused), "policy_denied");
            assert!(message(&refused).contains("stopped everything: it writes to the wrong account"));
        }
        assert_eq!(refusal(&until_reads_are_refused(&mut host)), "policy_denied");
        assert!(stage.pending().is_empty());
        assert_eq!(state(&stage, &intent_id(&held)), "cancelled");
        assert!(stage.yesgate(&["pending"]).ok().stdout.starts_with("EVERYTHING IS STOPPED"));
        let doctor = stage.yesgate(&["doctor"]);
        assert_eq!(doctor.code(), 5);
        assert!(doctor.stdout.contains("EVERYTHING IS STOPPED"), "{}", doctor.stdout);

        stage.yesgate(&["panic", "--lift"]).ok();
        // A refusal is no read: the lift is heard at once.
        assert_eq!(text(&read(&mut host)), "the first note");
        let dead = host.call("delete_note", json!({"id": "a", "confirm_token": token}));
        assert_eq!(refusal(&dead), "cancelled");
        assert_eq!(structured(&delete(&mut host, "a"))["status"], "confirmation_required");
        assert!(!stage.yesgate(&["pending"]).ok().stdout.contains("STOPPED"));
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// X6: a client that reads and nothing else hears of the stop too, without having asked for anything.
#[test]
fn reads_alone_are_stopped_too() {
    let stage = stage();
    let mut host = legacy(&stage);
    read(&mut host);
    stage.yesgate(&["panic"]).ok();
    assert_eq!(refusal(&until_reads_are_refused(&mut host)), "policy_denied");
    assert!(host.close().success());
}

/// X6: a call that waits for a human is told that it was withdrawn, and a late yes runs nothing.
#[test]
fn a_held_call_is_withdrawn_by_a_panic() {
    let stage = stage().config(ELSEWHERE);
    let mut host = legacy(&stage);
    let request = host.call_async("delete_note", json!({"id": "a"}));
    let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
    stage.yesgate(&["panic"]).ok();
    assert_eq!(refusal(&host.answer_to(request)), "cancelled");
    assert_eq!(stage.yesgate(&["approve", &intent, "--yes"]).code(), 3);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X6: a freeze stops one client and no other, and ends when a human says so.
#[test]
fn a_frozen_client_is_stopped_and_its_neighbour_is_not() {
    let stage = stage();
    let mut cold = legacy_named(&stage, "cold");
    let mut warm = legacy_named(&stage, "warm");
    let held = delete(&mut cold, "a");
    delete(&mut warm, "a");
    let said = stage.yesgate(&["freeze", "cold", "--reason", "it asks too much", "--json"]).ok().json();
    assert_eq!((&said["frozen"]["client"], &said["withdrawn"]), (&json!("cold"), &json!(1)));
    assert_eq!(state(&stage, &intent_id(&held)), "cancelled");

    let refused = delete(&mut cold, "a");
    assert_eq!(refusal(&refused), "client_frozen");
    assert!(message(&refused).contains("it asks too much"));
    assert_eq!(refusal(&until_reads_are_refused(&mut cold)), "client_frozen");
    assert_eq!(text(&read(&mut warm)), "the first note");
    assert_eq!(stage.pending().len(), 1, "the other one's question is still open");
    assert!(stage.yesgate(&["pending"]).ok().stdout.starts_with("FROZEN: local/"));

    stage.yesgate(&["thaw", "cold"]).ok();
    assert_eq!(structured(&delete(&mut cold, "a"))["status"], "confirmation_required");
    assert!(stage.yesgate(&["thaw", "cold"]).ok().stdout.contains("was not frozen"));
    for mut host in [cold, warm] {
        assert!(host.close().success());
    }
    assert_eq!(stage.check_history().gated, 0);
}

/// X6: whom a name does not tell apart is not guessed; a whole name stops a client before it was ever seen.
#[test]
fn a_client_that_is_not_clear_is_not_guessed() {
    let stage = stage();
    let unknown = stage.yesgate(&["freeze", "nobody"]);
    assert_eq!(unknown.code(), 4, "{unknown:#?}");
    for user in ["ada", "bob"] {
        stage.yesgate(&["keys", "add", "--user", user, "--client", "ide"]).ok();
    }
    let both = stage.yesgate(&["freeze", "ide"]);
    assert_eq!(both.code(), 4);
    assert!(both.stderr.contains("\"local/ada/ide\", \"local/bob/ide\""), "{}", both.stderr);
    stage.yesgate(&["freeze", "local/bob/ide"]).ok();

    let me = format!("local/uid-{}/early", uid());
    stage.yesgate(&["freeze", &me]).ok();
    let mut host = legacy_named(&stage, "early");
    assert_eq!(refusal(&read(&mut host)), "client_frozen");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X6: reporting a question as suspicious is a no and a freeze of whoever asked, in one step.
#[test]
fn a_suspicious_question_is_denied_and_its_client_frozen() {
    let stage = stage().config(ELSEWHERE);
    let mut host = legacy(&stage);
    let request = host.call_async("delete_note", json!({"id": "a"}));
    let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
    stage.yesgate(&["deny", &intent, "--suspicious", "--reason", "nobody wanted this"]).ok();
    let answer = host.answer_to(request);
    assert_eq!(
        (refusal(&answer), &structured(&answer)["details"]["reason"]),
        ("denied", &json!("nobody wanted this"))
    );
    assert_eq!(refusal(&delete(&mut host, "b")), "client_frozen");
    // Even where the no itself comes too late.
    stage.yesgate(&["thaw", "testkit"]).ok();
    let late = stage.yesgate(&["deny", &intent, "--suspicious"]);
    assert_eq!(late.code(), 3);
    assert!(late.stdout.contains("is frozen"), "{}", late.stdout);
    assert_eq!(refusal(&delete(&mut host, "b")), "client_frozen");
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}
