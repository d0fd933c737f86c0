//! Pins: the definitions of tools that somebody accepted, or that were there at the first use.
//!
//! INVARIANT: once a server is in use, a tool without a pin is new, and a tool whose definition is
//! not the pinned one is changed. Both are dangerous until a human accepts them (X5).

use std::collections::BTreeMap;

use crate::class::Class;
use crate::digest::DefinitionDigest;
use crate::id::ToolName;

/// One definition of a tool that counts as known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pin {
    /// The definition.
    pub definition: DefinitionDigest,
    /// The class that a human gave it. `None`: accepted as it is, so its server's own words give
    /// the class, as far as they are believed.
    pub class: Option<Class>,
}

/// What is known of one tool of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Known<'a> {
    /// The server has not been used yet, so nothing of it is new.
    FirstUse,
    /// One definition of the tool was accepted; whether it is this one, the digest tells.
    Pinned(&'a Pin),
    /// The server is in use, and the tool came later.
    New,
}

/// What is known of all tools of one server.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pins {
    usage: Usage,
    tools: BTreeMap<ToolName, Pin>,
}

/// Whether the tools of a server were ever written down.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Usage {
    /// They were not: the next list is the first.
    #[default]
    Unused,
    /// They were: what is not pinned came later.
    InUse,
}

impl Pins {
    /// Puts together what is known.
    pub const fn new(usage: Usage, tools: BTreeMap<ToolName, Pin>) -> Self {
        Self { usage, tools }
    }

    /// Whether the tools of the server were ever written down.
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// The pin of a tool, where there is one.
    pub fn get(&self, tool: &ToolName) -> Option<&Pin> {
        self.tools.get(tool)
    }

    /// What is known of a tool.
    pub fn known(&self, tool: &ToolName) -> Known<'_> {
        match (self.tools.get(tool), self.usage) {
            (Some(pin), _) => Known::Pinned(pin),
            (None, Usage::Unused) => Known::FirstUse,
            (None, Usage::InUse) => Known::New,
        }
    }

    /// All pins, by the name of the tool.
    pub fn iter(&self) -> impl Iterator<Item = (&ToolName, &Pin)> {
        self.tools.iter()
    }
}
