//! SQLite: one file that several processes of one machine share, or none.

pub(crate) mod connection;
pub(crate) mod contents;
mod fault;
pub(crate) mod file;
pub(crate) mod schema;
pub(crate) mod watcher;

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
}

impl SqliteWriter {
    pub(crate) const fn new(connection: Connection, clock: Arc<dyn Clock>) -> Self {
        Self { connection, clock }
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
        let head = Head::load(&self.connection)?;
        // Others see the lock on its boot file for as long as it lives.
        let (clock, presence) = (self.clock.now(), Presence::Seen);
        Ok(Begun { head, clock, presence, continuity: Continuity::Same })
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn begin_change(&self) -> Result<(), LedgerError> {
        self.run("SAVEPOINT change")
    }

    fn end_change(&self, so_far: Result<(), LedgerError>) -> Result<Result<(), LedgerError>, LedgerError> {
        if so_far.is_err() {
            // Some failures end the whole transaction.
            if self.connection.is_autocommit() {
                return so_far.map(Ok);
            }
            self.run("ROLLBACK TO change")?;
        }
        self.run("RELEASE change")?;
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

/// How many changes share a savepoint at most. A savepoint keeps every page that is changed after it once more, so one for
/// each change keeps the same pages again and again.
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
