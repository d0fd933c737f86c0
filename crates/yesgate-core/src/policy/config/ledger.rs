//! `[ledger]`: how long what is stored is kept.

use jiff::SignedDuration;

use super::super::LEDGER_KEYS;
use super::super::error::ConfigError;
use super::super::reader::Entry;

/// How long what is stored is kept.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LedgerConfig {
    /// For how long the contents of a question are kept once it is over; `None`: until somebody purges them.
    pub keep: Option<SignedDuration>,
}

impl LedgerConfig {
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&LEDGER_KEYS)?;
        Ok(Self { keep: section.entry("keep").map(|keep| keep.days_or_years()).transpose()? })
    }
}
