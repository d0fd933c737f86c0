//! Telling living gateways from dead ones: each holds a lock on a file of its own.
//!
//! The operating system lets go of the lock when the process ends, however it ends. So whoever can
//! take the lock of a boot knows that the boot is over, and no clock or process number is trusted.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use yesgate_core::id::BootId;

use crate::error::LedgerError;

/// The directory of boots beside a ledger.
#[derive(Clone, Debug)]
pub(crate) struct Boots {
    directory: PathBuf,
}

/// The living boot of this process, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Alive {
    // Held for its lock alone.
    _lock: File,
    path: PathBuf,
}

/// The right to set up the ledger, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Gate {
    // Held for its lock alone.
    _lock: File,
}

impl Boots {
    /// Makes the directory beside the ledger, for its owner only.
    pub(crate) fn beside(ledger: &Path) -> Result<Self, LedgerError> {
        let mut name = ledger.file_name().unwrap_or_default().to_owned();
        name.push(".boots");
        let directory = ledger.with_file_name(name);
        make_private_directory(&directory)
            .map_err(LedgerError::file("cannot make the directory of boots"))?;
        Ok(Self { directory })
    }

    /// Lets one process at a time set up the ledger.
    pub(crate) fn gate(&self) -> Result<Gate, LedgerError> {
        let lock = create(&self.directory.join("opening"))
            .map_err(LedgerError::file("cannot lock the directory of boots"))?;
        let patience = Instant::now() + GATE_PATIENCE;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Gate { _lock: lock }),
                Err(TryLockError::WouldBlock) if Instant::now() < patience => thread::sleep(GATE_PAUSE),
                Err(TryLockError::WouldBlock) => return Err(LedgerError::Busy),
                Err(TryLockError::Error(error)) => {
                    return Err(LedgerError::file("cannot lock the directory of boots")(error));
                }
            }
        }
    }

    /// Declares this process alive.
    pub(crate) fn register(&self, boot: &BootId) -> Result<Alive, LedgerError> {
        let path = self.path(boot);
        if path.exists() {
            return Err(LedgerError::BootInUse);
        }
        // Locked under another name first: nobody may find the file before it is locked.
        let new = self.directory.join(format!("{boot}.new"));
        let register = || {
            let lock = create(&new)?;
            lock.try_lock()?;
            fs::rename(&new, &path)?;
            Ok(lock)
        };
        match register() {
            Ok(lock) => Ok(Alive { _lock: lock, path }),
            Err(error) => Err(LedgerError::file("cannot lock the boot file")(error)),
        }
    }

    /// Says whether a boot is over. One without a file is: it has one for as long as it lives.
    pub(crate) fn is_over(&self, boot: &BootId) -> Result<bool, LedgerError> {
        match OpenOptions::new().write(true).open(self.path(boot)) {
            Ok(file) => match file.try_lock() {
                Ok(()) => Ok(true),
                Err(TryLockError::WouldBlock) => Ok(false),
                Err(TryLockError::Error(error)) => {
                    Err(LedgerError::file("cannot look at a boot file")(error))
                }
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(LedgerError::file("cannot look at a boot file")(error)),
        }
    }

    /// Removes the files of boots that are over. To be called when nothing runs under them any more.
    pub(crate) fn forget_those_over(&self) -> Result<(), LedgerError> {
        let listing = LedgerError::file("cannot list the directory of boots");
        let entries = fs::read_dir(&self.directory).map_err(listing)?;
        for name in entries.flatten().map(|entry| entry.file_name()) {
            if let Some(boot) = name.to_str().and_then(|name| name.parse().ok())
                && self.is_over(&boot)?
            {
                forget(&self.path(&boot));
            }
        }
        Ok(())
    }

    fn path(&self, boot: &BootId) -> PathBuf {
        self.directory.join(boot.as_str())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        forget(&self.path);
    }
}

/// Makes a directory that only its owner can enter. One that exists is left as it is.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file that cannot be removed is only clutter: its lock is what counts.
fn forget(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "a boot file could not be removed");
    }
}

/// How long another process may take to set up the ledger.
const GATE_PATIENCE: Duration = Duration::from_secs(10);
const GATE_PAUSE: Duration = Duration::from_millis(10);
