//! The judge is judged: it accepts what fits, and each way of not fitting is found.

use jiff::SignedDuration;
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

fn row(second: i64, intent: &str, event: Value) -> Value {
    let mut entry = event;
    entry["at"] = json!(at(second).to_string());
    entry["intent"] = json!(intent);
    json!({"sequence": second, "entry": entry})
}

fn opened(second: i64, intent: &str, tool: &str) -> Value {
    row(second, intent, json!({"event": "opened", "server": "mock", "tool": tool}))
}

fn approved(second: i64, intent: &str) -> Value {
    row(second, intent, json!({"event": "approved", "by": "somebody", "assurance": "local"}))
}

fn redeemed(second: i64, intent: &str) -> Value {
    row(second, intent, json!({"event": "redeemed", "boot": "boot_b"}))
}

fn finished(second: i64, intent: &str, outcome: &str) -> Value {
    row(second, intent, json!({"event": "finished", "outcome": outcome}))
}

fn call(second: i64, id: Value, tool: &str, arguments: Value) -> Received {
    let params = json!({"name": tool, "arguments": arguments});
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    Received { number: 1, pid: 1, at: at(second), raw: message.to_string() }
}

/// A yes to deleting note `a`, spent at second 3.
fn one_yes() -> Vec<Value> {
    vec![opened(1, "intent_1", "delete_note"), approved(2, "intent_1"), redeemed(3, "intent_1")]
}

fn delete(second: i64) -> Received {
    call(second, json!("yesgate-b-1"), "delete_note", json!({"id": "a"}))
}

/// Judges with intents that all show the arguments `{"id": "a"}`.
fn judge(received: &[Received], rows: &[Value]) -> Result<History, Vec<String>> {
    check("mock", Carrier::Pipe, received, rows, &["read_note".to_owned()], |_| json!({"id": "a"}))
}

#[track_caller]
fn check_problem(received: &[Received], rows: &[Value], expected: &str) {
    let problems = judge(received, rows).unwrap_err();
    assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:#?}");
}

#[test]
fn a_history_that_fits_is_counted() {
    let mut rows = one_yes();
    rows.push(finished(5, "intent_1", "ok"));
    let read = call(1, json!(7), "read_note", json!({"id": "a"}));
    assert_eq!(judge(&[read, delete(4)], &rows), Ok(History { gated: 1, ungated: 1, redeemed: 1 }));
}

#[test]
fn a_redemption_whose_call_never_left_is_no_fault() {
    assert_eq!(judge(&[], &one_yes()), Ok(History { gated: 0, ungated: 0, redeemed: 1 }));
    let mut rows = one_yes();
    rows.push(finished(5, "intent_1", "not_sent"));
    assert!(judge(&[], &rows).is_ok());
}

#[test]
fn a_call_that_is_called_not_sent_and_arrived_is_found() {
    let mut rows = one_yes();
    rows.push(finished(5, "intent_1", "not_sent"));
    check_problem(&[delete(4)], &rows, "is not sent in the ledger");
}

#[test]
fn a_call_without_a_redemption_is_found() {
    check_problem(&[delete(4)], &[], "without a redemption");
    check_problem(&[delete(4)], &[opened(1, "intent_1", "delete_note")], "without a redemption");
}

#[test]
fn a_second_call_for_one_redemption_is_found() {
    check_problem(&[delete(4), delete(5)], &one_yes(), "without a redemption of its own");
}

#[test]
fn a_call_that_left_before_its_redemption_is_found() {
    check_problem(&[delete(2)], &one_yes(), "without a redemption of its own before it");
}

#[test]
fn a_call_with_other_arguments_than_those_shown_is_found() {
    let other = call(4, json!("yesgate-b-1"), "delete_note", json!({"id": "b"}));
    check_problem(&[other], &one_yes(), "without a redemption");
    let more = call(4, json!("yesgate-b-1"), "delete_note", json!({"id": "a", "force": true}));
    check_problem(&[more], &one_yes(), "without a redemption");
}

