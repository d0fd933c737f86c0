//! Runs the MCP conformance suite against the fixture, bare and behind the gateway, and compares.
//!
//! The suite's verdict on the gateway alone would say little: a server behind it does the work. So the same
//! fixture is tested twice, and the gateway is conforming if nobody can tell the difference.
//!
//! INVARIANT: a check that is missing counts as a difference; only what `conformance/expected.toml` lists
//! may differ, and what it lists must differ.

mod authorization;
mod expected;
mod results;
mod subject;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};

use crate::conformance::expected::Expected;
use crate::conformance::results::{Difference, Leg, Results, Tally};
use crate::conformance::subject::{Subject, program_text};
use crate::prepare;
use crate::shell::Shell;

/// How much of it to run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scope {
    /// The fixture alone: is it still what the gateway may be measured by?
    Bare,
    /// The fixture alone, then behind the gateway.
    Gateway,
    /// The gateway's side towards servers, with the suite's client scenarios.
    Client,
    /// The gateway as the server at which clients are let in, with the suite's authorization scenarios.
    Authorization,
}

/// One frozen set of requirements of the suite.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Requirements {
    revision: &'static str,
    /// How many scenarios the pinned suite has for it, scored or not.
    scenarios: usize,
    /// How many checks of these the bare fixture passes; all that can be passed.
    passed: usize,
    /// How many client scenarios the pinned suite has for it, scored or not.
    client_scenarios: usize,
    /// The era that it is not of, as the gateway's configuration calls it.
    other_era: &'static str,
}

const REQUIREMENTS: [Requirements; 2] = [
    Requirements {
        revision: "2025-11-25",
        scenarios: 33,
        passed: 83,
        client_scenarios: 25,
        other_era: "modern",
    },
    Requirements {
        revision: "2026-07-28",
        scenarios: 50,
        passed: 197,
        client_scenarios: 39,
        other_era: "legacy",
    },
];

/// How the gateway reaches the fixture.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Upstream {
    Stdio,
    Http,
    /// Over HTTP, in the other era than the suite's: everything has to be bridged.
    Crossed,
}

impl Upstream {
    const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Crossed => "crossed",
        }
    }
}

/// Runs the suite; anything that is not as it should be is an error.
pub(crate) fn run(shell: &Shell, scope: Scope) -> Result<()> {
    prepare::run(shell)?;
    build(shell)?;
    let folder = shell.path("target/conformance");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("the results of the last run cannot be removed")?;
    }
    let stage = Stage { shell, folder };

    let expected = Expected::read(&shell.path("conformance/expected.toml"))?;
    let (table, complaints) = match scope {
        Scope::Bare => stage.compare(&expected, &[])?,
        Scope::Gateway => stage.compare(&expected, &[Upstream::Stdio, Upstream::Http, Upstream::Crossed])?,
        Scope::Client => stage.try_clients(&expected)?,
        Scope::Authorization => stage.try_authorization(&expected)?,
    };
    println!("\n{TABLE_HEAD}\n{}", table.join("\n"));
    if !complaints.is_empty() {
        bail!("the suite has {} complaints:\n{}", complaints.len(), complaints.join("\n"));
    }
    Ok(())
}

/// Builds the programs. All targets, as the tests do: with other features everything would be built anew.
fn build(shell: &Shell) -> Result<()> {
    shell.cargo(&["build", "--locked", "--workspace", "--all-targets"]).run()
}

/// Where runs leave what they found.
struct Stage<'a> {
    shell: &'a Shell,
    folder: PathBuf,
}

/// The rows of a table, and what is wrong.
type Findings = (Vec<String>, Vec<String>);

