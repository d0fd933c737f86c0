//! Which history of the database this is, and whether a standby has all that is committed.
//!
//! INVARIANT: where a standby is to take over, no commit counts that only the primary has. That it is so is looked at
//! when a connection is made, and that it is still set so in each transaction.

use yesgate_core::policy::Standby;

use super::connection::PgConnection;
use crate::engine::Sql;
use crate::engine::value::Row;
use crate::error::LedgerError;
use crate::origin::{Copies, History, Origin};

/// Which history this is, and that its commits have copies where they must have.
pub(super) fn origin(connection: &PgConnection, standby: Standby) -> Result<Origin, LedgerError> {
    let copies = match standby {
        Standby::NoneMeant => Copies::Unknown,
        Standby::TakesOver => confirmed(connection)?,
    };
    Ok(Origin { history: history(connection)?, copies })
}

/// The identifier of the system and the timeline that is written now. Every role may ask, and a promoted standby knows
/// the new timeline as soon as it can be written, before its first checkpoint.
fn history(connection: &dyn Sql) -> Result<History, LedgerError> {
    let found = connection.first(HISTORY, &[])?.ok_or_else(untold)?;
    Ok(History { system: found.get(0)?, timeline: found.get(1)? })
}

/// Makes sure that commits wait for a standby, and that there is one.
fn confirmed(connection: &dyn Sql) -> Result<Copies, LedgerError> {
    let settings = connection.first(SETTINGS, &[])?.ok_or_else(untold)?;
    Settings::read(&settings, 0)?.suffice()?;
    let standbys = connection.first(STANDBYS, &[])?.ok_or_else(untold)?;
    let (all, visible, synchronous): (i64, i64, i64) = (standbys.get(0)?, standbys.get(1)?, standbys.get(2)?);
    let problem = match (all, visible, synchronous) {
        (_, _, 1..) => return Ok(Copies::Certain),
        (0, _, _) => "no standby is connected",
        (_, 0, _) => {
            "its standbys do not show themselves to this account; grant it the role `pg_read_all_stats`"
        }
        (_, _, _) => "no standby that is connected is synchronous",
    };
    Err(LedgerError::Unreplicated(problem.to_owned()))
}

/// What decides whether a commit has a copy, and survives a power cut on both sides.
pub(super) struct Settings {
    names: String,
    fsync: String,
    full_page_writes: String,
}

impl Settings {
    /// Reads them off a row, beginning at a column.
    pub(super) fn read(row: &Row, at: usize) -> Result<Self, LedgerError> {
        Ok(Self { names: row.get(at)?, fsync: row.get(at + 1)?, full_page_writes: row.get(at + 2)? })
    }

    /// Holds them against what is said of a standby.
    pub(super) fn hold(&self, standby: Standby) -> Result<(), LedgerError> {
        match standby {
            Standby::NoneMeant => Ok(()),
            Standby::TakesOver => self.suffice(),
        }
    }

    fn suffice(&self) -> Result<(), LedgerError> {
        let problem = if self.names.trim().is_empty() {
            "`synchronous_standby_names` is empty"
        } else if self.fsync != "on" {
            "`fsync` is off"
        } else if self.full_page_writes != "on" {
            "`full_page_writes` is off"
        } else {
            return Ok(());
        };
        Err(LedgerError::Unreplicated(problem.to_owned()))
    }
}

fn untold() -> LedgerError {
    LedgerError::Store("it does not tell about itself".to_owned())
}

/// The timeline stands in the first eight digits of the name of the file that is written.
pub(super) const HISTORY: &str = "SELECT (SELECT system_identifier::text FROM pg_control_system()),
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint";
const SETTINGS: &str = "SELECT current_setting('synchronous_standby_names'), current_setting('fsync'),
    current_setting('full_page_writes')";
const STANDBYS: &str =
    "SELECT count(*), count(sync_state), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum'))
    FROM pg_stat_replication";
