//! Rows of the audit trail in a file: one line of JSON each, with the number, the hash and the exact text.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use yesgate_core::audit::{GENESIS, chain};
use yesgate_core::digest::Digest;
use yesgate_ledger::{AuditRow, Beginning, Ledger, Rows};

/// A line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    sequence: u64,
    hash: Digest,
    body: String,
}

/// Writes the rows from the beginning of the trail up to one into a new file, and waits until it is on the disk. Says how
/// many there were.
pub(super) async fn write(ledger: &Ledger, up_to: u64, path: &Path) -> anyhow::Result<u64> {
    let begins_after = ledger.beginning().await?.map_or(0, |beginning| beginning.sequence);
    let cannot = || format!("`{}` cannot be written", path.display());
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).with_context(cannot)?;
    let mut file = BufWriter::new(file);
    let (mut next, mut count) = (begins_after + 1, 0);
    while next <= up_to {
        let rows = ledger.audit(next, PAGE).await?;
        if rows.is_empty() {
            break;
        }
        for AuditRow { sequence, body, hash } in rows.into_iter().filter(|row| row.sequence <= up_to) {
            serde_json::to_writer(&mut file, &Line { sequence, hash, body })?;
            file.write_all(b"\n").with_context(cannot)?;
            count += 1;
            next = sequence;
        }
        next += 1;
    }
    let file = file.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(cannot)?;
    file.sync_all().with_context(cannot)?;
    Ok(count)
}

/// The rows of some files, one file after the other.
pub(super) fn rows(paths: &[PathBuf]) -> anyhow::Result<Rows> {
    let mut files = Vec::new();
    for path in paths {
        let file = File::open(path).with_context(|| format!("`{}` cannot be read", path.display()))?;
        files.push(BufReader::new(file));
    }
    Ok(Box::new(files.into_iter().flat_map(lines)))
}

/// Looks whether a file has all rows from the beginning of the trail up to one, as the ledger has them.
pub(super) async fn holds(
    ledger: &Ledger,
    beginning: Option<&Beginning>,
    up_to: u64,
    path: &Path,
) -> anyhow::Result<Result<(), String>> {
    let last = ledger.audit(up_to, 1).await?.into_iter().next();
    let Some(last) = last.filter(|row| row.sequence == up_to) else {
        return Ok(Err(format!("row {up_to} is not in the ledger")));
    };
    let begins = [Some((0, GENESIS)), beginning.map(|beginning| (beginning.sequence, beginning.hash))];
    let mut before: Option<(u64, Digest)> = None;
    for row in rows(&[path.to_owned()])? {
        let row = match row {
            Ok(row) => row,
            Err(problem) => return Ok(Err(problem)),
        };
        let follows = |(sequence, hash): (u64, Digest)| {
            row.sequence == sequence + 1 && chain(&hash, row.sequence, &row.body) == row.hash
        };
        let is_right = match before {
            Some(before) => follows(before),
            None => begins.into_iter().flatten().any(follows),
        };
        if !is_right {
            return Ok(Err(format!("row {} does not follow from the one before it", row.sequence)));
        }
        if row.sequence == up_to {
            return Ok(if row.hash == last.hash { Ok(()) } else { Err(OTHER.to_owned()) });
        }
        before = Some((row.sequence, row.hash));
    }
    Ok(Err(format!("it ends before row {up_to}")))
}

fn lines(mut file: BufReader<File>) -> impl Iterator<Item = Result<AuditRow, String>> + Send {
    let mut number = 0_u64;
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        number += 1;
        if let Err(error) = file.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            return Some(Err(format!("line {number}: {error}")));
        }
        if line.is_empty() {
            return None;
        }
        let read = serde_json::from_slice(&line).map_err(|_| format!("line {number} is no row"));
        Some(read.map(|Line { sequence, hash, body }| AuditRow { sequence, body, hash }))
    })
}

const OTHER: &str = "its rows are not those of the ledger";
const PAGE: u32 = 1000;
/// No row is longer.
const LONGEST: u64 = 1 << 20;
