//! Secrets that are kept for somebody else, such as the tokens for a server behind the gateway.
//!
//! INVARIANT: the ledger never sees one in clear. Whoever keeps a secret seals it before it comes
//! here, and opens it after; the ledger holds no key to it. There are no audit rows about them, and
//! [`Ledger::verify`] does not look at them: the seal itself tells whether one was changed. What is no secret, such as how
//! far notices have got, is kept in clear.

use crate::change::{Effects, Target, Write};
use crate::error::LedgerError;
use crate::ledger::Ledger;

impl Ledger {
    /// Keeps a sealed secret under a name, in place of an earlier one.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn keep(&self, name: &str, sealed: Vec<u8>) -> Result<(), LedgerError> {
        self.write(Write::Keep { name: name.to_owned(), sealed }).await
    }

    /// The sealed secret that is kept under a name.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn kept(&self, name: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        self.store().kept(name.to_owned()).await
    }

    /// Forgets what is kept under a name; nothing may be.
    ///
    /// # Errors
    /// When that is not durable.
    pub async fn forget(&self, name: &str) -> Result<(), LedgerError> {
        self.write(Write::Forget { name: name.to_owned() }).await
    }

    pub(crate) async fn write(&self, write: Write) -> Result<(), LedgerError> {
        self.change(Target::Nothing, move |_, _| ((), Effects { writes: vec![write], ..Effects::default() }))
            .await
    }
}
