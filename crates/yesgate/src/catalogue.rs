//! What the wrapped servers last said of their tools, so that `yesgate tools` need not start them.
//!
//! A convenience, not a source of truth: classes that count live in the ledger.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use yesgate_core::id::ServerName;
use yesgate_gateway::book::ToolsObserver;

use crate::home::Home;

/// One server as it was last seen.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Seen {
    pub(crate) server: ServerName,
    pub(crate) command: Vec<String>,
    pub(crate) untrusted: bool,
    pub(crate) tools: Vec<Box<RawValue>>,
}

/// Writes down what one server says.
#[derive(Debug)]
pub(crate) struct Writer {
    folder: PathBuf,
    server: ServerName,
    command: Vec<String>,
    untrusted: bool,
}

impl Writer {
    pub(crate) fn new(home: &Home, server: &ServerName, command: &[OsString], untrusted: bool) -> Self {
        Self {
            folder: home.catalogue(),
            server: server.clone(),
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            untrusted,
        }
    }

    fn write(&self, tools: &[Box<RawValue>]) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let seen = Seen {
            server: self.server.clone(),
            command: self.command.clone(),
            untrusted: self.untrusted,
            tools: tools.to_vec(),
        };
        // Several processes may write at once: each writes its own file and puts it in place whole.
        let draft = self.folder.join(format!("{}.{}.draft", self.server, std::process::id()));
        fs::write(&draft, serde_json::to_vec_pretty(&seen)?)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))?;
        fs::rename(draft, self.folder.join(format!("{}.json", self.server)))
    }
}

impl ToolsObserver for Writer {
    fn tools_seen(&self, tools: &[Box<RawValue>]) {
        if let Err(error) = self.write(tools) {
            tracing::warn!(%error, "what the server offers could not be noted: {error}");
        }
    }
}

/// Every server that was seen, by name.
pub(crate) fn all(home: &Home) -> anyhow::Result<Vec<Seen>> {
    let entries = match fs::read_dir(home.catalogue()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut servers = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            servers.push(serde_json::from_slice::<Seen>(&fs::read(path)?)?);
        }
    }
    servers.sort_by(|one, other| one.server.cmp(&other.server));
    Ok(servers)
}
