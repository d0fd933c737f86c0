//! Gateways that die, and gateways that live.

use serde_json::json;
use yesgate_core::intent::{Asked, DoneKind, Intent, State};
use yesgate_ledger::{LedgerError, Swept};
use yesgate_testkit::eventually;

use crate::support::{
    At, Other, Place, TestClock, approve, ask, assert_sound, binding, boot, id, my_part, open_at,
    open_question, present, question, redeem, say, state, token, wait_for_word, word,
};

/// The other process: redeems the intent, says so, and holds on.
async fn redeem_and_hold(at: &At) {
    let ledger = open_at(at, &TestClock::new(), 77).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    say("running");
    wait_for_word();
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now);
    ledger.update(&id(1), finish).await.unwrap().unwrap().unwrap();
    say("finished");
}

/// X3: what a killed gateway was running is unknown, and nothing ever runs it again.
#[tokio::test]
async fn a_killed_gateway_leaves_an_unknown_outcome_that_nothing_runs_again() {
    if let Some(path) = my_part() {
        return redeem_and_hold(&path).await;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let mut other =
        Other::start("boots::a_killed_gateway_leaves_an_unknown_outcome_that_nothing_runs_again", &place.at);
    assert_eq!(other.hear(), "running");
    assert_eq!(state(&ledger, &id(1)).await, State::Running);
    assert!(!ledger.is_any_over().await.unwrap(), "it lives");
    other.kill();
    place.let_silence_pass();

    eventually("it is noticed", async || ledger.is_any_over().await.unwrap().then_some(())).await;
    assert_eq!(ledger.sweep().await.unwrap(), Swept { expired: 0, lost: 1 });
    assert_eq!(ledger.sweep().await.unwrap(), Swept::default());
    assert!(!ledger.is_any_over().await.unwrap(), "it was noticed");
    // Whatever is tried, here or after a restart.
    for seed in 2..4 {
        let ledger = place.open(seed).await;
        assert_eq!(state(&ledger, &id(1)).await, State::Unknown);
        assert_eq!(redeem(&ledger, &id(1)).await.unwrap().unwrap_err().why.code(), "execution_unknown");
        let claim = present(&ledger, &token(1), binding("upgrade_plan", &json!({}))).await.unwrap();
        assert_eq!(word(&claim), "execution_unknown");
        let Asked::Refused(refusal) = ask(&ledger, 9, question("upgrade_plan", &json!({}))).await.unwrap()
        else {
            panic!("asked again")
        };
        assert_eq!(refusal.why.code(), "execution_unknown");
        assert_eq!(approve(&ledger, &id(1)).await.unwrap_err().why.code(), "execution_unknown");
    }
    assert_sound(&ledger).await;
}

/// X3: a restart alone is enough to admit what was lost.
#[tokio::test]
async fn opening_the_ledger_admits_what_a_dead_gateway_was_running() {
    if let Some(path) = my_part() {
        return redeem_and_hold(&path).await;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    drop(ledger);
    let mut other =
        Other::start("boots::opening_the_ledger_admits_what_a_dead_gateway_was_running", &place.at);
    assert_eq!(other.hear(), "running");
    other.kill();
    place.let_silence_pass();
    // Even under the boot id of the dead one.
    let ledger = place.open(77).await;
    assert_eq!(state(&ledger, &id(1)).await, State::Unknown);
}

/// What a living process runs is left alone, and it can finish.
#[tokio::test]
async fn what_a_living_process_runs_is_left_alone() {
    if let Some(path) = my_part() {
        return redeem_and_hold(&path).await;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let mut other = Other::start("boots::what_a_living_process_runs_is_left_alone", &place.at);
    assert_eq!(other.hear(), "running");
    assert_eq!(ledger.sweep().await.unwrap(), Swept::default());
    let newcomer = place.open(2).await;
    assert_eq!(newcomer.sweep().await.unwrap(), Swept::default());
    assert_eq!(state(&ledger, &id(1)).await, State::Running);
    other.tell();
    assert_eq!(other.hear(), "finished");
    other.wait();
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::Ok));
}

/// A gateway that ends properly has lost what it was running, too.
#[tokio::test]
async fn closing_the_ledger_ends_its_boot() {
    let place = Place::new();
    let first = place.open(1).await;
    open_question(&first, 1, &json!({})).await;
    approve(&first, &id(1)).await.unwrap();
    drop(redeem(&first, &id(1)).await.unwrap().unwrap());
    let second = place.open(2).await;
    assert_eq!(second.sweep().await.unwrap(), Swept::default());
    drop(first);
    assert_eq!(second.sweep().await.unwrap(), Swept { expired: 0, lost: 1 });
}

/// FC-33: of two processes that call themselves the same, the second one does not open the ledger.
#[tokio::test]
async fn two_living_processes_cannot_share_a_boot_id() {
    let place = Place::new();
    let first = place.open(1).await;
    assert_eq!(place.try_open(1).await.unwrap_err(), LedgerError::BootInUse);
    drop(first);
    assert_eq!(place.open(1).await.boot(), &boot(1));
}

/// Several processes may make the same ledger at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_ledger_can_be_made_by_many_at_once() {
    let place = std::sync::Arc::new(Place::new());
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 1..=8 {
        let place = std::sync::Arc::clone(&place);
        tasks.spawn(async move {
            let ledger = place.open(seed).await;
            open_question(&ledger, u32::from(seed), &json!({"n": seed})).await;
        });
    }
    tasks.join_all().await;
    let ledger = place.open(9).await;
    assert_eq!(ledger.verify().await.unwrap().intents, 8);
    assert_sound(&ledger).await;
}
