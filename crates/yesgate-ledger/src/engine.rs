//! What the ledger asks of a database, whichever it is.
//!
//! Invariants:
//! - What rows there are is said once, in `store`, in SQL that every engine understands. What cannot be said in all
//!   dialects stands in [`Dialect`], and nowhere else.
//! - Nothing that was written counts before [`Transactions::commit`] has returned, and an engine returns from it only
//!   when what it wrote survives a power cut.

pub(crate) mod postgres;
pub(crate) mod sqlite;
pub(crate) mod value;

use jiff::Timestamp;

use self::value::{Row, Value};
use crate::error::LedgerError;
use crate::head::Head;
use crate::origin::Continuity;

/// A connection that statements can be put to. Parameters are `?1`, `?2` and so on.
pub(crate) trait Sql {
    /// What is said differently here.
    fn dialect(&self) -> Dialect;

    /// Runs a statement and says how many rows it changed.
    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError>;

    /// Runs a statement whose failure need not be known before the change is settled, so that nobody waits for it.
    fn write(&self, sql: &str, values: &[Value<'_>], expected: Expected) -> Result<(), LedgerError>;

    /// Writes the same for several rows. Where one of them fails, all of them may.
    fn write_many(
        &self,
        sql: &str,
        all: &[&[Value<'static>]],
        expected: &Expected,
    ) -> Result<(), LedgerError> {
        all.iter().try_for_each(|values| self.write(sql, values, expected.clone()))
    }

    /// Hands over the rows of a look-up one by one, as of one moment.
    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Says that a look-up is about to come. An engine that is far away sends all of them at once when the first one
    /// comes; whatever is written before that takes it back.
    fn ahead(&self, _sql: &str, _values: &[Value<'_>]) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Begins look-ups that are all of one moment.
    fn begin_snapshot(&self) -> Result<(), LedgerError>;

    /// Ends them.
    fn end_snapshot(&self) -> Result<(), LedgerError>;
}

/// How many rows a write must change.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// As many as there are.
    Any,
    /// One, or this is what is wrong.
    One(LedgerError),
}

impl Expected {
    /// Compares what a statement changed with how often it was meant.
    pub(crate) fn check(self, changed: u64, count: u64) -> Result<(), LedgerError> {
        match self {
            Self::Any => Ok(()),
            Self::One(_) if changed == count => Ok(()),
            Self::One(otherwise) => Err(otherwise),
        }
    }
}

/// The connection of the one writer of a process.
pub(crate) trait Transactions {
    /// Begins a transaction that is the only one that changes anything, on any node.
    fn begin(&mut self) -> Result<Begun, LedgerError>;

    /// How many changes are carried out together at most, where they have nothing to do with each other.
    fn together(&self) -> usize;

    /// Begins a change that can be taken back alone.
    fn begin_change(&self) -> Result<(), LedgerError>;

    /// Ends a change: it went well so far, or it is taken back. What comes back is whether it goes into the commit; an
    /// error outside means that the whole transaction is lost.
    fn end_change(&self, so_far: Result<(), LedgerError>) -> Result<Result<(), LedgerError>, LedgerError>;

    /// Commits. After an error nobody may rely on anything that was written; `InDoubt` says that it may be there all
    /// the same.
    ///
    /// `news` is the last row of the audit trail where there are new ones.
    fn commit(&mut self, news: Option<u64>) -> Result<(), LedgerError>;

    /// Looks whether a transaction could begin, without beginning one.
    fn look(&mut self) -> Result<(), LedgerError>;

    /// Takes back what is left of a transaction that failed. An error means that nothing can be written any more.
    fn give_up(&mut self) -> Result<(), LedgerError>;

    /// This connection as one that only looks.
    fn as_sql(&self) -> &dyn Sql;

    /// Closes the connection.
    fn close(self: Box<Self>);
}

/// What is known when a transaction begins.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// The end of the audit trail.
    pub(crate) head: Head,
    /// What the clock that counts says.
    pub(crate) clock: Timestamp,
    /// Whether others see that this process lives.
    pub(crate) presence: Presence,
    /// Whether the database is the one that was written last.
    pub(crate) continuity: Continuity,
}

/// Whether others see that this process lives. What it runs while they do not, they would take for lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Presence {
    /// They do.
    Seen,
    /// They do not, or not any more.
    Unseen,
}

/// Which SQL an engine speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Dialect {
    /// PostgreSQL's.
    Postgres,
    /// SQLite's.
    Sqlite,
}

impl Dialect {
    /// A field of the JSON that a text column holds, as text: a string as it is, an object as its JSON.
    pub(crate) fn field(self, column: &str, field: &str) -> String {
        match self {
            // Keys are never empty, and the canonical form has no blanks: the text of an object is its JSON.
            Self::Postgres => format!("({column}::json ->> '{field}') COLLATE \"C\""),
            Self::Sqlite => format!("json_extract({column}, '$.{field}')"),
        }
    }

    /// A column that is compared without an index, where another one does better.
    pub(crate) fn unindexed(self, column: &str) -> String {
        match self {
            Self::Postgres => column.to_owned(),
            Self::Sqlite => format!("+{column}"),
        }
    }
}

impl dyn Sql + '_ {
    /// All rows of a look-up.
    pub(crate) fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, LedgerError> {
        self.map(sql, values, |row| Ok(row.clone()))
    }

    /// The first row of a look-up, if there is one.
    pub(crate) fn first(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, LedgerError> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// The one number that a look-up yields.
    pub(crate) fn number(&self, sql: &str, values: &[Value<'_>]) -> Result<i64, LedgerError> {
        self.first(sql, values)?.map_or_else(|| Err(value::misshapen()), |row| row.get(0))
    }

    /// Reads every row of a look-up.
    pub(crate) fn map<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&Row) -> Result<T, LedgerError>,
    ) -> Result<C, LedgerError> {
        let mut all = Vec::new();
        self.each(sql, values, &mut |row| {
            all.push(read(row)?);
            Ok(())
        })?;
        Ok(all.into_iter().collect())
    }

    /// Writes, however many rows that changes.
    pub(crate) fn put(&self, sql: &str, values: &[Value<'_>]) -> Result<(), LedgerError> {
        self.write(sql, values, Expected::Any)
    }

    /// Looks several things up as of one moment.
    pub(crate) fn snapshot<T>(
        &self,
        look_up: impl FnOnce(&Self) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        self.begin_snapshot()?;
        let found = look_up(self);
        let ended = self.end_snapshot();
        found.and_then(|found| ended.map(|()| found))
    }
}
