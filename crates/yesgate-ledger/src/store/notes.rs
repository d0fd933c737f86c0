//! What changes write, noted first and written together.
//!
//! INVARIANT: while it is noted, nothing is written, and a change that has noted something looks nothing up any more.

use std::borrow::Cow;
use std::cell::RefCell;

use yesgate_core::audit::AuditEntry;

use super::{budgets, grants, pace, rows, tally};
use crate::engine::value::{Row, Value};
use crate::engine::{Dialect, Expected, Sql};
use crate::error::LedgerError;

/// A connection whose writes can be noted in place of being sent.
pub(super) struct Notes<'a> {
    connection: &'a dyn Sql,
    /// `None`: what is written is sent.
    noted: RefCell<Option<Noted>>,
}

/// What one change writes.
#[derive(Debug, Default)]
pub(super) struct Noted {
    pub(super) writes: Vec<Note>,
    pub(super) entries: Vec<AuditEntry>,
    pub(super) reach: Reach,
}

/// One write.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) sql: Cow<'static, str>,
    pub(super) values: Vec<Value<'static>>,
    pub(super) expected: Expected,
}

/// What a change could have to do with others.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Reach {
    /// Only its own questions, and sums that do not mind who comes first.
    #[default]
    Own,
    /// More than that: whatever comes after it has to look anew.
    Wide,
}

impl<'a> Notes<'a> {
    pub(super) fn new(connection: &'a dyn Sql) -> Self {
        Self { connection, noted: RefCell::new(None) }
    }

    /// Begins to note what one change writes.
    pub(super) fn begin(&self) {
        self.noted.replace(Some(Noted::default()));
    }

    /// What was noted. From here on writes are sent.
    pub(super) fn take(&self) -> Noted {
        self.noted.take().unwrap_or_default()
    }

    /// Notes a row of the audit trail; `Some`: nothing is noted at present, so it is to be written.
    pub(super) fn entry<'e>(&self, entry: &'e AuditEntry) -> Option<&'e AuditEntry> {
        match self.noted.borrow_mut().as_mut() {
            Some(noted) => {
                noted.entries.push(entry.clone());
                None
            }
            None => Some(entry),
        }
    }
}

impl Sql for Notes<'_> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        if self.noted.borrow().is_some() {
            return Err(out_of_turn());
        }
        self.connection.execute(sql, values)
    }

    fn write(&self, sql: &str, values: &[Value<'_>], expected: Expected) -> Result<(), LedgerError> {
        let mut noted = self.noted.borrow_mut();
        let Some(noted) = noted.as_mut() else {
            return self.connection.write(sql, values, expected);
        };
        let sql = match OWN.into_iter().find(|own| *own == sql) {
            Some(own) => Cow::Borrowed(own),
            None => {
                noted.reach = Reach::Wide;
                Cow::Owned(sql.to_owned())
            }
        };
        let values = values.iter().cloned().map(Value::into_owned).collect();
        noted.writes.push(Note { sql, values, expected });
        Ok(())
    }

    fn write_many(
        &self,
        sql: &str,
        all: &[&[Value<'static>]],
        expected: &Expected,
    ) -> Result<(), LedgerError> {
        if self.noted.borrow().is_some() {
            return all.iter().try_for_each(|values| self.write(sql, values, expected.clone()));
        }
        self.connection.write_many(sql, all, expected)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        if self.noted.borrow().as_ref().is_some_and(|noted| !noted.writes.is_empty()) {
            return Err(out_of_turn());
        }
        self.connection.each(sql, values, visit)
    }

    fn ahead(&self, sql: &str, values: &[Value<'_>]) -> Result<(), LedgerError> {
        self.connection.ahead(sql, values)
    }

    fn begin_snapshot(&self) -> Result<(), LedgerError> {
        self.connection.begin_snapshot()
    }

    fn end_snapshot(&self) -> Result<(), LedgerError> {
        self.connection.end_snapshot()
    }
}

fn out_of_turn() -> LedgerError {
    LedgerError::Store("a change looked at what it had written".to_owned())
}

/// What is written about a question alone: whoever has other questions does not mind.
const OWN: [&str; 9] = [
    rows::INSERT,
    rows::UPDATE,
    pace::OPEN,
    pace::CLOSE,
    pace::FORGET,
    pace::LIFT,
    tally::ADD,
    grants::USE,
    budgets::GIVE_BACK,
];
