//! The groups that a rule names say yes, and nobody else.

use jiff::SignedDuration;
use serde_json::json;

use crate::approvers::{Approvers, Fallback};
use crate::assurance::Assurance;
use crate::fixture::{boot, claim_word, fresh, human, question, runner, t};
use crate::grant::{GrantRecord, Limits, Wish, WishedScope};
use crate::id::GrantId;
use crate::intent::{Approver, Awaited, Edit, Ground, Intent, Slot, State};
use crate::verdict::{Channel, Question};

/// A question for `ops`, and after a minute for `leads` too.
fn asked() -> Question {
    let fallback =
        Fallback { after: SignedDuration::from_secs(60), groups: ["leads".parse().unwrap()].into() };
    let approvers = Approvers { groups: ["ops".parse().unwrap()].into(), fallback: Some(fallback) };
    let least = Assurance::Local;
    Question { approvers: Some(approvers), least, channel: Channel::Web, ..question(&json!({"to": "scale"})) }
}

fn open() -> Intent {
    Intent::open(fresh(1).id, asked(), fresh(1).asked_by, t(0))
}

fn member(groups: &[&str]) -> Approver {
    let groups = groups.iter().map(|group| group.parse().unwrap()).collect();
    Approver { groups, identity: Some("bob".into()), ..human(Assurance::SignedIn) }
}

fn yes(intent: &mut Intent, by: &Approver, second: i64) -> &'static str {
    let seen = intent.digest();
    intent.approve(by, seen, t(second)).map_or_else(|refusal| refusal.why.code(), |()| "yes")
}

/// X6: a yes counts from the groups that the rule names, and from those who step in once their time has come.
#[test]
fn only_the_named_groups_say_yes() {
    for (groups, second, said) in [
        (&["ops"][..], 1, "yes"),
        (&["sales", "ops"], 1, "yes"),
        (&[], 1, "policy_denied"),
        (&["sales"], 1, "policy_denied"),
        (&["leads"], 59, "policy_denied"),
        (&["leads"], 60, "yes"),
        (&["sales"], 60, "policy_denied"),
        (&["ops"], 60, "yes"),
    ] {
        let mut intent = open();
        assert_eq!(yes(&mut intent, &member(groups), second), said, "{groups:?} at {second}");
        let state = if said == "yes" { State::Approved } else { State::Pending };
        assert_eq!(intent.state(), state);
    }
}

/// X6: a no is anybody's to say.
#[test]
fn a_no_needs_no_group() {
    let mut intent = open();
    intent.deny(&member(&[]), None, t(1)).unwrap();
    assert_eq!(yes(&mut intent, &member(&["ops"]), 2), "denied");
}

/// X6: asking again with a new token does not give the named groups more time for themselves.
#[test]
fn asking_again_does_not_put_off_who_steps_in() {
    let mut intent = open();
    intent.issue_token(crate::fixture::token(1).hash(), t(50)).unwrap();
    assert_eq!(yes(&mut intent, &member(&["leads"]), 61), "yes");
}

/// X6: a rule that comes to name groups, or others, makes earlier yeses void; one that names none any more does not.
#[test]
fn a_rule_that_names_others_meanwhile_is_stricter() {
    let named = asked();
    let anybody = Question { approvers: None, ..asked() };
    let mut others = asked();
    others.approvers.as_mut().unwrap().groups = ["legal".parse().unwrap()].into();
    assert_eq!(named.ground_under(&named), Ground::Holds);
    assert_eq!(named.ground_under(&anybody), Ground::Holds);
    assert_eq!(anybody.ground_under(&named), Ground::PolicyStricter);
    assert_eq!(named.ground_under(&others), Ground::PolicyStricter);
}

/// X6: a call is changed by those who may say yes to it, as soon as they may.
#[test]
fn whoever_may_say_yes_may_change_it_and_nobody_else() {
    for (groups, second, said) in
        [(&["ops"][..], 1, "edited"), (&[], 1, "policy_denied"), (&["leads"], 61, "edited")]
    {
        let old = open();
        let changed = Question { approvers: asked().approvers, ..question(&json!({"to": "pro"})) };
        let question = Question { channel: Channel::Web, ..changed };
        let by = member(groups);
        let edit = Edit { of: old.id().clone(), seen: old.digest(), id: fresh(2).id, question, by };
        let edited = Slot::new(vec![old]).edit(edit, t(second));
        assert_eq!(edited.map_or_else(|refusal| refusal.why.code(), |()| "edited"), said, "{groups:?}");
    }
    // A change that leads to a rule without groups is no way around them.
    let old = open();
    let question = question(&json!({"to": "pro"}));
    let edit = Edit { of: old.id().clone(), seen: old.digest(), id: fresh(2).id, question, by: member(&[]) };
    assert_eq!(Slot::new(vec![old]).edit(edit, t(1)).unwrap_err().why.code(), "policy_denied");
}

/// X4, X6: a remembered yes covers what the groups of whoever gave it may say yes to; who steps in does so each time.
#[test]
fn a_remembered_yes_is_one_of_the_named_groups() {
    let limits = Limits::new(Some(5), None, t(0)).unwrap();
    let wish = |seed| Wish { id: GrantId::from_entropy([seed; 32]), scope: WishedScope::Exact, limits };
    let mut intent = open();
    let seen = intent.digest();
    let grant = intent.approve_and_remember(&member(&["ops"]), seen, wish(1), t(1)).unwrap();
    let record = GrantRecord { grant, used: 0, revoked_at: None };
    assert!(record.covers(&asked(), t(2)));
    let mut others = asked();
    others.approvers.as_mut().unwrap().groups = ["legal".parse().unwrap()].into();
    assert!(!record.covers(&others, t(2)));
    let mut next = Intent::open(fresh(3).id, asked(), fresh(3).asked_by, t(3));
    assert_eq!(claim_word(&next.granted_yes(&record.grant, &runner(&boot(), Awaited::Yes), t(3))), "run");

    let mut late = open();
    let refusal = late.approve_and_remember(&member(&["leads"]), seen, wish(2), t(61)).unwrap_err();
    assert_eq!((refusal.why.code(), late.state()), ("policy_denied", State::Pending));
}
