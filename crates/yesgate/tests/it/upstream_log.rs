//! `audit verify --upstream-log`: a server's own log, held against the ledger.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use yesgate_testkit::{Stage, structured};

use crate::support::{legacy, stage};

/// A stage on which a note was deleted once, after a yes, and one was read; and the server's log of both.
fn one_run() -> (Stage, Vec<Value>) {
    let stage = stage();
    let mut host = legacy(&stage);
    host.call("read_note", json!({"id": "a"}));
    let held = host.call("delete_note", json!({"id": "a"}));
    let token = structured(&held)["confirm_token"].clone();
    host.call("delete_note", json!({"id": "a", "confirm_token": token}));
    assert!(host.close().success());
    let log = stage.upstream_lines();
    let lines = log.iter().filter(|line| line.call().is_some());
    let lines: Vec<Value> =
        lines.map(|line| json!({"at": line.at.to_string(), "message": line.call()})).collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    (stage, lines)
}

fn write(stage: &Stage, lines: &[Value]) -> PathBuf {
    let path = stage.file("forged.jsonl");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path
}

/// Verifies, and gives back the exit code and the codes of what does not fit.
#[track_caller]
fn verify(stage: &Stage, lines: &[Value]) -> (i32, Vec<String>) {
    let log = write(stage, lines);
    let log = log.to_str().unwrap();
    let words = ["audit", "verify", "--json", "--upstream-log", log, "--free", "read_note", "--skew", "0s"];
    let output = stage.yesgate(&words);
    let findings = output.json()["upstream"]["findings"].as_array().unwrap().clone();
    (output.code(), findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect())
}

#[track_caller]
fn check_found(stage: &Stage, lines: &[Value], expected: &[&str]) {
    assert_eq!(verify(stage, lines), (5, expected.iter().map(|code| (*code).to_owned()).collect()));
}

/// INV1, INV2: the log of a server that was called as the ledger says fits.
#[test]
fn a_log_that_fits_passes() {
    let (stage, lines) = one_run();
    assert_eq!(verify(&stage, &lines), (0, vec![]));
    let log = write(&stage, &lines);
    let output = stage.verify_upstream("mock", &log, &["read_note".to_owned()]).ok();
    assert!(output.stdout.contains("The log fits"), "{}", output.stdout);
    assert!(output.stdout.contains("2 calls in the log: 1 with a yes of their own, 1 that need none"));
}

/// INV1, INV2, INV3: each way of not fitting is found, and named.
#[test]
fn each_way_in_which_a_log_can_contradict_the_ledger_is_found() {
    let (stage, lines) = one_run();
    let [read, delete] = lines.as_slice() else { panic!("{lines:#?}") };

    check_found(&stage, &[delete.clone(), delete.clone()], &["ran_twice"]);
    check_found(&stage, std::slice::from_ref(read), &["never_arrived"]);

    let mut other = delete.clone();
    other["message"]["params"]["arguments"]["id"] = json!("b");
    check_found(&stage, &[delete.clone(), other], &["without_consent"]);

    let mut pay = delete.clone();
    pay["message"]["params"]["name"] = json!("pay");
    check_found(&stage, &[delete.clone(), pay], &["without_consent"]);

    let mut early = delete.clone();
    let at: Timestamp = delete["at"].as_str().unwrap().parse().unwrap();
    early["at"] = json!((at - SignedDuration::from_hours(1)).to_string());
    check_found(&stage, &[early], &["before_redeem", "never_arrived"]);

    let mut stranger = delete.clone();
    stranger["message"]["id"] = json!("yesgate-somebodyelse-7");
    check_found(&stage, &[stranger], &["other_process", "never_arrived"]);

    check_found(&stage, &[delete.clone(), json!({"tool": "pay"})], &["unreadable_line"]);
}

/// What a server can log in its own words is as good as the whole message.
#[test]
fn the_parts_of_a_call_are_as_good_as_the_message() {
    let (stage, lines) = one_run();
    let flat: Vec<Value> = lines
        .iter()
        .map(|line| {
            let (message, params) = (&line["message"], &line["message"]["params"]);
            json!({
                "level": "info", "at": line["at"], "server": "mock", "id": message["id"],
                "tool": params["name"], "arguments": params["arguments"],
            })
        })
        .collect();
    assert_eq!(verify(&stage, &flat), (0, vec![]));
}

/// A log that begins late is not blamed for what came before it.
#[test]
fn a_log_that_begins_later_is_told_so() {
    let (stage, _) = one_run();
    let log = write(&stage, &[]);
    let later = (Timestamp::now() + SignedDuration::from_hours(1)).to_string();
    let words = ["audit", "verify", "--upstream-log", log.to_str().unwrap(), "--since", &later];
    stage.yesgate(&words).ok();
    assert_eq!(stage.yesgate(&["audit", "verify", "--upstream-log", log.to_str().unwrap()]).code(), 5);
}

/// A log that is not there is an error, and no clean bill.
#[test]
fn a_log_that_cannot_be_read_is_an_error() {
    let stage = stage();
    let output = stage.yesgate(&["audit", "verify", "--upstream-log", "nowhere.jsonl"]);
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains("the log `nowhere.jsonl` cannot be read"), "{}", output.stderr);
    assert_eq!(stage.yesgate(&["audit", "verify", "--free", "pay"]).code(), 2);
}
