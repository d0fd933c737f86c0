//! Asking too often: counted over all processes, in the transaction that would ask more.

use jiff::SignedDuration;
use serde_json::json;
use yesgate_core::assurance::Assurance;
use yesgate_core::intent::{Approver, Asked};
use yesgate_core::pace::Pace;
use yesgate_core::verdict::Question;
use yesgate_ledger::Ledger;

use crate::support::{Place, approve, assert_sound, binding, deny, fresh, id, question, relayed, runner};

const PACE: Pace = Pace { breaker: 3, window: SignedDuration::from_mins(10), per_minute: 5, open: 4 };

/// Asks about a call of a tool of its own, so that no question takes the place of another.
async fn ask(ledger: &Ledger, seed: u32) -> String {
    put(ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await
}

async fn put(ledger: &Ledger, seed: u32, question: Question) -> String {
    let boot = ledger.boot().clone();
    let about = question.binding.clone();
    let asked = ledger
        .ask(&about, PACE, Vec::new(), move |slot, now| slot.ask(question, fresh(seed), &runner(&boot), now))
        .await;
    match asked.unwrap() {
        Asked::Open(_) => "asked".to_owned(),
        Asked::Claimed(..) => "claimed".to_owned(),
        Asked::Refused(refusal) => match refusal.payload()["details"]["bound"].as_str() {
            Some(bound) => bound.to_owned(),
            None => refusal.why.code().to_owned(),
        },
    }
}

/// A14: after three noes a caller asks nothing more until the window is over, in whatever process it asks; another
/// caller may.
#[tokio::test]
async fn after_three_noes_a_caller_asks_nothing_more_for_a_while() {
    let place = Place::new();
    let (gate, other) = (place.open(1).await, place.open(2).await);
    for seed in 1..=3 {
        place.clock.set(i64::from(seed) * 20);
        assert_eq!(ask(&gate, seed).await, "asked");
        deny(&other, &id(seed)).await.unwrap();
    }
    assert_eq!(ask(&gate, 4).await, "denials");
    assert_eq!(ask(&other, 4).await, "denials");
    let mut neighbours = question("tool_5", &json!({}));
    neighbours.binding.caller.client = "neighbour".parse().unwrap();
    assert_eq!(put(&gate, 5, neighbours).await, "asked");
    place.clock.set(619);
    assert_eq!(ask(&gate, 6).await, "denials");
    drop((gate, other));
    let again = place.open(3).await;
    assert_eq!(ask(&again, 6).await, "denials", "a restart forgets nothing");
    place.clock.set(620);
    assert_eq!(ask(&again, 6).await, "asked");
    assert_sound(&again).await;
}

/// A14: a human's yes lifts it, and so does a thaw; the agent's own word for a yes does not.
#[tokio::test]
async fn a_human_lifts_what_their_noes_led_to() {
    let place = Place::new();
    let ledger = place.open(1).await;
    for seed in 1..=4 {
        place.clock.set(i64::from(seed) * 20);
        assert_eq!(ask(&ledger, seed).await, "asked");
    }
    place.clock.set(200);
    for seed in 1..=3 {
        deny(&ledger, &id(seed)).await.unwrap();
    }
    assert_eq!(ask(&ledger, 9).await, "denials");
    ledger
        .update(&id(4), |intent, now| {
            let own_word = Approver { assurance: Assurance::Relayed, ..relayed() };
            intent.approve(&own_word, intent.digest(), now)
        })
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(ask(&ledger, 9).await, "denials");

    ledger.thaw(&binding("t", &json!({})).caller, "ada").await.unwrap();
    place.clock.set(201);
    for seed in 11..=14 {
        assert_eq!(ask(&ledger, seed).await, "asked");
    }
    for seed in 11..=13 {
        deny(&ledger, &id(seed)).await.unwrap();
    }
    assert_eq!(ask(&ledger, 19).await, "denials");
    place.clock.set(202);
    approve(&ledger, &id(14)).await.unwrap();
    place.clock.set(300);
    assert_eq!(ask(&ledger, 19).await, "asked");
    assert_sound(&ledger).await;
}

/// A14: so many new questions a minute, and so many open ones; one that is over makes room.
#[tokio::test]
async fn a_caller_has_so_many_questions_and_no_more() {
    let place = Place::new();
    let ledger = place.open(1).await;
    for seed in 1..=4 {
        assert_eq!(ask(&ledger, seed).await, "asked");
    }
    assert_eq!(ask(&ledger, 5).await, "open", "the bound on open ones");
    assert_eq!(ask(&ledger, 4).await, "asked", "the same question again is no new one");
    approve(&ledger, &id(1)).await.unwrap();
    assert_eq!(ask(&ledger, 5).await, "asked");
    approve(&ledger, &id(2)).await.unwrap();
    assert_eq!(ask(&ledger, 6).await, "per_minute");
    place.clock.set(60);
    assert_eq!(ask(&ledger, 6).await, "asked");
    // What nobody answered in time is open no more, whether somebody noticed or not.
    place.clock.set(1900);
    assert_eq!(ask(&ledger, 7).await, "asked");
    assert_sound(&ledger).await;
}
