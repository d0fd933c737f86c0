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
use super::{beginning, queries};
use crate::engine::Sql;
use crate::error::LedgerError;
use crate::head::Head;
use crate::prune::Beginning;
use crate::report::{AuditRow, Fault, VerifyReport};
use crate::seal::Seal;
use crate::trail::{Inspection, Progress, Rows};

/// Reads everything once, as of one moment.
pub(super) fn verify(
    connection: &dyn Sql,
    seal: &Seal,
    inspection: Inspection,
) -> Result<VerifyReport, LedgerError> {
    connection.snapshot(|connection| compare(connection, seal, inspection))
}

fn compare(connection: &dyn Sql, seal: &Seal, inspection: Inspection) -> Result<VerifyReport, LedgerError> {
    let Inspection { checkpoints, rows, mut progress } = inspection;
    let beginning = beginning::load(connection)?;
    let mut report = VerifyReport {
        rows: 0,
        intents: 0,
        head: GENESIS,
        checkpoints: 0,
        unchecked: 0,
        beginning: beginning.clone(),
        faults: Vec::new(),
    };
    let head = Head::load(connection)?;
    if connection.first("SELECT 1 FROM audit WHERE sequence < 1 LIMIT 1", &[])?.is_some() {
        report.find(Fault::Gap { expected: 1, found: 0 });
    }
    if let Some(beginning) = &beginning
        && !beginning::is_sealed(connection, seal, beginning)?
    {
        report.find(Fault::BeginningDiffers);
    }
    let mut trail = Trail::new(checkpoints);
    let mut source = match (rows, &beginning) {
        (Some(rows), _) => {
            if let Some(Beginning { sequence, hash, .. }) = &beginning {
                trail.expect(*sequence, *hash);
            }
            Source::Elsewhere(rows)
        }
        (None, Some(beginning)) => {
            trail.begin_at(connection, seal, beginning, &mut report)?;
            Source::Ledger
        }
        (None, None) => Source::Ledger,
    };
    loop {
        let page = source.page(connection, trail.last(), &mut report)?;
        if page.is_empty() {
            match source {
                Source::Elsewhere(_) => source = Source::Ledger,
                Source::Ledger => break,
            }
            continue;
        }
        trail.read(connection, seal, page, &mut report)?;
        if let Some(tell) = &mut progress {
            tell(Progress { rows: trail.last(), of: head.sequence });
        }
    }
    if trail.end() != (head.sequence, head.hash) {
        report.find(Fault::WrongEnd);
    }
    trail.finish(connection, seal, &mut report)?;
    Ok(report)
}

/// Where rows come from.
enum Source {
    /// They are kept elsewhere.
    Elsewhere(Rows),
    /// They are in the ledger.
    Ledger,
}

impl Source {
    /// The next rows; none: there are no more here.
    fn page(
        &mut self,
        connection: &dyn Sql,
        after: u64,
        report: &mut VerifyReport,
    ) -> Result<Vec<RawRow>, LedgerError> {
        let rows = match self {
            Self::Ledger => return queries::audit_page(connection, after, PAGE),
            Self::Elsewhere(rows) => rows.by_ref().take(usize::try_from(PAGE).unwrap_or(usize::MAX)),
        };
        let mut page = Vec::new();
        for row in rows {
            match row {
                Ok(AuditRow { sequence, body, hash }) => {
                    page.push(RawRow { sequence, body, hash, beside: None });
                }
                Err(problem) => report.find(Fault::UnreadableFile { problem }),
            }
        }
        Ok(page)
    }
}

/// How many rows are looked at together.
const PAGE: u32 = 1000;
