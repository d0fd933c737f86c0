//! The file: who may read it, and which ones are refused.

use serde_json::json;
use yesgate_core::intent::State;
use yesgate_ledger::LedgerError;

use crate::support::{Place, assert_sound, id, open_question, state};

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_a_ledger() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::in_file();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let beside = |ending: &str| place.path().with_file_name(format!("ledger.db{ending}"));

    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    assert_eq!(mode(place.path().parent().unwrap()), 0o700);
    for ending in ["", "-wal", "-shm"] {
        assert_eq!(mode(&beside(ending)), 0o600, "{ending}");
    }
    assert_eq!(mode(&beside(".boots")), 0o700);
    drop(ledger);
    // One that was left open to all is closed to them.
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o644)).unwrap();
    drop(place.open(1).await);
    assert_eq!(mode(place.path()), 0o600);
}

#[tokio::test]
async fn a_ledger_remembers() {
    let place = Place::in_file();
    let first = place.open(1).await;
    let asked = open_question(&first, 1, &json!({"to": "scale"})).await;
    drop(first);
    let again = place.open(1).await;
    assert_eq!(again.intent(&id(1)).await.unwrap().unwrap(), {
        let mut asked = asked;
        drop(asked.take_entries());
        asked
    });
    assert_sound(&again).await;
}

/// Two names of one file are one ledger: their gateways see each other live.
#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_ledger_is_the_same_ledger() {
    let place = Place::in_file();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    let link = place.path().with_file_name("link.db");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    assert_eq!(
        crate::support::open_at(&crate::support::At::File(link.clone()), &place.clock, 1).await.unwrap_err(),
        LedgerError::BootInUse
    );
    let other =
        crate::support::open_at(&crate::support::At::File(link.clone()), &place.clock, 2).await.unwrap();
    assert_eq!(state(&other, &id(1)).await, State::Pending);
}

/// FC-32: an older Yesgate keeps its hands off a newer ledger.
#[tokio::test]
async fn a_newer_schema_is_refused() {
    let place = Place::in_file();
    drop(place.open(1).await);
    place.tamper("PRAGMA user_version = 99");
    let error = place.try_open(1).await.unwrap_err();
    insta::assert_snapshot!(error, @"the ledger has schema 99, this Yesgate knows 12; use the newer Yesgate");
}

#[tokio::test]
async fn what_is_no_ledger_is_left_alone() {
    let place = Place::in_file();
    std::fs::create_dir_all(place.path().parent().unwrap()).unwrap();
    place.tamper("CREATE TABLE photos (name TEXT)");
    assert_eq!(place.try_open(1).await.unwrap_err(), LedgerError::NotALedger);
    std::fs::write(place.path(), "Dear diary, today I wrote more than a hundred bytes. ".repeat(20)).unwrap();
    assert_eq!(place.try_open(1).await.unwrap_err(), LedgerError::NotALedger);
    std::fs::remove_file(place.path()).unwrap();
    std::fs::create_dir(place.path()).unwrap();
    let error = place.try_open(1).await.unwrap_err();
    assert!(!error.public_reason().contains('/'), "{error}");
}
