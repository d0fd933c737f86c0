//! What the gateway's own tools are called at a server (I3): `approve_payment` says more than
//! `yesgate_approve` where payments are approved.

use std::collections::BTreeMap;

use super::reader::{Entry, shown};
use super::{ConfigError, OWN_TOOL_KEYS, Policy};
use crate::id::{ServerName, ToolName};

/// The names of the tools that complete a held call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OwnNames {
    /// Runs a held call after the user agreed.
    pub approve: String,
    /// Takes a held call back.
    pub reject: String,
    /// Looks a held call up.
    pub status: String,
    /// Sets the caller's mode; `None`: that is not what the caller needs.
    pub set_mode: Option<String>,
}

impl Default for OwnNames {
    fn default() -> Self {
        Self {
            approve: "yesgate_approve".into(),
            reject: "yesgate_reject".into(),
            status: "yesgate_status".into(),
            set_mode: Some("yesgate_set_mode".into()),
        }
    }
}

impl Policy {
    /// What the completing tools are called at a server; `None`: as everywhere.
    pub fn chosen_names(&self, server: &ServerName) -> Option<&OwnNames> {
        self.names.get(server)
    }

    /// What the completing tools are called at a server.
    pub fn own_names(&self, server: &ServerName) -> OwnNames {
        let chosen = self.chosen_names(server).cloned().unwrap_or_default();
        // Where nobody is asked there is no tool to raise a mode with.
        OwnNames { set_mode: chosen.set_mode.filter(|_| self.asks()), ..chosen }
    }
}

/// Reads `[own_tools.SERVER]`.
pub(super) fn parse_all(entry: &Entry<'_>) -> Result<BTreeMap<ServerName, OwnNames>, ConfigError> {
    let mut all = BTreeMap::new();
    for table in entry.named_entries()? {
        let server = table.name().parse().map_err(|_| {
            table.error(format!(
                "`{}` is not a server name (1 to 128 of `A-Z a-z 0-9 _ . -`)",
                shown(table.name())
            ))
        })?;
        let section = table.section(&OWN_TOOL_KEYS)?;
        let usual = OwnNames::default();
        let name = |key, usual: String| match section.entry(key) {
            None => Ok(usual),
            Some(entry) => {
                let text = entry.text()?;
                let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                match text.parse::<ToolName>() {
                    Ok(name) if plain => Ok(name.to_string()),
                    Ok(_) | Err(_) => {
                        Err(entry.error(format!("`{}` cannot be the name of a tool", shown(text))))
                    }
                }
            }
        };
        let names = OwnNames {
            approve: name("approve", usual.approve)?,
            reject: name("reject", usual.reject)?,
            status: name("status", usual.status)?,
            // Modes are the gateway's own matter, and of no server.
            set_mode: usual.set_mode,
        };
        if names.approve == names.reject || names.approve == names.status || names.reject == names.status {
            return Err(table.error("two of these tools have the same name"));
        }
        all.insert(server, names);
    }
    Ok(all)
}
