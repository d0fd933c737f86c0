//! A file of checkpoints: a line for each, only ever added to.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::render::Sanitized;
use yesgate_proof::checkpoint::SignedCheckpoint;
use yesgate_proof::receipt::ReceiptPublicKey;

/// Adds a line, and waits until it is on the disk.
pub(crate) fn append(path: &Path, line: &str) -> anyhow::Result<()> {
    let cannot = || format!("the checkpoint cannot be written to `{}`", path.display());
    let is_new = !path.exists();
    let mut file =
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).with_context(cannot)?;
    file.write_all(format!("{line}\n").as_bytes()).with_context(cannot)?;
    file.sync_all().with_context(cannot)?;
    if is_new && let Some(folder) = path.parent() {
        // The name of a new file is on the disk when its folder is.
        File::open(folder).and_then(|folder| folder.sync_all()).with_context(cannot)?;
    }
    Ok(())
}

/// What a file of checkpoints says: those that this key signed, and what is wrong with the others.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) problems: Vec<String>,
}

/// Reads files of checkpoints. One that this key did not sign is none.
pub(crate) fn read(paths: &[impl AsRef<Path>], key: &ReceiptPublicKey) -> anyhow::Result<Read> {
    let mut read = Read::default();
    for path in paths.iter().map(AsRef::as_ref) {
        let cannot = || format!("the checkpoints in `{}` cannot be read", path.display());
        let mut file = BufReader::new(File::open(path).with_context(cannot)?);
        for number in 1_u64.. {
            let mut line = Vec::new();
            file.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line).with_context(cannot)?;
            if line.is_empty() {
                break;
            }
            if line.last() != Some(&b'\n') {
                file.skip_until(b'\n').with_context(cannot)?;
            }
            match SignedCheckpoint::verify(&String::from_utf8_lossy(&line), key) {
                Ok(checkpoint) => read.checkpoints.push(checkpoint),
                Err(error) => {
                    let name = path.display().to_string();
                    read.problems.push(format!("line {number} of {}: {error}", Sanitized::line(&name)));
                }
            }
        }
    }
    Ok(read)
}

/// No line is longer.
const LONGEST: u64 = 4096;
