//! A `verified` yes: when it is given, when it is spent, and when somebody edited what is stored.

use serde_json::{Value, json};

use crate::assurance::Assurance;
use crate::audit::AuditEvent;
use crate::digest::{CallDigest, Digest};
use crate::fixture::{Notary, boot, fresh, human, proof, question, runner, signer, t};
use crate::id::IntentId;
use crate::intent::{Answer, Approver, Awaited, Ground, Intent, Runner, State};
use crate::proof::{NoWitness, Proven, Statement, Witness};
use crate::verdict::{Question, Quorum};

fn asked(least: Assurance, people: u8) -> Intent {
    let quorum = Quorum::new(people).unwrap();
    let question = Question { least, quorum, ..question(&json!({"to": "scale"})) };
    Intent::open(fresh(1).id, question, fresh(1).asked_by, t(0))
}

fn yes(intent: &mut Intent, by: &Approver, second: i64) -> &'static str {
    let seen = intent.digest();
    intent.approve(by, seen, t(second)).map_or_else(|refusal| refusal.why.code(), |()| "yes")
}

fn signed_by(identity: &str, intent: &Intent) -> Approver {
    signer(identity, intent.statement(Answer::Approve))
}

fn redeem_with(intent: &mut Intent, witness: &dyn Witness, second: i64) -> &'static str {
    let boot = boot();
    let runner = Runner { witness, ..runner(&boot, Awaited::No) };
    intent.redeem(&runner, t(second)).map_or_else(|refusal| refusal.why.code(), |_| "run")
}

fn redeem(intent: &mut Intent, second: i64) -> &'static str {
    redeem_with(intent, &Notary, second)
}

fn approved() -> Intent {
    let mut intent = asked(Assurance::Verified, 1);
    let bob = signed_by("bob", &intent);
    assert_eq!(yes(&mut intent, &bob, 1), "yes");
    intent
}

/// Edits what is stored, as somebody who can write the ledger's file would.
fn edited(intent: &Intent, edit: impl FnOnce(&mut Value)) -> Intent {
    let mut stored = serde_json::to_value(intent).unwrap();
    edit(&mut stored);
    serde_json::from_value(stored).unwrap()
}

/// X1: a yes to exactly this call, signed with a person's key, runs it.
#[test]
fn a_signed_yes_runs_the_call_and_is_stored_whole() {
    let mut intent = approved();
    let kept = intent.decision().unwrap().proof.clone().unwrap();
    assert_eq!(kept, proof("bob", &intent.statement(Answer::Approve)));
    let entries = intent.take_entries();
    let AuditEvent::Approved { signed, own_call, .. } = &entries.last().unwrap().event else {
        panic!("no yes was written down")
    };
    assert_eq!((signed.as_ref(), *own_call), (Some(&kept.signed()), false));
    assert_eq!(redeem(&mut intent, 2), "run");
}

/// X1: whoever claims to be verified and has no proof of it is not taken for less, but refused.
#[test]
fn nobody_is_verified_by_saying_so() {
    for least in Assurance::ALL {
        let mut intent = asked(least, 1);
        let liar = Approver { identity: Some("bob".into()), ..human(Assurance::Verified) };
        assert_eq!(yes(&mut intent, &liar, 1), "assurance_too_low", "{least}");
        assert_eq!(intent.state(), State::Pending);
    }
}

/// X1: a signature under anything else is no yes to this.
#[test]
fn a_signature_for_something_else_is_no_yes() {
    let right = asked(Assurance::Verified, 1).statement(Answer::Approve);
    let wrong = [
        Statement { intent: IntentId::from_entropy([9; 32]), ..right.clone() },
        Statement { digest: CallDigest(Digest::rehydrate([9; 32])), ..right.clone() },
        Statement { answer: Answer::Deny, ..right.clone() },
        Statement { answer: Answer::Respond, ..right.clone() },
        Statement { until: t(1), ..right.clone() },
    ];
    for statement in wrong {
        let mut intent = asked(Assurance::Verified, 1);
        let told = statement.to_string();
        assert_eq!(yes(&mut intent, &signer("bob", statement), 1), "assurance_too_low", "{told}");
        assert_eq!(intent.state(), State::Pending, "{told}");
    }
    let mut intent = asked(Assurance::Verified, 1);
    let borrowed = Approver { identity: Some("eve".into()), ..signer("bob", right.clone()) };
    assert_eq!(yes(&mut intent, &borrowed, 1), "assurance_too_low");
    let nobody = Approver { identity: None, ..signer("bob", right) };
    assert_eq!(yes(&mut intent, &nobody, 1), "assurance_too_low");
}

/// X1, THREATS 4.1: the proof is verified again where it lets something run, and nothing is downgraded.
#[test]
fn a_yes_whose_witness_is_gone_runs_nothing() {
    let mut intent = approved();
    assert_eq!(redeem_with(&mut intent, &NoWitness, 2), "assurance_too_low");
    assert_eq!(intent.state(), State::Approved);
    assert_eq!(redeem(&mut intent, 3), "run", "nothing was spent by the try");
}

