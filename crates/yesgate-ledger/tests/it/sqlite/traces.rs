//! Traces of clear text in a file: what was overwritten, sealed late, or purged.

use rusqlite::Connection;
use yesgate_ledger::Purged;

use crate::at_rest::{MARK, lived_in};
use crate::forger::{SEALED, holds};
use crate::purge::{DAY, finished};
use crate::support::{Place, approve, assert_sound, id, redeem, t};

/// FC-32: a file of an older Yesgate is sealed whole when it is opened, and no trace of clear text is left.
#[tokio::test]
async fn an_older_file_is_sealed_whole_and_no_trace_is_left() {
    let place = Place::in_file();
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
    let place = Place::in_file();
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
    let place = Place::in_file();
    drop(lived_in(&place).await);
    place.tamper(&format!(
        "PRAGMA secure_delete = OFF; CREATE TABLE gone (text TEXT);
         INSERT INTO gone VALUES (printf('%.9000c{MARK}', 'x')); DROP TABLE gone; UPDATE lock SET is_clean = 0"
    ));
    assert!(holds(&place.bytes(), MARK.as_bytes()));
    let _ledger = place.open(2).await;
    assert!(!holds(&place.bytes(), MARK.as_bytes()));
}

/// Of what was purged no byte is left in the ledger's files, not even as it was sealed.
#[tokio::test]
async fn what_was_purged_is_overwritten() {
    let place = Place::in_file();
    let ledger = place.open(1).await;
    finished(&ledger, 1).await;
    let sealed: Vec<u8> = Connection::open(place.path())
        .unwrap()
        .query_row("SELECT sealed FROM intent", [], |row| row.get(0))
        .unwrap();
    let part = sealed.iter().copied().skip(40).take(24).collect::<Vec<u8>>();
    assert!(holds(&place.bytes(), &part));
    place.clock.set(2 * DAY);
    assert_eq!(ledger.purge(t(DAY), "ada").await.unwrap(), Purged { questions: 1, wiped: true });
    assert!(!holds(&place.bytes(), &part), "while it is open");
    drop(ledger);
    assert!(!holds(&place.bytes(), &part), "after it was closed");
}
