//! Lists of questions, read off an index as far as they go.

use yesgate_core::id::OrgId;

use super::rows;
use crate::engine::Sql;
use crate::engine::value::values;
use crate::error::LedgerError;
use crate::head;
use crate::listing::{Asks, Listed, Listing, Stage};
use crate::seal::Seal;

pub(super) fn list(connection: &dyn Sql, seal: &Seal, listing: &Listing) -> Result<Vec<Listed>, LedgerError> {
    let Listing { org, stage, after, most } = listing;
    let any = format!(
        "{} = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
        connection.dialect().unindexed("org")
    );
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
        Stage::Any => &any,
    };
    let beginning = match stage {
        Stage::Waiting | Stage::Lost | Stage::UnderWay => 0,
        Stage::Over | Stage::Any => i64::MAX,
    };
    let after = after.map_or(beginning, head::stored);
    rows::numbered(connection, seal, condition, values![org.as_str(), after, *most])
}

/// How much each caller has asked.
pub(super) fn asks(connection: &dyn Sql) -> Result<Vec<Asks>, LedgerError> {
    let (caller, at) =
        (connection.dialect().field("body", "caller"), connection.dialect().field("body", "at"));
    let sql = format!(
        "SELECT {caller} AS caller, count(*), min({at}), max({at})
         FROM audit WHERE event = 'opened' GROUP BY {caller} ORDER BY caller"
    );
    let damaged = || LedgerError::Damaged("an audit row names no caller or no time".into());
    connection.map(&sql, &[], |row| {
        let (caller, count): (String, i64) = (row.get(0)?, row.get(1)?);
        let (first, last): (String, String) = (row.get(2)?, row.get(3)?);
        Ok(Asks {
            caller: serde_json::from_str(&caller).map_err(|_| damaged())?,
            count: u64::try_from(count).unwrap_or_default(),
            first: first.parse().map_err(|_| damaged())?,
            last: last.parse().map_err(|_| damaged())?,
        })
    })
}

pub(super) fn count(connection: &dyn Sql, org: &OrgId, stage: Stage, most: u32) -> Result<u32, LedgerError> {
    let states = match stage {
        Stage::Waiting => "state = 'pending'",
        Stage::Lost => "state = 'unknown'",
        Stage::UnderWay => "state IN ('approved', 'running')",
        Stage::Over => "state NOT IN ('pending', 'approved', 'running', 'unknown')",
        Stage::Any => "true",
    };
    let sql =
        format!("SELECT count(*) FROM (SELECT 1 FROM intent WHERE org = ?1 AND {states} LIMIT ?2) AS found");
    let count = connection.number(&sql, values![org.as_str(), most])?;
    Ok(u32::try_from(count).unwrap_or(most))
}
