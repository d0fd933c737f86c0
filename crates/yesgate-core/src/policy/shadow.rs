//! Trying a policy (X8): where it is only tried, it is judged as always, and what it would hold up passes.
//!
//! INVARIANT: only the operator's file says so. Nothing in a call, and nothing that a caller has set, is looked at here.

use std::collections::BTreeSet;
use std::fmt;

use super::profile::Profile;
use super::reader::{Form, Section};
use super::{ConfigError, Policy};
use crate::id::ServerName;

/// Where the policy is only tried.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Shadow {
    /// Nowhere: what it says is done.
    #[default]
    Off,
    /// At every server.
    Everywhere,
    /// At these servers.
    At(BTreeSet<ServerName>),
}

impl Shadow {
    pub(super) fn parse(top: &Section<'_>, profile: Option<Profile>) -> Result<Self, ConfigError> {
        let Some(entry) = top.entry("shadow") else { return Ok(Self::Off) };
        let shadow = match entry.form() {
            Form::List => {
                let mut servers = BTreeSet::new();
                for item in entry.items()? {
                    let server: Result<ServerName, _> = item.text()?.parse();
                    servers.insert(server.map_err(|error| item.error(error.to_string()))?);
                }
                if servers.is_empty() {
                    return Err(entry.error("`shadow` is an empty list").with_hint("write shadow = false"));
                }
                Self::At(servers)
            }
            Form::Single | Form::Table if entry.boolean()? => Self::Everywhere,
            Form::Single | Form::Table => Self::Off,
        };
        match (&shadow, profile) {
            // K4: the two keys have no bypass for tests.
            (Self::Everywhere | Self::At(_), Some(Profile::TwoKey)) => {
                Err(entry.error("the profile `two-key` cannot be tried: nothing fires without both keys"))
            }
            (Self::Off | Self::Everywhere | Self::At(_), _) => Ok(shadow),
        }
    }

    /// Whether the policy is only tried at a server.
    pub fn covers(&self, server: &ServerName) -> bool {
        match self {
            Self::Off => false,
            Self::Everywhere => true,
            Self::At(servers) => servers.contains(server),
        }
    }
}

impl fmt::Display for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("nowhere"),
            Self::Everywhere => f.write_str("every server"),
            Self::At(servers) => {
                let names: Vec<&str> = servers.iter().map(ServerName::as_str).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

impl Policy {
    /// Where it is only tried.
    pub const fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// The same policy, with what it says done.
    #[must_use]
    pub fn in_earnest(&self) -> Self {
        Self { shadow: Shadow::Off, ..self.clone() }
    }
}
