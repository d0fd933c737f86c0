//! The audit trail as JSON lines, as it lies there, for whoever wants to keep or check it elsewhere.
//!
//! INVARIANT: the last line says how many rows there were. An export without it is not whole.

use bytes::Bytes;
use http::StatusCode;
use tokio::sync::mpsc;
use yesgate_ledger::AuditRow;

use super::{Told, Undone};
use crate::answer;
use crate::site::{Site, Telling, Visit};
use crate::trail::OF_ALL;
use crate::visit::Visitor;

impl Site {
    /// Sends rows for as long as there are any; nothing waits for new ones.
    pub(super) async fn export(&self, visit: &Visit, visitor: &Visitor) -> Told {
        if self.has_others(visitor).await? {
            return Err(Undone::new(StatusCode::FORBIDDEN, "not_for_one", OF_ALL));
        }
        let from = match visit.query("from").map(|from| from.parse::<u64>()) {
            None => 1,
            Some(Ok(from @ 1..=MOST)) => from,
            Some(Ok(_) | Err(_)) => {
                return Err(Undone::invalid("`from` must be the number of a row, from 1 on"));
            }
        };
        let mut rows = self.ledger.audit(from, CHUNK).await?;
        let (sender, pieces) = mpsc::channel(2);
        let ledger = self.ledger.clone();
        let mut telling = self.telling.subscribe();
        tokio::spawn(async move {
            let mut count: u64 = 0;
            while let Some(last) = rows.last().map(|row| row.sequence) {
                count = count.saturating_add(rows.len().try_into().unwrap_or(u64::MAX));
                let piece = Bytes::from(rows.iter().map(line).collect::<String>());
                tokio::select! {
                    sent = sender.send(piece) => if sent.is_err() { return },
                    _ = telling.wait_for(|telling| *telling == Telling::Ended) => return,
                }
                rows = match ledger.audit(last.saturating_add(1), CHUNK).await {
                    Ok(rows) => rows,
                    Err(error) => {
                        tracing::error!(%error, "an export of the audit trail ends early: {error}");
                        return;
                    }
                };
            }
            let end = format!("{{\"end\":true,\"rows\":{count}}}\n");
            // Whoever has gone away needs no last line.
            let _gone = sender.send(end.into()).await;
        });
        Ok(answer::lines(pieces))
    }
}

/// A row; its text is JSON already, and stays as it was hashed.
fn line(row: &AuditRow) -> String {
    format!("{{\"sequence\":{},\"hash\":\"{}\",\"entry\":{}}}\n", row.sequence, row.hash, row.body)
}

/// How many rows go in one piece.
const CHUNK: u32 = 500;
const MOST: u64 = i64::MAX.unsigned_abs();
