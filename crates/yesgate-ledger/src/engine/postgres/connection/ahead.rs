//! Look-ups that are about to come: sent together, those of one statement as one, and kept until something is written.

use std::collections::HashMap;

use tokio_postgres::Statement;

use super::{PgConnection, owned};
use crate::engine::value::{Row, Value, misshapen};
use crate::error::LedgerError;

/// What is about to be looked up, and what was found, by statement. INVARIANT: nothing was written since it was announced.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    announced: Vec<(String, Several)>,
    found: Vec<(String, Finds)>,
}

/// What was found, by parameters.
type Finds = HashMap<Vec<Value<'static>>, Vec<Row>>;
/// The parameters of several look-ups by one statement.
type Several = Vec<Vec<Value<'static>>>;

impl PgConnection {
    pub(super) fn announce(&self, sql: &str, values: &[Value<'_>]) -> Result<(), LedgerError> {
        let (mut ahead, values) = (self.ahead.borrow_mut(), owned(values)?);
        let is_found = ahead.found.iter().any(|(known, found)| known == sql && found.contains_key(&values));
        if is_found {
            return Ok(());
        }
        match ahead.announced.iter_mut().find(|(known, _)| known == sql) {
            // What has no parameters is the same for all.
            Some(_) if values.is_empty() => {}
            Some((_, all)) => all.push(values),
            None => ahead.announced.push((sql.to_owned(), vec![values])),
        }
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
        if !announced.is_empty() {
            self.look_up_together(announced)?;
        }
        let ahead = self.ahead.borrow();
        let Some((_, found)) = ahead.found.iter().find(|(known, _)| known == sql) else { return Ok(None) };
        found.get(&owned(values)?).map(|rows| rows.iter().try_for_each(visit)).transpose()
    }

    /// Forgets what is of before a write.
    pub(super) fn forget_ahead(&self) {
        self.ahead.take();
    }

    fn look_up_together(&self, kinds: Vec<(String, Several)>) -> Result<(), LedgerError> {
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
                let (place, row) = if is_one { (1, row) } else { row.with_place()? };
                let of_it = usize::try_from(place).ok().and_then(|place| rows.get_mut(place.checked_sub(1)?));
                of_it.ok_or_else(misshapen)?.push(row);
                Ok(())
            })?;
            let (mut ahead, found) = (self.ahead.borrow_mut(), all.into_iter().zip(rows));
            match ahead.found.iter_mut().find(|(known, _)| *known == sql) {
                Some((_, known)) => known.extend(found),
                None => ahead.found.push((sql, found.collect())),
            }
        }
        Ok(())
    }
}

/// The first parameters of all, the second ones, and so on.
pub(super) fn side_by_side<V: AsRef<[Value<'static>]>>(all: &[V]) -> Several {
    let width = all.first().map_or(0, |first| first.as_ref().len());
    (0..width)
        .map(|place| all.iter().filter_map(|values| values.as_ref().get(place).cloned()).collect())
        .collect()
}
