//! A change that is not durable lets nothing leave.

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::intent::{DoneKind, Intent, Slot, SlotKey, State};
use yesgate_ledger::{Filter, LedgerError};
use yesgate_testkit::eventually;

use crate::support::{
    Place, TestClock, approve, ask, assert_sound, fresh, human, id, in_memory, open_question, question,
    redeem, runner, state,
};

/// X3, FC-7: a redemption whose commit fails yields nothing that could run, for anybody in the batch.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_that_fails_lets_nothing_leave() {
    let place = Place::new();
    let ledger = place.open(1).await;
    for seed in 1..=20 {
        drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
        approve(&ledger, &id(seed)).await.unwrap();
    }
    let before = ledger.verify().await.unwrap();
    place.spoil_commits_of("audit");
    let mut tasks = JoinSet::new();
    for seed in 1..=20 {
        let ledger = ledger.clone();
        tasks.spawn(async move { redeem(&ledger, &id(seed)).await.map(drop) });
    }
    for outcome in tasks.join_all().await {
        let error = outcome.unwrap_err();
        assert!(error.to_string().to_lowercase().contains("foreign key constraint"), "{error}");
        assert_eq!(error.public_reason(), "the consent ledger cannot be used");
    }
    assert_eq!(ledger.verify().await.unwrap(), before);
    assert_eq!(state(&ledger, &id(7)).await, State::Approved);
    // Nothing was spent either: once the store works again, so does the yes.
    place.spoil_no_more("audit");
    drop(redeem(&ledger, &id(7)).await.unwrap().unwrap());
    assert_sound(&ledger).await;
}

/// FC-35: a closure that panics changes nothing, harms nobody else, and the ledger goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_change_that_panics_spoils_no_other() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    let mut tasks = JoinSet::new();
    for seed in 2..40_u32 {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            if seed % 10 == 0 {
                let panics = |intent: &mut Intent, now| {
                    intent.cancel("nobody", now).unwrap();
                    assert!(now < jiff::Timestamp::UNIX_EPOCH, "this panic belongs to the test");
                };
                assert_eq!(ledger.update(&id(1), panics).await.unwrap_err(), LedgerError::Panicked);
            } else {
                drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    assert_sound(&ledger).await;
}

/// INV10: a change that its audit rows do not account for is not stored, and what came of it is lost.
#[tokio::test]
async fn a_change_without_an_account_of_it_is_refused() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    // The same question, approved in another ledger.
    let elsewhere = in_memory(&TestClock::new()).await;
    open_question(&elsewhere, 1, &json!({})).await;
    approve(&elsewhere, &id(1)).await.unwrap();
    let forged = elsewhere.intent(&id(1)).await.unwrap().unwrap();

    let smuggled = forged.clone();
    let refused = ledger.update(&id(1), move |intent, _| *intent = smuggled).await;
    assert_eq!(refused.unwrap_err(), LedgerError::Unexplained(id(1)));
    let boot = ledger.boot().clone();
    let smuggle_and_run = move |intent: &mut Intent, now| {
        *intent = forged;
        intent.redeem(&runner(&boot), now)
    };
    assert_eq!(ledger.update(&id(1), smuggle_and_run).await.unwrap_err(), LedgerError::Unexplained(id(1)));
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    assert_sound(&ledger).await;
}

/// INV3: a question stays the one that was put, and stays where it was put.
#[tokio::test]
async fn a_question_cannot_be_exchanged_or_put_elsewhere() {
    let ledger = in_memory(&TestClock::new()).await;
    let asked = open_question(&ledger, 1, &json!({})).await;
    let easier =
        serde_json::to_string(&asked).unwrap().replace(r#""least":"relayed""#, r#""least":"asserted""#);
    let exchange = move |intent: &mut Intent, now| {
        *intent = serde_json::from_str(&easier).unwrap();
        intent.approve(&human(), intent.digest(), now).unwrap();
    };
    assert_eq!(ledger.update(&id(1), exchange).await.unwrap_err(), LedgerError::Unexplained(id(1)));

    let (here, there) = (question("delete_plan", &json!({})), question("upgrade_plan", &json!({})));
    let boot = ledger.boot().clone();
    let stray = move |slot: &mut Slot, now| drop(slot.ask(here, fresh(2), &runner(&boot), now));
    let refused = ledger.update_slot(SlotKey::of(&there.binding), stray).await;
    assert_eq!(refused.unwrap_err(), LedgerError::Unexplained(id(2)));
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    assert_sound(&ledger).await;
}

/// Nobody gets the same id or the same token as another, and half a change is none.
#[tokio::test]
async fn an_id_or_a_token_that_exists_already_opens_nothing() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    drop(ask(&ledger, 2, question("delete_plan", &json!({}))).await.unwrap());
    let mut same_id = fresh(2);
    same_id.token = None;
    let mut same_token = fresh(2);
    same_token.id = id(3);
    for taken in [same_id, same_token] {
        // This would supersede the first question, were it not for the second.
        let other = question("upgrade_plan", &json!({"to": "scale"}));
        let boot = ledger.boot().clone();
        let refused = ledger
            .update_slot(SlotKey::of(&other.binding), move |slot, now| {
                slot.ask(other, taken, &runner(&boot), now)
            })
            .await;
        refused.unwrap_err();
        assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    }
    assert_eq!(ledger.intents(Filter::All).await.unwrap().len(), 2);
    assert_sound(&ledger).await;
}

/// An agent that hung up while its call was queued spends nothing.
#[tokio::test]
async fn a_change_that_nobody_waits_for_any_more_is_not_begun() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    // The writer is kept busy until the second change is queued and given up.
    let (begin, begun) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel();
    let busy = {
        let ledger = ledger.clone();
        let keep_busy = move |_: &mut Intent, _| begin.send(()).is_ok() && wait.recv().is_ok();
        tokio::spawn(async move { ledger.update(&id(1), keep_busy).await })
    };
    tokio::task::yield_now().await;
    begun.recv().unwrap();
    tokio::time::timeout(std::time::Duration::ZERO, redeem(&ledger, &id(1))).await.unwrap_err();
    go.send(()).unwrap();
    assert_eq!(busy.await.unwrap(), Ok(Some(true)));
    assert_eq!(state(&ledger, &id(1)).await, State::Approved);
}

/// An agent that hung up while its yes was being spent: what was let go for nobody was never sent, and the ledger says so.
#[tokio::test]
async fn a_yes_that_was_spent_for_nobody_is_not_sent() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let (begin, begun) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel();
    let spending = {
        let (spender, boot) = (ledger.clone(), ledger.boot().clone());
        let spend = move |intent: &mut Intent, now| {
            begin.send(()).unwrap();
            wait.recv().unwrap();
            intent.redeem(&runner(&boot), now)
        };
        tokio::spawn(async move { spender.update(&id(1), spend).await })
    };
    tokio::task::yield_now().await;
    begun.recv().unwrap();
    spending.abort();
    assert!(spending.await.unwrap_err().is_cancelled());
    go.send(()).unwrap();

    eventually("it is noticed", async || ledger.is_any_over().await.unwrap().then_some(())).await;
    ledger.sweep().await.unwrap();
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::NotSent));
    assert!(!ledger.is_any_over().await.unwrap());
    redeem(&ledger, &id(1)).await.unwrap().unwrap_err();
    assert_sound(&ledger).await;
}

#[tokio::test]
async fn a_missing_intent_is_no_error() {
    let ledger = in_memory(&TestClock::new()).await;
    assert_eq!(ledger.update(&id(1), |_, _| ()).await, Ok(None));
    assert_eq!(ledger.intent(&id(1)).await, Ok(None));
}
