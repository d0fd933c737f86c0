//! Other gateways that put MCP servers behind HTTP, where they are installed.
//!
//! They come from public registries into `target/peers-bench`; README.md says how. Nothing of them is kept here.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::client::{Crowd, Endpoint, Era, Load};
use super::process::{Running, free_address};
use super::ways::{Scene, Server, Way, gate};
use crate::report::Section;
use crate::server::READ_TOOL;
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

/// The gateways that we know how to start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// The proxy of the FastMCP framework, before the server over HTTP.
    FastMcp,
    /// A gateway in Python with users and a database, before the server over HTTP.
    ContextForge,
    /// A bridge in Python, before a server over stdio.
    McpProxy,
    /// A bridge in TypeScript, before a server over stdio: one for each session.
    Supergateway,
}

impl Kind {
    const ALL: [Self; 4] = [Self::FastMcp, Self::ContextForge, Self::McpProxy, Self::Supergateway];

    /// Its name and version, where it is installed below this folder.
    fn title(self, peers: &Path) -> Option<String> {
        let of_python = |folder: &str, package: &str| {
            let program = format!("import importlib.metadata as m; print(m.version('{package}'))");
            let output =
                Command::new(peers.join(folder).join("bin/python")).arg("-c").arg(program).output().ok()?;
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            output.status.success().then(|| format!("{package} {version}"))
        };
        match self {
            Self::FastMcp => of_python(".", "fastmcp"),
            Self::ContextForge => of_python("contextforge", "mcp-contextforge-gateway"),
            Self::McpProxy => of_python("mcp-proxy", "mcp-proxy"),
            Self::Supergateway => {
                let package = fs::read(peers.join("npm/node_modules/supergateway/package.json")).ok()?;
                let package: serde_json::Value = serde_json::from_slice(&package).ok()?;
                Some(format!("supergateway {}", package.get("version")?.as_str()?))
            }
        }
    }

    /// What it stands before.
    const fn behind(self) -> &'static str {
        match self {
            Self::FastMcp | Self::ContextForge => HTTP,
            Self::McpProxy | Self::Supergateway => STDIO,
        }
    }

    /// How it is started, as its own documentation says, without a log.
    fn command(self, peers: &Path, subject: &Subject, scene: &Scene, port: u16) -> Command {
        let server = subject.server(0);
        let port = port.to_string();
        let mut command;
        match self {
            Self::FastMcp => {
                command = Command::new(peers.join("bin/python"));
                command.arg("-c").arg(FAST_MCP).arg(format!("http://{}/mcp", scene.lean().address)).arg(port);
            }
            Self::ContextForge => {
                command = Command::new(peers.join("contextforge/bin/python"));
                command.arg("-c").arg(CONTEXT_FORGE).args(["start", &port]).arg(scene.folder());
            }
            Self::McpProxy => {
                command = Command::new(peers.join("mcp-proxy/bin/mcp-proxy"));
                command.args(["--log-level", "ERROR", "--port", &port, "--"]).args(server);
            }
            Self::Supergateway => {
                let words: Vec<String> = server.iter().map(|word| word.display().to_string()).collect();
                command = Command::new("node");
                command.arg(peers.join("npm/node_modules/supergateway/dist/index.js"));
                command.args(["--outputTransport", "streamableHttp", "--stateful", "--logLevel", "none"]);
                command.args(["--port", &port, "--stdio", &words.join(" ")]);
            }
        }
        command
    }

    /// Where a client calls the tool, once it listens.
    fn endpoint(self, peers: &Path, scene: &Scene, running: &Running) -> Result<Endpoint> {
        match self {
            Self::FastMcp | Self::McpProxy | Self::Supergateway => Ok(endpoint(running, "/mcp")),
            Self::ContextForge => {
                let mut command = Command::new(peers.join("contextforge/bin/python"));
                command.arg("-c").arg(CONTEXT_FORGE).arg("register").arg(running.address.port().to_string());
                command.arg(scene.folder()).arg(format!("http://{}/mcp", scene.lean().address));
                let said = String::from_utf8(command.output()?.stdout)?;
                let mut words = said.split_whitespace().map(str::to_owned);
                let (Some(path), Some(tool), Some(token)) = (words.next(), words.next(), words.next()) else {
                    bail!("the server could not be made known");
                };
                let authorization = Some(format!("Bearer {token}"));
                Ok(Endpoint { tool, authorization, ..endpoint(running, &path) })
            }
        }
    }
}

const CONTEXT_FORGE: &str = include_str!("contextforge.py");

const FAST_MCP: &str = "
import sys
from fastmcp.server.server import create_proxy
create_proxy(sys.argv[1]).run(
    transport='http', host='127.0.0.1', port=int(sys.argv[2]), show_banner=False, log_level='error')
";

