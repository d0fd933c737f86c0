//! A freeze and a stop of everything hold inside the transaction that would run something.

use serde_json::json;
use yesgate_core::assurance::Assurance;
use yesgate_core::intent::{Asked, State};
use yesgate_core::verdict::Standing;
use yesgate_ledger::LedgerError;

use crate::support::{
    Place, approve, ask, assert_sound, binding, human, id, open_question, question, redeem, state,
};

/// X6, FC-34: a yes that was given before everything was stopped is withdrawn, and none can be given or asked for after.
#[tokio::test]
async fn a_yes_from_before_the_stop_is_never_spent() {
    let place = Place::new();
    let (gate, shell) = (place.open(1).await, place.open(2).await);
    open_question(&gate, 1, &json!({})).await;
    approve(&shell, &id(1)).await.unwrap();
    assert_eq!(shell.stop("the wrong account", "ada").await.unwrap(), 1);
    assert_eq!(redeem(&gate, &id(1)).await.unwrap().unwrap_err().why.code(), "cancelled");
    assert_eq!(ask(&gate, 2, question("other", &json!({}))).await.unwrap_err(), LedgerError::HeldBack);
    assert!(shell.go_on("ada").await.unwrap());
    assert_eq!(state(&gate, &id(1)).await, State::Cancelled);
    assert!(matches!(ask(&gate, 2, question("other", &json!({}))).await.unwrap(), Asked::Open(_)));
    assert_sound(&gate).await;
}

/// X6: a call whose yes comes with the question itself, in one transaction, is held back as well.
#[tokio::test]
async fn both_keys_run_nothing_of_a_frozen_caller() {
    let place = Place::new();
    let ledger = place.open(1).await;
    ledger.freeze(&binding("t", &json!({})).caller, "odd", "ada").await.unwrap();
    let mut both_keys = question("upgrade_plan", &json!({}));
    both_keys.standing = Some(Standing::TwoKeys);
    both_keys.least = Assurance::Asserted;
    assert_eq!(ask(&ledger, 1, both_keys).await.unwrap_err(), LedgerError::HeldBack);
    assert!(ledger.intent(&id(1)).await.unwrap().is_none());
    assert_sound(&ledger).await;
}

/// X6: reporting a question denies it, withdraws the caller's other ones and freezes it, all or nothing.
#[tokio::test]
async fn a_report_denies_withdraws_and_freezes_in_one_step() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let reported = open_question(&ledger, 1, &json!({})).await;
    drop(ask(&ledger, 2, question("other", &json!({}))).await.unwrap());
    let mut neighbours = question("other", &json!({}));
    neighbours.binding.caller.client = "neighbour".parse().unwrap();
    drop(ask(&ledger, 3, neighbours).await.unwrap());

    let suspected = ledger.suspect(&reported, human(), "odd").await.unwrap();
    assert_eq!((suspected.denied, suspected.withdrawn), (Ok(()), 1));
    let states = [state(&ledger, &id(1)).await, state(&ledger, &id(2)).await, state(&ledger, &id(3)).await];
    assert_eq!(states, [State::Denied, State::Cancelled, State::Pending]);
    let regimes = ledger.regimes().await.unwrap();
    assert_eq!(regimes.of(&binding("t", &json!({})).caller).frozen.as_deref(), Some("odd"));
    assert_eq!(ledger.callers().await.unwrap().len(), 2);
    assert_sound(&ledger).await;
}
