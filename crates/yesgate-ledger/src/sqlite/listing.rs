//! Lists of questions, read off an index as far as they go.

use rusqlite::{Connection, params};
use yesgate_core::id::OrgId;

use super::fault::Fault;
use super::rows;
use super::seal::Seal;
use crate::error::LedgerError;
use crate::listing::{Asks, Listed, Listing, Stage};

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
        Stage::Any => "+org = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
    };
    let beginning = match stage {
        Stage::Waiting | Stage::Lost | Stage::UnderWay => 0,
        Stage::Over | Stage::Any => i64::MAX,
    };
    let after = after.map_or(beginning, rows::stored);
    rows::numbered(connection, seal, condition, params![org.as_str(), after, most])
}

/// How much each caller has asked.
pub(super) fn asks(connection: &Connection) -> Result<Vec<Asks>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT json_extract(body, '$.caller') AS caller, count(*),
                min(json_extract(body, '$.at')), max(json_extract(body, '$.at'))
         FROM audit WHERE event = 'opened' GROUP BY caller ORDER BY caller",
    )?;
    let rows = statement.query_map([], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, String>(3)?,
        ))
    })?;
    let damaged = || LedgerError::Damaged("an audit row names no caller or no time".into());
    let read = |row: rusqlite::Result<(String, i64, String, String)>| {
        let (caller, count, first, last) = row?;
        Ok(Asks {
            caller: serde_json::from_str(&caller).map_err(|_| damaged())?,
            count: u64::try_from(count).unwrap_or_default(),
            first: first.parse().map_err(|_| damaged())?,
            last: last.parse().map_err(|_| damaged())?,
        })
    };
    rows.map(read).collect()
}

pub(super) fn count(connection: &Connection, org: &OrgId, stage: Stage, most: u32) -> Result<u32, Fault> {
    let states = match stage {
        Stage::Waiting => "state = 'pending'",
        Stage::Lost => "state = 'unknown'",
        Stage::UnderWay => "state IN ('approved', 'running')",
        Stage::Over => "state NOT IN ('pending', 'approved', 'running', 'unknown')",
        Stage::Any => "true",
    };
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM intent WHERE org = ?1 AND {states} LIMIT ?2)");
    Ok(connection.prepare_cached(&sql)?.query_row(params![org.as_str(), most], |row| row.get(0))?)
}
