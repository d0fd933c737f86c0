//! Other proxies that stand between a host and a stdio server, where they are installed.
//!
//! They come from a public registry into `target/peers-bench`; README.md says how. Nothing of them is kept here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::subject::Subject;

/// One other proxy.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its name and version.
    pub(crate) title: String,
    python: PathBuf,
    kind: Kind,
}

/// The proxies that we know how to start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// The proxy of the FastMCP framework: it looks at messages, and gates nothing.
    FastMcp,
    /// A gate in Python, with its checks at their defaults and no limit on the rate of calls.
    McpFirewall,
}

/// Finds the peers that are installed.
pub(crate) fn installed(subject: &Subject) -> Result<Vec<Peer>> {
    let python = subject.target().join("peers-bench/bin/python");
    if !python.exists() {
        return Ok(Vec::new());
    }
    let mut peers = Vec::new();
    for (kind, package) in [(Kind::FastMcp, "fastmcp"), (Kind::McpFirewall, "mcp-firewall")] {
        let program = format!("import importlib.metadata as m; print(m.version('{package}'))");
        let output = Command::new(&python).arg("-c").arg(program).output().context("python did not start")?;
        if output.status.success() {
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            peers.push(Peer { title: format!("{package} {version}"), python: python.clone(), kind });
        }
    }
    if peers.is_empty() {
        bail!("`{}` is there, but none of the peers is", python.display());
    }
    Ok(peers)
}

impl Peer {
    /// The server behind this proxy; what the proxy writes, it writes into `folder`.
    pub(crate) fn command(&self, subject: &Subject, folder: &Path, dangerous_tools: usize) -> Command {
        let mut command = Command::new(&self.python);
        match self.kind {
            Kind::FastMcp => {
                command.arg("-c").arg(FAST_MCP);
            }
            Kind::McpFirewall => {
                let config = folder.join("mcp-firewall.yaml");
                // Where it cannot be written, the peer says so itself when it is started.
                fs::write(&config, MCP_FIREWALL).ok();
                command.args(["-m", "mcp_firewall", "wrap", "--config"]).arg(config).arg("--");
            }
        }
        command.args(subject.server(dangerous_tools));
        // Both greet people on stderr.
        command.current_dir(folder).stderr(Stdio::null());
        command
    }
}

const FAST_MCP: &str = "
import sys
from fastmcp.client.transports import StdioTransport
from fastmcp.server.server import create_proxy
create_proxy(StdioTransport(sys.argv[1], sys.argv[2:])).run(show_banner=False)
";

const MCP_FIREWALL: &str = "\
defaultAction: allow
globalRateLimit: { enabled: false }
";
