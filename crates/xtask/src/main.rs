//! The house's own commands: `cargo xtask <command>`.
//!
//! `cargo xtask ci` is the one test command: what it accepts is good, and nothing else is asked
//! of a change. The house rules are not a command of their own: they are tests (`tidy`), so that
//! whoever runs the tests runs them too.
#![expect(clippy::print_stdout, reason = "stdout is a terminal here, not the JSON-RPC wire")]

mod ci;
mod conformance;
mod docs;
mod prepare;
mod shell;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

use anyhow::Result;

use crate::conformance::Scope;
use crate::docs::Freshness;
use crate::shell::Shell;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(command) = Command::parse(&arguments) else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What the house can do for a developer.
#[derive(Debug, Eq, PartialEq)]
enum Command {
    /// Checks everything.
    Ci,
    /// Installs what the tests need and nothing more.
    Prepare,
    /// Installs what the benchmark compares with.
    PrepareBench,
    /// Writes the generated pages, or compares them with what is there.
    Docs(Freshness),
    /// Runs the conformance suite.
    Conformance(Scope),
    /// Runs the benchmark with the arguments that follow.
    Bench(Vec<String>),
    /// Says what can be asked.
    Help,
}

impl Command {
    /// Reads the command line; anything it does not know is `None`, never a guess.
    fn parse(arguments: &[String]) -> Option<Self> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["ci"] => Some(Self::Ci),
            ["prepare"] => Some(Self::Prepare),
            ["prepare", "--bench"] => Some(Self::PrepareBench),
            ["docs"] => Some(Self::Docs(Freshness::Write)),
            ["docs", "--check"] => Some(Self::Docs(Freshness::Check)),
            ["conformance"] => Some(Self::Conformance(Scope::Gateway)),
            ["conformance", "--bare"] => Some(Self::Conformance(Scope::Bare)),
            ["conformance", "--client"] => Some(Self::Conformance(Scope::Client)),
            ["conformance", "--authorization"] => Some(Self::Conformance(Scope::Authorization)),
            ["bench", rest @ ..] => Some(Self::Bench(rest.iter().map(ToString::to_string).collect())),
            ["help" | "--help" | "-h"] => Some(Self::Help),
            _ => None,
        }
    }

    fn run(self) -> Result<()> {
        let shell = Shell::at_workspace_root();
        match self {
            Self::Ci => ci::run(&shell),
            Self::Prepare => prepare::run(&shell),
            Self::PrepareBench => prepare::run_bench(&shell),
            Self::Docs(freshness) => docs::run(&shell, freshness),
            Self::Conformance(scope) => conformance::run(&shell, scope),
            Self::Bench(arguments) => shell
                .cargo(&["run", "--release", "--locked", "--package", "yesgate-bench", "--"])
                .args(&arguments)
                .run(),
            Self::Help => {
                print!("{USAGE}");
                Ok(())
            }
        }
    }
}

const USAGE: &str = "\
Usage: cargo xtask <command>

  ci              check everything; what CI runs
  prepare [--bench]
                  install what the tests need, into target/peers; or what the benchmark compares
                  with, into target/peers-bench
  docs [--check]  write the generated pages, or fail if they are stale
  conformance [--bare | --client | --authorization]
                  run the MCP conformance suite: compare the gateway with the bare fixture,
                  or look at the fixture alone, or at the gateway's side towards servers,
                  or at how it lets clients in
  bench [args]    run the benchmark
  help            say this
";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&Command>) {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(Command::parse(&words).as_ref(), expected, "{line}");
    }

    #[test]
    fn an_unknown_word_is_refused_not_guessed() {
        check("ci", Some(&Command::Ci));
        check("prepare", Some(&Command::Prepare));
        check("prepare --bench", Some(&Command::PrepareBench));
        check("docs", Some(&Command::Docs(Freshness::Write)));
        check("docs --check", Some(&Command::Docs(Freshness::Check)));
        check("conformance", Some(&Command::Conformance(Scope::Gateway)));
        check("conformance --bare", Some(&Command::Conformance(Scope::Bare)));
        check("conformance --client", Some(&Command::Conformance(Scope::Client)));
        check("conformance --authorization", Some(&Command::Conformance(Scope::Authorization)));
        check("conformance --bare --client", None);
        check("bench --quick", Some(&Command::Bench(vec!["--quick".to_owned()])));
        check("", None);
        check("CI", None);
        check("ci --fast", None);
        check("docs --chek", None);
    }

    #[test]
    fn the_usage_names_every_command() {
        for command in ["ci", "prepare", "docs", "conformance", "bench", "help"] {
            assert!(USAGE.contains(&format!("\n  {command} ")), "{command}");
        }
    }
}