/// Who is measured, how it is reached, and what it showed.
struct Side {
    name: String,
    behind: &'static str,
    endpoint: Endpoint,
    /// Held while it is needed.
    _running: Option<Running>,
    p50: Series,
    rate: Series,
}

impl Side {
    fn new(name: &str, behind: &'static str, endpoint: Endpoint, running: Option<Running>) -> Self {
        let empty = Series::default;
        Self { name: name.to_owned(), behind, endpoint, _running: running, p50: empty(), rate: empty() }
    }
}

pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let mut section = Section {
        title: "Beside other gateways over HTTP",
        how: format!(
            "The small call in the old era, which all of them speak: one at a time over one connection, and over \
             {CONNECTIONS} connections. Over HTTP they stand before the lean server; bridges stand before a server \
             over stdio, and so does a second `yesgate serve`."
        ),
        columns: vec!["gateway", "server behind", "p50", "calls", "`yesgate serve` has times as many"],
        rows: Vec::new(),
        targets: Vec::new(),
    };
    let scene = Scene::set(subject)?;
    let mut sides = sides(subject, &scene)?;
    let runtime = super::runtime()?;
    for side in &mut sides {
        runtime.block_on(warm_up(side)).with_context(|| format!("calling through `{}`", side.name))?;
    }
    for _ in pace.rounds(5, Duration::from_secs(45)) {
        for side in &mut sides {
            eprintln!("a round of `{}` …", side.name);
            runtime.block_on(round(side)).with_context(|| format!("calling through `{}`", side.name))?;
        }
    }
    let rates = |behind: &str| {
        let gate = sides.iter().find(|side| side.behind == behind && side.name == Way::Gate.name());
        gate.map(|gate| gate.rate.clone()).unwrap_or_default()
    };
    for side in &sides {
        section.rows.push(vec![
            side.name.clone(),
            side.behind.to_owned(),
            side.p50.shown(Unit::Micros),
            side.rate.shown(Unit::PerSecond),
            rates(side.behind).times(&side.rate).shown(Unit::Times),
        ]);
    }
    Ok(section)
}

async fn warm_up(side: &Side) -> Result<()> {
    let mut one = Crowd::gather(&side.endpoint, 1).await?;
    one.call(Load { text_bytes: TEXT, calls: 5 }).await?;
    one.leave().await;
    Ok(())
}

/// Sessions are opened anew in each round, and none is left open for long: one of them costs a process with some.
async fn round(side: &mut Side) -> Result<()> {
    let mut one = Crowd::gather(&side.endpoint, 1).await?;
    let (times, _) = one.call(Load { text_bytes: TEXT, calls: 30 }).await?;
    side.p50.push(times.quantile(0.50));
    one.leave().await;
    let mut many = Crowd::gather(&side.endpoint, CONNECTIONS).await?;
    many.call(Load { text_bytes: TEXT, calls: 1 }).await?;
    let (_, time) = many.call(Load { text_bytes: TEXT, calls: 10 }).await?;
    side.rate.push((CONNECTIONS * 10) as f64 / time.as_secs_f64());
    many.leave().await;
    Ok(())
}

fn sides(subject: &Subject, scene: &Scene) -> Result<Vec<Side>> {
    let words: Vec<String> =
        subject.server(0).iter().map(|word| format!("{:?}", word.display().to_string())).collect();
    let servers = format!("[servers.pipe]\ncommand = [{}]\ntrusted = true\n", words.join(", "));
    let over_stdio = gate(subject, scene.folder(), &servers)?;
    let pipe = endpoint(&over_stdio, "/mcp/pipe");
    let mut sides = vec![
        Side::new(Way::Gate.name(), HTTP, scene.endpoint(Way::Gate, Server::Lean, Era::Legacy), None),
        Side::new(Way::Gate.name(), STDIO, pipe, Some(over_stdio)),
    ];
    let peers = subject.target().join("peers-bench");
    for kind in Kind::ALL {
        let Some(title) = kind.title(&peers) else { continue };
        let address = free_address()?;
        let command = kind.command(&peers, subject, scene, address.port());
        let running =
            Running::kept(subject, &command, address).with_context(|| format!("starting {title}"))?;
        let endpoint =
            kind.endpoint(&peers, scene, &running).with_context(|| format!("setting {title} up"))?;
        sides.push(Side::new(&title, kind.behind(), endpoint, Some(running)));
    }
    Ok(sides)
}

fn endpoint(running: &Running, path: &str) -> Endpoint {
    Endpoint {
        address: running.address,
        path: path.to_owned(),
        era: Era::Legacy,
        tool: READ_TOOL.to_owned(),
        authorization: None,
    }
}

const CONNECTIONS: usize = 32;
const TEXT: usize = 100;
const HTTP: &str = "over HTTP";
const STDIO: &str = "over stdio";