impl Stage<'_> {
    /// Tests the fixture alone and behind the gateway, over each of the upstreams.
    fn compare(&self, expected: &Expected, upstreams: &[Upstream]) -> Result<Findings> {
        let (mut table, mut complaints) = (vec![], vec![]);
        let bare = self.run_both("bare", |requirements, folder| {
            self.test_server(requirements, &Subject::bare(folder)?, folder)
        })?;
        for (requirements, results) in REQUIREMENTS.iter().zip(&bare) {
            let Requirements { revision, scenarios, passed, .. } = *requirements;
            let tally = results.tally();
            table.push(row(revision, "bare", tally, "-"));
            complaints.extend(results.shortfalls(revision).iter().map(|short| format!("  bare, {short}")));
            if (tally.scenarios, tally.passed) != (scenarios, passed) {
                complaints.push(format!(
                    "  bare, {revision}: {passed} checks of {scenarios} scenarios should pass"
                ));
            }
        }
        // A fixture that is not whole is no measure for anything.
        if upstreams.is_empty() || !complaints.is_empty() {
            return Ok((table, complaints));
        }
        let mut differences = vec![];
        for upstream in upstreams {
            let through = self.run_both(upstream.name(), |requirements, folder| {
                self.test_server(requirements, &Subject::gateway(folder, *upstream, requirements)?, folder)
            })?;
            for ((requirements, bare), through) in REQUIREMENTS.iter().zip(&bare).zip(&through) {
                let found = Difference::between(requirements.revision, *upstream, bare, through);
                let count = found.len().to_string();
                table.push(row(requirements.revision, upstream.name(), through.tally(), &count));
                differences.extend(found);
            }
        }
        complaints.extend(expected.complaints(&differences));
        Ok((table, complaints))
    }

    /// Tests the gateway as a client of the suite's servers.
    fn try_clients(&self, expected: &Expected) -> Result<Findings> {
        let (mut table, mut complaints, mut shortfalls) = (vec![], vec![], vec![]);
        let found = self.run_both("client", |requirements, folder| self.test_client(requirements, folder))?;
        for (requirements, results) in REQUIREMENTS.iter().zip(&found) {
            let Requirements { revision, client_scenarios, .. } = *requirements;
            let tally = results.tally();
            table.push(row(revision, "client", tally, "-"));
            shortfalls.extend(results.shortfalls(revision));
            if tally.scenarios != client_scenarios {
                complaints.push(format!("  {revision}: {client_scenarios} client scenarios should have run"));
            }
        }
        complaints.extend(expected.client_complaints(&shortfalls));
        Ok((table, complaints))
    }

    /// Runs both requirement sets side by side, each in a folder of its own.
    ///
    /// They mostly wait, so two of them do not disturb each other on two cores.
    fn run_both(
        &self,
        what: &str,
        test: impl Fn(Requirements, &Path) -> Result<Results> + Sync,
    ) -> Result<[Results; 2]> {
        let run = |requirements: Requirements| {
            let folder = self.folder.join(what).join(requirements.revision);
            fs::create_dir_all(&folder).context("the folder of the results cannot be made")?;
            test(requirements, &folder).with_context(|| format!("{}, {what}", requirements.revision))
        };
        let [first, second] = REQUIREMENTS;
        thread::scope(|scope| {
            let second = scope.spawn(|| run(second));
            let first = run(first);
            match second.join() {
                Ok(second) => Ok([first?, second?]),
                Err(_) => bail!("a run of the suite panicked"),
            }
        })
    }

    fn test_server(&self, requirements: Requirements, subject: &Subject, folder: &Path) -> Result<Results> {
        let arguments = ["server", "--url", subject.url(), "--timeout", "20000"];
        self.run_suite(&arguments, &["--requirements", requirements.revision], folder)?;
        Results::read(&folder.join("results"), Leg::Server)
    }

    /// Runs the client scenarios one after the other.
    ///
    /// The suite by itself would start all of them at once, each with a gateway of its own: on a small machine
    /// they would only measure each other.
    fn test_client(&self, requirements: Requirements, folder: &Path) -> Result<Results> {
        let revision = requirements.revision;
        let driver = program_text("conformance-client")?;
        let list = prepare::suite(self.shell).args(["list", "--requirements", revision]).output();
        let list = list.context("the suite did not start")?.stdout;
        for scenario in client_scenarios(&String::from_utf8_lossy(&list)) {
            let arguments = ["client", "--command", &driver, "--scenario", scenario, "--timeout", "30000"];
            // Without force the suite would leave out extensions, which belong to the set all the same.
            self.run_suite(&arguments, &["--force", "--spec-version", revision], folder)?;
        }
        Results::read(&folder.join("results"), Leg::Client)
    }

    /// Runs the suite; whether something failed is in its results, not in how it ended.
    fn run_suite(&self, arguments: &[&str], set: &[&str], folder: &Path) -> Result<()> {
        let log = File::options().create(true).append(true).open(folder.join("suite.log"));
        let log = log.context("the suite's log cannot be made")?;
        prepare::suite(self.shell)
            .args(arguments)
            .args(set)
            .arg("--output-dir")
            .arg(folder.join("results"))
            .stdout(log.try_clone().context("the suite's log cannot be shared")?)
            .stderr(log)
            .status()
            .context("the suite did not start")?;
        Ok(())
    }
}

/// Reads the client scenarios of a requirement set, scored or not, out of the suite's own list.
fn client_scenarios(list: &str) -> impl Iterator<Item = &str> {
    let scored = list.lines().skip_while(|line| !line.starts_with("Client scenarios")).skip(1);
    let scored = scored.map_while(|line| line.strip_prefix("  - "));
    let unscored = list.lines().filter_map(|line| line.strip_prefix("    - ")?.strip_suffix(" [client]"));
    scored.chain(unscored)
}

const TABLE_HEAD: &str = "requirements  what     scenarios  passed  failed  warned  skipped  differences";

fn row(revision: &str, what: &str, tally: Tally, differences: &str) -> String {
    let Tally { scenarios, passed, failed, warned, skipped } = tally;
    format!(
        "{revision:<14}{what:<9}{scenarios:>9}{passed:>8}{failed:>8}{warned:>8}{skipped:>9}{differences:>13}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_client_scenarios_of_a_set_are_found_and_no_server_scenarios() {
        let list = "Required for 2026-07-28 (3 scenarios, frozen):\n\n\
            Server scenarios (test against a server):\n  - ping\n\n\
            Client scenarios (test against a client):\n  - tools_call\n  - auth/basic-cimd\n\n\
            Run and reported, but never scored:\n  extension (2):\n    - auth/dpop [client]\n    - tasks-lifecycle [server]\n";
        let found: Vec<_> = client_scenarios(list).collect();
        assert_eq!(found, ["tools_call", "auth/basic-cimd", "auth/dpop"]);
    }
}
