//! A mock server that was told to misbehave.
#![cfg(test)]

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, text};

use crate::stage;

/// A legacy session with a server that got these flags.
fn session(stage: &Stage) -> Host {
    let mut host = stage.bare();
    host.initialize_legacy();
    host
}

fn read(host: &mut Host) -> Value {
    host.call("read_note", json!({"id": "a"}))
}

#[test]
fn it_dies_after_the_call_is_written_down() {
    let stage = stage().server_args(&["--die-on", "pay"]);
    let mut host = session(&stage);
    host.call_async("pay", json!({"amount": 1}));
    assert_eq!(host.ended().code(), Some(3));
    assert_eq!(stage.upstream_calls()[0]["params"]["name"], "pay");
}

#[test]
fn it_dies_before_it_reads_anything() {
    let stage = stage().server_args(&["--die-at-start"]);
    assert_eq!(stage.bare().ended().code(), Some(3));
    assert!(stage.upstream_lines().is_empty());
}

#[test]
fn its_behaviour_changes_without_its_command_line() {
    let stage = stage();
    let words = stage.server_words();
    stage.behave(&["--die-on", "read_note"]);
    let mut host = session(&stage);
    host.call_async("read_note", json!({}));
    assert_eq!(host.ended().code(), Some(3));
    stage.behave(&[]);
    read(&mut session(&stage));
    assert_eq!(stage.server_words(), words);
}

#[test]
fn it_hangs_on_one_tool_and_goes_on_with_others() {
    let stage = stage().server_args(&["--hang-on", "pay"]);
    let mut host = session(&stage);
    host.call_async("pay", json!({}));
    read(&mut host);
    assert_eq!(host.unclaimed(), Vec::<Value>::new());
    assert!(host.close().success());
}

#[test]
fn it_stops_reading_and_neither_answers_nor_ends() {
    let stage = stage().server_args(&["--stop-reading-after", "3"]);
    let mut host = session(&stage);
    read(&mut host);
    // More than a pipe holds: whoever wrote this himself would be stuck now.
    host.call_async("write_note", json!({"text": "x".repeat(1 << 20)}));
    host.kill9();
    assert_eq!(stage.upstream_lines().len(), 3);
}

#[test]
fn its_noise_is_seen_and_its_answers_are_heard() {
    let stage = stage().server_args(&["--garbage"]);
    let mut host = session(&stage);
    assert_eq!(text(&read(&mut host)), "the first note");
    let lines = host.all_stdout();
    let is_json = |line: &&String| serde_json::from_str::<Value>(line).is_ok();
    assert!(lines.iter().filter(is_json).count() < lines.len());
    assert!(lines.iter().any(|line| line == r#"{"jsonrpc":"2.0","id":"#), "{lines:#?}");
}

#[test]
fn it_answers_twice_and_to_nobody() {
    let stage = stage().server_args(&["--answer-twice", "--answer-wrong-id"]);
    let mut host = session(&stage);
    let call = host.call_async("read_note", json!({"id": "a"}));
    assert_eq!(text(&host.answer_to(call)), "the first note");
    assert_eq!(text(&host.answer_to(call)), "the second answer");
    assert_eq!(text(&host.answer_to(call + 1_000_000)), "the answer to nobody");
}

#[test]
fn it_answers_with_six_mebibytes() {
    let stage = stage().server_args(&["--huge", "read_note"]);
    let mut host = session(&stage);
    assert_eq!(text(&read(&mut host)).len(), 6 << 20);
}

#[test]
fn it_changes_a_description_without_a_word() {
    let stage = stage().server_args(&["--rug-pull-after", "2", "--pages", "4"]);
    let mut host = session(&stage);
    let described = |host: &mut Host| host.list_tools()[1]["description"].clone();
    let first = described(&mut host);
    assert_eq!(described(&mut host), first);
    assert_ne!(described(&mut host), first);
    assert_eq!(host.unclaimed(), Vec::<Value>::new());
}

#[test]
fn its_list_has_pages_and_the_first_cursor_is_empty() {
    let stage = stage().server_args(&["--pages", "3"]);
    let mut host = session(&stage);
    assert_eq!(host.list_tools().len(), 10);
    let cursors: Vec<Value> = stage
        .upstream_lines()
        .iter()
        .filter_map(|line| line.message())
        .filter(|message| message["method"] == "tools/list")
        .map(|message| message["params"]["cursor"].clone())
        .collect();
    assert_eq!(cursors, [Value::Null, json!(""), json!("page-2"), json!("page-3")]);
    assert_eq!(host.request("tools/list", json!({"cursor": "page-9"}))["error"]["code"], -32602);
}

#[test]
fn it_leaves_the_probe_of_its_era_unanswered_and_starts_late() {
    let stage = stage().server_args(&["--silent-discover", "--slow-start-ms", "50"]);
    let mut host = stage.bare();
    host.request_async("server/discover", json!({"_meta": host.modern_meta()}));
    host.initialize_legacy();
    assert_eq!(text(&read(&mut host)), "the first note");
    assert_eq!(host.unclaimed(), Vec::<Value>::new());
}

#[test]
fn a_flag_that_it_does_not_know_is_refused() {
    let stage = stage().server_args(&["--dye-on", "pay"]);
    let mut host = stage.bare();
    assert_eq!(host.ended().code(), Some(2));
    assert!(host.stderr().contains("unknown flag `--dye-on`"));
}