/// X1: where the rule asks for less, a yes that claims to be verified still has to be.
#[test]
fn a_verified_yes_to_a_milder_rule_is_verified_again_too() {
    let mut intent = asked(Assurance::Local, 1);
    let bob = signed_by("bob", &intent);
    assert_eq!(yes(&mut intent, &bob, 1), "yes");
    assert_eq!(redeem_with(&mut intent, &NoWitness, 2), "assurance_too_low");
    assert_eq!(redeem(&mut intent, 3), "run");
}

/// X1, issue 5: a ledger edited by hand yields no yes that a `verified` rule takes.
#[test]
fn an_edited_ledger_yields_no_verified_yes() {
    let mut open = asked(Assurance::Verified, 1);
    let decision = json!({
        "by": "bob", "surface": "human", "assurance": "verified", "answer": "approve", "reason": null, "at": t(1),
    });
    let write_a_yes = |stored: &mut Value, proof: Value| {
        stored["state"] = serde_json::to_value(State::Approved).unwrap();
        stored["run_by"] = json!(t(900));
        stored["decision"] = decision.clone();
        stored["decision"]["proof"] = proof;
    };
    let mut bare = edited(&open, |stored| write_a_yes(stored, Value::Null));
    assert_eq!(redeem(&mut bare, 2), "assurance_too_low", "no proof");

    let other =
        Intent::open(IntentId::from_entropy([9; 32]), open.question().clone(), fresh(1).asked_by, t(0));
    for statement in [other.statement(Answer::Approve), open.statement(Answer::Deny)] {
        let foreign = serde_json::to_value(proof("bob", &statement)).unwrap();
        let mut moved = edited(&open, |stored| write_a_yes(stored, foreign));
        assert_eq!(redeem(&mut moved, 2), "assurance_too_low", "{statement}");
    }

    let mut renamed = edited(&approved(), |stored| stored["decision"]["proof"]["identity"] = json!("eve"));
    assert_eq!(redeem(&mut renamed, 2), "assurance_too_low", "another name under the signature");

    // The digest that is stored stays what was signed, and the arguments beside it become others.
    let mut swapped = edited(&approved(), |stored| {
        let others = serde_json::to_value(question(&json!({"to": "enterprise"})).binding).unwrap();
        stored["question"]["binding"]["arguments"] = others["arguments"].clone();
    });
    assert_eq!(redeem(&mut swapped, 2), "assurance_too_low", "other arguments");

    let bob = signed_by("bob", &open);
    assert_eq!(yes(&mut open, &bob, 1), "yes");
    let mut weaker = edited(&open, |stored| stored["decision"]["assurance"] = json!("signed_in"));
    assert_eq!(redeem(&mut weaker, 2), "assurance_too_low", "it says less than the rule asks for");
}

/// X1: a question that somebody makes milder in the ledger, while its ground is looked at, is not the one that was
/// judged.
#[test]
fn a_question_that_changed_while_it_was_judged_runs_nothing() {
    let judged = approved().question().clone();
    let mut milder = edited(&approved(), |stored| {
        stored["question"]["least"] = json!("relayed");
        stored["decision"]["assurance"] = json!("relayed");
    });
    assert_eq!(approved().ground_as_judged(&judged, Ground::Holds), Ground::Holds);
    assert_eq!(approved().ground_as_judged(&judged, Ground::ToolChanged), Ground::ToolChanged);
    let (boot, ground) = (boot(), milder.ground_as_judged(&judged, Ground::Holds));
    let runner = Runner { ground, ..runner(&boot, Awaited::No) };
    assert_eq!(milder.redeem(&runner, t(2)).unwrap_err().why.code(), "policy_denied");
}

/// X1: the time that counts is the one that was signed, whatever is stored beside it.
#[test]
fn a_signature_runs_nothing_after_the_time_that_it_names() {
    let end = asked(Assurance::Verified, 1).statement(Answer::Approve).until;
    assert_eq!(end, t(30 * 60 + 60), "the last moment at which a yes could run");
    let prolonged = || edited(&approved(), |stored| stored["run_by"] = json!(t(90_000)));
    assert_eq!(redeem(&mut prolonged(), 30 * 60 + 59), "run");
    assert_eq!(redeem(&mut prolonged(), 30 * 60 + 60), "assurance_too_low");
    let mut longer = edited(&approved(), |stored| {
        stored["run_by"] = json!(t(90_000));
        stored["decision"]["proof"]["until"] = json!(t(90_000));
    });
    assert_eq!(redeem(&mut longer, 30 * 60 + 60), "assurance_too_low");
}

/// X1: asking again moves the human's clock, and the signature that is under way still counts.
#[test]
fn a_signature_outlives_a_question_that_is_asked_again() {
    let mut intent = asked(Assurance::Verified, 1);
    let bob = signed_by("bob", &intent);
    intent.issue_token(crate::fixture::token(2).hash(), t(60)).unwrap();
    assert_eq!(yes(&mut intent, &bob, 61), "yes");
    assert_eq!(redeem(&mut intent, 62), "run");
}

