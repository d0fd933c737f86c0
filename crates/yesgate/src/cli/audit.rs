//! The words of `yesgate audit`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check the chain from the first row to the last
    ///
    /// With a server's own log of the calls that it received, also whether each of them was released once, after a yes, and
    /// before it arrived. Ends with 5 where anything does not fit.
    Verify(AuditVerifyArgs),
    /// List the rows
    List(AuditListArgs),
}

#[derive(Args, Debug)]
pub(crate) struct AuditVerifyArgs {
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
pub(crate) struct AuditListArgs {
    /// How many of the last rows
    #[arg(long, default_value_t = 50)]
    pub(crate) last: u32,
}
