//! How well a human was proven when the yes was given.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A level of proof; a later variant proves more. A rule names the least that will do,
/// and what cannot be reached is refused, never downgraded.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// No human at all: the model itself set `__confirm`, or a rule let the call run within a budget.
    Asserted,
    /// The agent says that a human said yes: a chat token, the approve tool.
    Relayed,
    /// The host program asked its user.
    Client,
    /// Somebody with this operating-system account: the command line, a loopback page.
    Local,
    /// A signed-in person, or the command line under another account than the agent's.
    SignedIn,
    /// A passkey or a key signed this very intent.
    Verified,
}

impl Assurance {
    /// Every level, the weakest first.
    pub const ALL: [Self; 6] =
        [Self::Asserted, Self::Relayed, Self::Client, Self::Local, Self::SignedIn, Self::Verified];

    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asserted => "asserted",
            Self::Relayed => "relayed",
            Self::Client => "client",
            Self::Local => "local",
            Self::SignedIn => "signed_in",
            Self::Verified => "verified",
        }
    }

    /// What a yes at this level proves, and what it does not, in one honest sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Asserted => "the model set a flag; it stops mistakes, not a misled model",
            Self::Relayed => "the agent says a human agreed; it stops mistakes, not a misled agent",
            Self::Client => "the host program says its user agreed; a host with hooks can answer by itself",
            Self::Local => {
                "somebody with this account agreed; an agent that has a shell in the same account could too"
            }
            Self::SignedIn => "a signed-in person, or another account on this machine, agreed",
            Self::Verified => "a person's key signed exactly this call",
        }
    }
}

impl fmt::Display for Assurance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
