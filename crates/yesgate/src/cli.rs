//! The words of the command line.

pub(crate) mod audit;
pub(crate) mod clients;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use yesgate_core::id::{ClientId, GroupName, KeyName, OrgId, PrincipalId};
use yesgate_core::person::{MailAddress, Role};
use yesgate_proof::receipt::ReceiptPublicKey;

use self::audit::AuditCommand;
use self::clients::{ClientsCommand, DoctorArgs, RevokeAllArgs};

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
    /// Put the gate in front of all configured servers, at one HTTP endpoint
    Serve(ServeArgs),
    /// Open the inbox in the browser, signed in as its owner
    ///
    /// The pages are those that a running `wrap` or `serve` has; where none runs, this command serves them itself until
    /// it is ended with Ctrl-C.
    Open(OpenArgs),
    /// List the questions that wait for an answer
    Pending,
    /// Watch the open questions as a live list, and answer them with single keys
    ///
    /// Where stdout is no terminal, and with --json, it prints one line for each change instead.
    Watch,
    /// Show one question, whole
    Show(IdArgs),
    /// Say yes to one question
    Approve(ApproveArgs),
    /// Say no to one question
    Deny(DenyArgs),
    /// Answer the agent in your own words instead of running the call
    Respond(RespondArgs),
    /// Settle a call whose answer was lost: did it run?
    Resolve(ResolveArgs),
    /// List and revoke the yeses that are remembered
    #[command(subcommand)]
    Grants(GrantsCommand),
    /// Let nothing of one client run, reads included, and withdraw all it has asked
    Freeze(FreezeArgs),
    /// End the freeze of a client, and let it ask again after too many noes
    Thaw(ThawArgs),
    /// Stop everything: no call of anybody runs, reads included, and all open questions are withdrawn
    Panic(PanicArgs),
    /// Show what each tool of a server may do, and which of them ask
    Tools(ToolsArgs),
    /// Say who may sign in and decide on the pages
    #[command(subcommand, visible_alias = "users")]
    People(PeopleCommand),
    /// List and revoke the clients that people have connected to `serve`
    #[command(subcommand)]
    Clients(ClientsCommand),
    /// End everything of one person: signed-in browsers, connected clients, keys, and what they have asked
    RevokeAll(RevokeAllArgs),
    /// Make, list and revoke the keys with which clients say who is calling over HTTP
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Sign the gateway in to a server that wants OAuth, or list the sign-ins
    Connect(ConnectArgs),
    /// Forget the gateway's sign-in to a server
    Disconnect(DisconnectArgs),
    /// Say what was spent in each budget, what is left, and when it is free again
    Budgets,
    /// Check and explain the policy
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Read and verify what was asked, answered and run
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Say how much was asked in the last 30 days, how it was decided, and how fast
    Figures(FiguresArgs),
    /// Print and check signed receipts of questions that are over
    #[command(subcommand)]
    Receipt(ReceiptCommand),
    /// Erase the arguments, previews and results of questions that are over
    ///
    /// That they were asked, how they ended and who decided stays, and so does the audit trail. What is open, runs,
    /// waits for `yesgate resolve` or can still be fetched by the agent is left alone.
    Purge(PurgeArgs),
    /// Say what this set-up can and cannot promise
    ///
    /// With --oauth it goes the way of a client that connects instead, from outside and step by step, and says which step
    /// fails.
    Doctor(DoctorArgs),
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
    /// Prints the description of the REST front
    #[command(hide = true)]
    Openapi,
}

#[derive(Args, Debug)]
pub(crate) struct WrapArgs {
    /// The server's name in rules and in the ledger [default: read off the command]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Do not believe the server when it says that a tool only reads
    #[arg(long)]
    pub(crate) untrusted: bool,
    /// Serve no pages and take over none, whatever the configuration says
    #[arg(long)]
    pub(crate) no_pages: bool,
    /// The server's command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Where to listen [default: `listen` in the configuration, else 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<SocketAddr>,
    /// Serve one client over stdin and stdout instead
    #[arg(long, conflicts_with = "listen")]
    pub(crate) stdio: bool,
    /// With --stdio: only this server, with its names unchanged
    #[arg(long, requires = "stdio", value_name = "SERVER")]
    pub(crate) only: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct OpenArgs {
    /// A question to go to: its id, or the first letters of it [default: the inbox]
    pub(crate) id: Option<String>,
    /// Print the link instead (what happens where there is no display)
    #[arg(long)]
    pub(crate) print: bool,
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
    /// What must be typed, where something must be
    #[arg(long, value_name = "TEXT")]
    pub(crate) typed: Option<String>,
    /// Change the arguments first: to those in FILE, or on stdin with `-`, or in $EDITOR where no file is named
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "", conflicts_with = "remember")]
    pub(crate) edit: Option<String>,
    /// Sign exactly this with an SSH key of yours, for a yes at level `verified`
    #[arg(long, value_name = "KEYFILE", conflicts_with = "edit")]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) remember: RememberArgs,
}

