//! The life of a question: clocks, answers, claims, and what can never happen.

mod counting;
mod machine;
mod race;

use serde_json::json;

use super::{
    Asked, Awaited, Claim, DoneKind, Event, Ground, Intent, ResultKind, Runner, Slot, State, StoredResult,
};
use crate::assurance::Assurance;
use crate::digest::{CallDigest, Digest};
use crate::fixture::{boot, fresh, human, question, runner, t, token};
use crate::refusal::Refusal;
use crate::verdict::{Channel, Standing};

fn pending() -> Intent {
    let mut intent = Intent::open(fresh(1).id, question(&json!({"to": "scale"})), fresh(1).asked_by, t(0));
    intent.issue_token(token(1).hash(), t(0)).unwrap();
    intent
}

fn approved(second: i64) -> Intent {
    let mut intent = pending();
    let seen = intent.digest();
    intent.approve(&human(Assurance::Local), seen, t(second)).unwrap();
    intent
}

fn result() -> StoredResult {
    StoredResult { kind: ResultKind::Result, json: r#"{"content":[]}"#.into() }
}

fn code(claim: Claim) -> &'static str {
    match claim {
        Claim::Run(_) => "run",
        Claim::Replay(_) => "replay",
        Claim::Wait => "wait",
        Claim::Refused(refusal) => refusal.why.code(),
    }
}

fn with_token(intent: &mut Intent, second: i64) -> &'static str {
    let presented = intent.question().binding.clone();
    code(intent.claim_with_token(&presented, None, &runner(&boot(), Awaited::Yes), t(second)))
}

