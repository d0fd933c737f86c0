//! SQLite: one file that several processes of one machine share, or none.

pub(crate) mod connection;
pub(crate) mod contents;
mod fault;
pub(crate) mod file;
pub(crate) mod schema;
pub(crate) mod watcher;

use std::cell::Cell;
use std::sync::Arc;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use yesgate_core::clock::Clock;

use self::fault::Fault;
use super::value::{Row, Value};
use super::{Begun, Dialect, Expected, Presence, Sql, Transactions};
use crate::error::LedgerError;
use crate::head::Head;
use crate::origin::Continuity;

impl Sql for Connection {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        let changed =
            self.prepare_cached(sql).and_then(|mut it| it.execute(rusqlite::params_from_iter(values)));
        Ok(u64::try_from(changed.map_err(Fault::from)?).unwrap_or(u64::MAX))
    }

    fn write(&self, sql: &str, values: &[Value<'_>], expected: Expected) -> Result<(), LedgerError> {
        expected.check(Sql::execute(self, sql, values)?, 1)
    }

    fn write_many(
        &self,
        sql: &str,
        all: &[&[Value<'static>]],
        expected: &Expected,
    ) -> Result<(), LedgerError> {
        let mut statement = self.prepare_cached(sql).map_err(Fault::from)?;
        for values in all {
            let changed = statement.execute(rusqlite::params_from_iter(*values)).map_err(Fault::from)?;
            expected.clone().check(u64::try_from(changed).unwrap_or(u64::MAX), 1)?;
        }
        Ok(())
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let mut statement = self.prepare_cached(sql).map_err(Fault::from)?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(Fault::from)?;
        while let Some(row) = rows.next().map_err(Fault::from)? {
            let column = |index| row.get_ref(index).map(read);
            let values = (0..columns).map(column).collect::<Result<_, _>>().map_err(Fault::from)?;
            visit(&Row::new(values))?;
        }
        Ok(())
    }

    fn begin_snapshot(&self) -> Result<(), LedgerError> {
        self.execute_batch("BEGIN").map_err(|error| Fault::from(error).into())
    }

    fn end_snapshot(&self) -> Result<(), LedgerError> {
        self.execute_batch("ROLLBACK").map_err(|error| Fault::from(error).into())
    }
}

/// The connection that writes.
pub(crate) struct SqliteWriter {
    connection: Connection,
    clock: Arc<dyn Clock>,
    stage: Cell<Stage>,
}

/// How far a transaction is, as far as taking back a change goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// Nothing was written.
    Fresh,
    /// The first change writes: to take it back is to take back everything. With it, how many rows the connection had
    /// changed before.
    First(u64),
    /// Changes before this one stay, so that it has a savepoint.
    Later,
}

impl SqliteWriter {
    pub(crate) const fn new(connection: Connection, clock: Arc<dyn Clock>) -> Self {
        Self { connection, clock, stage: Cell::new(Stage::Fresh) }
    }

    /// Takes everything back and begins anew, as if nothing had happened.
    fn start_over(&self) -> Result<(), LedgerError> {
        let seen = self.version()?;
        self.run("ROLLBACK")?;
        self.begin_again(seen)
    }

    /// Begins where the file is what it was: others may not have written in between.
    fn begin_again(&self, seen: i64) -> Result<(), LedgerError> {
        self.run("BEGIN IMMEDIATE")?;
        self.stage.set(Stage::Fresh);
        if self.version()? != seen {
            return Err(LedgerError::Store("another process wrote to it in between".to_owned()));
        }
        Ok(())
    }

    /// A number that changes when another connection has written.
    fn version(&self) -> Result<i64, LedgerError> {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| Fault::from(error).into())
    }

    /// Runs a statement that has no parameters, and is prepared once.
    fn run(&self, sql: &str) -> Result<(), LedgerError> {
        let ran = self.connection.prepare_cached(sql).and_then(|mut it| it.execute([]));
        ran.map(drop).map_err(|error| Fault::from(error).into())
    }
}

impl Transactions for SqliteWriter {
    fn begin(&mut self) -> Result<Begun, LedgerError> {
        self.run("BEGIN IMMEDIATE")?;
        self.stage.set(Stage::Fresh);
        let head = Head::load(&self.connection)?;
        // Others see the lock on its boot file for as long as it lives.
        let (clock, presence) = (self.clock.now(), Presence::Seen);
        Ok(Begun { head, clock, presence, continuity: Continuity::Same })
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn begin_change(&self) -> Result<(), LedgerError> {
        match self.stage.get() {
            Stage::Fresh => {
                self.stage.set(Stage::First(self.connection.total_changes()));
                Ok(())
            }
            Stage::First(_) | Stage::Later => {
                self.stage.set(Stage::Later);
                self.run("SAVEPOINT change")
            }
        }
    }

    fn end_change(&self, so_far: Result<(), LedgerError>) -> Result<Result<(), LedgerError>, LedgerError> {
        // Some failures end the whole transaction.
        if so_far.is_err() && self.connection.is_autocommit() {
            return so_far.map(Ok);
        }
        match (self.stage.get(), &so_far) {
            (Stage::Fresh | Stage::First(_), Ok(())) => {}
            // Most of those that fail have written nothing.
            (Stage::Fresh, Err(_)) => {}
            (Stage::First(before), Err(_)) if before == self.connection.total_changes() => {
                self.stage.set(Stage::Fresh);
            }
            (Stage::First(_), Err(_)) => self.start_over()?,
            (Stage::Later, Ok(())) => self.run("RELEASE change")?,
            (Stage::Later, Err(_)) => {
                self.run("ROLLBACK TO change")?;
                self.run("RELEASE change")?;
            }
        }
        match so_far {
            // The disk fails for everybody.
            Err(error @ LedgerError::Disk(_)) => Err(error),
            outcome => Ok(outcome),
        }
    }

    fn commit(&mut self, _news: Option<u64>) -> Result<(), LedgerError> {
        // Some failures end the whole transaction; what came after them would stand alone.
        if self.connection.is_autocommit() {
            return Err(LedgerError::Store("the transaction ended early".to_owned()));
        }
        self.run("COMMIT")
    }

    fn look(&mut self) -> Result<(), LedgerError> {
        match self.connection.is_readonly("main") {
            Ok(false) => Ok(()),
            Ok(true) => Err(LedgerError::ReadOnly),
            Err(error) => Err(Fault::from(error).into()),
        }
    }

    fn give_up(&mut self) -> Result<(), LedgerError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.connection.execute_batch("ROLLBACK").map_err(|problem| LedgerError::Disk(problem.to_string()))
    }

    fn as_sql(&self) -> &dyn Sql {
        &self.connection
    }

    fn close(self: Box<Self>) {
        connection::close(self.connection);
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// How many changes are taken back together at most. A savepoint keeps every page that is changed after it once more, so
/// one for each change keeps the same pages again and again; the first changes of a transaction need none.
const TOGETHER: usize = 128;

/// A value as it stands in a column. A text that is no text is bytes, and so is a number that is not whole: both are
/// what nobody stored.
fn read(value: ValueRef<'_>) -> Value<'static> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::from(number.to_be_bytes().to_vec()),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::from(text.to_owned()),
            Err(_) => Value::from(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::from(bytes.to_vec()),
    }
}

#[cfg(test)]
mod tests;
