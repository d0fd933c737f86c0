//! The ways to the servers: straight, through a plain HTTP proxy, and through the gate.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::client::{Endpoint, Era};
use super::process::{Running, free_address, on_path};
use crate::server::READ_TOOL;
use crate::subject::Subject;

/// Everything that listens.
#[derive(Debug)]
pub(crate) struct Scene {
    gate: Running,
    /// A plain proxy, where one is installed.
    nginx: Option<Running>,
    /// The two servers.
    lean: Running,
    sdk: Running,
    folder: TempDir,
}

/// A server behind the ways.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Server {
    /// The one that does as little as it can.
    Lean,
    /// The one made with the Rust SDK.
    Sdk,
}

impl Server {
    const fn name(self) -> &'static str {
        match self {
            Self::Lean => "lean",
            Self::Sdk => "sdk",
        }
    }
}

/// One way to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Way {
    /// Straight to it.
    Alone,
    /// Through nginx.
    Nginx,
    /// Through the gate, at the endpoint of this server, which is spoken to in the client's era.
    Gate,
    /// Through the gate, where it speaks the other era with the server.
    GateAcrossEras,
    /// Through the gate, at the endpoint that all servers share.
    GateShared,
}

impl Way {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Alone => "server alone",
            Self::Nginx => "nginx",
            Self::Gate => "yesgate serve",
            Self::GateAcrossEras => "yesgate serve, server of the other era",
            Self::GateShared => "yesgate serve, shared endpoint",
        }
    }
}

impl Scene {
    /// Starts the servers, and what stands before them.
    pub(crate) fn set(subject: &Subject) -> Result<Self> {
        let folder = subject.folder()?;
        let lean = Running::server(subject, "web-server")?;
        let sdk = Running::server(subject, "sdk-server")?;
        let nginx = match on_path("nginx") {
            Some(program) => Some(nginx(subject, &program, folder.path(), &lean, &sdk)?),
            None => None,
        };
        let mut servers = String::new();
        for (server, running) in [(Server::Lean, &lean), (Server::Sdk, &sdk)] {
            for era in ["legacy", "modern"] {
                let (name, address) = (server.name(), running.address);
                servers.push_str(&format!(
                    "[servers.{name}-{era}]\nurl = \"http://{address}/mcp\"\ntrusted = true\nera = \"{era}\"\n"
                ));
            }
        }
        let gate = gate(subject, folder.path(), &servers).context("starting `yesgate serve`")?;
        Ok(Self { gate, nginx, lean, sdk, folder })
    }

    /// What stands between, where it does.
    pub(crate) fn between(&self, way: Way) -> Option<&Running> {
        match way {
            Way::Alone => None,
            Way::Nginx => self.nginx.as_ref(),
            Way::Gate | Way::GateAcrossEras | Way::GateShared => Some(&self.gate),
        }
    }

    /// Whether there is this way.
    pub(crate) const fn has(&self, way: Way) -> bool {
        match way {
            Way::Nginx => self.nginx.is_some(),
            Way::Alone | Way::Gate | Way::GateAcrossEras | Way::GateShared => true,
        }
    }

    /// Where a client of this era calls the tool.
    pub(crate) fn endpoint(&self, way: Way, server: Server, era: Era) -> Endpoint {
        let running = match server {
            Server::Lean => &self.lean,
            Server::Sdk => &self.sdk,
        };
        let (same, other) = match era {
            Era::Legacy => ("legacy", "modern"),
            Era::Modern => ("modern", "legacy"),
        };
        let name = server.name();
        let address = self.between(way).map_or(running.address, |between| between.address);
        let (path, tool) = match way {
            Way::Alone => ("/mcp".to_owned(), READ_TOOL.to_owned()),
            Way::Nginx => (format!("/{name}"), READ_TOOL.to_owned()),
            Way::Gate => (format!("/mcp/{name}-{same}"), READ_TOOL.to_owned()),
            Way::GateAcrossEras => (format!("/mcp/{name}-{other}"), READ_TOOL.to_owned()),
            Way::GateShared => ("/mcp".to_owned(), format!("{name}-{same}__{READ_TOOL}")),
        };
        Endpoint { address, path, era, tool, authorization: None }
    }

    /// Where a server of ours listens, for peers that stand before it.
    pub(crate) const fn lean(&self) -> &Running {
        &self.lean
    }

    /// A place for files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Starts the gate before servers, with a home of its own below `folder`.
pub(crate) fn gate(subject: &Subject, folder: &Path, servers: &str) -> Result<Running> {
    let address = free_address()?;
    let home = tempfile::tempdir_in(folder)?.keep();
    let config = home.join("yesgate.toml");
    fs::write(&config, format!("[serve]\nlisten = \"{address}\"\n{servers}"))?;
    let command = subject.serving(&home, &config);
    Running::kept(subject, &command, address)
}

fn nginx(subject: &Subject, program: &Path, folder: &Path, lean: &Running, sdk: &Running) -> Result<Running> {
    let address = free_address()?;
    let place = folder.join("nginx");
    fs::create_dir_all(&place)?;
    let config = place.join("nginx.conf");
    fs::write(&config, nginx_config(&place, &address.to_string(), lean, sdk))?;
    let mut command = Command::new(program);
    command.arg("-p").arg(&place).arg("-c").arg(&config).arg("-e").arg("stderr").stderr(Stdio::null());
    Running::kept(subject, &command, address).context("starting nginx")
}

/// A plain reverse proxy: connections kept on both sides, bodies of this size in memory, nothing written down.
fn nginx_config(place: &Path, address: &str, lean: &Running, sdk: &Running) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {}/{kind};\n", place.display()))
        .concat();
    let pools: String = [("lean", lean), ("sdk", sdk)]
        .map(|(name, server)| {
            format!(
                "  upstream {name} {{ server {}; keepalive 64; keepalive_requests 1000000; }}\n",
                server.address
            )
        })
        .concat();
    let places: String = ["lean", "sdk"]
        .map(|name| {
            format!(
                "    location = /{name} {{ proxy_pass http://{name}/mcp; proxy_http_version 1.1; \
                 proxy_set_header Connection \"\"; proxy_set_header Host localhost; }}\n"
            )
        })
        .concat();
    format!(
        "daemon off;\npid {}/pid;\nworker_processes auto;\nevents {{ worker_connections 1024; }}\nhttp {{\n  \
         access_log off;\n  keepalive_requests 1000000;\n  client_body_buffer_size 256k;\n{temporary}{pools}  \
         server {{\n    listen {address};\n{places}  }}\n}}\n",
        place.display()
    )
}
