//! How dangerous a tool is, and how we know.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The risk of a tool; a later variant is riskier.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Changes nothing.
    ReadOnly,
    /// Changes something that can be changed back; runs in execute mode without asking.
    SafeWrite,
    /// Runs only after a human's yes.
    Dangerous,
}

impl Class {
    /// Every class, the least risky first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::SafeWrite, Self::Dangerous];

    /// The word used in configuration, tables and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::SafeWrite => "safe-write",
            Self::Dangerous => "dangerous",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a class came from; the first source that speaks wins.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassSource {
    /// A rule of the operator names it.
    Rule(String),
    /// A human reviewed this very definition.
    Pin,
    /// Another definition of this tool was accepted: the tool changed since.
    StalePin,
    /// The tool came after its server was first used, and nobody has accepted it.
    NewTool,
    /// The server's own annotation, which we had reason to believe.
    Annotation,
    /// The server says it only reads, its name says otherwise.
    Contradiction(String),
    /// Nothing vouches for it.
    Unknown,
}

impl fmt::Display for ClassSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(name) => write!(f, "rule {name}"),
            Self::Pin => f.write_str("reviewed"),
            Self::StalePin => f.write_str("changed, not accepted yet"),
            Self::NewTool => f.write_str("new, not accepted yet"),
            Self::Annotation => f.write_str("annotation"),
            Self::Contradiction(word) => write!(f, "says read-only, named `{word}`"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// A class together with its source.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Classified {
    /// How dangerous.
    pub class: Class,
    /// How we know.
    pub source: ClassSource,
}

/// How far the operator believes what a server says of its own tools.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trust {
    /// Annotations may only raise the risk.
    None,
    /// `readOnlyHint: true` counts: a person wrapped this server by hand.
    ReadOnlyHint,
    /// All annotations count: the operator wrote `trusted = true`.
    Full,
}
