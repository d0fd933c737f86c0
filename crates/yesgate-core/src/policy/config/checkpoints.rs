//! `[checkpoints]`: where marks of the audit trail are kept, out of reach of whoever may write the ledger.

use std::path::PathBuf;

use jiff::SignedDuration;

use super::super::error::ConfigError;
use super::super::reader::{Entry, Section};
use super::super::{CHECKPOINT_KEYS, WEBHOOK_KEYS};
use super::notices::{WebhookConfig, parse_webhook};
use super::server::parse_folder;

/// Where checkpoints go, and how often.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CheckpointsConfig {
    /// The file that gets a line for each.
    pub file: Option<PathBuf>,
    /// The address that is told each.
    pub webhook: Option<WebhookConfig>,
    /// After so many rows there is one.
    pub rows: u64,
    /// And after so much time, where there is a new row at all.
    pub every: SignedDuration,
    /// After so long without one that could be written, nothing is asked or let go; `None`: it goes on.
    pub refuse_after: Option<SignedDuration>,
}

impl CheckpointsConfig {
    /// Reads `[checkpoints]`.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&CHECKPOINT_KEYS)?;
        let webhook = section.entry("webhook");
        let webhook = webhook.map(|webhook| parse_webhook(&webhook.section(&WEBHOOK_KEYS)?)).transpose()?;
        let file = section.entry("file").map(|file| parse_folder(&file)).transpose()?;
        if file.is_none() && webhook.is_none() {
            return Err(entry
                .error("checkpoints would go nowhere")
                .with_hint("say where: `file`, `webhook`, or both"));
        }
        let (rows, every) = (parse_rows(&section)?, parse_every(&section)?);
        Ok(Self { file, webhook, rows, every, refuse_after: parse_refuse_after(&section, every)? })
    }
}

fn parse_rows(section: &Section<'_>) -> Result<u64, ConfigError> {
    let Some(entry) = section.entry("rows") else { return Ok(ROWS) };
    match entry.count()? {
        0 => Err(entry.error("`rows` must be at least 1").with_hint("leave it out for 1000")),
        rows => Ok(u64::try_from(rows).unwrap_or(u64::MAX)),
    }
}

fn parse_every(section: &Section<'_>) -> Result<SignedDuration, ConfigError> {
    let Some(entry) = section.entry("every") else { return Ok(EVERY) };
    let every = entry.duration()?;
    if every > LONGEST {
        return Err(entry
            .error("`every` is longer than 30m")
            .with_hint("what is not marked may be rewritten unseen: make it short"));
    }
    Ok(every)
}

/// Shorter than what lies between two of them it would hold up calls although nothing failed.
fn parse_refuse_after(
    section: &Section<'_>,
    every: SignedDuration,
) -> Result<Option<SignedDuration>, ConfigError> {
    let Some(entry) = section.entry("refuse_after") else { return Ok(None) };
    let limit = entry.duration()?;
    if limit < every {
        return Err(entry
            .error("`refuse_after` is shorter than `every`")
            .with_hint("leave time to try again: an hour, say"));
    }
    Ok(Some(limit))
}

const ROWS: u64 = 1000;
const EVERY: SignedDuration = SignedDuration::from_mins(5);
/// After twice as long without one, somebody should look.
const LONGEST: SignedDuration = SignedDuration::from_mins(30);
