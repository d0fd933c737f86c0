//! The file of the ledger: whose it is, and who else can read it.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::boots::make_private_directory;
use crate::error::LedgerError;

/// Makes the file if there is none, takes it from group and others, and returns its one true path:
/// two processes that come by different links must meet at the same boots.
pub(crate) fn prepare(at: &Path) -> Result<PathBuf, LedgerError> {
    if let Some(directory) = at.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        make_private_directory(directory).map_err(LedgerError::file("cannot make the ledger's directory"))?;
    }
    match create(at) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(LedgerError::file("cannot make the ledger")(error)),
    }
    let path = at.canonicalize().map_err(LedgerError::file("cannot find the ledger"))?;
    tighten(&path);
    Ok(path)
}

fn create(at: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(at)?.sync_all()
}

/// Arguments and results stand in the file: they are nobody else's business. SQLite gives its
/// side files the permissions of the main one when it makes them.
#[cfg(unix)]
fn tighten(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;

    let side_file = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    for path in [path.to_owned(), side_file("-wal"), side_file("-shm")] {
        let Ok(found) = fs::metadata(&path) else { continue };
        let mode = found.permissions().mode();
        if mode & 0o077 != 0 {
            match fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o700)) {
                Ok(()) => tracing::warn!("others could read the ledger; they cannot any more"),
                Err(error) => {
                    tracing::warn!(%error, "others can read the ledger, and that cannot be changed")
                }
            }
        }
    }
}

#[cfg(not(unix))]
fn tighten(_path: &Path) {}
