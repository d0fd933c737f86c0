//! What the files of a ledger hold, and who can read it.

use serde_json::json;
use yesgate_core::intent::{DoneKind, Intent, ResultKind, State, StoredResult};
use yesgate_ledger::{Fault, Ledger, LedgerError};

use crate::forger::holds;
use crate::support::{Place, approve, deny, id, key, open_question, redeem, state};

pub(crate) const MARK: &str = "sk-live-mark-7391";

/// One question that ran, with marks in arguments and result, one denied and one open.
pub(crate) async fn lived_in(place: &Place) -> Ledger {
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({"to": MARK})).await;
    approve(&ledger, &id(1)).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    let result = StoredResult { kind: ResultKind::Result, json: format!("\"{MARK}\"") };
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, Some(result), now);
    ledger.update(&id(1), finish).await.unwrap().unwrap().unwrap();
    open_question(&ledger, 2, &json!({"to": MARK, "n": 2})).await;
    deny(&ledger, &id(2)).await.unwrap();
    open_question(&ledger, 3, &json!({"to": MARK, "n": 3})).await;
    ledger
}

/// INV11: no byte of arguments or results stands in a file of the ledger, while it is used and after.
#[tokio::test]
async fn what_is_stored_stands_in_no_file_in_clear() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    assert!(!holds(&place.bytes(), MARK.as_bytes()), "while it is open");
    let shown = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap()).unwrap();
    assert_eq!(shown.matches(MARK).count(), 2, "whoever has the key reads it");
    drop(ledger);
    assert!(!holds(&place.bytes(), MARK.as_bytes()), "after it was closed");
}

/// Another key is refused by its name, and nothing of the ledger changes.
#[tokio::test]
async fn another_key_is_refused_and_changes_nothing() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    let before = ledger.verify().await.unwrap();
    drop(ledger);
    let refused = place.open_with(&key(8), 2).await.unwrap_err();
    assert_eq!(refused, LedgerError::WrongKey { sealed_under: key(7).name(), at_hand: key(8).name() });
    assert_eq!(place.open(3).await.verify().await.unwrap(), before);
}

/// What stands beside a blob is held against it, though this very process stored it a moment ago.
#[tokio::test]
async fn a_question_that_is_known_is_held_against_its_row() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    approve(&ledger, &id(3)).await.unwrap();
    place.tamper("UPDATE intent SET server = 'another' WHERE number = 3");
    let error = redeem(&ledger, &id(3)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Damaged(_)), "{error}");
}

/// A blob that is put into another row does not open there, and nothing of that row runs.
#[tokio::test]
async fn contents_of_another_question_do_not_open() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    approve(&ledger, &id(3)).await.unwrap();
    place.tamper("UPDATE intent SET sealed = (SELECT sealed FROM intent WHERE number = 1) WHERE number = 3");
    let error = redeem(&ledger, &id(3)).await.unwrap_err();
    assert!(matches!(error, LedgerError::Damaged(_)), "{error}");
    assert_eq!(ledger.verify().await.unwrap().faults, [Fault::DamagedIntent { id: id(3).to_string() }]);
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::Ok), "the others can be read");
}
