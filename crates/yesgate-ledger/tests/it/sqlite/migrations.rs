//! Older ledgers, and what becomes of them.

use rusqlite::Connection;
use serde_json::json;
use yesgate_core::class::Class;
use yesgate_core::intent::State;
use yesgate_core::policy::{Known, Pin, Usage};

use crate::budgets::{payment, run, spent};
use crate::forger::LATEST;
use crate::oauth_stage::{connect, is_in, register, somebody};
use crate::support::{Place, assert_sound, binding, id, identity, redeem, state};

/// A place with a ledger of schema 1 in it.
fn old_place() -> Place {
    let place = Place::in_file();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    Connection::open(place.path()).unwrap().execute_batch(include_str!("schema_1.sql")).unwrap();
    place
}

/// FC-32: a ledger of schema 1 is taken over whole: its chain, its questions, its unused yes and its reviews.
#[tokio::test]
async fn a_ledger_of_schema_1_is_taken_over_whole() {
    let place = old_place();
    let ledger = place.open(1).await;
    assert_sound(&ledger).await;
    let report = ledger.verify().await.unwrap();
    assert_eq!((report.rows, report.intents), (12, 3));
    assert_eq!(state(&ledger, &id(2)).await, State::Denied);
    let pins = ledger.pins(&"billing".parse().unwrap()).await.unwrap();
    let reviewed =
        Pin { definition: binding("get_plan", &json!({})).definition, class: Some(Class::ReadOnly) };
    assert_eq!(pins.known(&"get_plan".parse().unwrap()), Known::Pinned(&reviewed));
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    assert!(ledger.keys().await.unwrap().is_empty());
    assert!(ledger.connections().await.unwrap().is_empty());
    let ada = somebody(&ledger, "ada", 1).await;
    connect(&ledger, &ada, &register(&ledger, 1).await, 1).await;
    drop(ledger);

    let again = place.open(2).await;
    assert_sound(&again).await;
    assert!(is_in(&again, 1).await);
    let version: i64 = Connection::open(place.path())
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, LATEST);
}

/// X5: a server that was reviewed under schema 1 is first used afterwards: what it has then is not new, and the review
/// stands.
#[tokio::test]
async fn a_server_that_was_reviewed_before_is_not_full_of_new_tools() {
    let place = old_place();
    let ledger = place.open(1).await;
    let server = "billing".parse().unwrap();
    assert_eq!(ledger.pins(&server).await.unwrap().usage(), Usage::Unused);
    let tools = ["get_plan", "upgrade_plan", "delete_plan"]
        .map(|tool| (tool.parse().unwrap(), binding(tool, &json!({})).definition));
    let sighted = ledger.sight(&server, &identity(), tools.to_vec()).await.unwrap();
    assert_eq!((sighted.first.len(), sighted.new.len(), sighted.changed.len()), (2, 0, 0));
    let pins = ledger.pins(&server).await.unwrap();
    assert_eq!(pins.get(&"get_plan".parse().unwrap()).unwrap().class, Some(Class::ReadOnly));
    assert_eq!(pins.get(&"upgrade_plan".parse().unwrap()).unwrap().class, None);
    assert_sound(&ledger).await;
}

/// I6: a ledger of schema 2 has spent nothing in any budget; what is decided from then on counts, and an unused yes of
/// before runs and counts nothing.
#[tokio::test]
async fn a_ledger_of_schema_2_begins_to_count() {
    let place = old_place();
    Connection::open(place.path()).unwrap().execute_batch(include_str!("schema_2.sql")).unwrap();
    let ledger = place.open(1).await;
    assert_sound(&ledger).await;
    assert_eq!(spent(&ledger).await, "0");
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    assert_eq!(spent(&ledger).await, "0");
    assert!(run(&ledger, 9, payment("pay", "45")).await.is_ok());
    assert_eq!(run(&ledger, 10, payment("pay", "5.01")).await.unwrap_err().why.code(), "budget_exceeded");
    assert_eq!(spent(&ledger).await, "45");
    assert_sound(&ledger).await;
}
