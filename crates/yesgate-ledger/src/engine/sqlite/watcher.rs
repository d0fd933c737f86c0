//! Noticing what other processes commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::connection;
use super::fault::Fault;
use crate::changes::{Bell, Watching};
use crate::error::LedgerError;
use crate::head::Head;

/// Starts a thread that sleeps until somebody listens, and looks for commits while they do.
pub(crate) fn start(path: PathBuf, bell: Arc<Bell>) -> Result<JoinHandle<()>, LedgerError> {
    thread::Builder::new()
        .name("ledger-watcher".to_owned())
        .spawn(move || {
            while bell.wait_for_listener() == Watching::Needed {
                if let Err(error) = watch(&path, &bell) {
                    // Whoever waits had better look for themselves than wait for us.
                    bell.ring();
                    tracing::warn!(%error, "commits of other processes cannot be seen");
                    bell.pause(AFTER_FAILURE);
                }
            }
        })
        .map_err(LedgerError::file("cannot start a thread"))
}

/// Looks for commits until nobody listens any more.
fn watch(path: &Path, bell: &Bell) -> Result<(), LedgerError> {
    let connection = connection::open_to_read(path)?;
    let mut seen = None;
    loop {
        let version = data_version(&connection)?;
        if seen != Some(version) {
            seen = Some(version);
            // Only rows count: a commit that wrote down nothing but the time must not make two
            // processes wake each other for ever.
            bell.ring_for(Head::load(&connection)?.sequence);
        }
        match bell.pause(BETWEEN_LOOKS) {
            Watching::Needed => {}
            Watching::Idle | Watching::Over => {
                connection::close(connection);
                return Ok(());
            }
        }
    }
}

/// A number that changes when another connection has committed; cheap to ask for.
fn data_version(connection: &Connection) -> Result<i64, LedgerError> {
    connection
        .pragma_query_value(None, "data_version", |row| row.get(0))
        .map_err(|error| Fault::from(error).into())
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
const AFTER_FAILURE: Duration = Duration::from_millis(200);
