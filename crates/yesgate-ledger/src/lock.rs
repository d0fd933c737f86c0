//! Which key a ledger is sealed under, as a row.
//!
//! INVARIANT: nothing of a ledger is read or changed with a key that it is not sealed under.

use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;
use crate::seal::{Place, Seal};

/// Refuses a key that is not the ledger's.
pub(crate) fn try_key(connection: &dyn Sql, seal: &Seal) -> Result<(), LedgerError> {
    let missing = || LedgerError::Damaged("it does not know its key".to_owned());
    let row = connection.first("SELECT key, sealed FROM lock", &[])?.ok_or_else(missing)?;
    let (key, blob): (String, Vec<u8>) = (row.get(0)?, row.get(1)?);
    match seal.open(Place::Lock, &blob) {
        Some(_) => Ok(()),
        None => {
            // What stands in the database is anybody's words.
            let sealed_under = key.chars().filter(char::is_ascii_hexdigit).take(12).collect();
            Err(LedgerError::WrongKey { sealed_under, at_hand: seal.name().to_owned() })
        }
    }
}

/// Takes note of the key that everything is sealed under from here on.
pub(crate) fn put_key(connection: &dyn Sql, seal: &Seal, is_clean: bool) -> Result<(), LedgerError> {
    let sealed = seal.seal(Place::Lock, LOCK)?;
    connection.put(
        "INSERT INTO lock (key, sealed, is_clean) VALUES (?1, ?2, ?3)",
        values![seal.name(), sealed, is_clean],
    )
}

const LOCK: &[u8] = b"this is the key";
