//! Ask, plan, execute: how much a caller may do at all.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far a call may go; a later variant allows more.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Reads run; writes are explained and refused.
    Ask,
    /// Reads run; writes are previewed where a preview exists, and do not run.
    Plan,
    /// Reads and writes run, dangerous ones after a human's yes.
    Execute,
}

impl Mode {
    /// Every mode, the most careful first.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Plan, Self::Execute];

    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Plan => "plan",
            Self::Execute => "execute",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text is no mode.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a mode is `ask`, `plan` or `execute`")]
pub struct ParseModeError;

impl FromStr for Mode {
    type Err = ParseModeError;

    fn from_str(text: &str) -> Result<Self, ParseModeError> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or(ParseModeError)
    }
}
