//! Waking those who wait.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use yesgate_core::audit::AuditEvent;
use yesgate_ledger::{Changes, Ledger};

use crate::support::{
    Other, Place, TestClock, approve, id, in_memory, my_part, open_at, open_question, say, wait_for_word,
};

async fn note(ledger: &Ledger) {
    let event = AuditEvent::Refused {
        caller: crate::support::binding("x", &json!({})).caller,
        server: "billing".parse().unwrap(),
        tool: None,
        code: "policy_denied".into(),
    };
    ledger.record(event).await.unwrap();
}

/// Far longer than it ever takes, so that a slow machine fails nothing.
async fn wakes(changes: &mut Changes) -> bool {
    timeout(Duration::from_secs(20), changes.changed()).await.is_ok()
}

async fn woke_already(changes: &mut Changes) -> bool {
    timeout(Duration::ZERO, changes.changed()).await.is_ok()
}

#[tokio::test]
async fn a_commit_of_this_process_wakes_at_once_and_once() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    let mut changes = ledger.changes();
    assert!(!woke_already(&mut changes).await);
    approve(&ledger, &id(1)).await.unwrap();
    assert!(woke_already(&mut changes).await);
    assert!(!woke_already(&mut changes).await);
}

/// Or two processes that look again when they are woken would wake each other for ever.
#[tokio::test]
async fn a_change_that_changes_nothing_wakes_nobody() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    open_question(&ledger, 1, &json!({})).await;
    let mut changes = ledger.changes();
    clock.set(1);
    ledger.update(&id(1), |intent, _| intent.state()).await.unwrap();
    assert!(!woke_already(&mut changes).await);
}

/// Several processes on one file wake each other.
#[tokio::test]
async fn a_commit_of_another_process_wakes_too() {
    if let Some(path) = my_part() {
        let ledger = open_at(&path, &TestClock::new(), 77).await.unwrap();
        say("ready");
        for _ in 0..3 {
            wait_for_word();
            note(&ledger).await;
        }
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    let mut other = Other::start("wakeups::a_commit_of_another_process_wakes_too", &place.at);
    assert_eq!(other.hear(), "ready");
    let mut changes = ledger.changes();
    other.tell();
    assert!(wakes(&mut changes).await);
    other.tell();
    assert!(wakes(&mut changes).await);
    // Nobody listens for a while; whoever comes back hears again.
    drop(changes);
    let mut changes = ledger.changes();
    other.tell();
    assert!(wakes(&mut changes).await);
    other.wait();
}

#[tokio::test]
async fn every_listener_is_woken_by_another_connection() {
    let place = Place::new();
    let (here, there) = (place.open(1).await, place.open(2).await);
    let (mut first, mut second) = (here.changes(), here.changes());
    note(&there).await;
    assert!(wakes(&mut first).await);
    assert!(wakes(&mut second).await);
}

/// A listener does not keep the ledger open.
#[tokio::test]
async fn a_ledger_closes_while_somebody_listens() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let changes = ledger.changes();
    drop(ledger);
    drop(place.open(1).await);
    drop(changes);
}
