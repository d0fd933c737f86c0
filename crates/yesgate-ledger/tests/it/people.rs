//! Several people, and people who change a call: what they do is stored whole, and once, over all processes.

use serde_json::{Value, json};
use yesgate_core::assurance::Assurance;
use yesgate_core::intent::{Approver, Edit, Intent, State};
use yesgate_core::verdict::Quorum;
use yesgate_ledger::{Fault, Ledger};

use crate::support::{
    Place, approve, ask, assert_sound, deny, human, id, open_question, question, redeem, state,
};

fn person(identity: &str) -> Approver {
    Approver { name: identity.into(), identity: Some(identity.into()), ..human() }
}

async fn yes(ledger: &Ledger, by: &str) -> &'static str {
    let by = person(by);
    let said = ledger.update(&id(1), move |intent, now| intent.approve(&by, intent.digest(), now)).await;
    said.unwrap().unwrap().map_or_else(|refusal| refusal.why.code(), |()| "approved")
}

async fn open_for_two(ledger: &Ledger) {
    let mut asked = question("upgrade_plan", &json!({}));
    asked.quorum = Quorum::new(2).unwrap();
    asked.least = Assurance::Local;
    drop(ask(ledger, 1, asked).await.unwrap());
}

/// X6: yeses are counted wherever they are given, and a restart forgets none.
#[tokio::test]
async fn people_agree_in_different_processes() {
    let place = Place::new();
    let (one, other) = (place.open(1).await, place.open(2).await);
    open_for_two(&one).await;
    assert_eq!(yes(&one, "bob").await, "quorum_pending");
    drop(one);
    assert_eq!(yes(&other, "bob").await, "quorum_pending");
    assert!(redeem(&other, &id(1)).await.unwrap().is_err());
    assert_eq!(yes(&other, "eve").await, "approved");
    drop(redeem(&other, &id(1)).await.unwrap().unwrap());
    assert_sound(&other).await;
}

/// X7: a yes that was added behind the ledger's back is found.
#[tokio::test]
async fn a_yes_that_nobody_said_is_found() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_for_two(&ledger).await;
    assert_eq!(yes(&ledger, "bob").await, "quorum_pending");
    assert_sound(&ledger).await;
    place.forge("intent", |body| {
        let mut body: Value = serde_json::from_str(body).unwrap();
        let yeses = body["yeses"].as_array_mut().unwrap();
        yeses.push(yeses[0].clone());
        body.to_string()
    });
    let faults = ledger.verify().await.unwrap().faults;
    assert_eq!(faults, [Fault::IntentDiffers { id: id(1), stored: "pending", audited: "pending" }]);
}

fn edit(of: &Intent, seed: u32, arguments: &Value) -> Edit {
    Edit {
        of: of.id().clone(),
        seen: of.digest(),
        id: id(seed),
        question: question("upgrade_plan", arguments),
        by: human(),
    }
}

/// X6: of two people who change the same call, one is told that the other was faster; one changed call runs.
#[tokio::test]
async fn a_call_is_changed_once() {
    let place = Place::new();
    let (one, other) = (place.open(1).await, place.open(2).await);
    let asked = open_question(&one, 1, &json!({"to": "scale"})).await;
    let first = edit(&asked, 2, &json!({"to": "pro"}));
    let second = edit(&asked, 3, &json!({"to": "free"}));
    let (first, second) = tokio::join!(one.edit(first), other.edit(second));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.is_ok() != second.is_ok(), "{first:?} {second:?}");
    let won = if first.is_ok() { id(2) } else { id(3) };
    assert_eq!(state(&one, &id(1)).await, State::Superseded);
    assert!(approve(&one, &id(1)).await.is_err());
    let permitted = redeem(&other, &won).await.unwrap().unwrap();
    assert_ne!(permitted.call().binding.arguments.to_value(), json!({"to": "scale"}));
    assert!(redeem(&one, &won).await.unwrap().is_err());
    assert_eq!(one.verify().await.unwrap().intents, 2, "what lost left nothing behind");
    assert_sound(&one).await;
}

/// X6: what was denied meanwhile is not changed, and a frozen caller's call is not either.
#[tokio::test]
async fn what_is_decided_or_frozen_is_not_changed() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let asked = open_question(&ledger, 1, &json!({"to": "scale"})).await;
    deny(&ledger, &id(1)).await.unwrap();
    let late = ledger.edit(edit(&asked, 2, &json!({"to": "pro"}))).await.unwrap();
    assert_eq!(late.unwrap_err().why.code(), "denied");

    let asked = open_question(&ledger, 3, &json!({"to": "free"})).await;
    ledger.freeze(&asked.question().binding.caller, "odd", "ada").await.unwrap();
    let frozen = ledger.edit(edit(&asked, 4, &json!({"to": "pro"}))).await.unwrap();
    assert_eq!(frozen.unwrap_err().why.code(), "consent_token_invalid", "it was withdrawn");
    assert_eq!(ledger.verify().await.unwrap().intents, 2);
    assert_sound(&ledger).await;
}
