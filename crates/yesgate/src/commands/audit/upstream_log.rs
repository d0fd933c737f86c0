//! Reads the ledger and a server's log for [`crate::joined`].

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use yesgate_ledger::Ledger;

use crate::cli::audit::AuditVerifyArgs;
use crate::joined::{About, Joined, Joiner, LONGEST, Releases};

/// A log, as long as it was at one moment.
pub(super) struct Log {
    file: File,
    length: u64,
    at: Timestamp,
}

/// Opens a log. What is added to it from here on is not read: the ledger may be read before it.
pub(super) fn open(path: &Path, ledger: &Ledger) -> anyhow::Result<Log> {
    let words = || format!("the log `{}` cannot be read", path.display());
    let at = ledger.now();
    let file = File::open(path).with_context(words)?;
    let length = file.metadata().with_context(words)?.len();
    Ok(Log { file, length, at })
}

/// Goes through the ledger, and then through the log.
pub(super) async fn join(ledger: &Ledger, log: Log, args: &AuditVerifyArgs) -> anyhow::Result<Joined> {
    let mut releases = read_releases(ledger).await?;
    let server = args.server.clone().or_else(|| releases.only_server().map(str::to_owned));
    // With a name there is one server to judge; without one, the lines say which.
    if let Some(server) = &args.server {
        releases.keep_only(&BTreeSet::from([server.clone()]));
    }
    let about =
        About { server, free: args.free.iter().cloned().collect(), skew: args.skew, since: args.since };
    let mut joiner = Joiner::new(about, releases);
    let mut reader = BufReader::new(log.file.take(log.length));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        read_line(&mut reader, &mut line)?;
        if line.is_empty() {
            break;
        }
        joiner.read(number, &line);
    }
    Ok(joiner.finish(log.at))
}

/// Reads one line; of one that is too long, a byte more than it may have.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<()> {
    reader.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', line)?;
    if line.len() > LONGEST && line.last() != Some(&b'\n') {
        reader.skip_until(b'\n')?;
    }
    Ok(())
}

/// Reads the trail row by row, and what each released call was called with.
async fn read_releases(ledger: &Ledger) -> anyhow::Result<Releases> {
    let mut releases = Releases::default();
    let mut next = 1;
    loop {
        let rows = ledger.audit(next, ROWS_AT_ONCE).await?;
        let Some(last) = rows.last() else { break };
        next = last.sequence.saturating_add(1);
        for row in &rows {
            // A row that cannot be read is the chain's own problem, and reported there.
            if let Ok(entry) = row.entry() {
                releases.follow(&entry);
            }
        }
    }
    for id in releases.redeemed() {
        let intent = ledger.intent(&id).await?;
        let kept = intent.as_ref().filter(|intent| intent.purged_at().is_none());
        releases.called_with(&id, kept.map(|intent| &intent.question().binding.arguments));
    }
    Ok(releases)
}

const ROWS_AT_ONCE: u32 = 1000;
