//! Whether anything can be written, for whoever sends calls here.
//!
//! INVARIANT: however many ask, the writer is asked twice a second at most, and nobody waits for it longer than two
//! seconds.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error::LedgerError;
use crate::ledger::Ledger;

/// Whether a ledger can be written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Readiness {
    /// As far as can be told without writing.
    Writable,
    /// Not now. Nothing can be asked, decided or run.
    Unwritable(LedgerError),
}

/// What was found last, and when.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Option<(Instant, Readiness)>>);

impl Ledger {
    /// Says whether the ledger can be written. It looks and writes nothing, unless the last commit failed.
    pub async fn readiness(&self) -> Readiness {
        let known = &self.store().readiness().0;
        let asked = async {
            let mut known = known.lock().await;
            if let Some((at, found)) = &*known
                && at.elapsed() < FRESH
            {
                return found.clone();
            }
            // Whoever waits for us waits for this too, so it is bounded inside.
            let found = match timeout(PATIENCE, self.store().probe()).await {
                Ok(Ok(())) => Readiness::Writable,
                Ok(Err(error)) => Readiness::Unwritable(error),
                Err(_) => Readiness::Unwritable(LedgerError::Busy),
            };
            *known = Some((Instant::now(), found.clone()));
            found
        };
        timeout(PATIENCE, asked).await.unwrap_or(Readiness::Unwritable(LedgerError::Busy))
    }
}

const FRESH: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(2);
