//! `wrap`: the gate in front of one server, and the inbox of its home. Nothing but JSON-RPC is written to stdout.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use anyhow::Context as _;
use tracing::Level;
use yesgate::SystemEntropy;
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::class::Trust;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::id::{BootId, ServerName};
use yesgate_core::intent::Asker;
use yesgate_core::policy::{self, Config};
use yesgate_core::switch::OperatorSwitch;
use yesgate_gateway::base::Nowhere;
use yesgate_gateway::child::{ChildSpec, guard};
use yesgate_gateway::gate::{Gate, GatedServer, Naming, Patience, Setting, SharedReach};
use yesgate_gateway::metrics::Metrics;
use yesgate_gateway::stdio::host;
use yesgate_gateway::wrap::{Host, wrap};
use yesgate_notice::Link;

use super::marking::Marking;
use super::notices::{Audience, Telling};
use super::pages::local::{Behind, Inbox};
use super::{people, shadow};
use crate::catalogue::Writer;
use crate::cli::WrapArgs;
use crate::output::Done;
use crate::retention::keep_for;
use crate::server_name::server_name;
use crate::settings::Settings;
use crate::telemetry;
use crate::witness::{Witnesses, keep_fresh, reach};

pub(super) async fn run(settings: Settings, args: WrapArgs) -> anyhow::Result<Done> {
    let settings = Arc::new(settings);
    let (_telemetry, _) = telemetry::start(None, Level::WARN)?;
    let Some((program, rest)) = args.command.split_first() else {
        anyhow::bail!("no command was given");
    };
    let name = server_name(args.name.as_deref(), &args.command)?;
    let (ledger, boot) = settings.ledger().await?;
    let environment = settings.environment_of_servers();
    let server = GatedServer {
        identity: identity(&args.command, &environment)?,
        trust: trust(&settings.config, &name, args.untrusted),
        name,
    };
    let inbox = if args.no_pages { None } else { inbox(&settings, &boot).await };
    let found = inbox.as_ref().and_then(Inbox::origin);
    let origin = found.clone().unwrap_or_else(|| people::origin(&settings.config.serve));
    let witnesses = Witnesses::of(&settings.home, &ledger, &origin).await?;
    let registry = Arc::clone(&witnesses.registry);
    let strongest = SharedReach::new(reach(&ledger, &registry, REACH).await?);
    let setting = Setting {
        asker: Asker { uid: Some(rustix::process::getuid().as_raw()), boot: Some(boot.clone()) },
        boot,
        switch: OperatorSwitch::parse(std::env::var("MCP_DRY_RUN").ok().as_deref()),
        reach: strongest.clone(),
        naming: Naming::BySelf,
        patience: Patience::default(),
        metrics: Metrics::new(),
        manners: Arc::default(),
        witness: Arc::clone(&registry) as Arc<_>,
        pages: match &inbox {
            Some(inbox) => Arc::new(inbox.office().clone()),
            None => Arc::new(Nowhere),
        },
    };
    let observer = Arc::new(Writer::new(&settings.home, &server.name, &args.command, args.untrusted));
    let policy = Arc::new(settings.config.policy.clone());
    if policy.shadow().covers(&server.name) {
        shadow::shout(&policy);
    }
    let keeping = tokio::spawn(keep_for(settings.config.ledger.keep, ledger.clone()));
    let witnessing = tokio::spawn(keep_fresh(ledger.clone(), registry, strongest.clone(), REACH));
    let notices = &settings.config.notices;
    let link = found.map_or(Link::CommandLine, Link::Pages);
    let telling = Telling::start(notices, Audience::Desktop, &ledger, link, None).await?;
    let marking = Marking::start(&settings, &ledger, &setting.metrics)?;
    let behind =
        Behind { settings: Arc::clone(&settings), ledger: ledger.clone(), strongest, witnesses, origin };
    let serving = inbox.map(|inbox| tokio::spawn(serve_inbox(inbox, behind)));
    let gate =
        Arc::new(Gate::new(server, policy, ledger, setting, Arc::new(SystemEntropy), Some(observer)).await?);
    let spec = ChildSpec {
        program: program.clone(),
        args: rest.to_vec(),
        environment,
        folder: None,
        guard: guard::prefix(&["guard"]).context("this program cannot find itself")?,
    };
    let (input, output) = host::host().context("stdin and stdout cannot be used")?;
    let end = wrap(gate, spec, Host { input, output }, local_caller()?).await;
    for beside in [Some(keeping), Some(witnessing), serving].into_iter().flatten() {
        beside.abort();
    }
    drop(marking);
    telling.stop().await;
    let end = end?;
    if let Some(complaint) = end.complaint {
        eprintln!("Error: {complaint}");
    }
    Ok(Done::Code(end.code))
}

/// Our part in serving the inbox, where it is not switched off. Without it the gate is as good as with it.
async fn inbox(settings: &Settings, boot: &BootId) -> Option<Inbox> {
    let config = &settings.config.pages;
    match config.wrap {
        policy::Inbox::Off => return None,
        policy::Inbox::Served => {}
    }
    match Inbox::join(&settings.home, config, boot).await {
        Ok(inbox) => Some(inbox),
        Err(error) => {
            no_pages(&error);
            None
        }
    }
}

async fn serve_inbox(inbox: Inbox, behind: Behind) {
    let began =
        |origin: &str| eprintln!("yesgate: questions are decided at {origin}/ (`yesgate open` signs you in)");
    if let Err(error) = inbox.serve(behind, began).await {
        no_pages(&error);
    }
}

fn no_pages(error: &dyn std::fmt::Display) {
    eprintln!("yesgate: there are no pages to decide on: {error}. `yesgate pending` lists what waits");
}

/// The strongest yes that can be had over stdio without a key: somebody at the command line, or on a page here. The
/// ledger belongs to the agent's own account, so no other account can be told from a pretended one.
pub(super) const REACH: Assurance = Assurance::Local;

/// What the server is: its command line, the folder, and the environment that it gets from the host.
fn identity(command: &[OsString], environment: &[(OsString, OsString)]) -> anyhow::Result<ServerIdentity> {
    let folder = std::env::current_dir().context("the working directory is gone")?;
    Ok(ServerIdentity::of_command(
        command.iter().map(|word| word.as_bytes()),
        folder.as_os_str().as_bytes(),
        environment.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())),
    ))
}

/// The caller of a stdio session: the account we run under. The client's name follows with its
/// first message.
pub(super) fn local_caller() -> anyhow::Result<Caller> {
    let uid = rustix::process::getuid().as_raw();
    Ok(Caller { org: "local".parse()?, principal: format!("uid-{uid}").parse()?, client: "unknown".parse()? })
}

/// A server that a person wraps by hand is believed when it says that a tool only reads.
pub(super) fn trust(config: &Config, name: &ServerName, untrusted: bool) -> Trust {
    match (untrusted, config.servers.get(name).and_then(|server| server.trusted)) {
        (true, _) | (false, Some(false)) => Trust::None,
        (false, Some(true)) => Trust::Full,
        (false, None) => Trust::ReadOnlyHint,
    }
}
