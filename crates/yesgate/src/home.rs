//! Where things live. Never in the working directory: an agent may write there.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use etcetera::BaseStrategy as _;
use yesgate::{KeySource, secret_key};
use yesgate_gateway::child::SECRET_KEY_VARIABLE;
use yesgate_ledger::{KeyError, SecretKey};
use yesgate_proof::receipt::ReceiptKey;

use crate::output::Hinted;

/// The folder that holds the ledger.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// The folder that was named, or the platform's data directory.
    pub(crate) fn find(named: Option<PathBuf>) -> anyhow::Result<Self> {
        match named {
            Some(path) => Ok(Self(std::path::absolute(path)?)),
            None => {
                let base = etcetera::choose_base_strategy().context("this account has no home directory")?;
                Ok(Self(base.data_dir().join("yesgate")))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.join("ledger.db")
    }

    /// The key that everything is sealed under, and where it was found.
    pub(crate) fn key(&self) -> anyhow::Result<(SecretKey, KeySource)> {
        secret_key(&self.0, &self.ledger()).map_err(|error| {
            let hint = match &error {
                KeyError::Missing(_) => RIGHT_KEY,
                KeyError::NotHex
                | KeyError::NotAKey(_)
                | KeyError::Open(_)
                | KeyError::NotOwned(_)
                | KeyError::File { .. }
                | KeyError::Ledger(_)
                | KeyError::NoEntropy => "look at `secret.key` in the home folder and at YESGATE_SECRET_KEY",
            };
            Hinted::new(error.to_string(), Some(hint)).into()
        })
    }

    /// What the receipts of this installation are signed with.
    pub(crate) fn receipt_key(&self) -> anyhow::Result<ReceiptKey> {
        let (key, _) = self.key()?;
        Ok(ReceiptKey::derive(&key.derive(RECEIPTS))?)
    }

    /// Whether there is a key already, or one is given: none is made.
    pub(crate) fn has_key(&self) -> bool {
        std::env::var_os(SECRET_KEY_VARIABLE).is_some() || self.0.join("secret.key").exists()
    }

    pub(crate) fn catalogue(&self) -> PathBuf {
        self.0.join("servers")
    }
}

/// What the key that signs receipts is derived for.
const RECEIPTS: &str = "yesgate/receipts/1";

/// What to do where the key at hand does not fit.
pub(crate) const RIGHT_KEY: &str = "bring back the key that the ledger was made with: `secret.key` in the home folder, or \
                         YESGATE_SECRET_KEY as the gateway has it; nothing else opens it";

/// The configuration file: the one that was named, else the user's, else the system's.
pub(crate) fn find_config(named: Option<PathBuf>) -> Option<PathBuf> {
    if named.is_some() {
        return named;
    }
    let user =
        etcetera::choose_base_strategy().ok().map(|base| base.config_dir().join("yesgate/yesgate.toml"));
    let system = PathBuf::from("/etc/yesgate/yesgate.toml");
    user.into_iter().chain([system]).find(|path| path.exists())
}
