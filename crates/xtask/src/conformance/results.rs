//! What the suite found out: its checks, scenario by scenario, and where two runs differ.
//!
//! Remarks (`INFO`) are no outcomes and are left out: how many there are depends on timing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::conformance::Upstream;

/// Which side the suite tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Leg {
    Server,
    Client,
    Authorization,
}

/// The checks of one run, by scenario.
#[derive(Debug, Default)]
pub(super) struct Results {
    scenarios: BTreeMap<String, Vec<Check>>,
}

/// One thing that the suite looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: Outcome,
    /// What the suite has to say about a check that did not pass.
    error_message: Option<String>,
}

/// The suite's verdict on one thing.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Outcome {
    Success,
    Failure,
    Warning,
    Skipped,
    Info,
}

/// How many checks of each kind a run has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Tally {
    pub(super) scenarios: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) warned: usize,
    pub(super) skipped: usize,
}

impl Results {
    /// Reads the folder in which the suite leaves one folder for each scenario.
    pub(super) fn read(folder: &Path, leg: Leg) -> Result<Self> {
        let mut results = Self::default();
        results.read_below(folder, "", leg)?;
        Ok(results)
    }

    fn read_below(&mut self, folder: &Path, group: &str, leg: Leg) -> Result<()> {
        for entry in fs::read_dir(folder).context("the suite left no results")? {
            let entry = entry.context("the suite's results cannot be listed")?;
            let name = entry.file_name();
            let name = name.to_str().context("a result of the suite has no name in UTF-8")?;
            // A scenario such as `auth/basic-cimd` has a folder around it.
            let Some(scenario) = without_time(name) else {
                self.read_below(&entry.path(), &format!("{group}{name}/"), leg)?;
                continue;
            };
            let scenario = match leg {
                Leg::Server => scenario.strip_prefix("server-").unwrap_or(scenario),
                Leg::Client => scenario,
                Leg::Authorization => scenario.strip_prefix("authorization-server-").unwrap_or(scenario),
            };
            let text = fs::read_to_string(entry.path().join("checks.json"))
                .with_context(|| format!("the checks of `{scenario}` cannot be read"))?;
            self.add(&format!("{group}{scenario}"), &text)?;
        }
        Ok(())
    }

    fn add(&mut self, scenario: &str, json: &str) -> Result<()> {
        let checks: Vec<Check> = serde_json::from_str(json)
            .with_context(|| format!("the checks of `{scenario}` are not as expected"))?;
        let checks = checks.into_iter().filter(|check| check.status != Outcome::Info).collect();
        self.scenarios.insert(scenario.to_owned(), checks);
        Ok(())
    }

    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally { scenarios: self.scenarios.len(), ..Tally::default() };
        for check in self.scenarios.values().flatten() {
            match check.status {
                Outcome::Success => tally.passed += 1,
                Outcome::Failure => tally.failed += 1,
                Outcome::Warning => tally.warned += 1,
                Outcome::Skipped => tally.skipped += 1,
                Outcome::Info => {}
            }
        }
        tally
    }

    /// Lists what was not passed.
    pub(super) fn shortfalls(&self, revision: &str) -> Vec<Shortfall> {
        let checks = self
            .scenarios
            .iter()
            .flat_map(|(scenario, checks)| checks.iter().map(move |check| (scenario, check)));
        checks
            .filter(|(_, check)| match check.status {
                Outcome::Failure | Outcome::Warning => true,
                Outcome::Success | Outcome::Skipped | Outcome::Info => false,
            })
            .map(|(scenario, check)| Shortfall {
                requirements: revision.to_owned(),
                scenario: scenario.clone(),
                check: check.id.clone(),
                complaint: check.error_message.clone(),
            })
            .collect()
    }

    /// All outcomes of each check, in no particular order.
    fn outcomes(&self) -> BTreeMap<(&str, &str), Vec<Outcome>> {
        let mut outcomes: BTreeMap<_, Vec<Outcome>> = BTreeMap::new();
        for (scenario, checks) in &self.scenarios {
            for check in checks {
                outcomes.entry((scenario.as_str(), check.id.as_str())).or_default().push(check.status);
            }
        }
        outcomes.values_mut().for_each(|outcomes| outcomes.sort_unstable());
        outcomes
    }

    /// What the suite says about a check, if it says anything.
    fn complaint(&self, scenario: &str, check: &str) -> Option<String> {
        let checks = self.scenarios.get(scenario)?;
        checks.iter().filter(|found| found.id == check).find_map(|found| found.error_message.clone())
    }
}

/// Takes the time off a name such as `server-ping-2026-11-16T01-04-30-410Z`; `None` if it has none.
fn without_time(name: &str) -> Option<&str> {
    let at = name.len().checked_sub(TIME_PATTERN.len())?;
    let (name, time) = name.split_at_checked(at)?;
    let fits = time.chars().zip(TIME_PATTERN.chars()).all(|(found, wanted)| match wanted {
        '0' => found.is_ascii_digit(),
        wanted => found == wanted,
    });
    fits.then_some(name)
}

