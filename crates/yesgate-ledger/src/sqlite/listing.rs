//! Lists of questions, read off an index as far as they go.

use rusqlite::{Connection, params};
use yesgate_core::id::OrgId;

use super::fault::Fault;
use super::rows;
use super::seal::Seal;
use crate::listing::{Listed, Listing, Stage};

pub(super) fn list(connection: &Connection, seal: &Seal, listing: &Listing) -> Result<Vec<Listed>, Fault> {
    let Listing { org, stage, after, most } = listing;
    let condition = match stage {
        Stage::Waiting => "org = ?1 AND state = 'pending' AND number > ?2 ORDER BY number LIMIT ?3",
        Stage::Lost => "org = ?1 AND state = 'unknown' AND number > ?2 ORDER BY number LIMIT ?3",
        // These are few at any time.
        Stage::UnderWay => {
            "org = ?1 AND state IN ('approved', 'running') AND number > ?2 ORDER BY number LIMIT ?3"
        }
        // An index has these alone, so that it does not matter how many wait.
        Stage::Over => {
            "org = ?1 AND state NOT IN ('pending', 'approved', 'running', 'unknown') AND number < ?2
             ORDER BY number DESC LIMIT ?3"
        }
    };
    let beginning = match stage {
        Stage::Waiting | Stage::Lost | Stage::UnderWay => 0,
        Stage::Over => i64::MAX,
    };
    let after = after.map_or(beginning, rows::stored);
    rows::numbered(connection, seal, condition, params![org.as_str(), after, most])
}

pub(super) fn count(connection: &Connection, org: &OrgId, stage: Stage, most: u32) -> Result<u32, Fault> {
    let states = match stage {
        Stage::Waiting => "state = 'pending'",
        Stage::Lost => "state = 'unknown'",
        Stage::UnderWay => "state IN ('approved', 'running')",
        Stage::Over => "state NOT IN ('pending', 'approved', 'running', 'unknown')",
    };
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM intent WHERE org = ?1 AND {states} LIMIT ?2)");
    Ok(connection.prepare_cached(&sql)?.query_row(params![org.as_str(), most], |row| row.get(0))?)
}
