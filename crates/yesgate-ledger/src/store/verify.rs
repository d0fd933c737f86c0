//! Checking the ledger against itself.
//!
//! INVARIANT: what is in memory is a page of rows, the questions that something may still come of, and what people set up;
//! of a question that is over, some bytes. Everything is as of one moment.

mod questions;
mod standing;
mod trail;

use yesgate_core::audit::GENESIS;

pub(super) use self::trail::RawRow;
use self::trail::Trail;
use super::queries;
use crate::engine::Sql;
use crate::error::LedgerError;
use crate::head::Head;
use crate::report::{Fault, VerifyReport};
use crate::seal::Seal;
use crate::trail::{Inspection, Progress};

/// Reads everything once, as of one moment.
pub(super) fn verify(
    connection: &dyn Sql,
    seal: &Seal,
    inspection: Inspection,
) -> Result<VerifyReport, LedgerError> {
    connection.snapshot(|connection| compare(connection, seal, inspection))
}

fn compare(
    connection: &dyn Sql,
    seal: &Seal,
    mut inspection: Inspection,
) -> Result<VerifyReport, LedgerError> {
    let mut report = VerifyReport { rows: 0, intents: 0, head: GENESIS, checkpoints: 0, faults: Vec::new() };
    let head = Head::load(connection)?;
    if connection.first("SELECT 1 FROM audit WHERE sequence < 1 LIMIT 1", &[])?.is_some() {
        report.find(Fault::Gap { expected: 1, found: 0 });
    }
    let mut trail = Trail::from_the_first_row(inspection.checkpoints);
    loop {
        let page = queries::audit_page(connection, trail.last(), PAGE)?;
        if page.is_empty() {
            break;
        }
        trail.read(connection, seal, page, &mut report)?;
        if let Some(tell) = &mut inspection.progress {
            tell(Progress { rows: report.rows, of: head.sequence });
        }
    }
    if trail.end() != (head.sequence, head.hash) {
        report.find(Fault::WrongEnd);
    }
    trail.finish(connection, seal, &mut report)?;
    Ok(report)
}

/// How many rows are looked at together.
const PAGE: u32 = 1000;
