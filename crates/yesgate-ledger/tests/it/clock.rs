//! Clocks that are turned, and questions that run out of time.

use serde_json::json;
use yesgate_core::intent::State;
use yesgate_ledger::{LedgerError, Swept};

use crate::support::{
    Place, TestClock, approve, ask, assert_sound, binding, id, in_memory, open_question, present, question,
    redeem, state, t, token, word,
};

/// FC-10: a clock that went back far changes nothing.
#[tokio::test]
async fn a_clock_that_went_back_stops_every_change() {
    let place = Place::new();
    let ledger = place.open(1).await;
    place.clock.set(100);
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    place.clock.set(94);
    let error = redeem(&ledger, &id(1)).await.unwrap_err();
    assert_eq!(error, LedgerError::ClockWentBack { now: t(94), seen: t(100) });
    assert_eq!(error.public_reason(), "the clock of the gateway went back");
    assert_eq!(ledger.sweep().await, Err(error.clone()));
    // A restart does not make it forget.
    drop(ledger);
    let ledger = place.open(2).await;
    assert_eq!(redeem(&ledger, &id(1)).await.unwrap_err(), error);
    assert_eq!(state(&ledger, &id(1)).await, State::Approved);
    place.clock.set(101);
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    assert_sound(&ledger).await;
}

/// FC-10: the ledger can be read while the clock is wrong, and admits later what was lost.
#[tokio::test]
async fn a_clock_that_went_back_does_not_keep_the_ledger_shut() {
    let place = Place::new();
    let ledger = place.open(1).await;
    place.clock.set(100);
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    drop(ledger);
    place.clock.set(0);
    let ledger = place.open(2).await;
    assert_eq!(state(&ledger, &id(1)).await, State::Running);
    place.clock.set(101);
    assert_eq!(ledger.sweep().await.unwrap(), Swept { expired: 0, lost: 1 });
    assert_eq!(state(&ledger, &id(1)).await, State::Unknown);
}

/// INV5, FC-11: a token may die early, never live late.
#[tokio::test]
async fn a_token_that_was_too_old_once_stays_too_old() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let call = binding("upgrade_plan", &json!({}));
    open_question(&ledger, 1, &json!({})).await;
    clock.set(61);
    assert_eq!(word(&present(&ledger, &token(1), call.clone()).await.unwrap()), "consent_token_expired");
    clock.set(57);
    assert_eq!(word(&present(&ledger, &token(1), call).await.unwrap()), "consent_token_expired");
}

/// INV5: a yes is dead at the sixtieth second, and that it was noticed is written down.
#[tokio::test]
async fn a_yes_is_dead_at_the_sixtieth_second() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    clock.set(60);
    assert_eq!(redeem(&ledger, &id(1)).await.unwrap().unwrap_err().why.code(), "expired");
    assert_eq!(state(&ledger, &id(1)).await, State::Expired);
    assert_sound(&ledger).await;
}

/// FC-23: nobody answers, and the question is over; however many there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sweep_expires_all_that_is_due_and_nothing_else() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 1..=1_200 {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.map(drop)
        });
    }
    assert!(tasks.join_all().await.into_iter().all(|asked| asked.is_ok()));
    approve(&ledger, &id(1)).await.unwrap();
    approve(&ledger, &id(2)).await.unwrap();
    drop(redeem(&ledger, &id(2)).await.unwrap().unwrap());
    clock.set(1799);
    assert_eq!(ledger.sweep().await.unwrap(), Swept { expired: 1, lost: 0 });
    assert_eq!(state(&ledger, &id(1)).await, State::Expired);
    clock.set(1800);
    assert_eq!(ledger.sweep().await.unwrap(), Swept { expired: 1_198, lost: 0 });
    assert_eq!(state(&ledger, &id(2)).await, State::Running);
    assert_sound(&ledger).await;
}
