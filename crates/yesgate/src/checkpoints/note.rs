//! What is noted in the ledger of the checkpoints that were written. It proves nothing: they do.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::policy::CheckpointsConfig;
use yesgate_ledger::Ledger;

use super::Due;

/// Which checkpoint was written last, and what has failed since.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// Its row; 0: there was none yet.
    pub(crate) sequence: u64,
    /// When.
    pub(crate) at: Option<Timestamp>,
    /// Since when none can be written, and why.
    pub(crate) problem: Option<(Timestamp, String)>,
}

impl Note {
    pub(crate) const fn of(checkpoint: &Checkpoint) -> Self {
        Self { sequence: checkpoint.sequence, at: Some(checkpoint.at), problem: None }
    }

    pub(crate) async fn read(ledger: &Ledger) -> anyhow::Result<Self> {
        let kept = ledger.kept(NAME).await?;
        Ok(kept.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
    }

    pub(crate) async fn keep(&self, ledger: &Ledger) -> anyhow::Result<()> {
        Ok(ledger.keep(NAME, serde_json::to_vec(self)?).await?)
    }

    /// The same with a problem; `None`: that one is noted already.
    pub(super) fn with_problem(self, problem: &str, now: Timestamp) -> Option<Self> {
        let since = match &self.problem {
            Some((_, known)) if known == problem => return None,
            Some((since, _)) => *since,
            None => now,
        };
        Some(Self { problem: Some((since, problem.to_owned())), ..self })
    }

    /// When the next checkpoint is due, if the trail ends here now.
    pub(super) fn left(&self, end: &Checkpoint, config: &CheckpointsConfig) -> Due {
        let every = Duration::try_from(config.every).unwrap_or_default();
        let Some(at) = self.at else { return Due::Now };
        let left = config.every.saturating_sub(end.at.duration_since(at));
        match end.sequence.checked_sub(self.sequence) {
            Some(0) => Due::In(every),
            // A trail that is shorter than it was is told at once.
            None => Due::Now,
            Some(rows) if rows >= config.rows || left <= SignedDuration::ZERO => Due::Now,
            Some(_) => Due::In(Duration::try_from(left).unwrap_or(every)),
        }
    }
}

const NAME: &str = "checkpoints/note";

#[cfg(test)]
mod tests;
