//! What the files of a ledger hold, and who can read it.

use rusqlite::Connection;
use serde_json::json;
use yesgate_core::intent::{DoneKind, Intent, ResultKind, State, StoredResult};
use yesgate_ledger::{Fault, Ledger, LedgerError};

use crate::forger::{SEALED, holds};
use crate::support::{Place, approve, assert_sound, deny, id, key, open_question, redeem, state};

const MARK: &str = "sk-live-mark-7391";

/// One question that ran, with marks in arguments and result, one denied and one open.
async fn lived_in(place: &Place) -> Ledger {
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

/// FC-32: a file of an older Yesgate is sealed whole when it is opened, and no trace of clear text is left.
#[tokio::test]
async fn an_older_file_is_sealed_whole_and_no_trace_is_left() {
    let Some(place) = Place::file_only() else { return };
    drop(lived_in(&place).await);
    place.make_as_before_seals();
    // What an older Yesgate has overwritten stands in its free pages.
    place.tamper(&format!(
        "PRAGMA secure_delete = OFF; CREATE TABLE gone (text TEXT);
         INSERT INTO gone SELECT printf('%.9000c{MARK}', 'x') FROM intent; DROP TABLE gone;"
    ));
    assert!(holds(&place.bytes(), MARK.as_bytes()));

    let ledger = place.open(2).await;
    assert!(!holds(&place.bytes(), MARK.as_bytes()), "while it is open");
    assert_sound(&ledger).await;
    let shown = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap()).unwrap();
    assert_eq!(shown.matches(MARK).count(), 2);
    approve(&ledger, &id(3)).await.unwrap();
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    drop(ledger);
    assert!(!holds(&place.bytes(), MARK.as_bytes()), "after it was closed");
}

/// FC-32: an older file that cannot be sealed whole stays what it was.
#[tokio::test]
async fn an_older_file_that_cannot_be_sealed_stays_what_it_was() {
    let Some(place) = Place::file_only() else { return };
    drop(lived_in(&place).await);
    place.make_as_before_seals();
    // The last row cannot be written: the ones before it must not be either.
    place.tamper(
        "CREATE TRIGGER full BEFORE UPDATE ON intent WHEN old.number = 3
         BEGIN SELECT raise(ABORT, 'no'); END;",
    );
    place.try_open(2).await.unwrap_err();
    let connection = Connection::open(place.path()).unwrap();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, SEALED - 1);
    let clear: i64 = connection
        .query_row("SELECT count(*) FROM intent WHERE body LIKE '%mark-7391%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(clear, 3);
    connection.execute_batch("DROP TRIGGER full").unwrap();
    drop(connection);
    assert_sound(&place.open(3).await).await;
}

/// Where traces could not be wiped when the file was sealed, they are when it is opened next.
#[tokio::test]
async fn traces_that_could_not_be_wiped_are_wiped_later() {
    let Some(place) = Place::file_only() else { return };
    drop(lived_in(&place).await);
    place.tamper(&format!(
        "PRAGMA secure_delete = OFF; CREATE TABLE gone (text TEXT);
         INSERT INTO gone VALUES (printf('%.9000c{MARK}', 'x')); DROP TABLE gone; UPDATE lock SET is_clean = 0"
    ));
    assert!(holds(&place.bytes(), MARK.as_bytes()));
    let _ledger = place.open(2).await;
    assert!(!holds(&place.bytes(), MARK.as_bytes()));
}
