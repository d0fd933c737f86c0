//! Where the secret key comes from: YESGATE_SECRET_KEY, or `secret.key` in the home folder.
//!
//! INVARIANT: whatever opens a ledger takes its key from here, so that all who share a ledger share its key.

use std::path::Path;

use yesgate_gateway::child::SECRET_KEY_VARIABLE;
use yesgate_ledger::{KeyError, SecretKey};

use crate::SystemEntropy;

/// Where a key was found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeySource {
    /// In the environment.
    Variable,
    /// In the home folder.
    File,
}

/// The key of a ledger, and where it was found. A new one is made only where nothing is sealed yet.
///
/// # Errors
/// When there is none that may be used, or the one that is needed is gone.
pub fn secret_key(home: &Path, ledger: &Path) -> Result<(SecretKey, KeySource), KeyError> {
    let given = match std::env::var(SECRET_KEY_VARIABLE) {
        Ok(given) => Some(given),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(_)) => return Err(KeyError::NotHex),
    };
    let source = if given.is_some() { KeySource::Variable } else { KeySource::File };
    Ok((SecretKey::for_ledger(ledger, home, given.as_deref(), &SystemEntropy)?, source))
}