/// X1, X6, THREATS L4: where several must agree, each of them has signed, and each signature is verified again.
#[test]
fn every_yes_of_several_is_verified_again() {
    let mut intent = asked(Assurance::Verified, 2);
    for (name, expected) in [("bob", "quorum_pending"), ("bob", "quorum_pending"), ("cleo", "yes")] {
        let by = signed_by(name, &intent);
        assert_eq!(yes(&mut intent, &by, 1), expected, "{name}");
    }
    assert!(intent.yeses().iter().all(|yes| yes.proof.is_some()));
    let forged = |edit: fn(&mut Value)| redeem(&mut edited(&intent, |stored| edit(&mut stored["yeses"])), 2);
    assert_eq!(forged(|yeses| yeses[0]["proof"] = Value::Null), "assurance_too_low");
    assert_eq!(forged(|yeses| yeses[0]["identity"] = json!("eve")), "assurance_too_low");
    assert_eq!(forged(|yeses| yeses[0] = yeses[1].clone()), "quorum_pending", "one person twice");
    let twice = |yeses: &mut Value| {
        yeses[0] = yeses[1].clone();
        yeses[0]["identity"] = json!("eve");
    };
    assert_eq!(forged(twice), "assurance_too_low", "one signature under two names");
    assert_eq!(redeem(&mut intent, 2), "run");
}

/// X6: the yes of whoever the call is made for is never one of several, not even in an edited ledger.
#[test]
fn whoever_it_is_made_for_is_none_of_several() {
    let mut intent = asked(Assurance::Verified, 2);
    let ada = signed_by("ada", &intent);
    assert_eq!(yes(&mut intent, &ada, 1), "quorum_pending");
    assert!(intent.yeses().is_empty());
    for name in ["bob", "cleo"] {
        let by = signed_by(name, &intent);
        yes(&mut intent, &by, 1);
    }
    let own = serde_json::to_value(proof("ada", &intent.statement(Answer::Approve))).unwrap();
    let mut forged = edited(&intent, |stored| {
        stored["yeses"][0]["identity"] = json!("ada");
        stored["yeses"][0]["proof"] = own;
    });
    assert_eq!(redeem(&mut forged, 2), "quorum_pending");
}

/// X6: of several, one whose signature has run out may sign again, and counts once.
#[test]
fn a_yes_of_several_that_has_run_out_can_be_signed_again() {
    let mut intent = asked(Assurance::Verified, 2);
    let bob = signed_by("bob", &intent);
    assert_eq!(yes(&mut intent, &bob, 1), "quorum_pending");
    intent.issue_token(crate::fixture::token(2).hash(), t(29 * 60)).unwrap();
    let late = 31 * 60 + 1;
    let cleo = signed_by("cleo", &intent);
    assert_eq!(yes(&mut intent, &cleo, late), "quorum_pending", "the first has run out");
    let again = signed_by("bob", &intent);
    assert_eq!(yes(&mut intent, &again, late), "yes");
    assert_eq!(redeem(&mut intent, late), "run");
}

/// DESIGN, ledger: nobody satisfies a rule for their own call, but with a key, and that is written down.
#[test]
fn whoever_it_is_made_for_says_yes_only_with_a_key() {
    let ada = |level| Approver { identity: Some("ada".into()), ..human(level) };
    for least in [Assurance::SignedIn, Assurance::Verified] {
        let mut intent = asked(least, 1);
        assert_eq!(yes(&mut intent, &ada(Assurance::SignedIn), 1), "assurance_too_low", "{least}");
        let own = signed_by("ada", &intent);
        assert_eq!(yes(&mut intent, &own, 1), "yes", "{least}");
        let entries = intent.take_entries();
        let AuditEvent::Approved { own_call, .. } = entries.last().unwrap().event else {
            panic!("no yes was written down")
        };
        assert!(own_call);
        assert_eq!(redeem(&mut intent, 2), "run");
    }
    assert_eq!(yes(&mut asked(Assurance::Local, 1), &ada(Assurance::Local), 1), "yes");
    let bob = Approver { identity: Some("bob".into()), ..human(Assurance::SignedIn) };
    assert_eq!(yes(&mut asked(Assurance::SignedIn, 1), &bob, 1), "yes");
}

/// A proof is about its statement, and cannot be carried over to another.
#[test]
fn what_is_proven_stays_bound_to_what_was_signed() {
    let intent = asked(Assurance::Verified, 1);
    let statement = intent.statement(Answer::Approve);
    let proven = Proven::by(&Notary, proof("bob", &statement), statement.clone()).unwrap();
    assert_eq!(proven.statement(), &statement);
    let deny = Statement { answer: Answer::Deny, ..statement.clone() };
    assert!(Proven::by(&Notary, proof("bob", &statement), deny).is_err());
}
