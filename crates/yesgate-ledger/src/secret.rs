//! The key that seals what is kept: a file of the operator's account, or a variable of the environment.
//!
//! Invariants:
//! - A key that other accounts could have read or written is refused, never repaired: what was sealed under
//!   it may be open already, and that is for a person to know.
//! - Each use has a key of its own, derived from this one; none of them tells anything of another. The bytes
//!   themselves never leave this file.
//! - No key is made where a ledger is sealed already: a new one opens nothing, and would only hide that the
//!   old one is lost.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use ring::hmac;
use yesgate_core::clock::Entropy;

use crate::boots::make_private_directory;
use crate::engine::sqlite::contents;
use crate::error::LedgerError;

/// The key that seals what is kept. Prints nothing.
#[derive(Clone)]
pub struct SecretKey(Arc<Whole>);

struct Whole {
    bytes: [u8; 32],
    undivided: LessSafeKey,
}

/// Why there is no key.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum KeyError {
    /// The variable holds no key.
    #[error("the secret key is not 64 hexadecimal digits")]
    NotHex,
    /// The file holds no key.
    #[error("`{}` is not a key of 32 bytes", .0.display())]
    NotAKey(PathBuf),
    /// Other accounts can get at the file.
    #[error("`{}` can be read or changed by other accounts", .0.display())]
    Open(PathBuf),
    /// The file belongs to somebody else.
    #[error("`{}` does not belong to this account", .0.display())]
    NotOwned(PathBuf),
    /// The file cannot be used.
    #[error("`{}`: {problem}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        problem: String,
    },
    /// A ledger is sealed under a key that is gone.
    #[error("`{}` is not there, and the ledger is sealed under it", .0.display())]
    Missing(PathBuf),
    /// Whether the ledger needs a key cannot be found out.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There are no random bytes for a new key.
    #[error("no random bytes could be had for a secret key")]
    NoEntropy,
}

impl SecretKey {
    /// The key that was given as 64 hexadecimal digits, or else the one in `secret.key` in the home
    /// folder, which is made on first use.
    ///
    /// # Errors
    /// When there is none that may be used.
    pub fn load(home: &Path, given: Option<&str>, entropy: &dyn Entropy) -> Result<Self, KeyError> {
        match Self::find(home, given)? {
            Some(key) => Ok(key),
            None => Self::make(home, entropy),
        }
    }

    /// The key for the ledger at a place: like [`Self::load`], but where the ledger is sealed already no
    /// new key is made.
    ///
    /// # Errors
    /// When there is none that may be used, or the one that is needed is gone.
    pub fn for_ledger(
        at: &Path,
        home: &Path,
        given: Option<&str>,
        entropy: &dyn Entropy,
    ) -> Result<Self, KeyError> {
        if let Some(key) = Self::find(home, given)? {
            return Ok(key);
        }
        if !contents::is_sealed(at)? {
            return Self::make(home, entropy);
        }
        // Another process may have made the key, and sealed the ledger, since we looked.
        Self::find(home, given)?.ok_or_else(|| KeyError::Missing(file(home)))
    }

    /// A key for one use alone.
    ///
    /// It is HMAC-SHA-256 of the purpose under this key.
    pub fn derive(&self, purpose: &'static str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0.bytes);
        let mut context = hmac::Context::with_key(&key);
        context.update(b"yesgate/derived-key/1\0");
        context.update(purpose.as_bytes());
        let mut derived = [0; 32];
        derived.copy_from_slice(context.sign().as_ref());
        derived
    }

    /// A short name by which people tell one key from another. It says nothing about the key.
    pub fn name(&self) -> String {
        self.derive("yesgate/name-of-key/1").iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The key as it is. Only for sign-ins, which were sealed before each use had a key of its own.
    pub fn undivided(&self) -> &LessSafeKey {
        &self.0.undivided
    }

    /// A key that nobody else has, and that is gone with the process.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| KeyError::NotHex)?;
        Ok(Self(Arc::new(Whole { bytes, undivided: LessSafeKey::new(key) })))
    }

    /// The key that was given or that the file holds. `None`: there is no file.
    fn find(home: &Path, given: Option<&str>) -> Result<Option<Self>, KeyError> {
        let bytes = match given {
            Some(digits) => Some(from_hex(digits.trim()).ok_or(KeyError::NotHex)?),
            None => from_file(&file(home))?,
        };
        bytes.map(Self::from_bytes).transpose()
    }

    /// Makes the file. Of two processes that do it at once, both use the first one's key.
    fn make(home: &Path, entropy: &dyn Entropy) -> Result<Self, KeyError> {
        let path = file(home);
        let failed =
            |error: std::io::Error| KeyError::File { path: path.clone(), problem: error.to_string() };
        make_private_directory(home).map_err(failed)?;
        make(&path, entropy.draw().map_err(|_| KeyError::NoEntropy)?).map_err(failed)?;
        from_file(&path)?.map_or_else(|| Err(KeyError::Missing(path.clone())), Self::from_bytes)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey([REDACTED])")
    }
}

fn from_hex(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    if pairs.len() != bytes.len() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

fn file(home: &Path) -> PathBuf {
    home.join("secret.key")
}

/// Reads a key that may be used. `None`: there is no such file.
fn from_file(path: &Path) -> Result<Option<[u8; 32]>, KeyError> {
    let failed = |error: std::io::Error| KeyError::File { path: path.into(), problem: error.to_string() };
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(KeyError::NotAKey(path.into()));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyError::NotOwned(path.into()));
    }
    if about.mode() & 0o077 != 0 {
        return Err(KeyError::Open(path.into()));
    }
    let mut bytes = Vec::new();
    // One byte more than a key has, to see that there is no more.
    file.take(33).read_to_end(&mut bytes).map_err(failed)?;
    <[u8; 32]>::try_from(bytes).map(Some).map_err(|_| KeyError::NotAKey(path.into()))
}

/// Opens a file for reading, and nothing that only points to one; a pipe does not make us wait.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Makes the file whole or not at all.
fn make(path: &Path, key: [u8; 32]) -> std::io::Result<()> {
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).and_then(|mut file| {
            file.write_all(&key)?;
            file.sync_all()
        });
    let linked = written.and_then(|()| match std::fs::hard_link(&draft, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    });
    std::fs::remove_file(&draft).ok();
    linked
}

#[cfg(test)]
mod tests;
