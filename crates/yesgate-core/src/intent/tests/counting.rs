//! Counting a yes: whose it is, and what it may not be.

use jiff::SignedDuration;
use serde_json::json;

use crate::assurance::Assurance;
use crate::budget::{Account, Charge, Over, Share, Sum, Sums, Window};
use crate::fixture::{boot, fresh, human, question, runner, t, token};
use crate::intent::{Approver, Asked, Awaited, Claim, Ground, Intent, Slot, State, Surface};
use crate::verdict::{ConfirmType, Question, Spend, Standing};

fn window() -> Window {
    let account = Account {
        budget: "daily".parse().unwrap(),
        org: "acme".parse().unwrap(),
        currency: None,
        share: Share::Everyone,
    };
    Window { account, per: SignedDuration::from_hours(24) }
}

fn payment(amount: &str) -> Question {
    let charge = Charge { window: window(), most: "10".parse().unwrap(), over: Over::Reject };
    let spend = Spend { amount: amount.into(), charges: vec![charge], ..Spend::default() };
    Question { spend: Some(spend), ..question(&json!({ "amount": amount })) }
}

fn by_rule(question: Question) -> Question {
    Question {
        rule: Some("small change".into()),
        confirm: ConfirmType::None,
        least: Assurance::Asserted,
        standing: Some(Standing::Rule),
        ..question
    }
}

fn sums(spent: &str) -> Sums {
    Sums::new(vec![Sum { window: window(), spent: spent.parse().unwrap(), oldest: Some(t(0)) }])
}

fn ask(slot: &mut Slot, seed: u8, question: Question, second: i64) -> String {
    match slot.ask(question, fresh(seed), &runner(&boot(), Awaited::Yes), t(second)) {
        Asked::Open(_) => "open".to_owned(),
        Asked::Claimed(_, claim) => match *claim {
            Claim::Run(_) => "run".to_owned(),
            Claim::Replay(_) => "replay".to_owned(),
            Claim::Wait => "wait".to_owned(),
            Claim::Refused(refusal) => refusal.why.code().to_owned(),
        },
        Asked::Refused(refusal) => refusal.why.code().to_owned(),
    }
}

fn states(slot: &Slot) -> Vec<State> {
    slot.intents().iter().map(Intent::state).collect()
}

/// I1: a rule's yes is no human's: it never answers what a human is asked, however little proof that needs.
#[test]
fn a_rules_yes_never_answers_a_question() {
    let rule = Approver {
        name: "rule small change".into(),
        identity: None,
        groups: std::collections::BTreeSet::new(),
        surface: Surface::Rule,
        assurance: Assurance::SignedIn,
        typed: None,
        proof: None,
    };
    for least in Assurance::ALL {
        let asked = Question { least, ..payment("1") };
        let mut intent = Intent::open(fresh(1).id, asked, fresh(1).asked_by, t(0)).with_sums(sums("0"));
        let refusal = intent.approve(&rule, intent.digest(), t(1)).unwrap_err();
        assert_eq!((refusal.why.code(), intent.state()), ("assurance_too_low", State::Pending), "{least}");
    }
}

/// I1, H5: what a rule lets run takes no question's place; the same call that was asked about need not be asked any
/// more.
#[test]
fn a_rules_run_leaves_other_questions_open() {
    let mut slot = Slot::default().with_sums(sums("0"));
    assert_eq!(ask(&mut slot, 1, payment("7"), 0), "open");
    assert_eq!(ask(&mut slot, 2, by_rule(payment("1")), 1), "run");
    assert_eq!(states(&slot), [State::Pending, State::Running]);
    assert_eq!(ask(&mut slot, 3, by_rule(payment("7")), 2), "run");
    assert_eq!(states(&slot), [State::Cancelled, State::Running, State::Running]);
    // Another payment of the same kind is another payment.
    assert_eq!(ask(&mut slot, 4, by_rule(payment("1")), 3), "run");
}

