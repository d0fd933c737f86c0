//! Signed checkpoints of the audit trail, written to where whoever may write the ledger does not reach.
//!
//! Invariants:
//! - A checkpoint counts as written once every place that is configured has taken it, and the file is on the disk.
//! - What cannot be written is tried again with the newest row, and told: in the log, by `doctor`, and in the numbers. It
//!   holds up no call, unless the operator says after how long it does (`refuse_after`).
//! - Several nodes share the note of what was written last, so as a rule one of them writes each. Two that write the same
//!   row say the same thing twice, which harms nobody.

mod file;
mod note;

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::policy::CheckpointsConfig;
use yesgate_gateway::metrics::Metrics;
use yesgate_gateway::metrics::labels::Marked;
use yesgate_ledger::{Beginning, Ledger, Marks};
use yesgate_notice::Webhook;
use yesgate_proof::checkpoint::SignedCheckpoint;
use yesgate_proof::receipt::{ReceiptKey, ReceiptPublicKey};

pub(crate) use self::file::{append, read};
pub(crate) use self::note::Note;

/// Writes checkpoints for as long as it is polled.
#[derive(Debug)]
pub(crate) struct Marker {
    ledger: Ledger,
    key: ReceiptKey,
    config: CheckpointsConfig,
    webhook: Option<Webhook>,
    metrics: Metrics,
}

impl Marker {
    pub(crate) const fn new(
        ledger: Ledger,
        key: ReceiptKey,
        config: CheckpointsConfig,
        webhook: Option<Webhook>,
        metrics: Metrics,
    ) -> Self {
        Self { ledger, key, config, webhook, metrics }
    }

    pub(crate) async fn run(self) {
        let mut changes = self.ledger.changes();
        let mut failures = 0;
        loop {
            let pause = match self.step().await {
                Ok(pause) => {
                    failures = 0;
                    pause
                }
                Err(error) => {
                    let pause = after(failures);
                    failures += 1;
                    self.metrics.checkpoint(Marked::Failed);
                    tracing::warn!(
                        pause_s = pause.as_secs(),
                        "a checkpoint of the audit trail could not be written, and is tried again: {error:#}"
                    );
                    let left = self.note_problem(&format!("{error:#}")).await;
                    sleep(pause.min(left)).await;
                    continue;
                }
            };
            // However much is written, it is looked at once in a while.
            sleep(LOOK.min(pause)).await;
            tokio::select! {
                () = changes.changed() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Writes a checkpoint if one is due, and says when to look again.
    async fn step(&self) -> anyhow::Result<Duration> {
        let every = Duration::try_from(self.config.every).unwrap_or(LOOK);
        let Some(end) = self.ledger.checkpoint().await? else { return Ok(every) };
        let note = Note::read(&self.ledger).await?;
        self.heed(&note);
        match note.left(&end, &self.config) {
            Due::In(pause) => return Ok(pause),
            Due::Now => {}
        }
        anyhow::ensure!(
            end.sequence >= note.sequence,
            "the trail ends at row {}, but row {} was marked: it was cut off",
            end.sequence,
            note.sequence
        );
        let signed = SignedCheckpoint::sign(end, &self.key)?;
        self.deliver(&signed).await?;
        let note = Note::of(&end);
        note.keep(&self.ledger).await?;
        self.heed(&note);
        self.metrics.checkpoint(Marked::Written);
        tracing::debug!(row = end.sequence, "a checkpoint of the audit trail is written");
        Ok(every)
    }

    async fn deliver(&self, signed: &SignedCheckpoint) -> anyhow::Result<()> {
        let line = signed.text()?;
        if let Some(path) = &self.config.file {
            let (path, line) = (path.clone(), line.clone());
            tokio::task::spawn_blocking(move || append(&path, &line)).await??;
        }
        if let Some(webhook) = &self.webhook {
            let Checkpoint { sequence, .. } = signed.checkpoint();
            let id = format!("checkpoint_{sequence}");
            let sent = webhook.send(&id, Bytes::from(line), self.ledger.now());
            sent.await.context("the webhook of [checkpoints] did not take it")?;
        }
        Ok(())
    }

    /// Notes a problem, and says how long it may last until nothing begins any more.
    async fn note_problem(&self, problem: &str) -> Duration {
        let noted = async {
            let note = Note::read(&self.ledger).await?;
            match note.clone().with_problem(problem, self.ledger.now()) {
                Some(changed) => changed.keep(&self.ledger).await.map(|()| changed),
                None => Ok(note),
            }
        };
        match noted.await {
            Ok(note) => self.heed(&note),
            Err(error) => {
                tracing::debug!("that checkpoints fail could not be noted: {error:#}");
                Duration::MAX
            }
        }
    }

    /// FC-9: has nothing begin once checkpoints have failed for longer than the operator allows, and lets it go on when one was
    /// written. Says how long that is still.
    fn heed(&self, note: &Note) -> Duration {
        let failing = self.config.refuse_after.zip(note.problem.as_ref());
        let left = failing.map(|(limit, (since, _))| limit.saturating_sub(age(*since, self.ledger.now())));
        match left {
            Some(left) if left <= SignedDuration::ZERO => {
                tracing::error!(
                    "no checkpoint could be written for too long: nothing is asked and nothing runs"
                );
                self.ledger.heed_marks(Marks::Missing);
                Duration::MAX
            }
            Some(left) => Duration::try_from(left).unwrap_or(Duration::MAX),
            None => {
                self.ledger.heed_marks(Marks::Kept);
                Duration::MAX
            }
        }
    }
}

/// When the next one is due.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Due {
    Now,
    In(Duration),
}

/// How long is waited after so many failures.
fn after(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST_PAUSE)
}

/// What is wrong with the beginning of a trail whose first rows were taken out, if anything: this key must have signed it.
pub(crate) fn beginning_problem(beginning: Option<&Beginning>, key: &ReceiptPublicKey) -> Option<String> {
    let Beginning { sequence, hash, carried, signed } = beginning?;
    let about = |problem: &str| format!("the beginning of the trail, after row {sequence}: {problem}");
    match SignedCheckpoint::verify(signed, key) {
        Ok(said) if (said.sequence, said.hash, said.carried) == (*sequence, *hash, Some(*carried)) => None,
        Ok(_) => Some(about("something else was signed")),
        Err(error) => Some(about(&error.to_string())),
    }
}

/// How long ago a moment was, as people say it.
pub(crate) fn age(since: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(since).max(SignedDuration::ZERO)
}

const LOOK: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Without a checkpoint for so long, somebody has to look.
pub(crate) const TOO_LONG: SignedDuration = SignedDuration::from_mins(60);
