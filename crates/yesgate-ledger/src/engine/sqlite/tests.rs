//! What a change that failed leaves of a transaction.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;
use yesgate_core::clock::Clock;

use super::{SqliteWriter, connection};
use crate::engine::Transactions as _;
use crate::engine::value::values;
use crate::error::LedgerError;

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn writer() -> (TempDir, SqliteWriter, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("ledger.db");
    Connection::open(&at)
        .unwrap()
        .execute_batch(
            "CREATE TABLE head (sequence INTEGER, hash BLOB, time INTEGER);
             INSERT INTO head VALUES (0, zeroblob(32), 0);
             CREATE TABLE row (number INTEGER PRIMARY KEY);",
        )
        .unwrap();
    let other = Connection::open(&at).unwrap();
    other.busy_timeout(std::time::Duration::ZERO).unwrap();
    (folder, SqliteWriter::new(connection::open(&at).unwrap(), Arc::new(Noon)), other)
}

/// A change that writes one row, and then fails or not.
fn change(writer: &SqliteWriter, number: i64, end: Result<(), LedgerError>) -> Result<(), LedgerError> {
    writer.begin_change().unwrap();
    writer.as_sql().put("INSERT INTO row VALUES (?1)", values![number]).unwrap();
    writer.end_change(end).unwrap()
}

fn failed() -> Result<(), LedgerError> {
    Err(LedgerError::Store("no".to_owned()))
}

#[test]
fn a_change_that_failed_is_taken_back_wherever_it_stands() {
    let (_folder, mut writer, other) = writer();
    writer.begin().unwrap();
    assert_eq!(change(&writer, 1, failed()), failed());
    assert_eq!(change(&writer, 2, failed()), failed(), "the first again, after everything was taken back");
    assert_eq!(change(&writer, 3, Ok(())), Ok(()));
    assert_eq!(change(&writer, 4, failed()), failed());
    assert_eq!(change(&writer, 5, Ok(())), Ok(()));
    writer.commit(None).unwrap();
    let rows: String = other.query_row("SELECT group_concat(number) FROM row", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, "3,5");
}

#[test]
fn nobody_gets_between_the_changes_of_a_transaction() {
    let (_folder, mut writer, other) = writer();
    writer.begin().unwrap();
    writer.begin_change().unwrap();
    assert_eq!(writer.end_change(failed()).unwrap(), failed(), "it wrote nothing");
    other.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(change(&writer, 1, failed()), failed(), "it did");
    other.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    writer.give_up().unwrap();
    other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
}

/// Whatever was looked up holds no more, so that nothing may come of it.
#[test]
fn a_transaction_that_others_got_into_is_lost() {
    let (_folder, mut writer, other) = writer();
    writer.begin().unwrap();
    writer.begin_change().unwrap();
    let seen = writer.version().unwrap();
    writer.run("ROLLBACK").unwrap();
    other.execute_batch("INSERT INTO row VALUES (9)").unwrap();
    assert!(matches!(writer.begin_again(seen), Err(LedgerError::Store(_))));
}
