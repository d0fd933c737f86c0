//! What is left of a question whose contents were purged, and what can be made of it.

use serde_json::json;

use crate::assurance::Assurance;
use crate::fixture::{boot, claim_word, fresh, human, question, runner, t, token};
use crate::intent::{Awaited, DoneKind, Intent, ResultKind, State, StoredResult};
use crate::render::Sanitized;

/// A question whose every free text holds the same mark.
fn marked() -> Intent {
    let mut question = question(&json!({"to": MARK}));
    question.summary = Sanitized::line(&format!("send to {MARK}"));
    question.reason = Some(Sanitized::line(MARK));
    question.typed = Some(MARK.to_owned());
    question.next.insert("next".to_owned(), json!(MARK));
    let question = question.previewed(vec![Sanitized::line(MARK)]);
    let mut intent = Intent::open(fresh(1).id, question, fresh(1).asked_by, t(0));
    intent.issue_token(token(1).hash(), t(0)).unwrap();
    intent
}

fn text(intent: &Intent) -> String {
    serde_json::to_string(intent).unwrap()
}

const MARK: &str = "mark-7391";

#[test]
fn a_purged_question_keeps_what_the_trail_proves_and_none_of_its_contents() {
    let mut intent = marked();
    let by = crate::intent::Approver { typed: Some(MARK.to_owned()), ..human(Assurance::Local) };
    intent.approve(&by, intent.digest(), t(1)).unwrap();
    drop(intent.redeem(&runner(&boot(), Awaited::No), t(2)).unwrap());
    let result = StoredResult { kind: ResultKind::Result, json: format!("\"{MARK}\"") };
    intent.finish(DoneKind::Ok, Some(result), t(3)).unwrap();
    assert!(text(&intent).contains(MARK));

    let mut purged = intent.purged(t(4)).unwrap();
    assert!(!text(&purged).contains(MARK), "{}", text(&purged));
    assert_eq!(
        (purged.id(), purged.state(), purged.digest()),
        (intent.id(), intent.state(), intent.digest())
    );
    assert_eq!(purged.purged_at(), Some(t(4)));
    assert_eq!(purged.decision().unwrap().by, intent.decision().unwrap().by);
    assert_eq!(purged.decision().unwrap().assurance, Assurance::Local);
    assert!(purged.is_what_was_asked());
    assert_eq!(purged.purged(t(5)), None, "it is purged once");

    let claim = purged.claim(&runner(&boot(), Awaited::Yes), t(5));
    assert_eq!(claim_word(&claim), "refused");
    assert!(purged.redeem(&runner(&boot(), Awaited::Yes), t(5)).is_err());
    assert_eq!(purged.hand_over(t(5)), None);
}

#[test]
fn the_words_of_a_no_go_too() {
    let mut intent = marked();
    intent.deny(&human(Assurance::Local), Some(MARK.to_owned()), t(1)).unwrap();
    let purged = intent.purged(t(2)).unwrap();
    assert!(!text(&purged).contains(MARK));
    assert_eq!(purged.state(), State::Denied);
}

#[test]
fn what_is_open_runs_or_is_unknown_is_not_purged() {
    let mut intent = marked();
    assert_eq!(intent.purged(t(1)), None);
    let by = crate::intent::Approver { typed: Some(MARK.to_owned()), ..human(Assurance::Local) };
    intent.approve(&by, intent.digest(), t(1)).unwrap();
    assert_eq!(intent.purged(t(2)), None);
    drop(intent.redeem(&runner(&boot(), Awaited::No), t(2)).unwrap());
    assert_eq!(intent.purged(t(3)), None);
    intent.lose("a test", t(3)).unwrap();
    assert_eq!(intent.purged(t(4)), None, "somebody has to see what it was");
    intent.resolve("ada", true, t(5)).unwrap();
    assert!(intent.purged(t(6)).is_some());
}
