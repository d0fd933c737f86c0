//! Pins: a tool is known by its definition; new or changed means dangerous until a human looked.

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, intent_id, refusal, text, until};

use crate::support::{Era, legacy, stage, state, upstream_count};

const NOTE: &str = "write_note";

fn write(host: &mut Host) -> Value {
    host.call(NOTE, json!({"id": "b", "text": "x"}))
}

fn write_with(host: &mut Host, token: &str) -> Value {
    host.call(NOTE, json!({"id": "b", "text": "x", "confirm_token": token}))
}

fn is_held(answer: &Value) -> bool {
    answer.pointer("/result/structuredContent/confirm_required") == Some(&json!(true))
}

#[track_caller]
fn review(stage: &Stage, class: &str) {
    let pinned =
        stage.yesgate(&["tools", "review", "--accept", &format!("{NOTE}={class}"), "--json"]).ok().json();
    assert_eq!((&pinned[0]["tool"], &pinned[0]["class"]), (&json!(NOTE), &json!(class)));
}

/// One tool of the matrix.
#[track_caller]
fn row(stage: &Stage, tool: &str) -> Value {
    let rows = stage.yesgate(&["tools", "--json"]).ok().json();
    rows.as_array().unwrap().iter().find(|row| row["tool"] == tool).expect("a row for the tool").clone()
}

