//! Everything a command needs: configuration, ledger, the real clock and the real dice.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use yesgate::{SystemClock, SystemEntropy};
use yesgate_core::clock::{Clock as _, Entropy as _};
use yesgate_core::id::BootId;
use yesgate_core::policy::Config;
use yesgate_ledger::{Ledger, LedgerError};

use crate::home::{Home, RIGHT_KEY, find_config};
use crate::output::Hinted;

/// The set-up that a command works in.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) home: Home,
    pub(crate) config: Config,
    /// Where the configuration came from; none: there is none.
    pub(crate) config_path: Option<PathBuf>,
}

impl Settings {
    pub(crate) fn load(home: Option<PathBuf>, config: Option<PathBuf>) -> anyhow::Result<Self> {
        let home = Home::find(home)?;
        let config_path = find_config(config);
        let config = match &config_path {
            Some(path) => read_config(path)?,
            None => Config::default(),
        };
        Ok(Self { home, config, config_path })
    }

    /// Opens the ledger, and clears up what ended processes left behind.
    pub(crate) async fn ledger(&self) -> anyhow::Result<(Ledger, BootId)> {
        let boot = BootId::from_entropy(SystemEntropy.draw()?);
        let path = self.home.ledger();
        let (key, _) = self.home.key()?;
        let opened = Ledger::open(&path, &key, Arc::new(SystemClock), boot.clone()).await;
        let ledger = opened.map_err(|error| {
            let hint = match &error {
                LedgerError::WrongKey { .. } => Some(RIGHT_KEY),
                LedgerError::Busy
                | LedgerError::Full
                | LedgerError::Disk(_)
                | LedgerError::ReadOnly
                | LedgerError::File { .. }
                | LedgerError::Store(_)
                | LedgerError::Damaged(_)
                | LedgerError::NotALedger
                | LedgerError::NewerSchema { .. }
                | LedgerError::OldStore { .. }
                | LedgerError::ClockWentBack { .. }
                | LedgerError::Conflict(_)
                | LedgerError::Unexplained(_)
                | LedgerError::HeldBack
                | LedgerError::Panicked
                | LedgerError::BootInUse
                | LedgerError::Closed => None,
            };
            Hinted::new(format!("the ledger `{}` cannot be opened: {error}", path.display()), hint)
        })?;
        ledger.sweep().await?;
        Ok((ledger, boot))
    }
}

/// The present moment, for what is shown to people.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// Reads a configuration; an error says where and why.
pub(crate) fn read_config(path: &Path) -> anyhow::Result<Config> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the configuration `{}` cannot be read", path.display()))?;
    Config::parse(&text).map_err(|error| {
        let place = format!("{}:{}:{}: {}", path.display(), error.line(), error.column(), error.message());
        Hinted::new(place, error.hint()).into()
    })
}
