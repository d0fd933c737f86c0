//! The one test command: every check in order, each with its time, stopping at the first failure.
//!
//! INVARIANT: whatever stops a change from being merged is a step here, so that a developer who
//! ran it knows what CI will say.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::conformance::{self, Scope};
use crate::prepare;
use crate::shell::Shell;

/// Runs all steps; the error names the step that failed.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let (report, result) = walk(&STEPS, shell);
    println!("\n{}", report.join("\n"));
    result
}

/// One check.
struct Step {
    name: &'static str,
    /// What it is for, in the words of the line that announces it.
    purpose: &'static str,
    work: fn(&Shell) -> Result<()>,
}

/// The checks in order; `prepare` comes first, for without the peers the tests would prove less.
const STEPS: [Step; 10] = [
    Step { name: "prepare", purpose: "install what the tests need", work: prepare::run },
    Step {
        name: "format",
        purpose: "the code is laid out as rustfmt lays it out",
        work: |shell| shell.cargo(&["fmt", "--all", "--check"]).run(),
    },
    Step {
        name: "clippy",
        purpose: "no lint has anything to say",
        work: |shell| {
            shell.cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]).run()
        },
    },
    Step {
        name: "tests",
        purpose: "every promise holds, house rules and slow tests included",
        work: |shell| {
            shell
                .cargo(&["nextest", "run", "--workspace", "--locked", "--profile", "ci"])
                .env("SLOW_TESTS", "1")
                .env("YESGATE_PEERS", prepare::peers(shell))
                .run()
        },
    },
    Step {
        name: "suite",
        purpose: "the MCP conformance suite, bare and through the gateway",
        work: |shell| conformance::run(shell, Scope::Gateway),
    },
    Step {
        name: "upstream",
        purpose: "the suite's client scenarios, against the gateway's side towards servers",
        work: |shell| conformance::run(shell, Scope::Client),
    },
    Step {
        name: "oauth",
        purpose: "the suite's authorization scenarios, against the gateway as the server that lets clients in",
        work: |shell| conformance::run(shell, Scope::Authorization),
    },
    Step {
        name: "doctests",
        purpose: "examples work, and misuse does not compile",
        work: |shell| shell.cargo(&["test", "--doc", "--workspace", "--locked"]).run(),
    },
    Step {
        name: "docs",
        purpose: "the documentation builds without a warning",
        work: |shell| {
            shell
                .cargo(&["doc", "--workspace", "--no-deps", "--locked"])
                .env("RUSTDOCFLAGS", "-Dwarnings")
                .run()
        },
    },
    Step {
        name: "deny",
        purpose: "licences, duplicates and origins of dependencies are as deny.toml says",
        work: |shell| {
            shell
                .cargo(&[
                    "deny",
                    "--workspace",
                    "--all-features",
                    "--locked",
                    "check",
                    "bans",
                    "licenses",
                    "sources",
                ])
                .run()
        },
    },
];

/// Runs the steps until one fails; returns the table for the end, and how it went.
fn walk(steps: &[Step], shell: &Shell) -> (Vec<String>, Result<()>) {
    let mut report = vec![row("step", "result", "time")];
    let mut result = Ok(());
    let started = Instant::now();
    for Step { name, purpose, work } in steps {
        if result.is_err() {
            report.push(row(name, "not run", "-"));
            continue;
        }
        println!("==> {name}: {purpose}");
        let began = Instant::now();
        result = work(shell).with_context(|| format!("step `{name}`"));
        let took = seconds(began.elapsed());
        println!("<== {name}: {}, {took}", outcome(&result));
        report.push(row(name, outcome(&result), &took));
    }
    report.push(row("all", outcome(&result), &seconds(started.elapsed())));
    (report, result)
}

fn outcome(result: &Result<()>) -> &'static str {
    match result {
        Ok(()) => "ok",
        Err(_) => "FAILED",
    }
}

fn row(name: &str, outcome: &str, time: &str) -> String {
    format!("{name:<10}{outcome:<8}{time:>9}")
}

/// Renders a time in the unit in which steps differ.
fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    const GOOD: Step = Step { name: "good", purpose: "it passes", work: |_| Ok(()) };
    const BAD: Step = Step { name: "bad", purpose: "it fails", work: |_| bail!("it was bad") };
    const LATE: Step = Step { name: "late", purpose: "it must not run", work: |_| panic!("it ran") };

    /// Walks the steps and reads the first two columns of the table.
    fn outcomes(steps: &[Step]) -> (Vec<String>, Result<()>) {
        let (report, result) = walk(steps, &Shell::at_workspace_root());
        let columns = report.iter().map(|row| row.get(..18).unwrap().trim_end().to_owned());
        (columns.collect(), result)
    }

    #[test]
    fn the_first_failure_stops_the_walk_and_is_named() {
        let (rows, result) = outcomes(&[GOOD, BAD, LATE]);
        assert_eq!(format!("{:#}", result.unwrap_err()), "step `bad`: it was bad");
        assert_eq!(
            rows,
            ["step      result", "good      ok", "bad       FAILED", "late      not run", "all       FAILED"]
        );
    }

    #[test]
    fn a_walk_without_failure_is_ok() {
        let (rows, result) = outcomes(&[GOOD, GOOD]);
        assert!(result.is_ok());
        assert_eq!(rows, ["step      result", "good      ok", "good      ok", "all       ok"]);
    }

    #[test]
    fn every_step_is_named_once() {
        let mut names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }
}