/// X5, B2, FC-18: a tool that is described differently by the time of the yes does not run; it is asked about anew.
#[test]
fn a_tool_that_changed_between_question_and_token_does_not_run() {
    for era in Era::BOTH {
        let stage = stage().server_args(&["--rug-pull-after", "1"]);
        let mut host = era.greet(stage.host());
        let held = write(&mut host);
        let token = confirm_token(&held);
        let changed = write_with(&mut host, &token);
        assert_eq!(refusal(&changed), "tool_changed");
        assert!(stage.upstream_calls().is_empty());
        assert_eq!(state(&stage, &intent_id(&held)), "voided");

        let anew = write(&mut host);
        assert_ne!(intent_id(&anew), intent_id(&held));
        assert_eq!(refusal(&write_with(&mut host, &token)), "tool_changed", "the old token stays dead");
        assert_eq!(text(&write_with(&mut host, &confirm_token(&anew))), "run 1: wrote b");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// X5: the same for the approve tool, and for a yes in another shell, which learns that nothing ran.
#[test]
fn a_tool_that_changed_before_the_yes_does_not_run_whoever_says_it() {
    let stage = stage().server_args(&["--rug-pull-after", "1"]);
    let mut host = legacy(&stage);
    let intent = intent_id(&write(&mut host));
    assert_eq!(refusal(&host.call("yesgate_approve", json!({ "intent_id": intent }))), "tool_changed");
    assert!(host.close().success());

    for as_json in [false, true] {
        let stage = stage_elsewhere();
        let mut host = legacy(&stage);
        let request = host.call_async(NOTE, json!({"id": "b", "text": "x"}));
        let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
        let mut words = vec!["approve", &intent, "--yes"];
        if as_json {
            words.push("--json");
        }
        let approved = stage.yesgate(&words);
        assert_eq!(approved.code(), 3, "the yes came too late: {approved:#?}");
        assert_eq!(refusal(&host.answer_to(request)), "tool_changed");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

fn stage_elsewhere() -> Stage {
    stage()
        .server_args(&["--rug-pull-after", "1"])
        .config("[[rules]]\ntool = \"*/write_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n")
}

/// INV13: a policy that became stricter after the question voids it: nothing runs on the yes to the old one, and that is
/// what the agent is told, each time.
#[test]
fn a_policy_that_became_stricter_voids_the_question() {
    let stage = stage().config("profile = \"handshake\"\n");
    let mut host = legacy(&stage);
    let token = confirm_token(&write(&mut host));
    assert!(host.close().success());
    stage.set_config("[[rules]]\ntool = \"*/write_note\"\nthen = \"ask\"\nassurance = \"local\"\n");
    let mut host = legacy(&stage);
    for _ in 0..2 {
        assert_eq!(refusal(&write_with(&mut host, &token)), "policy_denied");
    }
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// M5, X8: after a wrap the matrix is there for programs: each tool, its class, how that is known, and what happens in
/// each mode.
#[test]
fn the_matrix_tells_every_tool_its_class_and_its_consequences() {
    let stage = stage();
    let nothing = stage.yesgate(&["tools", "--json"]);
    assert_eq!(nothing.code(), 4, "{nothing:#?}");
    let mut host = legacy(&stage);
    let listed = host.list_tools();
    let rows = stage.yesgate(&["tools", "--json"]).ok().json();
    assert_eq!(rows.as_array().unwrap().len() + 3, listed.len(), "all but our own three");
    let table: Vec<String> = rows.as_array().unwrap().iter().map(cells).collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    ask_user | dangerous | unknown | simple | explained / explained / asks
    delete_everything | dangerous | says read-only, named `delete` | simple | explained / explained / asks
    delete_note | dangerous | annotation | simple | explained / explained / asks
    fail | dangerous | unknown | simple | explained / explained / asks
    log_and_list_changed | dangerous | unknown | simple | explained / explained / asks
    pay | dangerous | unknown | simple | explained / explained / asks
    read_note | read-only | annotation | none | runs / runs / runs
    rpc_error | dangerous | unknown | simple | explained / explained / asks
    slow | dangerous | unknown | simple | explained / explained / asks
    write_note | dangerous | unknown | simple | explained / explained / asks
    ");
    let people = stage.yesgate(&["tools"]).ok().stdout;
    assert!(people.contains("No tool that may change something runs unasked."), "{people}");
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
}

fn cells(row: &Value) -> String {
    let word = |key: &str| row[key].as_str().unwrap_or("?").to_owned();
    assert_eq!((&row["server"], &row["ungated_write"]), (&json!("mock"), &json!(false)));
    let modes = ["ask", "plan", "execute"].map(word).join(" / ");
    [word("tool"), word("class"), word("source"), word("confirm"), modes].join(" | ")
}

/// X5: what a human accepted counts for the gate that runs, at once and without a restart; and it is shown as what it
/// is, a write that nobody is asked about.
#[test]
fn a_review_counts_for_the_running_gate() {
    let stage = stage().ungated(&[NOTE]);
    let mut host = legacy(&stage);
    host.list_tools();
    assert!(is_held(&write(&mut host)));
    review(&stage, "safe-write");
    assert_eq!(text(&write(&mut host)), "run 1: wrote b");
    let row = row(&stage, NOTE);
    assert_eq!((&row["class"], &row["source"]), (&json!("safe-write"), &json!("reviewed")));
    assert_eq!(row["ungated_write"], true);
    assert!(
        stage
            .yesgate(&["tools"])
            .ok()
            .stdout
            .contains("NOT gated although they may change something: write_note")
    );
    let offered = host.list_tools();
    let note = offered.iter().find(|tool| tool["name"] == NOTE).unwrap();
    assert!(note["inputSchema"]["properties"].get("confirm_token").is_none());
    assert!(host.close().success());
    let history = stage.check_history();
    assert_eq!((history.gated, history.ungated), (0, 1));
}

/// X5: a human who takes a class back is heard by the gate that runs, too.
#[test]
fn a_stricter_review_counts_for_the_running_gate() {
    let stage = stage().ungated(&[NOTE]);
    let mut host = legacy(&stage);
    host.list_tools();
    review(&stage, "safe-write");
    assert_eq!(text(&write(&mut host)), "run 1: wrote b");
    review(&stage, "dangerous");
    until("the gate asks again", || is_held(&write(&mut host)).then_some(()));
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X5: a tool whose definition changed after its review is dangerous again.
#[test]
fn a_changed_definition_is_dangerous_again() {
    let stage = stage().server_args(&["--rug-pull-after", "1"]).ungated(&[NOTE]);
    let mut host = legacy(&stage);
    host.list_tools();
    review(&stage, "safe-write");
    assert_eq!(text(&write(&mut host)), "run 1: wrote b");
    // The second list has the new description in it.
    host.list_tools();
    assert!(is_held(&write(&mut host)));
    let row = row(&stage, NOTE);
    assert_eq!((&row["class"], &row["source"]), (&json!("dangerous"), &json!("changed, not accepted yet")));
    assert_eq!(upstream_count(&stage, NOTE), 1);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// B2: a server that announces a change is asked what changed before anything passes under the old class.
#[test]
fn a_change_that_is_announced_counts_at_once() {
    let stage =
        stage().server_args(&["--rug-pull-after", "1"]).read_only(&["log_and_list_changed"]).ungated(&[NOTE]);
    let mut host = legacy(&stage);
    host.list_tools();
    review(&stage, "safe-write");
    assert_eq!(text(&write(&mut host)), "run 1: wrote b");
    host.call("log_and_list_changed", json!({}));
    host.next_of("notifications/tools/list_changed");
    assert!(is_held(&write(&mut host)));
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// How a read of a note ends: `None` where it is held.
fn read(host: &mut Host, tool: &str) -> Option<String> {
    let answer = host.call(tool, json!({"id": "a"}));
    (!is_held(&answer)).then(|| text(&answer).to_owned())
}

const NOTE_A: Option<&str> = Some("the first note");

/// X5, B2: a tool that only reads and describes itself differently after the first use is held until a human accepts
/// it; the gate that runs hears of that without a restart.
#[test]
fn a_read_only_tool_that_changed_is_held_until_it_is_accepted() {
    for era in Era::BOTH {
        let stage = stage().server_args(&["--rug-pull-after", "1", "--rug-pull-also", "read_note"]);
        let mut host = era.greet(stage.host());
        host.list_tools();
        assert_eq!(read(&mut host, "read_note").as_deref(), NOTE_A);
        assert_eq!(row(&stage, "read_note")["standing"], "accepted");
        host.list_tools();
        assert_eq!(read(&mut host, "read_note"), None);
        let changed = row(&stage, "read_note");
        assert_eq!((&changed["class"], &changed["standing"]), (&json!("dangerous"), &json!("changed")));

        let listed = stage.yesgate(&["tools", "accept", "mock", "--json"]);
        assert_eq!(listed.code(), 5, "two wait: {listed:#?}");
        assert_eq!(listed.json().as_array().unwrap().len(), 2);
        assert_eq!(read(&mut host, "read_note"), None, "looking accepts nothing");
        let accepted = stage.yesgate(&["tools", "accept", "mock", "read_note", "--json"]).ok().json();
        assert_eq!((&accepted[0]["tool"], &accepted[0]["class"]), (&json!("read_note"), &json!("read-only")));
        assert_ne!(accepted[0]["from"], accepted[0]["definition"]);
        assert_eq!(read(&mut host, "read_note").as_deref(), NOTE_A);
        assert_eq!(row(&stage, NOTE)["standing"], "changed", "only what was named is accepted");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// X5: a tool that comes after the first use is held, whatever it says of itself, also after a restart; it passes once
/// it is accepted.
#[test]
fn a_tool_that_came_later_is_held_until_it_is_accepted() {
    let stage = stage().ungated(&["peek_note"]);
    let mut host = legacy(&stage);
    host.list_tools();
    assert_eq!(read(&mut host, "read_note").as_deref(), NOTE_A);
    assert!(host.close().success());
    stage.behave(&["--grow-after", "0"]);
    for _ in 0..2 {
        let mut host = legacy(&stage);
        host.list_tools();
        assert_eq!(read(&mut host, "peek_note"), None);
        assert_eq!(read(&mut host, "read_note").as_deref(), NOTE_A, "the others are known");
        assert!(host.close().success());
    }
    let people = stage.yesgate(&["tools"]).ok().stdout;
    assert!(
        people.contains("\n! peek_note ") && people.contains("! new, not accepted yet: peek_note"),
        "{people}"
    );
    let mut host = legacy(&stage);
    host.list_tools();
    let said = stage.yesgate(&["tools", "accept", "mock", "--all"]).ok().stdout;
    assert!(said.contains("peek_note: new, ") && said.contains("says: Reads a note, too."), "{said}");
    assert!(said.ends_with("1 tools accepted for mock.\n"), "{said}");
    assert_eq!(read(&mut host, "peek_note").as_deref(), NOTE_A);
    assert!(host.close().success());
    assert_eq!(
        stage.yesgate(&["tools", "accept", "mock"]).ok().stdout,
        "No tool of mock is new or changed.\n"
    );
    assert_eq!(stage.check_history().gated, 0);
}

/// X5: a human's rule is stronger than the news: what a rule calls read-only passes, and is marked all the same.
#[test]
fn a_rule_of_the_operator_wins_over_new_and_changed() {
    let stage = stage()
        .config("[[rules]]\ntool = \"mock/peek_*\"\nclass = \"read-only\"\n")
        .server_args(&["--grow-after", "1"])
        .ungated(&["peek_note"]);
    let mut host = legacy(&stage);
    host.list_tools();
    assert!(read(&mut host, "read_note").is_some());
    host.list_tools();
    assert_eq!(read(&mut host, "peek_note").as_deref(), NOTE_A);
    assert_eq!(row(&stage, "peek_note")["standing"], "new");
    assert!(host.close().success());
}

/// X5, B2: a question about a tool that changed is void as soon as the change is seen, whatever call it is seen by.
#[test]
fn open_questions_about_a_changed_tool_are_void_at_the_next_call() {
    let stage = stage().server_args(&["--rug-pull-after", "1"]);
    let mut host = legacy(&stage);
    let held = write(&mut host);
    let other = host.call("delete_note", json!({"id": "a"}));
    assert_eq!(state(&stage, &intent_id(&held)), "pending");
    host.list_tools();
    assert!(read(&mut host, "read_note").is_some());
    assert_eq!(state(&stage, &intent_id(&held)), "voided");
    assert_eq!(state(&stage, &intent_id(&other)), "pending", "its tool is as it was");
    let late = stage.yesgate(&["approve", &intent_id(&held), "--yes"]);
    assert_eq!(late.code(), 3, "{late:#?}");
    assert!(late.stderr.contains("(tool_changed)"), "{late:#?}");
    assert_eq!(refusal(&write_with(&mut host, &confirm_token(&held))), "tool_changed");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X5: the first use is written down once, tool by tool, and a list that is the same again adds nothing.
#[test]
fn the_first_use_is_in_the_audit_trail_once() {
    let stage = stage();
    for _ in 0..2 {
        let mut host = legacy(&stage);
        let tools = host.list_tools().len() - 3;
        for _ in 0..2 {
            assert!(read(&mut host, "read_note").is_some());
            host.list_tools();
        }
        assert!(host.close().success());
        let rows = stage.audit();
        let count = |event: &str| rows.iter().filter(|row| row["entry"]["event"] == event).count();
        assert_eq!((count("first_use"), count("pinned")), (1, tools));
        assert!(rows.iter().all(|row| row["entry"]["by"].as_str().is_none_or(|by| by == "first use")));
    }
}

/// An acceptance takes what there is, whole, or nothing.
#[test]
fn an_acceptance_that_is_not_understood_changes_nothing() {
    let stage = stage().server_args(&["--grow-after", "1"]);
    let mut host = legacy(&stage);
    host.list_tools();
    assert!(read(&mut host, "read_note").is_some());
    host.list_tools();
    let wrong = stage.yesgate(&["tools", "accept", "mock", "peek_note", "no_such_tool"]);
    assert_eq!(wrong.code(), 1, "{wrong:#?}");
    assert!(wrong.stderr.contains("has no tool `no_such_tool`") && wrong.stderr.contains("\nHint: "));
    assert_eq!(stage.yesgate(&["tools", "accept", "nobody", "--all"]).code(), 4);
    assert_eq!(stage.yesgate(&["tools", "accept", "mock", "peek_note", "--all"]).code(), 2);
    assert_eq!(stage.yesgate(&["tools", "accept"]).code(), 2);
    assert_eq!(read(&mut host, "peek_note"), None);
    assert!(host.close().success());
}

/// B5: a server that is not believed asks for everything; its annotations can only raise the risk.
#[test]
fn an_untrusted_server_is_not_believed() {
    let stage = stage().wrap_args(&["--untrusted"]);
    let mut host = legacy(&stage);
    for tool in ["read_note", "delete_everything", "delete_note"] {
        assert!(is_held(&host.call(tool, json!({"id": "a"}))), "{tool}");
    }
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
}

/// A review takes what it understands, whole, or nothing.
#[test]
fn a_review_that_is_not_understood_changes_nothing() {
    let stage = stage();
    let mut host = legacy(&stage);
    host.list_tools();
    for (words, complaint) in [
        ("write_note", "is not understood"),
        ("write_note=harmless", "is not understood"),
        ("write_note=", "is not understood"),
        ("no_such_tool=read-only", "the server has no tool"),
    ] {
        let output = stage.yesgate(&["tools", "review", "--accept", "pay=read-only", "--accept", words]);
        assert_eq!(output.code(), 1, "{output:#?}");
        assert!(output.stderr.contains(complaint) && output.stderr.contains("\nHint: "), "{output:#?}");
    }
    assert_eq!(stage.yesgate(&["tools", "review"]).code(), 1, "there is no terminal to ask at");
    assert_eq!(stage.yesgate(&["tools", "review", "nobody", "--accept-clear"]).code(), 4);
    assert!(is_held(&host.call("pay", json!({"amount": 1, "currency": "USDC", "to": "ann"}))));
    assert!(host.close().success());
}