#[derive(Args, Debug)]
#[command(group(clap::ArgGroup::new("limit").args(["uses", "lasting", "until"]).multiple(true)))]
pub(crate) struct RememberArgs {
    /// Say yes to later calls like this one, too: to the same one, to those of a pattern, or to all of the tool
    #[arg(long, value_name = "SCOPE", requires = "limit")]
    pub(crate) remember: Option<RememberedScope>,
    /// With `--remember pattern`: a CEL condition over `args`, such as `args.path.startsWith("/tmp/")`
    #[arg(long, value_name = "CONDITION", requires = "remember")]
    pub(crate) pattern: Option<String>,
    /// Remember it for so many more calls
    #[arg(long, value_name = "N", requires = "remember")]
    pub(crate) uses: Option<u32>,
    /// Remember it for so long: 30m, 8h, 2d
    #[arg(long = "for", value_name = "TIME", requires = "remember")]
    pub(crate) lasting: Option<String>,
    /// Remember it until a day, or a moment, in UTC
    #[arg(long, value_name = "DATE", requires = "remember")]
    pub(crate) until: Option<String>,
}

/// How far a yes is remembered.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum RememberedScope {
    /// The very same call again
    Exact,
    /// Calls whose arguments `--pattern` holds for
    Pattern,
    /// Every call of the tool by this client
    Tool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List the yeses that are remembered, and how much is left of each
    List,
    /// Show one, whole
    Show(GrantArgs),
    /// Take one back; it counts no more from the next call on
    Revoke(GrantArgs),
}

