//! Several people must agree, each once, and never the one the call is made for.

use serde_json::json;

use crate::assurance::Assurance;
use crate::fixture::{boot, claim_word, fresh, human, question, runner, t};
use crate::intent::{Approver, Awaited, Ground, Intent, State};
use crate::verdict::{Channel, Question, Quorum};

fn asked(people: u8) -> Question {
    let quorum = Quorum::new(people).unwrap();
    Question { quorum, least: Assurance::Local, channel: Channel::OutOfBand, ..question(&json!({})) }
}

fn open(people: u8) -> Intent {
    Intent::open(fresh(1).id, asked(people), fresh(1).asked_by, t(0))
}

fn person(identity: &str) -> Approver {
    Approver { name: identity.into(), identity: Some(identity.into()), ..human(Assurance::Local) }
}

fn yes(intent: &mut Intent, by: &Approver) -> &'static str {
    let seen = intent.digest();
    intent.approve(by, seen, t(1)).map_or_else(|refusal| refusal.why.code(), |()| "yes")
}

/// X6: n different people; the same one twice, nobody in particular and the requester do not count.
#[test]
fn each_person_counts_once_and_the_requester_never() {
    let mut intent = open(2);
    let requester = person("ada");
    let nobody = Approver { identity: None, ..person("somebody") };
    for (by, have) in
        [(&requester, 0), (&nobody, 0), (&person("bob"), 1), (&person("bob"), 1), (&requester, 1)]
    {
        assert_eq!(yes(&mut intent, by), "quorum_pending");
        assert_eq!((intent.yeses().len(), intent.state()), (have, State::Pending), "{}", by.name);
    }
    assert_eq!(yes(&mut intent, &person("eve")), "yes");
    assert_eq!(intent.state(), State::Approved);
    assert_eq!(intent.decision().unwrap().by, "bob and eve");
    let claim = intent.claim(&runner(&boot(), Awaited::No), t(2));
    assert_eq!(claim_word(&claim), "run");
}

/// X6: a no by anybody ends it, however many said yes.
#[test]
fn a_no_by_anybody_denies() {
    let mut intent = open(3);
    for name in ["bob", "eve"] {
        assert_eq!(yes(&mut intent, &person(name)), "quorum_pending");
    }
    intent.deny(&person("ada"), Some("no".into()), t(2)).unwrap();
    assert_eq!(yes(&mut intent, &person("dan")), "denied");
}

/// X1, X6: a yes that proves too little is not counted.
#[test]
fn a_weak_yes_is_not_counted() {
    let mut intent = open(2);
    let relayed = Approver { assurance: Assurance::Relayed, ..person("bob") };
    assert_eq!(yes(&mut intent, &relayed), "assurance_too_low");
    assert!(intent.yeses().is_empty());
}

/// X6: a rule that needs more people than before voids what fewer agreed to.
#[test]
fn more_people_is_stricter() {
    assert_eq!(asked(1).ground_under(&asked(2)), Ground::PolicyStricter);
    assert_eq!(asked(2).ground_under(&asked(1)), Ground::Holds);
}
