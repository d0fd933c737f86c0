//! The bounds on asking, second by second.

use serde_json::json;

use super::{Pace, Recent};
use crate::assurance::Assurance;
use crate::fixture::{boot, fresh, question, runner, t, word};
use crate::intent::{Awaited, Slot};
use crate::refusal::Refusal;
use crate::verdict::Standing;

fn bound(recent: Recent, second: i64) -> Option<String> {
    let refusal = Refusal::from(Pace::default().refusal(&recent, t(second))?);
    assert_eq!(refusal.why.code(), "rate_limited");
    Some(refusal.payload()["details"]["bound"].as_str().unwrap().to_owned())
}

/// A14: each bound holds to its very end, and says which it is.
#[test]
fn a_bound_holds_to_its_last_second() {
    let none = Recent::default();
    assert_eq!(bound(none, 0), None);
    let denied = Recent { denied: Some(t(0)), ..none };
    assert_eq!((bound(denied, 599).as_deref(), bound(denied, 600)), (Some("denials"), None));
    let asked = Recent { asked: Some(t(0)), ..none };
    assert_eq!((bound(asked, 59).as_deref(), bound(asked, 60)), (Some("per_minute"), None));
    let open = |open| Recent { open, ..none };
    assert_eq!((bound(open(19), 0), bound(open(20), 0).as_deref()), (None, Some("open")));
}

/// A14: the refusal says until when, and what to do instead of asking.
#[test]
fn a_refusal_says_until_when_and_what_to_do() {
    let recent = Recent { denied: Some(t(0)), ..Recent::default() };
    let refusal = Refusal::from(Pace::default().refusal(&recent, t(1)).unwrap());
    assert_eq!(refusal.payload()["details"]["until"], t(600).to_string());
    let message = refusal.why.message();
    assert!(message.contains("Nothing ran") && message.contains("ask the user what they want"), "{message}");
}

/// H7, K7: a bound keeps questions from being asked, not what has its yes, nor a question that is open already.
#[test]
fn a_bound_holds_up_nothing_but_new_questions() {
    let pressed = |slot: Slot| {
        slot.at_pace(Pace::default(), Recent { denied: Some(t(0)), open: 99, ..Recent::default() })
    };
    let ask = |slot: &mut Slot, question| slot.ask(question, fresh(1), &runner(&boot(), Awaited::Yes), t(1));
    let mut empty = pressed(Slot::default());
    assert_eq!(word(&ask(&mut empty, question(&json!({})))), "refused");
    assert!(empty.into_intents().is_empty());

    let mut slot = Slot::default();
    assert_eq!(word(&ask(&mut slot, question(&json!({})))), "open");
    let mut slot = pressed(Slot::new(slot.into_intents()));
    assert_eq!(word(&ask(&mut slot, question(&json!({})))), "open", "the same question again");
    assert_eq!(word(&ask(&mut slot, question(&json!({"other": 1})))), "refused");
    assert_eq!(word(&ask(&mut slot, question(&json!({})))), "open", "a refusal supersedes nothing");

    let mut both_keys = question(&json!({}));
    both_keys.standing = Some(Standing::TwoKeys);
    both_keys.least = Assurance::Asserted;
    assert_eq!(word(&ask(&mut pressed(Slot::default()), both_keys)), "run");
}

/// A14: a question that takes the place of another one does not count twice.
#[test]
fn a_question_that_supersedes_another_takes_its_place() {
    let ask = |slot: &mut Slot, arguments: serde_json::Value| {
        slot.ask(question(&arguments), fresh(1), &runner(&boot(), Awaited::Yes), t(1))
    };
    let mut slot = Slot::default();
    assert_eq!(word(&ask(&mut slot, json!({}))), "open");
    let full = Recent { open: 20, ..Recent::default() };
    let mut slot = Slot::new(slot.into_intents()).at_pace(Pace::default(), full);
    assert_eq!(word(&ask(&mut slot, json!({"other": 1}))), "open");
}
