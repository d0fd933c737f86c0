//! Where the audit trail ends, and how times and numbers are stored.

use jiff::Timestamp;
use yesgate_core::digest::Digest;

use crate::engine::value::{Row, values};
use crate::engine::{Expected, Sql};
use crate::error::LedgerError;

/// A time as it is stored. Those beyond 2262 are all the same to us.
pub(crate) fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}

/// The number of an audit row as it is stored.
pub(crate) fn stored(sequence: u64) -> i64 {
    i64::try_from(sequence).unwrap_or(i64::MAX)
}

/// Reads the number of an audit row from the first column. A negative one, which we never write,
/// counts as none.
pub(crate) fn sequence(row: &Row) -> Result<u64, LedgerError> {
    row.get(0).map(|sequence: i64| u64::try_from(sequence).unwrap_or_default())
}

/// Where the audit trail ends, and the latest time that was ever written down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Head {
    pub(crate) sequence: u64,
    pub(crate) hash: Digest,
    pub(crate) time: Timestamp,
}

impl Head {
    pub(crate) fn load(connection: &dyn Sql) -> Result<Self, LedgerError> {
        let row = connection.first("SELECT sequence, hash, time FROM head", &[])?.ok_or_else(endless)?;
        Self::read(&row)
    }

    /// Reads the head from the first columns of a row.
    pub(crate) fn read(row: &Row) -> Result<Self, LedgerError> {
        let time = Timestamp::from_nanosecond(i128::from(row.get::<i64>(2)?)).map_err(|_| endless())?;
        Ok(Self { sequence: sequence(row)?, hash: Digest::rehydrate(row.get(1)?), time })
    }

    pub(crate) fn store(&self, connection: &dyn Sql) -> Result<(), LedgerError> {
        connection.write(
            "UPDATE head SET sequence = ?1, hash = ?2, time = ?3",
            values![stored(self.sequence), self.hash.as_bytes(), nanoseconds(self.time)],
            Expected::One(endless()),
        )
    }
}

fn endless() -> LedgerError {
    LedgerError::Damaged("it does not know its own end".to_owned())
}
