//! PostgreSQL: one database that several nodes share.
//!
//! Invariants:
//! - What a node changes, it changes on the primary, in one transaction that holds the row of the head: so all
//!   changes of all nodes come one after another, and the audit trail has no gap.
//! - A commit counts when the database said so without a word of warning. Whatever else happens, nobody hears "done",
//!   and nothing is sent again.
//! - Nothing that stands in a statement or in an address is logged.

pub(crate) mod address;
pub(crate) mod connection;
mod fault;
pub(crate) mod inspection;
mod many;
mod reach;
mod replication;
pub(crate) mod schema;
mod tls;
mod types;
pub(crate) mod watcher;
pub(crate) mod writer;

use std::cell::{Cell, Ref, RefCell};

use self::address::DatabaseAddress;
use self::connection::PgConnection;
use super::value::{Row, Value};
use super::{Dialect, Expected, Sql};
use crate::error::LedgerError;

/// A connection that only looks, made when it is first needed and again when it was lost.
#[derive(Debug)]
pub(crate) struct PgReader {
    address: DatabaseAddress,
    connection: RefCell<Option<PgConnection>>,
    /// Whether look-ups are to be of one moment: a new connection would be of another.
    is_in_snapshot: Cell<bool>,
}

impl PgReader {
    pub(crate) const fn new(address: DatabaseAddress) -> Self {
        Self { address, connection: RefCell::new(None), is_in_snapshot: Cell::new(false) }
    }

    /// Looks something up. A connection that turns out to be lost is replaced once: to look twice harms nobody.
    fn look<T>(
        &self,
        mut look_up: impl FnMut(&PgConnection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let had_one = self.connection.borrow().is_some();
        let found = self.connected().and_then(|connection| look_up(&connection));
        match found {
            Err(LedgerError::Unreachable(_)) if had_one => {
                self.connection.replace(None);
                self.connected().and_then(|connection| look_up(&connection))
            }
            found => found,
        }
    }

    fn connected(&self) -> Result<Ref<'_, PgConnection>, LedgerError> {
        let is_lost = self.connection.borrow().as_ref().is_none_or(PgConnection::is_closed);
        if is_lost && self.is_in_snapshot.get() {
            return Err(LedgerError::Unreachable("the connection was lost".to_owned()));
        }
        if is_lost {
            let made = PgConnection::open(&self.address)?;
            self.connection.replace(Some(made));
        }
        Ref::filter_map(self.connection.borrow(), Option::as_ref).map_err(|_| LedgerError::Closed)
    }
}

impl Sql for PgReader {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&self, _sql: &str, _values: &[Value<'_>]) -> Result<u64, LedgerError> {
        Err(LedgerError::ReadOnly)
    }

    fn write(&self, _sql: &str, _values: &[Value<'_>], _expected: Expected) -> Result<(), LedgerError> {
        Err(LedgerError::ReadOnly)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let visited = Cell::new(false);
        let mut visit = |row: &Row| {
            visited.set(true);
            visit(row)
        };
        let had_one = self.connection.borrow().is_some();
        let found = self.connected().and_then(|connection| connection.each(sql, values, &mut visit));
        match found {
            // What was half told is not told again.
            Err(LedgerError::Unreachable(_)) if had_one && !visited.get() && !self.is_in_snapshot.get() => {
                self.connection.replace(None);
                self.connected().and_then(|connection| connection.each(sql, values, &mut visit))
            }
            found => found,
        }
    }

    fn begin_snapshot(&self) -> Result<(), LedgerError> {
        self.look(PgConnection::begin_snapshot)?;
        self.is_in_snapshot.set(true);
        Ok(())
    }

    fn end_snapshot(&self) -> Result<(), LedgerError> {
        self.is_in_snapshot.set(false);
        let ended = self.connected().and_then(|connection| connection.end_snapshot());
        if ended.is_err() {
            self.connection.replace(None);
        }
        ended
    }
}
