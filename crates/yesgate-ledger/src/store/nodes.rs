//! Nodes as rows: each has one for as long as others see that it lives.
//!
//! INVARIANT: a node is over when its row is gone. The row goes in a transaction like any other change, so it is before
//! or after each redemption of that node, never at the same time.

use jiff::{SignedDuration, Timestamp};

use super::queries;
use crate::engine::value::values;
use crate::engine::{Dialect, Sql};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::life::Life;

/// Takes note that nodes are over which nobody sees alive any more: they hold no lock, and have not been heard of for a
/// while. Right after the database itself started anew nobody holds a lock, and those who live come back to it.
pub(super) fn bury(connection: &dyn Sql, now: Timestamp) -> Result<(), LedgerError> {
    match connection.dialect() {
        // Files tell who lives.
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => {
            connection.put(
                "DELETE FROM node WHERE CASE WHEN seen_at < ?1 THEN pg_try_advisory_xact_lock(lock) ELSE false END",
                values![heard_before(now)],
            )
        }
    }
}

/// Whether somebody is over of whom nobody has taken note: a node that is silent, or whoever ran what still counts as
/// running.
pub(super) fn any_dead(connection: &dyn Sql, life: &Life, now: Timestamp) -> Result<bool, LedgerError> {
    match life {
        Life::Alone => return Ok(false),
        Life::Files(_) => {}
        Life::Rows => {
            let silent = "SELECT count(*) FROM node WHERE seen_at < ?1";
            if connection.number(silent, values![heard_before(now)])? > 0 {
                return Ok(true);
            }
        }
    }
    for boot in queries::running_boots(connection)? {
        if life.is_over(connection, &boot)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whoever was last heard of before this is silent.
fn heard_before(now: Timestamp) -> i64 {
    nanoseconds(now.checked_sub(GRACE).unwrap_or(Timestamp::MIN))
}

/// How long a node may be silent and hold no lock.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(5);
