//! A history that fits, and each way in which one may not.

use serde_json::json;

use super::*;

fn told(end: End) -> Told {
    Told {
        note: "n".into(),
        intent: Some("intent_1".into()),
        decision: Decision::None,
        heard: Heard::All,
        end,
    }
}

fn log(times: u64) -> Vec<Received> {
    let call = json!({"method": "tools/call", "params": {"name": "delete_note", "arguments": {"id": "n"}}});
    let at = "2026-07-01T12:00:00Z".parse().unwrap();
    (1..=times).map(|number| Received { number, pid: 1, at, raw: call.to_string() }).collect()
}

fn rows(events: &[&str]) -> Vec<Value> {
    let row = |event: &&str| match event.split_once(':') {
        Some((event, outcome)) => json!({"intent": "intent_1", "event": event, "outcome": outcome}),
        None => json!({"intent": "intent_1", "event": event}),
    };
    events.iter().map(row).collect()
}

#[track_caller]
fn finds(told: Told, times: u64, events: &[&str], words: &str) {
    let problems = check(&[told], &log(times), &rows(events)).unwrap_err();
    assert!(problems.iter().any(|problem| problem.starts_with(words)), "{problems:#?}");
}

#[test]
fn what_fits_passes() {
    let done = ["approved", "finished:ok"];
    assert_eq!(check(&[told(End::Done)], &log(1), &rows(&done)), Ok(()));
    let lost = Told { heard: Heard::Some, ..told(End::Refused("consent_token_invalid".into())) };
    assert_eq!(check(&[lost], &log(1), &rows(&done)), Ok(()));
    assert_eq!(check(&[told(End::NotSent)], &[], &rows(&["approved", "finished:not_sent"])), Ok(()));
    let no = Told { decision: Decision::No, ..told(End::Refused("consent_denied".into())) };
    assert_eq!(check(&[no], &[], &rows(&["denied"])), Ok(()));
}

#[test]
fn each_way_of_not_fitting_is_found() {
    let done = ["approved", "finished:ok"];
    finds(told(End::Done), 2, &done, "ran more than once");
    finds(told(End::Done), 0, &done, "told that it ran, and it did not");
    finds(told(End::Done), 1, &["approved"], "told that it ran, and the ledger");
    finds(told(End::TurnedAway), 1, &["approved", "finished:not_sent"], "turned away, but not");
    finds(told(End::NotSent), 1, &["approved", "finished:not_sent"], "told that it was not sent");
    finds(told(End::Refused("consent_expired".into())), 1, &done, "told that it was refused");
    let yes = Told { decision: Decision::Yes, ..told(End::Silence) };
    finds(yes, 0, &[], "a yes is lost");
    let no = Told { decision: Decision::No, ..told(End::Silence) };
    finds(no.clone(), 0, &["approved"], "a no is lost");
    finds(no, 1, &["denied"], "ran after a no");
}
