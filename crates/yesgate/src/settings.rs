//! Everything a command needs: configuration, ledger, the real clock and the real dice.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use yesgate::{SystemClock, SystemEntropy};
use yesgate_core::clock::{Clock as _, Entropy as _};
use yesgate_core::id::BootId;
use yesgate_core::policy::{Config, Template};
use yesgate_gateway::child::SECRET_KEY_VARIABLE;
use yesgate_ledger::{DatabaseAddress, Ledger, LedgerError};

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
        let place = self.place()?;
        let opened = match &place {
            LedgerPlace::File(path) => {
                let (key, _) = self.home.key()?;
                Ledger::open(path, &key, Arc::new(SystemClock), boot.clone()).await
            }
            LedgerPlace::Database(address) => {
                // A key that one node makes by itself, no other node has.
                if !self.home.has_key() {
                    return Err(
                        Hinted::new("there is no key to seal the ledger with", Some(SHARED_KEY)).into()
                    );
                }
                let (key, _) = self.home.key()?;
                Ledger::connect(address, &key, Arc::new(SystemClock), boot.clone()).await
            }
        };
        let ledger = opened.map_err(|error| {
            let hint = match &error {
                LedgerError::WrongKey { .. } => Some(RIGHT_KEY),
                LedgerError::Unreplicated(_) => Some(REPLICATE),
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
                | LedgerError::Unreachable(_)
                | LedgerError::InDoubt(_)
                | LedgerError::Unseen
                | LedgerError::Unmarked
                | LedgerError::Closed => None,
            };
            Hinted::new(format!("the ledger `{place}` cannot be opened: {error}"), hint)
        })?;
        ledger.sweep().await?;
        Ok((ledger, boot))
    }
}

impl Settings {
    /// Where the ledger is.
    pub(crate) fn place(&self) -> anyhow::Result<LedgerPlace> {
        let Some(at) = &self.config.ledger.at else { return Ok(LedgerPlace::File(self.home.ledger())) };
        let address = at.expand(|name| std::env::var(name).ok()).context("the ledger cannot be found")?;
        let address: DatabaseAddress =
            address.expose_secret().parse().context("the ledger cannot be found")?;
        Ok(LedgerPlace::Database(address.with_standby(self.config.ledger.standby)))
    }

    /// The environment of servers that get ours: without what opens the ledger and its database.
    pub(crate) fn environment_of_servers(&self) -> Vec<(OsString, OsString)> {
        let secret: Vec<&str> = self.config.ledger.at.iter().flat_map(Template::variables).collect();
        let is_ours = |name: &OsString| name == SECRET_KEY_VARIABLE || secret.iter().any(|ours| name == ours);
        std::env::vars_os().filter(|(name, _)| !is_ours(name)).collect()
    }
}

/// Where a ledger is. Prints no password.
#[derive(Clone, Debug)]
pub(crate) enum LedgerPlace {
    /// In a file of this account.
    File(PathBuf),
    /// In a database that several nodes share.
    Database(DatabaseAddress),
}

impl fmt::Display for LedgerPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Database(address) => write!(f, "{address}"),
        }
    }
}

const SHARED_KEY: &str = "all nodes of one database need the same key: put 64 hexadecimal digits into YESGATE_SECRET_KEY \
                          of each, such as `openssl rand -hex 32` gives";

const REPLICATE: &str = "`ha = true` in [ledger] says that a standby takes over: let the primary wait for one, with \
                         `synchronous_standby_names` and `synchronous_commit = on`, or leave `ha` out. `yesgate doctor` \
                         tells more";

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
