//! The key that seals what is kept: a file of the operator's account, or a variable of the environment.
//!
//! INVARIANT: a key that other accounts could have read or written is refused, never repaired: what was
//! sealed under it may be open already, and that is for a person to know.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::aead::{CHACHA20_POLY1305, LessSafeKey, UnboundKey};
use yesgate_core::clock::Entropy;

/// The key that seals what is kept. Prints nothing.
#[derive(Clone)]
pub struct SecretKey(Arc<LessSafeKey>);

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
        match given {
            Some(digits) => Self::from_bytes(from_hex(digits.trim()).ok_or(KeyError::NotHex)?),
            None => Self::from_bytes(from_file(&home.join("secret.key"), entropy)?),
        }
    }

    fn from_bytes(bytes: [u8; 32]) -> Result<Self, KeyError> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| KeyError::NotHex)?;
        Ok(Self(Arc::new(LessSafeKey::new(key))))
    }

    pub(super) fn cipher(&self) -> &LessSafeKey {
        &self.0
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

fn from_file(path: &Path, entropy: &dyn Entropy) -> Result<[u8; 32], KeyError> {
    let failed = |error: std::io::Error| KeyError::File { path: path.into(), problem: error.to_string() };
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make(path, entropy.draw().map_err(|_| KeyError::NoEntropy)?).map_err(failed)?;
            open(path).map_err(failed)?
        }
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
    <[u8; 32]>::try_from(bytes).map_err(|_| KeyError::NotAKey(path.into()))
}

/// Opens a file for reading, and nothing that only points to one; a pipe does not make us wait.
fn open(path: &Path) -> std::io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Makes the file whole or not at all: of two processes that do it at once, both use the first one's key.
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
