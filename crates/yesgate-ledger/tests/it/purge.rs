//! Purging: contents go, the trail stays.

use serde_json::json;
use yesgate_core::intent::{DoneKind, Intent, ResultKind, State, StoredResult};
use yesgate_ledger::{Fault, Ledger, Purged};

use crate::budgets::{payment, run, spent};
use crate::support::{Place, approve, assert_sound, deny, id, open_question, redeem, state, t};

pub(crate) const DAY: i64 = 24 * 60 * 60;

async fn ran(ledger: &Ledger, seed: u32) {
    open_question(ledger, seed, &json!({ "n": seed })).await;
    approve(ledger, &id(seed)).await.unwrap();
    drop(redeem(ledger, &id(seed)).await.unwrap().unwrap());
}

pub(crate) async fn finished(ledger: &Ledger, seed: u32) {
    ran(ledger, seed).await;
    let result = StoredResult { kind: ResultKind::Result, json: "\"result\"".into() };
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, Some(result), now);
    ledger.update(&id(seed), finish).await.unwrap().unwrap().unwrap();
}

/// Those of the first six that have no contents any more.
async fn purged(ledger: &Ledger) -> Vec<u32> {
    let mut purged = Vec::new();
    for seed in 1..=6 {
        let intent = ledger.intent(&id(seed)).await.unwrap();
        purged.extend(intent.and_then(|intent| intent.purged_at()).map(|_| seed));
    }
    purged
}

/// Only what is over and old enough loses its contents: never what is open, runs, is unknown, can still be fetched or
/// cools off.
#[tokio::test]
async fn only_what_is_over_and_old_enough_is_purged() {
    let place = Place::new();
    let ledger = place.open(1).await;
    finished(&ledger, 1).await;
    open_question(&ledger, 2, &json!({"n": 2})).await;
    deny(&ledger, &id(2)).await.unwrap();
    ran(&ledger, 3).await;
    ledger.update(&id(3), |intent, now| intent.lose("a test", now)).await.unwrap().unwrap().unwrap();
    ran(&ledger, 4).await;
    place.clock.set(60);
    finished(&ledger, 5).await;
    open_question(&ledger, 6, &json!({"n": 6})).await;

    place.clock.set(61);
    assert_eq!(ledger.purgeable(t(61)).await.unwrap(), 0, "results wait a day, and the no cools off");
    assert_eq!(ledger.purge(t(61), "ada").await.unwrap().questions, 0);
    place.clock.set(11 * 60);
    assert_eq!(ledger.purge(t(61), "ada").await.unwrap().questions, 1);
    assert_eq!(purged(&ledger).await, [2], "the no has cooled off");
    place.clock.set(2 * DAY);
    assert_eq!(ledger.purgeable(t(30)).await.unwrap(), 1);
    assert_eq!(ledger.purge(t(30), "ada").await.unwrap(), Purged { questions: 1, wiped: true });
    assert_eq!(purged(&ledger).await, [1, 2], "5 is younger");
    assert_eq!(ledger.purge(t(2 * DAY), "ada").await.unwrap().questions, 1);
    assert_eq!(purged(&ledger).await, [1, 2, 5]);
    assert_eq!(state(&ledger, &id(3)).await, State::Unknown);
    assert_eq!(state(&ledger, &id(4)).await, State::Running);
    assert_sound(&ledger).await;
}

/// X7: after a purge the trail is whole, says how many went, and everything is still counted.
#[tokio::test]
async fn the_trail_says_how_many_were_purged_and_stays_whole() {
    let place = Place::new();
    let ledger = place.open(1).await;
    finished(&ledger, 1).await;
    finished(&ledger, 2).await;
    let before = ledger.verify().await.unwrap();
    place.clock.set(2 * DAY);
    ledger.purge(t(DAY), "ada").await.unwrap();
    let report = ledger.verify().await.unwrap();
    assert_eq!(report.faults, []);
    assert_eq!((report.rows, report.intents), (before.rows + 1, before.intents));
    let last = ledger.audit_last(1).await.unwrap().remove(0).body;
    assert!(
        last.contains(r#""before":"2027-01-16T08:00:00Z","by":"ada","count":2,"event":"purged""#),
        "{last}"
    );
    drop(ledger);
    let again = place.open(2).await;
    assert_sound(&again).await;
    assert_eq!(again.purge(t(DAY), "ada").await.unwrap().questions, 0);
}

/// X7: contents that went without a purge are found.
#[tokio::test]
async fn contents_that_nobody_purged_are_found() {
    let place = Place::new();
    let ledger = place.open(1).await;
    finished(&ledger, 1).await;
    place.clock.set(2 * DAY);
    let purged = ledger.intent(&id(1)).await.unwrap().unwrap().purged(t(5)).unwrap();
    let body = serde_json::to_string(&purged).unwrap();
    place.forge("intent", |_| body.clone());
    let at = i64::try_from(t(5).as_nanosecond()).unwrap();
    place.tamper(&format!("UPDATE intent SET purged_at = {at}, token_hash = NULL"));
    assert_eq!(ledger.verify().await.unwrap().faults, [Fault::PurgeDiffers]);
}

/// I6: what a purged question spent still counts.
#[tokio::test]
async fn what_a_purged_question_spent_still_counts() {
    let place = Place::new();
    let ledger = place.open(1).await;
    drop(run(&ledger, 1, payment("pay", "45")).await.unwrap());
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now);
    ledger.update(&id(1), finish).await.unwrap().unwrap().unwrap();
    place.clock.set(1);
    ledger.purge(t(1), "ada").await.unwrap();
    assert_eq!(purged(&ledger).await, [1]);
    assert_eq!(spent(&ledger).await, "45");
    assert_sound(&ledger).await;
}
