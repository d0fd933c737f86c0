//! The differences that may be there, each with its reason: `conformance/expected.toml`.
//!
//! INVARIANT: an entry that makes no difference any more is a complaint too, so the list only has what is
//! true.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::conformance::authorization::REVISIONS;
use crate::conformance::results::{Difference, Shortfall};
use crate::conformance::{REQUIREMENTS, Upstream};

/// All entries of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    #[serde(default)]
    difference: Vec<Entry>,
    #[serde(default)]
    client: Vec<ShortfallEntry>,
    #[serde(default)]
    authorization: Vec<ShortfallEntry>,
}

/// One check that may differ.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    requirements: String,
    /// Absent: in the suite's own era over both, stdio and HTTP.
    upstream: Option<Upstream>,
    scenario: String,
    check: String,
    reason: String,
}

/// One scenario, or one check of it, that the gateway need not pass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShortfallEntry {
    requirements: String,
    scenario: String,
    /// Absent: all that is not passed.
    check: Option<String>,
    reason: String,
}

impl Expected {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).context("`conformance/expected.toml` cannot be read")?;
        Self::parse(&text).context("`conformance/expected.toml` is not as it should be")
    }

    fn parse(text: &str) -> Result<Self> {
        let expected: Self = toml::from_str(text)?;
        let differences =
            expected.difference.iter().map(|entry| (&entry.requirements, &entry.scenario, &entry.reason));
        let clients =
            expected.client.iter().map(|entry| (&entry.requirements, &entry.scenario, &entry.reason));
        for (requirements, scenario, reason) in differences.chain(clients) {
            if !REQUIREMENTS.iter().any(|known| known.revision == requirements) {
                bail!("`{requirements}` is no requirement set");
            }
            if reason.trim().is_empty() {
                bail!("an entry for `{scenario}` has no reason");
            }
        }
        for ShortfallEntry { requirements, scenario, reason, .. } in &expected.authorization {
            if !REVISIONS.iter().any(|(known, _)| known == requirements) {
                bail!("`{requirements}` is no revision of the protocol");
            }
            if reason.trim().is_empty() {
                bail!("an entry for `{scenario}` has no reason");
            }
        }
        Ok(expected)
    }

    /// Complains about differences that are not expected, and about expectations that did not come true.
    pub(super) fn complaints(&self, differences: &[Difference]) -> Vec<String> {
        let unexpected = differences
            .iter()
            .filter(|found| {
                !self
                    .difference
                    .iter()
                    .any(|entry| entry.upstreams().iter().any(|upstream| entry.covers(*upstream, found)))
            })
            .map(|found| format!("  {found}"));
        let stale = self.difference.iter().flat_map(|entry| {
            let upstreams = entry.upstreams().iter();
            upstreams
                .filter(|upstream| !differences.iter().any(|found| entry.covers(**upstream, found)))
                .map(|upstream| {
                    let Entry { requirements, scenario, check, .. } = entry;
                    let upstream = upstream.name();
                    format!("  {requirements}, {upstream}: {scenario}: {check}: differs no more; take it off the list")
                })
        });
        unexpected.chain(stale).collect()
    }

    /// The same for the client scenarios.
    pub(super) fn client_complaints(&self, shortfalls: &[Shortfall]) -> Vec<String> {
        ShortfallEntry::complaints(&self.client, shortfalls)
    }

    /// The same for the authorization scenarios.
    pub(super) fn authorization_complaints(&self, shortfalls: &[Shortfall]) -> Vec<String> {
        ShortfallEntry::complaints(&self.authorization, shortfalls)
    }
}

impl ShortfallEntry {
    fn complaints(entries: &[Self], shortfalls: &[Shortfall]) -> Vec<String> {
        let unexpected = shortfalls
            .iter()
            .filter(|found| !entries.iter().any(|entry| entry.covers(found)))
            .map(|found| format!("  {found}"));
        let stale = entries.iter().filter(|entry| !shortfalls.iter().any(|found| entry.covers(found)));
        let stale = stale.map(|Self { requirements, scenario, check, .. }| {
            let check = check.as_deref().unwrap_or("all of it");
            format!("  {requirements}: {scenario}: {check}: is passed; take it off the list")
        });
        unexpected.chain(stale).collect()
    }

    fn covers(&self, found: &Shortfall) -> bool {
        found.requirements == self.requirements
            && found.scenario == self.scenario
            && self.check.as_ref().is_none_or(|check| *check == found.check)
    }
}

