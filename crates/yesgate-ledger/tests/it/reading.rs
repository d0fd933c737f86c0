//! Looking things up, when there are few and when there are many.

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::class::Class;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::id::OrgId;
use yesgate_core::policy::Pin;
use yesgate_ledger::{Filter, Ledger, Listing, Stage};

use crate::support::{
    Place, TestClock, approve, ask, assert_sound, binding, deny, id, identity, in_memory, question, redeem,
};

async fn ask_all(ledger: &Ledger, seeds: std::ops::RangeInclusive<u32>) {
    let mut tasks = JoinSet::new();
    for seed in seeds {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({"n": seed}))).await.unwrap());
        });
    }
    tasks.join_all().await;
}

async fn count(ledger: &Ledger, filter: Filter) -> usize {
    ledger.intents(filter).await.unwrap().len()
}

#[tokio::test]
async fn lists_hold_what_they_are_asked_for() {
    let ledger = in_memory(&TestClock::new()).await;
    for seed in 1..=5 {
        ask_all(&ledger, seed..=seed).await;
    }
    approve(&ledger, &id(1)).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    ledger.update(&id(1), |intent, now| intent.lose("the wire broke", now)).await.unwrap().unwrap().unwrap();
    approve(&ledger, &id(2)).await.unwrap();
    deny(&ledger, &id(3)).await.unwrap();
    let ids = async |filter| {
        let found = ledger.intents(filter).await.unwrap();
        found.iter().map(|intent| intent.id().clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(Filter::Pending).await, [id(4), id(5)]);
    assert_eq!(ids(Filter::Open).await, [id(2), id(4), id(5)]);
    assert_eq!(ids(Filter::Unknown).await, [id(1)]);
    assert_eq!(ids(Filter::Recent(2)).await, [id(5), id(4)]);
    assert_eq!(ids(Filter::All).await, [id(1), id(2), id(3), id(4), id(5)]);
}

#[tokio::test]
async fn an_intent_is_found_by_the_beginning_of_its_id() {
    let ledger = in_memory(&TestClock::new()).await;
    ask_all(&ledger, 1..=1).await;
    ask_all(&ledger, u32::MAX..=u32::MAX).await;
    let first = id(1);
    let random = first.as_str().strip_prefix("intent_").unwrap();
    for beginning in [first.as_str(), random, "0000008", "intent_0", "0"] {
        assert_eq!(ledger.find(beginning).await.unwrap(), std::slice::from_ref(&first), "{beginning}");
    }
    assert_eq!(ledger.find(&random.to_uppercase()).await.unwrap(), [first]);
    assert_eq!(ledger.find("").await.unwrap().len(), 2);
    for nothing in ["5", "intent_00000x", "%", "_", "' OR 1 --"] {
        assert_eq!(ledger.find(nothing).await.unwrap(), [], "{nothing}");
    }
}

#[tokio::test]
async fn only_a_yes_for_this_very_server_can_be_released() {
    let ledger = in_memory(&TestClock::new()).await;
    let server = binding("x", &json!({})).server;
    let any_open = async || ledger.any_open(&server, &identity()).await.unwrap();
    assert!(!any_open().await);
    ask_all(&ledger, 1..=1).await;
    ask_all(&ledger, 2..=2).await;
    assert!(any_open().await);
    approve(&ledger, &id(2)).await.unwrap();
    assert_eq!(ledger.releasable(&server, &identity()).await.unwrap(), [id(2)]);
    let changed = ServerIdentity::of_command([b"other-mcp".as_slice()], b"/srv", []);
    assert_eq!(ledger.releasable(&server, &changed).await.unwrap(), []);
    assert!(!ledger.any_open(&server, &changed).await.unwrap());
    assert_eq!(ledger.releasable(&"mail".parse().unwrap(), &identity()).await.unwrap(), []);
    assert!(!ledger.any_open(&"mail".parse().unwrap(), &identity()).await.unwrap());
    deny(&ledger, &id(1)).await.unwrap();
    assert!(any_open().await);
    drop(redeem(&ledger, &id(2)).await.unwrap().unwrap());
    assert_eq!(ledger.releasable(&server, &identity()).await.unwrap(), []);
    assert!(!any_open().await);
}

/// X5: a pin is for one definition of one tool, and the last one counts.
#[tokio::test]
async fn the_last_pin_of_a_tool_counts() {
    let ledger = in_memory(&TestClock::new()).await;
    let (server, tool) = ("billing".parse().unwrap(), "get_plan".parse().unwrap());
    let pin =
        |name: &str, class| Pin { definition: binding(name, &json!({})).definition, class: Some(class) };
    ledger.pin(&server, &tool, pin("get_plan", Class::Dangerous), "ada").await.unwrap();
    ledger.pin(&server, &tool, pin("get_plan_2", Class::ReadOnly), "ada").await.unwrap();
    let pins = ledger.pins(&server).await.unwrap();
    assert_eq!(pins.iter().collect::<Vec<_>>(), [(&tool, &pin("get_plan_2", Class::ReadOnly))]);
    assert_eq!(ledger.pins(&"mail".parse().unwrap()).await.unwrap().iter().count(), 0);
    assert_eq!(ledger.audit(1, 10).await.unwrap().len(), 2);
    assert_sound(&ledger).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn five_thousand_open_questions_are_listed_and_survive_a_restart() {
    let place = Place::new();
    let ledger = place.open(1).await;
    ask_all(&ledger, 1..=5_000).await;
    assert_eq!(count(&ledger, Filter::Pending).await, 5_000);
    drop(ledger);
    let ledger = place.open(2).await;
    assert_eq!(count(&ledger, Filter::Open).await, 5_000);
    assert_eq!(count(&ledger, Filter::Recent(50)).await, 50);
    approve(&ledger, &id(4_999)).await.unwrap();
    assert_eq!(ledger.releasable(&"billing".parse().unwrap(), &identity()).await.unwrap(), [id(4_999)]);
    let mut rows = 0;
    loop {
        let page = ledger.audit(rows + 1, 1_000).await.unwrap();
        let Some(last) = page.last() else { break };
        rows = last.sequence;
    }
    assert_eq!(rows, 10_001);
    assert_sound(&ledger).await;
}

/// The inbox of many: some at a time, each once, and those of another organisation never.
#[tokio::test]
async fn a_list_goes_on_where_it_ended() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    for seed in 1..=5 {
        ask_all(&ledger, seed..=seed).await;
    }
    for seed in [1, 2] {
        deny(&ledger, &id(seed)).await.unwrap();
    }
    let org = question("t", &json!({})).binding.caller.org;
    let list = async |org: &OrgId, stage, after, most| {
        let listing = Listing { org: org.clone(), stage, after, most };
        let listed = ledger.list(listing).await.unwrap();
        let ids: Vec<_> = listed.iter().map(|listed| listed.intent.id().clone()).collect();
        (ids, listed.last().map(|listed| listed.number))
    };
    let (first, last) = list(&org, Stage::Waiting, None, 2).await;
    let (rest, _) = list(&org, Stage::Waiting, last, 2).await;
    assert_eq!([first, rest].concat(), [id(3), id(4), id(5)]);
    let (first, last) = list(&org, Stage::Over, None, 1).await;
    let (rest, _) = list(&org, Stage::Over, last, 9).await;
    assert_eq!([first, rest].concat(), [id(2), id(1)]);
    let (first, last) = list(&org, Stage::Any, None, 2).await;
    let (rest, _) = list(&org, Stage::Any, last, 9).await;
    assert_eq!([first, rest].concat(), [id(5), id(4), id(3), id(2), id(1)]);
    assert_eq!(list(&"other".parse().unwrap(), Stage::Waiting, None, 9).await.0, []);
    assert_eq!(list(&"other".parse().unwrap(), Stage::Any, None, 9).await.0, []);
    assert_eq!(ledger.count(&org, Stage::Waiting, 100).await.unwrap(), 3);
    assert_eq!(ledger.count(&org, Stage::Waiting, 2).await.unwrap(), 2);
    assert_eq!(ledger.count(&org, Stage::Lost, 2).await.unwrap(), 0);
    assert_eq!(ledger.count(&org, Stage::Any, 100).await.unwrap(), 5);
}

/// What a caller has asked is told by the trail: how often, first and last.
#[tokio::test]
async fn what_each_caller_has_asked_is_counted() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    assert_eq!(ledger.asks().await.unwrap(), []);
    let first = ledger.now();
    ask_all(&ledger, 1..=2).await;
    let [asks] = <[_; 1]>::try_from(ledger.asks().await.unwrap()).unwrap();
    assert_eq!(asks.caller, question("t", &json!({})).binding.caller);
    assert_eq!(asks.count, 2);
    assert!(first <= asks.first && asks.first <= asks.last && asks.last <= ledger.now());
}
