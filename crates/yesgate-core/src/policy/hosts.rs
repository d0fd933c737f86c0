//! Which ways really lead to the human behind a host, whatever it declares: what is known of some, and what the operator
//! says of any.
//!
//! INVARIANT: this only chooses among ways that the client declares. Nobody is asked in a way that it did not, and what
//! an answer proves does not depend on it.

use super::glob::Glob;
use super::reader::{Entry, shown};
use super::{CLIENT_KEYS, ConfigError, Policy};

/// A way to the human behind a host that the host itself provides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostWay {
    /// It shows forms.
    Form,
    /// It opens pages.
    Page,
    /// It looks after tasks.
    Task,
}

/// What is said of one kind of host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct HostEntry {
    pattern: String,
    glob: Glob,
    ways: Vec<HostWay>,
}

/// How far a way that a client declares is believed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Belief {
    /// The operator says that it leads to somebody.
    Sworn,
    /// Until it turns out otherwise.
    Usual,
    /// It leads to nobody, the operator says or we know.
    None,
}

/// Hosts that declare more than they do, as of autumn 2026. An operator who knows better says so in `[clients]`.
///
/// `local-agent-mode-*` is the agent inside a desktop application: it declares forms and drops them, and its calls hang
/// for three minutes.
const KNOWN: [(&str, &[HostWay]); 1] = [("local-agent-mode-*", &[])];

impl Policy {
    /// How far a way is believed that a client of this name and version declares.
    pub fn belief(&self, way: HostWay, name: &str, version: &str) -> Belief {
        let said = self.hosts.iter().filter(|entry| entry.is_about(name, version));
        if let Some(entry) = said.max_by_key(|entry| entry.pattern.len()) {
            return if entry.ways.contains(&way) { Belief::Sworn } else { Belief::None };
        }
        let known = KNOWN.iter().find(|(pattern, _)| Glob::new(pattern).matches(name));
        match known {
            Some((_, ways)) if !ways.contains(&way) => Belief::None,
            Some(_) | None => Belief::Usual,
        }
    }
}

impl HostEntry {
    /// A pattern with a slash speaks of versions too.
    fn is_about(&self, name: &str, version: &str) -> bool {
        if self.pattern.contains('/') {
            self.glob.matches(&format!("{name}/{version}"))
        } else {
            self.glob.matches(name)
        }
    }
}

/// Reads `[clients.PATTERN]`.
pub(super) fn parse_all(entry: &Entry<'_>) -> Result<Vec<HostEntry>, ConfigError> {
    let mut all = Vec::new();
    for table in entry.named_entries()? {
        let pattern = table.name().to_owned();
        if pattern.is_empty() || pattern.chars().any(char::is_control) {
            return Err(table.error(format!("`{}` is not the name of a client", shown(&pattern))));
        }
        let ways = table.section(&CLIENT_KEYS)?.required("ways")?;
        let words = [("form", HostWay::Form), ("page", HostWay::Page), ("task", HostWay::Task)];
        let ways = ways.items()?.iter().map(|way| way.word(&words)).collect::<Result<_, _>>()?;
        all.push(HostEntry { glob: Glob::new(&pattern), pattern, ways });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::{Belief, HostWay};

    fn belief(toml: &str, name: &str, version: &str) -> Belief {
        Config::parse(toml).unwrap().policy.belief(HostWay::Form, name, version)
    }

    #[test]
    fn a_host_that_is_known_to_have_nobody_is_not_asked_unless_the_operator_swears_to_it() {
        assert_eq!(belief("", "some-host", "1"), Belief::Usual);
        assert_eq!(belief("", "local-agent-mode-x", "1"), Belief::None);
        let sworn = "[clients.\"local-agent-mode-*\"]\nways = [\"form\", \"task\"]";
        assert_eq!(belief(sworn, "local-agent-mode-x", "1"), Belief::Sworn);
        assert_eq!(belief(sworn, "some-host", "1"), Belief::Usual);
        assert_eq!(belief("[clients.\"*\"]\nways = []", "some-host", "1"), Belief::None);
    }

    #[test]
    fn the_longest_name_that_fits_decides_and_may_speak_of_versions() {
        let toml = "[clients.\"a*\"]\nways = []\n[clients.\"ab\"]\nways = [\"form\"]\n\
            [clients.\"ab/2.*\"]\nways = [\"page\"]";
        assert_eq!(belief(toml, "ac", "1.0"), Belief::None);
        assert_eq!(belief(toml, "ab", "1.0"), Belief::Sworn);
        assert_eq!(belief(toml, "ab", "2.0"), Belief::None);
    }
}