/// The whole state machine as one table: a new state or event changes it visibly.
#[test]
fn every_state_meets_every_event() {
    let states = [
        State::Pending,
        State::Approved,
        State::Running,
        State::Done(DoneKind::Ok),
        State::Unknown,
        State::Resolved { ran: true },
        State::Denied,
        State::Expired,
        State::Cancelled,
        State::Superseded,
        State::Voided,
    ];
    let events = [
        Event::Approve,
        Event::Deny,
        Event::Redeem,
        Event::Finish(DoneKind::Ok),
        Event::Lose,
        Event::Resolve { ran: true },
        Event::Expire,
        Event::Cancel,
        Event::Supersede,
        Event::Void,
    ];
    let mut table = String::new();
    for state in states {
        for event in events {
            if let Ok(next) = state.after(event) {
                table.push_str(&format!("{state:<10} {event:?} -> {next}\n"));
                assert_ne!(next, State::Pending, "nothing becomes a question again");
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// H4: 60 s by default, single use.
#[test]
fn a_token_is_dead_at_the_sixtieth_second() {
    assert_eq!(with_token(&mut pending(), 59), "run");
    assert_eq!(with_token(&mut pending(), 60), "consent_token_expired");
}

/// H4: single use; H6: a used token is invalid.
#[test]
fn a_token_runs_the_call_once() {
    let mut intent = pending();
    assert_eq!(with_token(&mut intent, 1), "run");
    assert_eq!(with_token(&mut intent, 2), "consent_token_invalid");
    intent.finish(DoneKind::Ok, Some(result()), t(3)).unwrap();
    assert_eq!(with_token(&mut intent, 4), "consent_token_invalid");
}

/// H6: a mismatch says which field changed, and leaves the question as it was.
#[test]
fn a_token_for_another_call_names_the_difference_and_spends_nothing() {
    let mut intent = pending();
    let other = question(&json!({"to": "enterprise"})).binding;
    let Claim::Refused(refusal) = intent.claim_with_token(&other, None, &runner(&boot(), Awaited::Yes), t(1))
    else {
        panic!("it was not refused")
    };
    assert_eq!(refusal.why.code(), "consent_token_mismatch");
    assert_eq!(refusal.payload()["details"]["changed"], "params");
    assert_eq!(with_token(&mut intent, 2), "run");
}

/// X5: a tool whose definition changed after the question voids it.
#[test]
fn a_changed_tool_voids_the_question() {
    let mut intent = pending();
    let mut presented = intent.question().binding.clone();
    presented.definition.0 = Digest::rehydrate([3; 32]);
    let claim = intent.claim_with_token(&presented, None, &runner(&boot(), Awaited::Yes), t(1));
    assert_eq!(code(claim), "tool_changed");
    assert_eq!(intent.state(), State::Voided);
}

#[test]
fn a_stricter_policy_voids_a_yes_that_has_not_run() {
    let mut intent = approved(1);
    let claim =
        intent.claim(&Runner { ground: Ground::PolicyStricter, ..runner(&boot(), Awaited::No) }, t(2));
    assert_eq!(code(claim), "policy_denied");
    assert_eq!(intent.state(), State::Voided);
}

/// X1: a yes below the rule's level is refused, never downgraded, and the question stays open.
#[test]
fn a_yes_that_proves_too_little_is_refused() {
    let mut asked = question(&json!({}));
    asked.least = Assurance::SignedIn;
    asked.channel = Channel::OutOfBand;
    let mut intent = Intent::open(fresh(1).id, asked, fresh(1).asked_by, t(0));
    let seen = intent.digest();
    for level in [Assurance::Asserted, Assurance::Relayed, Assurance::Client, Assurance::Local] {
        let refusal = intent.approve(&human(level), seen, t(1)).unwrap_err();
        assert_eq!(refusal.why.code(), "assurance_too_low", "{level}");
    }
    assert_eq!(intent.state(), State::Pending);
    assert_eq!(
        code(intent.claim_for(&human(Assurance::Relayed), &runner(&boot(), Awaited::Yes), t(2))),
        "assurance_too_low"
    );
    intent.approve(&human(Assurance::SignedIn), seen, t(3)).unwrap();
}

/// X2: a yes counts only for what was looked at.
#[test]
fn a_yes_to_something_else_is_refused() {
    let mut intent = pending();
    let refusal =
        intent.approve(&human(Assurance::Local), CallDigest(Digest::rehydrate([0; 32])), t(1)).unwrap_err();
    assert_eq!(refusal.why.code(), "content_changed");
    assert_eq!(intent.state(), State::Pending);
}

/// I5: a yes from a human surface runs the stored call; the agent gets the result once.
#[test]
fn a_released_result_is_handed_over_once() {
    let mut intent = approved(1);
    assert_eq!(code(intent.claim(&runner(&boot(), Awaited::No), t(2))), "run");
    assert_eq!(with_token(&mut intent, 3), "wait");
    intent.finish(DoneKind::Ok, Some(result()), t(4)).unwrap();
    assert_eq!(with_token(&mut intent, 5), "replay");
    assert_eq!(with_token(&mut intent, 6), "consent_token_invalid");
}

/// X3: a caller that leaves while its call runs finds the result when it comes back, once.
#[test]
fn a_run_whose_caller_left_is_waited_for_and_its_result_is_kept() {
    let mut intent = pending();
    assert_eq!(with_token(&mut intent, 1), "run");
    assert_eq!(with_token(&mut intent, 2), "consent_token_invalid");
    assert!(intent.leave_running(t(3)));
    assert!(intent.leave_running(t(4)));
    assert_eq!(with_token(&mut intent, 5), "wait");
    intent.finish(DoneKind::Ok, Some(result()), t(6)).unwrap();
    assert!(!intent.leave_running(t(7)));
    assert_eq!(with_token(&mut intent, 8), "replay");
    assert_eq!(with_token(&mut intent, 9), "consent_token_invalid");
}

#[test]
fn a_yes_must_be_used_within_its_own_time() {
    assert_eq!(code(approved(100).claim(&runner(&boot(), Awaited::No), t(159))), "run");
    assert_eq!(code(approved(100).claim(&runner(&boot(), Awaited::No), t(160))), "expired");
}

#[test]
fn nobody_can_decide_after_the_time_for_it() {
    let mut intent = pending();
    let seen = intent.digest();
    assert_eq!(intent.approve(&human(Assurance::Local), seen, t(1800)).unwrap_err().why.code(), "expired");
    assert_eq!(intent.state(), State::Expired);
    // A late no is written down although it changes nothing.
    assert!(intent.deny(&human(Assurance::Local), None, t(1801)).is_err());
    let entries = intent.take_entries();
    assert!(
        format!("{entries:?}").contains(r#"LateAnswer { by: "ada at the command line", answer: "deny" }"#)
    );
}

#[test]
fn a_no_after_the_yes_and_before_the_run_withdraws_it() {
    let mut intent = approved(1);
    intent.deny(&human(Assurance::Local), Some("wait".into()), t(2)).unwrap();
    assert_eq!(intent.state(), State::Cancelled);
    assert_eq!(code(intent.claim(&runner(&boot(), Awaited::No), t(3))), "cancelled");
}

/// X3: a lost answer is `unknown` until a human settles it, and never runs again.
#[test]
fn an_unknown_outcome_never_runs_again() {
    let mut intent = approved(1);
    assert_eq!(code(intent.claim(&runner(&boot(), Awaited::No), t(2))), "run");
    intent.lose("the server ended", t(3)).unwrap();
    assert_eq!(with_token(&mut intent, 4), "execution_unknown");
    assert_eq!(
        code(intent.claim_for(&human(Assurance::Relayed), &runner(&boot(), Awaited::Yes), t(5))),
        "execution_unknown"
    );
    intent.resolve("ada", false, t(6)).unwrap();
    assert_eq!(intent.state(), State::Resolved { ran: false });
    assert_eq!(with_token(&mut intent, 7), "consent_token_invalid");
    assert!(intent.resolve("ada", true, t(8)).is_err());
}

fn open(slot: &mut Slot, arguments: &serde_json::Value, seed: u8, second: i64) -> Asked {
    slot.ask(question(arguments), fresh(seed), &runner(&boot(), Awaited::Yes), t(second))
}

fn opened(asked: Asked) -> Intent {
    let Asked::Open(intent) = asked else { panic!("{asked:?}") };
    *intent
}

fn claimed(asked: Asked) -> Claim {
    let Asked::Claimed(_, claim) = asked else { panic!("{asked:?}") };
    *claim
}

fn refused(asked: Asked) -> Refusal {
    let Asked::Refused(refusal) = asked else { panic!("{asked:?}") };
    *refusal
}

/// H5: the same params again are the same intent with a fresh token; the earlier token is dead.
#[test]
fn the_same_call_again_is_the_same_question_with_a_fresh_token() {
    let mut slot = Slot::default();
    let first = opened(open(&mut slot, &json!({"to": "scale"}), 1, 0));
    let again = opened(open(&mut slot, &json!({"to": "scale"}), 2, 30));
    assert_eq!(first.id(), again.id());
    assert_ne!(first.token(), again.token());
    assert_eq!(again.token(), Some(&token(2).hash()));
    assert_eq!(again.token_by(), Some(t(90)));
    assert_eq!(slot.into_intents().len(), 1);
}

/// H5: other params: a new question, and the old one is superseded.
#[test]
fn another_call_of_the_same_operation_supersedes() {
    let mut slot = Slot::default();
    let first = opened(open(&mut slot, &json!({"to": "scale"}), 1, 0));
    let second = opened(open(&mut slot, &json!({"to": "pro"}), 2, 1));
    assert_ne!(first.id(), second.id());
    let mut intents = slot.into_intents();
    assert_eq!(intents[0].state(), State::Superseded);
    assert_eq!(with_token(&mut intents[0], 2), "superseded");
    assert_eq!(with_token(&mut intents[1], 2), "run");
}

/// H7: calling again without a token only ever asks again.
#[test]
fn without_a_yes_it_just_asks_again() {
    let mut slot = Slot::default();
    for round in 1..50 {
        opened(open(&mut slot, &json!({"to": "scale"}), round, i64::from(round)));
    }
    assert_eq!(slot.into_intents().len(), 1);
}

/// I5: the same call repeated after a yes elsewhere runs it, or takes its result, once.
#[test]
fn the_same_call_repeated_takes_the_result_once_and_then_asks_anew() {
    let mut slot = Slot::new(vec![approved(1)]);
    slot.intents_mut()[0].redeem(&runner(&boot(), Awaited::No), t(2)).map(drop).unwrap();
    slot.intents_mut()[0].finish(DoneKind::Ok, Some(result()), t(3)).unwrap();
    let claim = claimed(open(&mut slot, &json!({"to": "scale"}), 7, 4));
    assert_eq!(code(claim), "replay");
    opened(open(&mut slot, &json!({"to": "scale"}), 8, 5));
}

/// K7: both keys are recorded as the weakest yes, and never overrule a human's no.
#[test]
fn two_keys_are_asserted_and_never_overrule_a_no() {
    let asked = || {
        let mut asked = question(&json!({"user": 7}));
        asked.standing = Some(Standing::TwoKeys);
        asked.least = Assurance::Asserted;
        asked
    };
    let mut slot = Slot::default();
    assert_eq!(code(claimed(slot.ask(asked(), fresh(1), &runner(&boot(), Awaited::Yes), t(0)))), "run");
    assert_eq!(slot.into_intents()[0].decision().unwrap().assurance, Assurance::Asserted);

    let mut denied = Intent::open(fresh(1).id, asked(), fresh(1).asked_by, t(0));
    denied.deny(&human(Assurance::Local), Some("not this user".into()), t(1)).unwrap();
    let mut slot = Slot::new(vec![denied]);
    let refusal = refused(slot.ask(asked(), fresh(2), &runner(&boot(), Awaited::Yes), t(2)));
    assert_eq!(refusal.payload()["details"]["reason"], "not this user");
    // After the cool-off it may be asked again.
    assert_eq!(code(claimed(slot.ask(asked(), fresh(3), &runner(&boot(), Awaited::Yes), t(601)))), "run");
}

/// X3: an unknown outcome blocks the same call until a human settles it.
#[test]
fn the_same_call_is_not_asked_again_while_its_outcome_is_unknown() {
    let mut lost = approved(1);
    lost.redeem(&runner(&boot(), Awaited::No), t(2)).map(drop).unwrap();
    lost.lose("the server ended", t(3)).unwrap();
    let mut slot = Slot::new(vec![lost]);
    let refusal = refused(open(&mut slot, &json!({"to": "scale"}), 2, 4));
    assert_eq!(refusal.why.code(), "execution_unknown");
    slot.intents_mut()[0].resolve("ada", true, t(5)).unwrap();
    opened(open(&mut slot, &json!({"to": "scale"}), 3, 6));
}

/// Every step leaves its entry, and none of them holds an argument.
#[test]
fn the_audit_sees_every_step_and_no_argument() {
    let mut intent = pending();
    assert_eq!(with_token(&mut intent, 1), "run");
    intent.finish(DoneKind::Ok, Some(result()), t(2)).unwrap();
    let entries = serde_json::to_string_pretty(&intent.take_entries()).unwrap();
    assert!(!entries.contains("scale"), "{entries}");
    insta::assert_snapshot!(entries);
    assert!(intent.take_entries().is_empty());
}
