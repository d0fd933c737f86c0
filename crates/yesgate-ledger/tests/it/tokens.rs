//! The rules of confirm tokens, through the ledger.

use serde_json::json;
use yesgate_core::intent::{Asked, Claim, DoneKind, Intent, ResultKind, State, StoredResult};

use crate::support::{
    TestClock, approve, ask, assert_sound, binding, deny, id, in_memory, open_question, present, question,
    redeem, state, token, word,
};

/// H4: a token works once.
#[tokio::test]
async fn a_token_runs_the_stored_call_once() {
    let ledger = in_memory(&TestClock::new()).await;
    let call = binding("upgrade_plan", &json!({"to": "scale"}));
    open_question(&ledger, 1, &json!({"to": "scale"})).await;

    let Some(Claim::Run(permitted)) = present(&ledger, &token(1), call.clone()).await else { panic!() };
    assert_eq!(permitted.call().binding, call);
    // While it runs, and after it ran.
    assert_eq!(word(&present(&ledger, &token(1), call.clone()).await.unwrap()), "wait");
    ledger
        .update(&id(1), |intent, now| intent.finish(DoneKind::Ok, None, now))
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(word(&present(&ledger, &token(1), call).await.unwrap()), "consent_token_invalid");
    assert_sound(&ledger).await;
}

/// H4: a token is dead at the sixtieth second, and the question outlives it.
#[tokio::test]
async fn a_token_is_dead_at_the_sixtieth_second() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let call = binding("upgrade_plan", &json!({}));
    open_question(&ledger, 1, &json!({})).await;
    clock.set(60);
    assert_eq!(word(&present(&ledger, &token(1), call.clone()).await.unwrap()), "consent_token_expired");
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    // Asking again gives a fresh one, and 59 seconds are not too many.
    open_question(&ledger, 2, &json!({})).await;
    clock.set(119);
    assert_eq!(word(&present(&ledger, &token(2), call).await.unwrap()), "run");
}

/// H4: a token is bound to the call; the refusal says which field changed.
#[tokio::test]
async fn a_token_does_not_run_another_call() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({"to": "scale"})).await;
    let mut other_client = binding("upgrade_plan", &json!({"to": "scale"}));
    other_client.caller.client = "another".parse().unwrap();
    for (call, field) in [
        (binding("upgrade_plan", &json!({"to": "enterprise"})), "params"),
        (binding("delete_plan", &json!({"to": "scale"})), "operation"),
        (other_client, "client"),
    ] {
        let Some(Claim::Refused(refusal)) = present(&ledger, &token(1), call).await else { panic!() };
        assert_eq!(refusal.why.code(), "consent_token_mismatch");
        assert_eq!(refusal.payload()["details"]["changed"], field);
    }
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
}

/// H4: only the hash of a token is kept, and it cannot be presented.
#[tokio::test]
async fn a_token_that_nobody_issued_finds_nothing() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    assert!(present(&ledger, &token(9), binding("upgrade_plan", &json!({}))).await.is_none());
    let stored = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap().unwrap()).unwrap();
    assert!(!stored.contains(token(1).expose()), "{stored}");
}

/// H5: the same call again is the same intent with a fresh token, and the earlier token is dead.
#[tokio::test]
async fn asking_the_same_again_keeps_the_intent_and_kills_the_earlier_token() {
    let ledger = in_memory(&TestClock::new()).await;
    let call = binding("upgrade_plan", &json!({}));
    let first = open_question(&ledger, 1, &json!({})).await;
    let again = open_question(&ledger, 2, &json!({})).await;
    assert_eq!(first.id(), again.id());
    assert!(present(&ledger, &token(1), call.clone()).await.is_none());
    assert_eq!(word(&present(&ledger, &token(2), call).await.unwrap()), "run");
}

/// H5: other params supersede, within the same caller and operation only.
#[tokio::test]
async fn asking_with_other_params_supersedes_the_older_question_of_that_operation_only() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({"to": "scale"})).await;
    drop(ask(&ledger, 2, question("delete_plan", &json!({}))).await.unwrap());
    open_question(&ledger, 3, &json!({"to": "enterprise"})).await;

    assert_eq!(state(&ledger, &id(1)).await, State::Superseded);
    assert_eq!(state(&ledger, &id(2)).await, State::Pending);
    let late = present(&ledger, &token(1), binding("upgrade_plan", &json!({"to": "scale"}))).await.unwrap();
    assert_eq!(word(&late), "superseded");
    assert_sound(&ledger).await;
}

/// H7: asking again without a yes only asks again.
#[tokio::test]
async fn asking_ever_so_often_runs_nothing() {
    let ledger = in_memory(&TestClock::new()).await;
    for seed in 1..20 {
        open_question(&ledger, seed, &json!({})).await;
    }
    assert_eq!(redeem(&ledger, &id(1)).await.unwrap().unwrap_err().why.code(), "already_decided");
}

/// A no stands for the same call while it cools off, and is found again for that long.
#[tokio::test]
async fn a_no_is_remembered_for_as_long_as_it_cools_off() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    open_question(&ledger, 1, &json!({})).await;
    deny(&ledger, &id(1)).await.unwrap();
    clock.set(599);
    let Asked::Refused(refusal) = ask(&ledger, 2, question("upgrade_plan", &json!({}))).await.unwrap() else {
        panic!("asked again")
    };
    assert_eq!(refusal.why.code(), "denied");
    clock.set(600);
    assert_eq!(open_question(&ledger, 3, &json!({})).await.id(), &id(3));
}

/// I5: a result that a human released waits, and is handed over once by the same call.
#[tokio::test]
async fn a_result_waits_for_the_same_call_and_is_handed_over_once() {
    let ledger = in_memory(&TestClock::new()).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    let result = StoredResult { kind: ResultKind::Result, json: r#"{"content":[]}"#.into() };
    let finish = {
        let result = result.clone();
        move |intent: &mut Intent, now| intent.finish(DoneKind::Ok, Some(result), now)
    };
    ledger.update(&id(1), finish).await.unwrap().unwrap().unwrap();
    let Asked::Claimed(from, claim) = ask(&ledger, 2, question("upgrade_plan", &json!({}))).await.unwrap()
    else {
        panic!("not claimed")
    };
    let Claim::Replay(replayed) = *claim else { panic!("not handed over") };
    assert_eq!((from, replayed), (id(1), result));
    // The second time it is a new question.
    assert_eq!(open_question(&ledger, 3, &json!({})).await.id(), &id(3));
    assert_sound(&ledger).await;
}