#[derive(Args, Debug)]
pub(crate) struct GrantArgs {
    /// The remembered yes: its id, or the first letters of it
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct DenyArgs {
    /// The question: its id, or the first letters of it
    pub(crate) id: String,
    /// Why, in words that the agent is told
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Also freeze the client that asked: nothing of it runs until `yesgate thaw`
    #[arg(long)]
    pub(crate) suspicious: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RespondArgs {
    /// The question: its id, or the first letters of it
    pub(crate) id: String,
    /// What the agent is told
    pub(crate) text: String,
}

#[derive(Args, Debug)]
pub(crate) struct FreezeArgs {
    /// The client: its name, or ORG/USER/CLIENT where several have that name
    pub(crate) client: String,
    /// Why, in words that the agent is told
    #[arg(long, default_value = NO_REASON)]
    pub(crate) reason: String,
}

#[derive(Args, Debug)]
pub(crate) struct ThawArgs {
    /// The client: its name, or ORG/USER/CLIENT where several have that name
    pub(crate) client: String,
}

#[derive(Args, Debug)]
pub(crate) struct PanicArgs {
    /// Why, in words that agents are told
    #[arg(long, default_value = NO_REASON, conflicts_with = "lift")]
    pub(crate) reason: String,
    /// End the stop; what was withdrawn stays withdrawn
    #[arg(long)]
    pub(crate) lift: bool,
}

/// What agents are told where nobody gave a reason.
const NO_REASON: &str = "they gave no reason";

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
    /// Accept tools that are new or changed, as the server describes them now
    ///
    /// The tools that a server has when it is first used are known. One that comes or changes later counts
    /// as dangerous until it is accepted here (its server's own words then give its class, as far as they are
    /// believed) or gets a class by `tools review`. With neither TOOL nor --all it only lists what waits.
    Accept(AcceptArgs),
}

#[derive(Args, Debug)]
pub(crate) struct AcceptArgs {
    /// The server
    pub(crate) server: String,
    /// The tools to accept
    #[arg(value_name = "TOOL", conflicts_with = "all")]
    pub(crate) tools: Vec<String>,
    /// Accept every tool that is new or changed
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PeopleCommand {
    /// Add somebody, and print the link with which they sign in
    ///
    /// The link goes to stdout and nothing else does. It lets in whoever opens it first, once, within 15 minutes.
    Add(PeopleAddArgs),
    /// List everybody
    List,
    /// Make somebody a new sign-in link; an earlier one counts no more
    Link(PersonArgs),
    /// Change what somebody may do
    Set(PeopleSetArgs),
    /// Remove somebody, and sign them out everywhere
    Remove(PersonArgs),
    /// Sign somebody out of all browsers
    SignOut(PersonArgs),
    /// Enrol the public half of an SSH key (Ed25519) for somebody: with it they say `yesgate approve --sign`
    AddKey(AddKeyArgs),
    /// Revoke all keys of somebody, passkeys too; they enrol new ones after signing in with a link
    ForgetKeys(PersonArgs),
}

#[derive(Args, Debug)]
pub(crate) struct AddKeyArgs {
    /// Their name
    pub(crate) name: PrincipalId,
    /// The public key, such as `id_ed25519.pub`
    pub(crate) file: PathBuf,
    /// What the key is called in lists [default: its fingerprint]
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// Their organisation
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
}

#[derive(Args, Debug)]
pub(crate) struct PersonArgs {
    /// Their name
    pub(crate) name: PrincipalId,
    /// Their organisation
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
}

#[derive(Args, Debug)]
pub(crate) struct PeopleAddArgs {
    /// Their name: the one that the keys of their agents have, so that nobody approves their own calls
    pub(crate) name: PrincipalId,
    /// Their organisation: they see its questions and no others
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
    /// What they may do: `viewer` (look), `approver` (decide) or `owner` (rule)
    #[arg(long, default_value = "approver")]
    pub(crate) role: Role,
    /// A group that rules can name
    #[arg(long = "group", value_name = "GROUP")]
    pub(crate) groups: Vec<GroupName>,
    /// Where mail reaches them
    #[arg(long, visible_alias = "email", value_name = "ADDRESS")]
    pub(crate) mail: Option<MailAddress>,
}

#[derive(Args, Debug)]
pub(crate) struct PeopleSetArgs {
    /// Their name
    pub(crate) name: PrincipalId,
    /// Their organisation
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
    /// What they may do: `viewer` (look), `approver` (decide) or `owner` (rule)
    #[arg(long)]
    pub(crate) role: Option<Role>,
    /// The groups that rules know them by, in place of the earlier ones
    #[arg(long = "group", value_name = "GROUP", conflicts_with = "no_groups")]
    pub(crate) groups: Vec<GroupName>,
    /// In no group any more
    #[arg(long)]
    pub(crate) no_groups: bool,
    /// Where mail reaches them
    #[arg(long, visible_alias = "email", value_name = "ADDRESS", conflicts_with = "no_mail")]
    pub(crate) mail: Option<MailAddress>,
    /// No mail address any more
    #[arg(long)]
    pub(crate) no_mail: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, and print it this once
    ///
    /// The key goes to stdout and nothing else does, so it can be piped to where it is kept; only its hash is
    /// stored. A client sends it with every request: `Authorization: Bearer KEY`.
    Add(KeysAddArgs),
    /// List the keys, never the keys themselves
    List,
    /// Take a key back; it counts no more from the next request on
    Revoke(KeysRevokeArgs),
}

#[derive(Args, Debug)]
pub(crate) struct KeysAddArgs {
    /// The user on whose behalf calls with this key are made
    #[arg(long)]
    pub(crate) user: PrincipalId,
    /// The user's organisation
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
    /// The program that will send it; questions of one program are not answered for another
    #[arg(long, value_name = "NAME", default_value = "key")]
    pub(crate) client: ClientId,
    /// What the key is called in lists [default: the user]
    #[arg(long, value_name = "LABEL")]
    pub(crate) name: Option<KeyName>,
}

#[derive(Args, Debug)]
pub(crate) struct KeysRevokeArgs {
    /// The key's id, `key_…`
    pub(crate) id: String,
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

#[derive(Args, Debug)]
pub(crate) struct FiguresArgs {
    /// Whose
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReceiptCommand {
    /// Print the receipt of a question that is over, signed
    ///
    /// It says who asked for which call, who decided and how it ended, by names, digests and times; no argument stands
    /// in it. It is one line of JSON, the same whenever it is printed.
    Show(IdArgs),
    /// Check a receipt: whether this key signed exactly this, and what it says
    ///
    /// Needs no ledger and no network. Ends with 5 where the receipt was changed or somebody else signed it.
    Verify(ReceiptVerifyArgs),
    /// Print the public key that receipts of this installation are signed with
    Key,
}

#[derive(Args, Debug)]
pub(crate) struct ReceiptVerifyArgs {
    /// The receipt; `-`: stdin
    pub(crate) file: PathBuf,
    /// The public key that is trusted, as `yesgate receipt key` prints it [default: this installation's]
    #[arg(long, value_name = "PUBLIC-KEY")]
    pub(crate) key: Option<ReceiptPublicKey>,
}

#[derive(Args, Debug)]
pub(crate) struct PurgeArgs {
    /// Only those to which nothing has happened for so long: 12h, 30d [default: `keep` in the configuration]
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: Option<String>,
    /// Only say how many there are
    #[arg(long)]
    pub(crate) dry_run: bool,
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

#[derive(Args, Debug)]
pub(crate) struct ConnectArgs {
    /// The server, as it is called in the configuration
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    pub(crate) server: Option<String>,
    /// List the servers that want a sign-in, and how each stands
    #[arg(long)]
    pub(crate) list: bool,
    /// The port on 127.0.0.1 that the browser is sent back to [default: one that is free]
    #[arg(long, conflicts_with = "list")]
    pub(crate) port: Option<u16>,
    /// Read the address that the browser was sent back to from stdin (for a machine without a browser)
    #[arg(long, conflicts_with = "list")]
    pub(crate) paste: bool,
    /// Open the address in the browser of this machine
    #[arg(long, conflicts_with_all = ["list", "paste"])]
    pub(crate) open: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DisconnectArgs {
    /// The server, as it is called in the configuration
    pub(crate) server: String,
}