#[test]
fn a_call_of_another_tool_or_another_process_is_found() {
    let pay = call(4, json!("yesgate-b-1"), "pay", json!({"id": "a"}));
    check_problem(&[pay], &one_yes(), "without a redemption");
    for id in [json!("yesgate-c-1"), json!(7)] {
        check_problem(&[call(4, id, "delete_note", json!({"id": "a"}))], &one_yes(), "without a redemption");
    }
}

#[test]
fn an_intent_that_was_redeemed_twice_is_found() {
    let mut rows = one_yes();
    rows.push(redeemed(4, "intent_1"));
    check_problem(&[delete(5)], &rows, "redeemed 2 times");
}

#[test]
fn a_redemption_without_a_yes_or_a_question_is_found() {
    let rows = [opened(1, "intent_1", "delete_note"), redeemed(3, "intent_1"), approved(4, "intent_1")];
    check_problem(&[delete(5)], &rows, "without a yes before it");
    check_problem(&[], &[redeemed(3, "intent_1")], "never opened");
}

#[test]
fn a_run_that_the_server_knows_nothing_of_is_found() {
    let mut rows = one_yes();
    rows.push(finished(5, "intent_1", "tool_error"));
    check_problem(&[], &rows, "never reached the server");
}

#[test]
fn an_argument_of_the_gateway_that_got_through_is_found() {
    let read = call(1, json!(7), "read_note", json!({"id": "a", "__mode": "plan"}));
    check_problem(&[read], &[], "carries `__mode`");
}

#[test]
fn what_is_redacted_stands_for_anything_and_nothing_else_does() {
    let shown = json!({"list": [1, {"password": "[redacted: 7 characters]"}], "amount": 10});
    assert!(is_shown_as(&shown, &json!({"list": [1, {"password": "hunter2"}], "amount": 10.0})));
    assert!(!is_shown_as(&shown, &json!({"list": [2, {"password": "hunter2"}], "amount": 10})));
    assert!(!is_shown_as(&shown, &json!({"list": [1, {"password": "hunter2"}], "amount": 10, "more": 1})));
}

#[test]
fn a_tool_that_is_gated_only_sometimes_may_be_told_so() {
    let mut rows = one_yes();
    rows.push(finished(5, "intent_1", "ok"));
    let free = call(4, json!(7), "delete_note", json!({"id": "a"}));
    let ungated = ["delete_note".to_owned()];
    let judged = check("mock", Carrier::Pipe, &[free, delete(4)], &rows, &ungated, |_| json!({"id": "a"}));
    assert_eq!(judged, Ok(History { gated: 1, ungated: 1, redeemed: 1 }));
}

#[test]
fn over_http_an_id_is_a_number_and_names_no_process() {
    let rows =
        [opened(1, "i1", "delete_note"), approved(2, "i1"), redeemed(3, "i1"), finished(5, "i1", "ok")];
    let judged = |carrier, calls: &[Received]| {
        check("mock", carrier, calls, &rows, &[], |_| json!({"id": "a"})).map(|history| history.gated)
    };
    let numbered = |second| call(second, json!(7), "delete_note", json!({"id": "a"}));
    let named = call(4, json!("yesgate-b-1"), "delete_note", json!({"id": "a"}));
    assert_eq!(judged(Carrier::Web, &[numbered(4)]), Ok(1));
    assert_eq!(judged(Carrier::Pipe, std::slice::from_ref(&named)), Ok(1));
    assert!(judged(Carrier::Pipe, &[numbered(4)]).is_err(), "on a pipe it could be a client's own id");
    assert!(judged(Carrier::Web, &[named]).is_err());
    assert!(judged(Carrier::Web, &[numbered(2)]).is_err(), "before the redemption");
    assert!(judged(Carrier::Web, &[numbered(4), numbered(5)]).is_err(), "twice");
}