impl Entry {
    const fn upstreams(&self) -> &'static [Upstream] {
        match self.upstream {
            Some(Upstream::Stdio) => &[Upstream::Stdio],
            Some(Upstream::Http) => &[Upstream::Http],
            Some(Upstream::Crossed) => &[Upstream::Crossed],
            None => &[Upstream::Stdio, Upstream::Http],
        }
    }

    fn covers(&self, upstream: Upstream, found: &Difference) -> bool {
        found.upstream == upstream
            && found.requirements == self.requirements
            && found.scenario == self.scenario
            && found.check == self.check
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::results::tests::results;

    /// One difference over each of the upstreams.
    fn differences(upstreams: &[Upstream]) -> Vec<Difference> {
        let (bare, through) = (results("ping", &[("a", "SUCCESS")]), results("ping", &[("a", "FAILURE")]));
        let over = |upstream: &Upstream| Difference::between("2025-11-25", *upstream, &bare, &through);
        upstreams.iter().flat_map(over).collect()
    }

    fn entry(more: &str) -> String {
        format!(
            "[[difference]]\nrequirements = \"2025-11-25\"\nscenario = \"ping\"\ncheck = \"a\"\nreason = \"so\"\n{more}"
        )
    }

    #[track_caller]
    fn check(text: &str, upstreams: &[Upstream], expected: usize) {
        let complaints = Expected::parse(text).unwrap().complaints(&differences(upstreams));
        assert_eq!(complaints.len(), expected, "{complaints:?}");
    }

    #[test]
    fn what_differs_must_be_listed_and_what_is_listed_must_differ() {
        let both = [Upstream::Stdio, Upstream::Http];
        check("", &[], 0);
        check("", &both, 2);
        check(&entry(""), &both, 0);
        check(&entry(""), &[Upstream::Http], 1);
        check(&entry("upstream = \"http\"\n"), &[Upstream::Http], 0);
        check(&entry("upstream = \"http\"\n"), &both, 1);
        check(&entry("upstream = \"http\"\n"), &[Upstream::Stdio], 2);
        check(&entry(""), &[Upstream::Stdio, Upstream::Http, Upstream::Crossed], 1);
        check(&entry("upstream = \"crossed\"\n"), &[Upstream::Crossed], 0);
        check(&entry("upstream = \"crossed\"\n"), &both, 3);
    }

    #[test]
    fn a_client_scenario_that_is_passed_must_not_be_listed() {
        let entry = |more: &str| {
            format!(
                "[[client]]\nrequirements = \"2025-11-25\"\nscenario = \"auth/dpop\"\nreason = \"so\"\n{more}"
            )
        };
        let short = results("auth/dpop", &[("a", "FAILURE"), ("b", "WARNING")]).shortfalls("2025-11-25");
        let count = |text: &str, short: &[_]| Expected::parse(text).unwrap().client_complaints(short).len();
        assert_eq!(count("", &short), 2);
        assert_eq!(count(&entry(""), &short), 0);
        assert_eq!(count(&entry("check = \"a\"\n"), &short), 1);
        assert_eq!(count(&entry(""), &[]), 1);
    }

    #[test]
    fn an_authorization_scenario_that_is_passed_must_not_be_listed() {
        let entry =
            "[[authorization]]\nrequirements = \"2025-03-26\"\nscenario = \"code\"\nreason = \"so\"\n";
        let short = results("code", &[("a", "FAILURE")]).shortfalls("2025-03-26");
        let count =
            |text: &str, short: &[_]| Expected::parse(text).unwrap().authorization_complaints(short).len();
        assert_eq!((count("", &short), count(entry, &short), count(entry, &[])), (1, 0, 1));
        assert!(Expected::parse(&entry.replace("2025-03-26", "2025-03-27")).is_err());
        assert!(Expected::parse(&entry.replace("\"so\"", "\"\"")).is_err());
    }

    #[test]
    fn an_entry_needs_a_reason_and_a_known_set() {
        assert!(Expected::parse(&entry("")).is_ok());
        assert!(Expected::parse(&entry("").replace("\"so\"", "\" \"")).is_err());
        assert!(Expected::parse(&entry("").replace("2025-11-25", "2025-11-26")).is_err());
        assert!(Expected::parse(&entry("because = \"so\"\n")).is_err());
    }

    #[test]
    fn the_list_that_is_there_can_be_read() {
        let path = crate::shell::Shell::at_workspace_root().path("conformance/expected.toml");
        assert!(Expected::read(&path).is_ok());
    }
}
