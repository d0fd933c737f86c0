//! Looking up many rows by their names, some at a time.

use crate::engine::Sql;
use crate::engine::value::{Row, Value};
use crate::error::LedgerError;

/// Hands over the rows of a look-up whose column is one of these names. The look-up ends before its condition.
pub(super) fn each_named<'a>(
    connection: &dyn Sql,
    select: &str,
    column: &str,
    names: impl IntoIterator<Item = &'a str>,
    visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let names: Vec<&str> = names.into_iter().collect();
    let places: Vec<String> = (1..=AT_ONCE).map(|place| format!("?{place}")).collect();
    let sql = format!("{select} WHERE {column} IN ({})", places.join(", "));
    for some in names.chunks(AT_ONCE) {
        // One statement for all: what is left over is filled up with the last name.
        let filled = some.iter().chain(some.last().into_iter().cycle()).take(AT_ONCE);
        let values: Vec<Value<'_>> = filled.map(|name| Value::from(*name)).collect();
        connection.each(&sql, &values, visit)?;
    }
    Ok(())
}

const AT_ONCE: usize = 200;
