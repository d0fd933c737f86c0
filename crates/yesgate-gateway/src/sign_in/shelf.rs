//! The place of one sign-in: sealed, under its own name, changed by one process at a time.
//!
//! INVARIANT: what is kept is changed only by the holder of a [`ShelfLock`], so that a rotated refresh token
//! is never overwritten by an older one, whichever process got it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use tokio::time::timeout;
use yesgate_core::clock::{Clock, Entropy};
use yesgate_core::id::ServerName;
use yesgate_ledger::{Ledger, SecretKey};

use super::error::SignInError;
use super::record::{Client, Record};
use super::seal::{Belongs, open, seal};

/// What all sign-ins share: the ledger that keeps them, the key that seals them, a clock and dice.
///
/// The ledger never sees a token in clear.
#[derive(Clone, Debug)]
pub struct Vault {
    ledger: Ledger,
    key: SecretKey,
    locks: PathBuf,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Vault {
    /// A vault whose locks lie in the home folder.
    pub fn new(
        ledger: Ledger,
        key: SecretKey,
        home: &Path,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self { ledger, key, locks: home.join("sign-in"), clock, entropy }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// The place of one sign-in.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    vault: Vault,
    server: ServerName,
    url: String,
}

/// The right to change what is on a shelf.
#[derive(Debug)]
#[must_use = "without it two processes renew the same sign-in at once"]
pub(super) struct ShelfLock(File);

impl Shelf {
    pub(super) fn new(vault: Vault, server: ServerName, url: String) -> Self {
        Self { vault, server, url }
    }

    /// The server that the sign-in is for.
    pub(super) const fn server(&self) -> &ServerName {
        &self.server
    }

    pub(super) fn now(&self) -> Timestamp {
        self.vault.now()
    }

    /// What is kept now.
    pub(super) async fn read(&self) -> Result<Option<Record>, SignInError> {
        let Some(sealed) = self.vault.ledger.kept(&self.name()).await? else { return Ok(None) };
        let text = open(&self.vault.key, self.belongs(), &sealed).ok_or(SignInError::Sealed)?;
        serde_json::from_slice(&text).map(Some).map_err(|_| SignInError::Sealed)
    }

    /// Keeps something else from now on.
    pub(super) async fn write(&self, _lock: &ShelfLock, record: &Record) -> Result<(), SignInError> {
        let text = serde_json::to_vec(record).map_err(|_| UNSEALABLE)?;
        let entropy = self.vault.entropy.draw().map_err(|_| UNSEALABLE)?;
        let issuer = record.issuer().unwrap_or_default();
        let sealed = seal(&self.vault.key, entropy, self.belongs(), issuer, text).ok_or(UNSEALABLE)?;
        Ok(self.vault.ledger.keep(&self.name(), sealed).await?)
    }

    /// Keeps nothing from now on.
    pub(super) async fn clear(&self, _lock: &ShelfLock) -> Result<(), SignInError> {
        Ok(self.vault.ledger.forget(&self.name()).await?)
    }

    /// Waits until nobody else changes what is kept.
    pub(super) async fn lock(&self) -> Result<ShelfLock, SignInError> {
        let (folder, name) = (self.vault.locks.clone(), format!("{}.lock", self.server));
        let taken = tokio::task::spawn_blocking(move || {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            let path = folder.join(name);
            let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
            file.lock()?;
            Ok::<_, std::io::Error>(file)
        });
        match timeout(PATIENCE, taken).await {
            Ok(Ok(Ok(file))) => Ok(ShelfLock(file)),
            Ok(Ok(Err(_)) | Err(_)) => Err(SignInError::Ourselves("the lock of the sign-in cannot be taken")),
            Err(_) => {
                Err(SignInError::Unreachable("another process has been renewing it for too long".into()))
            }
        }
    }

    /// The name under which it is kept: another address is another sign-in.
    fn name(&self) -> String {
        let hash = digest(&SHA256, self.url.as_bytes());
        let hash: String = hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("sign-in/{}/{hash}", self.server)
    }

    fn belongs(&self) -> Belongs<'_> {
        Belongs { server: self.server.as_str(), url: &self.url }
    }
}

impl Drop for ShelfLock {
    fn drop(&mut self) {
        // Closing the file would do; said here because it is what the type is for.
        self.0.unlock().ok();
    }
}

/// The shelf as the OAuth library sees it, while one client signs in or renews under one lock.
pub(super) struct Open {
    pub(super) shelf: Shelf,
    pub(super) lock: Arc<ShelfLock>,
    pub(super) client: Client,
}

#[async_trait]
impl CredentialStore for Open {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.shelf.read().await.map_err(|error| store_failed(&error))?.map(|record| record.credentials))
    }

    async fn save(&self, mut credentials: StoredCredentials) -> Result<(), AuthError> {
        // The library has a clock of its own; what ends when is measured by ours alone.
        if credentials.token_received_at.is_some() {
            credentials.token_received_at = u64::try_from(self.shelf.now().as_second()).ok();
        }
        let before = self.shelf.read().await.ok().flatten();
        let mut wanted = before.map(|record| record.wanted).unwrap_or_default();
        wanted.retain(|scope| !credentials.granted_scopes.contains(scope));
        let record = Record { client: self.client.clone(), credentials, wanted };
        self.shelf.write(&self.lock, &record).await.map_err(|error| store_failed(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.shelf.clear(&self.lock).await.map_err(|error| store_failed(&error))
    }

    /// The grant is over. Who we are and what is wanted stays for the next sign-in.
    async fn on_refresh_token_rejected(&self, used: &StoredCredentials) -> Result<(), AuthError> {
        let over = StoredCredentials::new(used.client_id.clone(), None, Vec::new(), None);
        self.save(over.with_issuer(used.issuer.clone())).await
    }
}

fn store_failed(error: &SignInError) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

const UNSEALABLE: SignInError = SignInError::Ourselves("the sign-in could not be sealed");
/// Longer than one renewal takes at worst.
const PATIENCE: Duration = Duration::from_secs(90);
