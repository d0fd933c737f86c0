//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A consent gateway for MCP.
///
/// Reads pass; a dangerous call runs only after a human said yes to exactly that call, and then once.
#[derive(Debug, Parser)]
#[command(name = "yesgate", version, after_help = EXIT_CODES, propagate_version = true)]
pub(crate) struct Cli {
    /// Where the ledger lives [default: the platform's data directory]
    #[arg(long, global = true, env = "YESGATE_HOME", hide_env_values = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The configuration file [default: yesgate.toml in the user's, then the system's configuration directory]
    #[arg(long, global = true, env = "YESGATE_CONFIG", hide_env_values = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done · 1 failed · 2 wrong usage · 3 refused (too late, too weak, not \
allowed) · 4 not found · 5 a check found a problem. `wrap` ends with the server's own exit code.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put the gate in front of an MCP server (this is what goes into the host's configuration)
    Wrap(WrapArgs),
    /// List the questions that wait for an answer
    Pending,
    /// Show one question, whole
    Show(IdArgs),
    /// Say yes to one question
    Approve(ApproveArgs),
    /// Say no to one question
    Deny(DenyArgs),
    /// Settle a call whose answer was lost: did it run?
    Resolve(ResolveArgs),
    /// Show what each tool of a server may do, and which of them ask
    Tools(ToolsArgs),
    /// Check and explain the policy
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Read and verify what was asked, answered and run
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Say what this set-up can and cannot promise
    Doctor,
    /// See it work: a mock server, a scripted agent, and you
    Demo(DemoArgs),
    /// Keeps watch over a server process (used by `wrap`)
    #[command(hide = true)]
    Guard(GuardArgs),
    /// The mock server of the demo
    #[command(hide = true)]
    DemoServer,
    /// Prints the reference of the command line
    #[command(hide = true)]
    MarkdownHelp,
}

#[derive(Args, Debug)]
pub(crate) struct WrapArgs {
    /// The server's name in rules and in the ledger [default: read off the command]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Do not believe the server when it says that a tool only reads
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// The server's command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct IdArgs {
    /// The question: its id, or the first letters of it
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct ApproveArgs {
    /// The question: its id, or the first letters of it
    pub(crate) id: String,
    /// Do not ask back (needed where there is no terminal)
    #[arg(long)]
    pub(crate) yes: bool,
    /// Only if the question's match code is this one
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct DenyArgs {
    /// The question: its id, or the first letters of it
    pub(crate) id: String,
    /// Why, in words that the agent is told
    #[arg(long)]
    pub(crate) reason: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ResolveArgs {
    /// The question: its id, or the first letters of it
    pub(crate) id: String,
    /// It ran
    #[arg(long, required_unless_present = "did_not_run", conflicts_with = "did_not_run")]
    pub(crate) ran: bool,
    /// It did not run
    #[arg(long)]
    pub(crate) did_not_run: bool,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsArgs {
    /// The server [default: every server that was wrapped or configured]
    pub(crate) server: Option<String>,
    /// Ask a server directly: its command
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(subcommand)]
    pub(crate) review: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Go through the suggested classes of a server's tools, and pin what you accept
    Review(ReviewArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ReviewArgs {
    /// The server [default: the only one that was wrapped]
    pub(crate) server: Option<String>,
    /// Accept these classes without asking back: `tool=read-only`, `tool=safe-write`, `tool=dangerous`
    #[arg(long, value_name = "TOOL=CLASS")]
    pub(crate) accept: Vec<String>,
    /// Accept every suggestion that is clear
    #[arg(long)]
    pub(crate) accept_clear: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Load the configuration and say whether it is sound
    Check,
    /// Run the examples of the rules
    Test,
    /// Look for rules that can never match, and the like
    Lint,
    /// Say what would happen to a call, and why
    Explain(ExplainArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// The tool, as `server/tool`
    pub(crate) tool: String,
    /// The arguments, as JSON
    #[arg(long, default_value = "{}")]
    pub(crate) args: String,
    /// What the rule's lookup would find, as JSON
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// The mode of the call
    #[arg(long)]
    pub(crate) mode: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check the chain from the first row to the last
    Verify,
    /// List the rows
    List(AuditListArgs),
}

#[derive(Args, Debug)]
pub(crate) struct AuditListArgs {
    /// How many of the last rows
    #[arg(long, default_value_t = 50)]
    pub(crate) last: u32,
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Play the human's part too
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GuardArgs {
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}
