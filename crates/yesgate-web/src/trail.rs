//! The audit trail: the last rows of it, and whether it is whole.
//!
//! INVARIANT: the trail is that of the whole gateway. Where people or keys of another organisation are known, nobody reads
//! it here: whoever runs the gateway has it at the command line.

use askama::Template;
use http::StatusCode;
use yesgate_core::render::Sanitized;
use yesgate_ledger::LedgerError;
use yesgate_proof::receipt::ReceiptPublicKey;

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "trail.html")]
struct Page {
    frame: Frame,
    rows: Vec<Row>,
    /// What a check found, where one was asked for.
    checked: Option<Checked>,
    /// What receipts are signed with.
    key: ReceiptPublicKey,
    /// Where earlier rows are.
    earlier: Option<u64>,
}

struct Row {
    sequence: u64,
    body: Sanitized,
}

struct Checked {
    rows: u64,
    intents: u64,
    head: String,
    faults: Vec<Sanitized>,
}

impl Site {
    pub(crate) async fn trail(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        if self.has_others(visitor).await? {
            return Ok(answer::trouble(StatusCode::FORBIDDEN, "Not here", OF_ALL));
        }
        let checked = match visit.query("verify") {
            Some(_) => {
                let report = self.ledger.verify().await?;
                let faults = report.faults.iter().map(|fault| Sanitized::line(&fault.to_string())).collect();
                Some(Checked {
                    rows: report.rows,
                    intents: report.intents,
                    head: report.head.to_string(),
                    faults,
                })
            }
            None => None,
        };
        let rows = match visit.query("before").and_then(|before| before.parse::<u64>().ok()) {
            Some(before) => {
                let from = before.saturating_sub(u64::from(SHOWN)).max(1);
                let most = u32::try_from(before.saturating_sub(from)).unwrap_or(SHOWN);
                self.ledger.audit(from, most).await?
            }
            None => self.ledger.audit_last(SHOWN).await?,
        };
        let earlier = rows.first().map(|row| row.sequence).filter(|first| *first > 1);
        let rows = rows
            .iter()
            .rev()
            .map(|row| Row { sequence: row.sequence, body: Sanitized::line(&row.body) })
            .collect();
        let frame = self.frame(visitor, Tab::Trail, "Audit").await?;
        Ok(answer::page(
            StatusCode::OK,
            &Page { frame, rows, checked, key: self.receipts().public(), earlier },
        ))
    }
}

impl Site {
    /// Whether the gateway is used by another organisation than the visitor's, too.
    pub(crate) async fn has_others(&self, visitor: &Visitor) -> Result<bool, LedgerError> {
        let own = &visitor.person.org;
        let people = self.ledger.people().await?;
        if people.iter().any(|person| person.org != *own) {
            return Ok(true);
        }
        Ok(self.ledger.keys().await?.iter().any(|key| key.caller.org != *own))
    }
}

/// What somebody is told who may not read it.
pub(crate) const OF_ALL: &str = "More than one organisation uses this gateway, and the audit trail is that of all of them. \
                                 Whoever runs the gateway reads it with `yesgate audit`.";

/// How many rows a page shows.
const SHOWN: u32 = 100;