const TIME_PATTERN: &str = "-0000-00-00T00-00-00-000Z";

/// A check that was not passed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Shortfall {
    pub(super) requirements: String,
    pub(super) scenario: String,
    pub(super) check: String,
    complaint: Option<String>,
}

impl std::fmt::Display for Shortfall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { requirements, scenario, check, complaint } = self;
        let complaint = complaint.as_deref().unwrap_or("no reason given");
        write!(f, "{requirements}: {scenario}: {check}: {complaint}")
    }
}

/// A check whose outcome behind the gateway is not that of the bare fixture.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Difference {
    pub(super) requirements: String,
    pub(super) upstream: Upstream,
    pub(super) scenario: String,
    pub(super) check: String,
    bare: Vec<Outcome>,
    through: Vec<Outcome>,
    complaint: Option<String>,
}

impl Difference {
    /// Lists all checks whose outcomes differ; a check that only one run has is one of them.
    pub(super) fn between(
        revision: &str,
        upstream: Upstream,
        bare: &Results,
        through: &Results,
    ) -> Vec<Self> {
        let (before, after) = (bare.outcomes(), through.outcomes());
        let mut keys: Vec<_> = before.keys().chain(after.keys()).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        let differs = |key: &(&str, &str)| before.get(key) != after.get(key);
        keys.into_iter()
            .filter(differs)
            .map(|key @ (scenario, check)| Self {
                requirements: revision.to_owned(),
                upstream,
                scenario: scenario.to_owned(),
                check: check.to_owned(),
                bare: before.get(&key).cloned().unwrap_or_default(),
                through: after.get(&key).cloned().unwrap_or_default(),
                complaint: through.complaint(scenario, check),
            })
            .collect()
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { requirements, upstream, scenario, check, bare, through, complaint } = self;
        write!(
            f,
            "{requirements}, {}: {scenario}: {check}: bare {bare:?}, here {through:?}",
            upstream.name()
        )?;
        match complaint {
            Some(complaint) => write!(f, ": {complaint}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes the results of one scenario out of `id STATUS` pairs.
    pub(in crate::conformance) fn results(scenario: &str, checks: &[(&str, &str)]) -> Results {
        let checks: Vec<_> =
            checks.iter().map(|(id, status)| serde_json::json!({"id": id, "status": status})).collect();
        let mut results = Results::default();
        results.add(scenario, &serde_json::Value::from(checks).to_string()).unwrap();
        results
    }

    fn differing(bare: &[(&str, &str)], through: &[(&str, &str)]) -> Vec<String> {
        let (bare, through) = (results("ping", bare), results("ping", through));
        let found = Difference::between("2025-11-25", Upstream::Http, &bare, &through);
        found.into_iter().map(|difference| difference.check).collect()
    }

    #[test]
    fn a_folder_of_a_scenario_has_a_time_in_its_name() {
        assert_eq!(without_time("server-ping-2026-11-16T01-04-30-410Z"), Some("server-ping"));
        assert_eq!(without_time("auth"), None);
        assert_eq!(without_time("ping-2026-11-16T01-04-30-41xZ"), None);
        assert_eq!(without_time(""), None);
    }

    #[test]
    fn outcomes_count_and_remarks_do_not() {
        let found = results("ping", &[("a", "SUCCESS"), ("b", "FAILURE"), ("c", "INFO"), ("a", "SKIPPED")]);
        let tally = Tally { scenarios: 1, passed: 1, failed: 1, warned: 0, skipped: 1 };
        assert_eq!(found.tally(), tally);
    }

    #[test]
    fn an_outcome_that_the_suite_did_not_have_before_is_not_guessed() {
        assert!(Results::default().add("ping", r#"[{"id": "a", "status": "MAYBE"}]"#).is_err());
    }

    #[test]
    fn only_the_order_of_checks_may_differ() {
        let bare = [("a", "SUCCESS"), ("b", "SUCCESS"), ("b", "SKIPPED")];
        assert!(differing(&bare, &[("b", "SKIPPED"), ("b", "SUCCESS"), ("a", "SUCCESS")]).is_empty());
        assert_eq!(differing(&bare, &[("a", "FAILURE"), ("b", "SUCCESS"), ("b", "SKIPPED")]), ["a"]);
        assert_eq!(differing(&bare, &[("a", "SUCCESS"), ("b", "SUCCESS")]), ["b"]);
        assert_eq!(differing(&bare, &[("b", "SUCCESS"), ("b", "SKIPPED")]), ["a"]);
        assert_eq!(differing(&[], &bare), ["a", "b"]);
    }

    #[test]
    fn a_failure_and_a_warning_fall_short() {
        let found =
            results("ping", &[("a", "SUCCESS"), ("b", "WARNING"), ("c", "FAILURE"), ("d", "SKIPPED")]);
        let short: Vec<_> = found.shortfalls("2025-11-25").into_iter().map(|short| short.check).collect();
        assert_eq!(short, ["b", "c"]);
    }
}
