//! `[serve.limits]`: how much there may be at once.
//!
//! INVARIANT: everything is bounded. Zero means none and never "without limit"; one party's part is
//! never more than the whole.

use super::super::error::ConfigError;
use super::super::reader::{Entry, Section};

/// How much there may be at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServeLimits {
    /// Connections.
    pub connections: usize,
    /// Connections from one address.
    pub connections_per_address: usize,
    /// Open event streams.
    pub streams: usize,
    /// Open event streams of one caller.
    pub streams_per_caller: usize,
    /// Sessions of clients that have them.
    pub sessions: usize,
    /// Sessions of one caller.
    pub sessions_per_caller: usize,
    /// The bytes of one request's body.
    pub body: usize,
    /// The bytes of one answer of a server.
    pub answer: usize,
    /// The bytes of all request bodies under way.
    pub bytes: usize,
    /// The bytes of one caller's request bodies under way.
    pub bytes_per_caller: usize,
    /// Server processes.
    pub children: usize,
}

impl ServeLimits {
    pub(super) fn parse(section: &Section<'_>) -> Result<Self, ConfigError> {
        let mut limits = Self::default();
        CONNECTIONS.read(section, &mut limits.connections, &mut limits.connections_per_address)?;
        STREAMS.read(section, &mut limits.streams, &mut limits.streams_per_caller)?;
        SESSIONS.read(section, &mut limits.sessions, &mut limits.sessions_per_caller)?;
        BYTES.read(section, &mut limits.bytes, &mut limits.bytes_per_caller)?;
        for (key, limit) in [("body", &mut limits.body), ("answer", &mut limits.answer)] {
            if let Some(entry) = section.entry(key) {
                *limit = Unit::Bytes.read(&entry, Zero::Useless)?;
            }
        }
        if let Some(entry) = section.entry("children") {
            limits.children = Unit::Things.read(&entry, Zero::None)?;
        }
        if limits.body > limits.bytes_per_caller {
            let culprit =
                ["bytes_per_caller", "bytes", "body"].into_iter().find_map(|key| section.entry(key));
            let words = "a body as large as `body` would never fit into `bytes_per_caller`";
            return Err(culprit
                .map_or_else(|| section.error(words), |entry| entry.error(words))
                .with_hint("lower `body`, or raise `bytes` and `bytes_per_caller`"));
        }
        Ok(limits)
    }
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 12_000,
            connections_per_address: 12_000,
            streams: 11_000,
            streams_per_caller: 11_000,
            sessions: 2_000,
            sessions_per_caller: 200,
            body: 1 << 20,
            answer: 4 << 20,
            bytes: 256 << 20,
            bytes_per_caller: 64 << 20,
            children: 64,
        }
    }
}

/// A limit for all together, and one for each party.
#[derive(Clone, Copy, Debug)]
struct Share {
    whole: &'static str,
    part: &'static str,
    unit: Unit,
    zero: Zero,
}

impl Share {
    /// Puts what is written in place of the defaults. A part that is not written gives way to the whole.
    fn read(self, section: &Section<'_>, whole: &mut usize, part: &mut usize) -> Result<(), ConfigError> {
        if let Some(entry) = section.entry(self.whole) {
            *whole = self.unit.read(&entry, self.zero)?;
        }
        let Some(entry) = section.entry(self.part) else {
            *part = (*part).min(*whole);
            return Ok(());
        };
        *part = self.unit.read(&entry, self.zero)?;
        if part <= whole {
            return Ok(());
        }
        Err(entry
            .error(format!("`{}` is more than `{}`", self.part, self.whole))
            .with_hint(format!("lower it, or raise `{}` too", self.whole)))
    }
}

/// What a limit counts.
#[derive(Clone, Copy, Debug)]
enum Unit {
    Things,
    Bytes,
}

/// What a limit of zero would be.
#[derive(Clone, Copy, Debug)]
enum Zero {
    /// A gateway without such a thing: a decision.
    None,
    /// A gateway that serves nobody: a mistake.
    Useless,
}

impl Unit {
    fn read(self, entry: &Entry<'_>, zero: Zero) -> Result<usize, ConfigError> {
        let limit = match self {
            Self::Things => entry.count(),
            Self::Bytes => entry.size(),
        }?;
        match (limit, zero) {
            (0, Zero::Useless) => Err(entry
                .error(format!("`{}` must be more than zero", entry.name()))
                .with_hint("0 means none, and nobody could be served; there is no \"without limit\"")),
            (_, Zero::Useless | Zero::None) => Ok(limit),
        }
    }
}

const CONNECTIONS: Share =
    Share { whole: "connections", part: "connections_per_address", unit: Unit::Things, zero: Zero::Useless };
const STREAMS: Share =
    Share { whole: "streams", part: "streams_per_caller", unit: Unit::Things, zero: Zero::None };
const SESSIONS: Share =
    Share { whole: "sessions", part: "sessions_per_caller", unit: Unit::Things, zero: Zero::None };
const BYTES: Share =
    Share { whole: "bytes", part: "bytes_per_caller", unit: Unit::Bytes, zero: Zero::Useless };
