//! Nodes as rows: each has one for as long as others see that it lives.
//!
//! INVARIANT: a node is over when its row is gone. The row goes in a transaction like any other change, so it is before
//! or after each redemption of that node, never at the same time.

use jiff::{SignedDuration, Timestamp};

use crate::engine::value::values;
use crate::engine::{Dialect, Sql};
use crate::error::LedgerError;
use crate::head::nanoseconds;

/// Takes note that nodes are over which nobody sees alive any more: they hold no lock, and have not been heard of for a
/// while. Right after the database itself started anew nobody holds a lock, and those who live come back to it.
pub(super) fn bury(connection: &dyn Sql, now: Timestamp) -> Result<(), LedgerError> {
    match connection.dialect() {
        // Files tell who lives.
        Dialect::Sqlite => Ok(()),
        Dialect::Postgres => {
            let heard_before = now.checked_sub(GRACE).unwrap_or(Timestamp::MIN);
            connection.put(
                "DELETE FROM node WHERE CASE WHEN seen_at < ?1 THEN pg_try_advisory_xact_lock(lock) ELSE false END",
                values![nanoseconds(heard_before)],
            )
        }
    }
}

/// How long a node may be silent and hold no lock.
const GRACE: SignedDuration = SignedDuration::from_secs(5);
