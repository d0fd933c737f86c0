//! The words of `yesgate audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check the chain from the first row to the last
    ///
    /// With a server's own log of the calls that it received, also whether each of them was released once, after a yes, and
    /// before it arrived. With checkpoints that were kept elsewhere, also whether the trail was cut off or written anew.
    /// Ends with 5 where anything does not fit.
    Verify(AuditVerifyArgs),
    /// Sign where the trail ends now, to be kept elsewhere
    ///
    /// Prints one line of JSON, or adds it to a file. `audit verify --checkpoints FILE` holds the trail against it later.
    Checkpoint(AuditCheckpointArgs),
    /// Write old rows to a file, one line of JSON each
    ///
    /// Nothing is taken out by that: `audit prune` does it, and wants the file.
    Export(AuditExportArgs),
    /// Take old rows out of the ledger, after they were exported
    ///
    /// The trail then begins with a signed checkpoint, so that the rest is still proven; `audit verify --with FILE` proves
    /// both together. What people set up, questions that are not settled, and that a call ran once stay known.
    Prune(AuditPruneArgs),
    /// List the rows
    List(AuditListArgs),
}

#[derive(Args, Debug)]
pub(crate) struct AuditVerifyArgs {
    /// Compare with checkpoints that were kept in this file; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoints: Vec<PathBuf>,
    /// Begin with the rows that were exported to this file; may be given several times, the oldest first
    #[arg(long, value_name = "FILE")]
    pub(crate) with: Vec<PathBuf>,
    /// Tell on stderr how far it has got, also where that is no terminal
    #[arg(long)]
    pub(crate) progress: bool,
    /// Compare with this log of a server: JSON lines with `at`, `id`, `tool` and `arguments`
    #[arg(long, value_name = "FILE")]
    pub(crate) upstream_log: Option<PathBuf>,
    /// Whose log it is, where its lines have no `server`
    #[arg(long, value_name = "NAME", requires = "upstream_log")]
    pub(crate) server: Option<String>,
    /// A tool that needs no yes; may be given several times
    #[arg(long, value_name = "TOOL", requires = "upstream_log")]
    pub(crate) free: Vec<String>,
    /// When the log begins: earlier calls and releases are left out
    #[arg(long, value_name = "MOMENT", requires = "upstream_log")]
    pub(crate) since: Option<Timestamp>,
    /// How far the server's clock may be behind the ledger's
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "upstream_log")]
    pub(crate) skew: SignedDuration,
}

#[derive(Args, Debug)]
pub(crate) struct AuditCheckpointArgs {
    /// Add it to this file instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

/// How old rows must be.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct OldArgs {
    /// Rows from before this moment or day, such as 2025-01-01
    #[arg(long, value_name = "DATE")]
    pub(crate) before: Option<String>,
    /// Rows that are older than this, such as 90d or 2y
    #[arg(long, value_name = "TIME")]
    pub(crate) older: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct AuditExportArgs {
    #[command(flatten)]
    pub(crate) old: OldArgs,
    /// The file, which must not be there yet
    pub(crate) file: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct AuditPruneArgs {
    #[command(flatten)]
    pub(crate) old: OldArgs,
    /// The file that they were exported to
    #[arg(long, value_name = "FILE")]
    pub(crate) exported: PathBuf,
    /// Do it: without this, only what would be done is said
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AuditListArgs {
    /// How many of the last rows
    #[arg(long, default_value_t = 50)]
    pub(crate) last: u32,
}
