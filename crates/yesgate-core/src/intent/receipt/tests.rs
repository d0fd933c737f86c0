//! What has a receipt, and what stands on it.

use serde_json::{Value, json};

use super::Receipt;
use crate::assurance::Assurance;
use crate::fixture::{boot, fresh, human, question, runner, t};
use crate::intent::{Awaited, DoneKind, Intent, ResultKind, StoredResult};
use crate::render::Sanitized;

const MARK: &str = "mark-5120";

fn marked() -> Intent {
    let mut question = question(&json!({"to": MARK}));
    question.summary = Sanitized::line(MARK);
    question.reason = Some(Sanitized::line(MARK));
    question.rule = Some("plans".to_owned());
    let question = question.previewed(vec![Sanitized::line(MARK)]);
    Intent::open(fresh(1).id, question, fresh(1).asked_by, t(0))
}

/// The states on the way to the end, and the end.
fn all_the_way() -> Vec<Intent> {
    let mut intent = marked();
    let mut all = vec![intent.clone()];
    intent.approve(&human(Assurance::Local), intent.digest(), t(5)).unwrap();
    all.push(intent.clone());
    drop(intent.redeem(&runner(&boot(), Awaited::No), t(6)).unwrap());
    all.push(intent.clone());
    let result = StoredResult { kind: ResultKind::Result, json: format!("\"{MARK}\"") };
    intent.finish(DoneKind::Ok, Some(result), t(7)).unwrap();
    all.push(intent);
    all
}

#[test]
fn only_what_is_settled_has_a_receipt() {
    let all = all_the_way();
    let has: Vec<bool> = all.iter().map(|intent| intent.receipt().is_some()).collect();
    assert_eq!(has, [false, false, false, true]);
    let mut lost = all[2].clone();
    lost.lose("the server ended", t(8)).unwrap();
    assert_eq!(lost.receipt(), None, "nobody knows yet");
    lost.resolve("ada", false, t(9)).unwrap();
    let receipt = lost.receipt().unwrap();
    assert_eq!(
        (receipt.outcome.sentence(), receipt.ended_at),
        ("Its answer was lost, and a human settled that it did not run.", Some(t(9)))
    );
}

#[test]
fn every_end_has_its_word() {
    let words = |end: fn(&mut Intent)| {
        let mut intent = marked();
        end(&mut intent);
        serde_json::to_value(intent.receipt().unwrap().outcome).unwrap()
    };
    assert_eq!(words(|intent| intent.deny(&human(Assurance::Local), None, t(1)).unwrap()), "denied");
    assert_eq!(
        words(|intent| intent.respond(&human(Assurance::Local), MARK.into(), t(1)).unwrap()),
        "responded"
    );
    assert_eq!(words(|intent| assert!(intent.notice_expiry(t(1800)))), "expired");
    assert_eq!(words(|intent| intent.cancel("ada", t(1)).unwrap()), "cancelled");
}

#[test]
fn a_receipt_says_who_decided_what_and_nothing_of_the_contents() {
    let done = all_the_way().pop().unwrap();
    let receipt = done.receipt().unwrap();
    let text = receipt.text().unwrap();
    assert!(!text.as_str().contains(MARK), "{}", text.as_str());
    let again: Receipt = serde_json::from_str(text.as_str()).unwrap();
    assert_eq!(again, receipt);
    let value: Value = text.to_value();
    insta::assert_snapshot!(format!("{value:#}"));
    // What is erased later changes nothing of it.
    assert_eq!(done.purged(t(99)).unwrap().receipt(), Some(receipt));
}

#[test]
fn a_receipt_with_anything_more_or_less_in_it_is_none() {
    let text = all_the_way().pop().unwrap().receipt().unwrap().text().unwrap();
    let value = text.to_value();
    let names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    assert_eq!(names.len(), 21);
    for name in names {
        let mut less = value.clone();
        less.as_object_mut().unwrap().remove(&name);
        // What may be empty may be missing, and is spelled otherwise then.
        let read = serde_json::from_value::<Receipt>(less).ok().and_then(|receipt| receipt.text());
        assert!(read.is_none_or(|read| value[&name].is_null() || read != text), "{name}");
    }
    let mut more = value.clone();
    more["note"] = json!("approved by the administrator");
    assert!(serde_json::from_value::<Receipt>(more).is_err());
    let mut more = value;
    more["decision"]["note"] = json!("x");
    assert!(serde_json::from_value::<Receipt>(more).is_err());
}
