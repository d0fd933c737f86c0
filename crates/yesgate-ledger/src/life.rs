//! Who still lives: what a process ran that is over is lost, and nobody runs it again.

use std::collections::BTreeSet;

use yesgate_core::id::BootId;

use crate::boots::Boots;
use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;

/// How the processes on one ledger see each other.
#[derive(Clone, Debug)]
pub(crate) enum Life {
    /// There is one process only.
    Alone,
    /// By locks on files beside the ledger.
    Files(Boots),
    /// By rows. Each node has one for as long as others see that it lives.
    Rows,
}

impl Life {
    /// Whether another start of the gateway is over.
    pub(crate) fn is_over(&self, connection: &dyn Sql, boot: &BootId) -> Result<bool, LedgerError> {
        match self {
            Self::Alone => Ok(true),
            Self::Files(boots) => boots.is_over(boot),
            Self::Rows => {
                let rows =
                    connection.number("SELECT count(*) FROM node WHERE boot = ?1", values![boot.as_str()])?;
                Ok(rows == 0)
            }
        }
    }

    /// Those of some starts that are over. One of which that cannot be found out counts as alive.
    pub(crate) fn over<'a>(
        &self,
        connection: &dyn Sql,
        boots: impl Iterator<Item = &'a BootId>,
    ) -> BTreeSet<BootId> {
        let distinct: BTreeSet<&BootId> = boots.collect();
        let is_over = |boot: &&BootId| self.is_over(connection, boot).unwrap_or(false);
        distinct.into_iter().filter(is_over).cloned().collect()
    }
}
