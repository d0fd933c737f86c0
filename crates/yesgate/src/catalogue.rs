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
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::DefinitionDigest;
use yesgate_core::id::{ServerName, ToolName};
use yesgate_gateway::book::{ToolsObserver, definition};

use crate::home::Home;

/// One server as it was last seen.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Seen {
    pub(crate) server: ServerName,
    pub(crate) command: Vec<String>,
    pub(crate) untrusted: bool,
    pub(crate) tools: Vec<Box<RawValue>>,
    /// How tools that have changed were described before, the oldest first.
    #[serde(default)]
    pub(crate) earlier: Vec<Box<RawValue>>,
}

impl Seen {
    /// A tool in its server's own words, as it is or was described, where that is still known.
    pub(crate) fn described(&self, digest: DefinitionDigest) -> Option<&RawValue> {
        let mut known = self.tools.iter().chain(&self.earlier);
        known.find(|tool| definition(tool).is_ok_and(|known| known.digest == digest)).map(AsRef::as_ref)
    }
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
            earlier: self.earlier(tools),
        };
        // Several processes may write at once: each writes its own file and puts it in place whole.
        let draft = self.folder.join(format!("{}.{}.draft", self.server, std::process::id()));
        fs::write(&draft, serde_json::to_vec_pretty(&seen)?)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))?;
        fs::rename(draft, self.path())
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.server))
    }

    /// What was known until now of tools that are still there and described differently. What cannot be read is not
    /// missed: it only shows people what has changed.
    fn earlier(&self, tools: &[Box<RawValue>]) -> Vec<Box<RawValue>> {
        let before = fs::read(self.path()).ok().and_then(|file| serde_json::from_slice::<Seen>(&file).ok());
        let Some(before) = before else { return Vec::new() };
        let present: Vec<ToolDefinition> = tools.iter().filter_map(|tool| definition(tool).ok()).collect();
        let mut kept: Vec<(ToolDefinition, Box<RawValue>)> = Vec::new();
        for tool in before.earlier.into_iter().chain(before.tools) {
            let Ok(old) = definition(&tool) else { continue };
            let is_there = present.iter().any(|new| new.name == old.name);
            let is_another = present.iter().all(|new| new.digest != old.digest);
            if is_there && is_another {
                kept.retain(|(other, _)| other.digest != old.digest);
                kept.push((old, tool));
            }
        }
        let newer = |index: usize, name: &ToolName| {
            kept.iter().skip(index + 1).filter(|(other, _)| other.name == *name).count()
        };
        let lasting: Vec<bool> =
            kept.iter().enumerate().map(|(index, (old, _))| newer(index, &old.name) < EARLIER).collect();
        kept.into_iter().zip(lasting).filter(|(_, lasts)| *lasts).map(|((_, tool), _)| tool).collect()
    }
}

/// How many earlier descriptions of a tool are kept.
const EARLIER: usize = 4;

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
