//! Look-ups that are about to come: sent together, those of one statement as one, and kept until something is written.

use std::collections::{HashMap, HashSet};

use tokio_postgres::Statement;

use super::{PgConnection, owned};
use crate::engine::value::{Row, Value, misshapen};
use crate::error::LedgerError;

/// What is about to be looked up, and what was found. INVARIANT: nothing was written since it was announced.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    announced: Vec<LookUp>,
    found: HashMap<LookUp, Vec<Row>>,
}

/// A statement that looks something up, and its parameters.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct LookUp {
    sql: String,
    values: Vec<Value<'static>>,
}

/// The parameters of several look-ups by one statement.
type Several = Vec<Vec<Value<'static>>>;

impl PgConnection {
    pub(super) fn announce(&self, sql: &str, values: &[Value<'_>]) -> Result<(), LedgerError> {
        let look_up = LookUp { sql: sql.to_owned(), values: owned(values)? };
        self.ahead.borrow_mut().announced.push(look_up);
        Ok(())
    }

    /// What was found already, after whatever was announced has been looked up; `None`: this was not.
    pub(super) fn found_ahead(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<Option<()>, LedgerError> {
        let announced = std::mem::take(&mut self.ahead.borrow_mut().announced);
        self.look_up_together(announced)?;
        let ahead = self.ahead.borrow();
        if ahead.found.is_empty() {
            return Ok(None);
        }
        let rows = ahead.found.get(&LookUp { sql: sql.to_owned(), values: owned(values)? });
        rows.map(|rows| rows.iter().try_for_each(visit)).transpose()
    }

    /// Forgets what is of before a write.
    pub(super) fn forget_ahead(&self) {
        self.ahead.take();
    }

    fn look_up_together(&self, announced: Vec<LookUp>) -> Result<(), LedgerError> {
        let mut known: HashSet<LookUp> = self.ahead.borrow().found.keys().cloned().collect();
        let mut kinds: Vec<(String, Several)> = Vec::new();
        for look_up in announced {
            if known.insert(look_up.clone()) {
                let LookUp { sql, values } = look_up;
                match kinds.iter_mut().find(|(kind, _)| *kind == sql) {
                    Some((_, all)) => all.push(values),
                    None => kinds.push((sql, vec![values])),
                }
            }
        }
        // First whatever has to be waited for: an answer that nobody takes holds up all that come after it.
        let mut to_send: Vec<(String, Statement, Several)> = Vec::new();
        for (sql, all) in kinds {
            match self.for_many(&sql, all.len())? {
                Some(statement) => to_send.push((sql, statement, all)),
                None => {
                    let statement = self.prepared(&sql)?;
                    to_send.extend(all.into_iter().map(|one| (sql.clone(), statement.clone(), vec![one])));
                }
            }
        }
        // Then all are sent before any answer is waited for.
        let send = |(sql, statement, all): (String, Statement, Several)| {
            let answer = match all.as_slice() {
                [values] => self.send(statement, values.clone()),
                all => self.send(statement, side_by_side(all)),
            };
            (sql, all, answer)
        };
        let under_way: Vec<_> = to_send.into_iter().map(send).collect();
        for (sql, all, answer) in under_way {
            let mut rows: Vec<Vec<Row>> = vec![Vec::new(); all.len()];
            let is_one = all.len() == 1;
            self.receive(answer, &mut |row| {
                let (place, row) = if is_one { (1, row.clone()) } else { row.clone().with_place()? };
                let of_it = usize::try_from(place).ok().and_then(|place| rows.get_mut(place.checked_sub(1)?));
                of_it.ok_or_else(misshapen)?.push(row);
                Ok(())
            })?;
            let found = all.into_iter().map(|values| LookUp { sql: sql.clone(), values }).zip(rows);
            self.ahead.borrow_mut().found.extend(found);
        }
        Ok(())
    }
}

/// The first parameters of all, the second ones, and so on.
pub(super) fn side_by_side(all: &[Vec<Value<'static>>]) -> Several {
    let width = all.first().map_or(0, Vec::len);
    (0..width).map(|place| all.iter().filter_map(|values| values.get(place).cloned()).collect()).collect()
}