/// K7, X3: a rule overrules no human's no, and repeats nothing whose outcome nobody knows.
#[test]
fn a_rule_overrules_no_no_and_repeats_nothing_unknown() {
    let mut slot = Slot::default().with_sums(sums("0"));
    assert_eq!(ask(&mut slot, 1, payment("7"), 0), "open");
    slot.intents_mut()[0].deny(&human(Assurance::Local), None, t(1)).unwrap();
    assert_eq!(ask(&mut slot, 2, by_rule(payment("7")), 2), "denied");
    assert_eq!(ask(&mut slot, 3, by_rule(payment("1")), 2), "run");
    slot.intents_mut()[1].lose("cut", t(3)).unwrap();
    assert_eq!(ask(&mut slot, 4, by_rule(payment("1")), 4), "execution_unknown");
}

/// A human's yes that waits for its run is that run's: the rule does not run it a second time.
#[test]
fn a_yes_that_waits_is_not_run_by_the_rule_besides() {
    let mut slot = Slot::default().with_sums(sums("0"));
    assert_eq!(ask(&mut slot, 1, payment("7"), 0), "open");
    let asked = slot.intents()[0].clone().with_sums(sums("0"));
    slot = Slot::new(vec![asked]).with_sums(sums("0"));
    let digest = slot.intents()[0].digest();
    slot.intents_mut()[0].approve(&human(Assurance::Local), digest, t(1)).unwrap();
    assert_eq!(ask(&mut slot, 2, by_rule(payment("7")), 2), "wait");
    assert_eq!(states(&slot), [State::Approved]);
}

/// I6: a token brings no yes that has no room; the question stays as it was.
#[test]
fn a_token_without_room_spends_nothing() {
    let mut slot = Slot::default().with_sums(sums("4"));
    assert_eq!(ask(&mut slot, 1, payment("7"), 0), "open");
    let mut intent = slot.into_intents().remove(0).with_sums(sums("4"));
    let presented = intent.question().binding.clone();
    let claim = |intent: &mut Intent, second| match intent.claim_with_token(
        &presented,
        None,
        &runner(&boot(), Awaited::Yes),
        t(second),
    ) {
        Claim::Refused(refusal) => refusal.why.code(),
        Claim::Run(_) => "run",
        Claim::Replay(_) | Claim::Wait => "neither",
    };
    assert_eq!(claim(&mut intent, 1), "budget_exceeded");
    assert_eq!((intent.state(), intent.token()), (State::Pending, Some(&token(1).hash())));
    let mut later = intent.with_sums(sums("3"));
    assert_eq!(claim(&mut later, 2), "run");
    assert_eq!(later.counted().unwrap().amount.to_string(), "7");
}

/// A stored question stands on a policy that lets the call run, and not on one that limits it more.
#[test]
fn a_tighter_budget_is_a_stricter_policy() {
    let asked = payment("1");
    assert_eq!(asked.ground_under(&by_rule(payment("1"))), Ground::Holds);
    let changed = |change: fn(&mut Charge)| {
        let mut now = by_rule(payment("1"));
        now.spend.as_mut().unwrap().charges.iter_mut().for_each(change);
        asked.ground_under(&now)
    };
    assert_eq!(changed(|charge| charge.most = "11".parse().unwrap()), Ground::Holds);
    assert_eq!(changed(|charge| charge.over = Over::Ask), Ground::Holds);
    assert_eq!(changed(|charge| charge.most = "9".parse().unwrap()), Ground::PolicyStricter);
    let longer = |charge: &mut Charge| charge.window.per = SignedDuration::from_hours(48);
    assert_eq!(changed(longer), Ground::PolicyStricter);
    let another = |charge: &mut Charge| charge.window.account.budget = "weekly".parse().unwrap();
    assert_eq!(changed(another), Ground::PolicyStricter);
    assert_eq!(question(&json!({"amount": "1"})).ground_under(&payment("1")), Ground::PolicyStricter);
}
