//! The report: a table for each question, and for each target whether it is met.

use std::fmt::Write as _;

use crate::machine;
use crate::peers::Peer;
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

/// Where the report goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Output {
    /// To stdout only.
    Shown,
    /// To `bench/REPORT.md` too.
    Written,
}

/// Everything that was found in one run.
#[derive(Debug)]
pub(crate) struct Report {
    facts: Vec<String>,
    sections: Vec<Section>,
}

/// One question and its answer.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    /// How it was measured.
    pub(crate) how: String,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) targets: Vec<Target>,
}

/// What was promised, and what was found.
#[derive(Debug)]
pub(crate) struct Target {
    what: String,
    limit: String,
    found: String,
    met: Met,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Met {
    Yes,
    No,
}

impl Target {
    /// The middle round must not be above the limit.
    pub(crate) fn at_most(what: &str, limit: f64, found: &Series, unit: Unit) -> Self {
        Self::new(what, format!("at most {}", unit.shown(limit)), found, unit, found.median() <= limit)
    }

    /// The middle round must not be below the limit.
    pub(crate) fn at_least(what: &str, limit: f64, found: &Series, unit: Unit) -> Self {
        Self::new(what, format!("at least {}", unit.shown(limit)), found, unit, found.median() >= limit)
    }

    fn new(what: &str, limit: String, found: &Series, unit: Unit, holds: bool) -> Self {
        Self {
            what: what.to_owned(),
            limit,
            found: found.shown(unit),
            met: if holds { Met::Yes } else { Met::No },
        }
    }
}

impl Report {
    /// Notes under which circumstances the run begins.
    pub(crate) fn begin(pace: Pace, subject: &Subject, peers: &[Peer]) -> Self {
        let command = match pace {
            Pace::Full => "cargo xtask bench --write",
            Pace::Quick => "cargo xtask bench --write --quick",
        };
        let peers = match peers {
            [] => "none installed (bench/README.md says how)".to_owned(),
            peers => peers.iter().map(|peer| peer.title.clone()).collect::<Vec<_>>().join(", "),
        };
        let facts = vec![
            format!("Date: {}", jiff::Timestamp::now().strftime("%Y-%m-%d")),
            format!("Commit: {}", Subject::commit()),
            format!("Command: `{command}`"),
            format!("Machine: {}", machine::describe(subject.target())),
            format!("Load when the run began: {}", machine::load()),
            format!("Peers: {peers}"),
        ];
        Self { facts, sections: Vec::new() }
    }

    pub(crate) fn add(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// The whole report.
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = OPENING.to_owned();
        for fact in &self.facts {
            line(&mut text, &format!("- {fact}"));
        }
        line(&mut text, "\n## Targets\n");
        let targets = self.sections.iter().flat_map(|section| &section.targets);
        let rows = targets.map(|target| {
            let met = match target.met {
                Met::Yes => "met",
                Met::No => "**not met**",
            };
            vec![target.what.to_owned(), target.limit.clone(), target.found.clone(), met.to_owned()]
        });
        table(&mut text, &["what", "target", "found", ""], rows);
        for section in &self.sections {
            line(&mut text, &format!("\n## {}\n\n{}\n", section.title, section.how));
            table(&mut text, &section.columns, section.rows.iter().cloned());
        }
        text
    }
}

fn table(text: &mut String, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    line(text, &format!("| {} |", columns.join(" | ")));
    line(text, &format!("|{}", "---|".repeat(columns.len())));
    for row in rows {
        line(text, &format!("| {} |", row.join(" | ")));
    }
}

fn line(text: &mut String, words: &str) {
    // To write into a string cannot fail.
    writeln!(text, "{words}").ok();
}

const OPENING: &str = "\
# What the gate costs

Written by the benchmark; README.md says how to run it. Numbers of different runs are not compared: within a
round the sides of a comparison take turns, and a number is the median over rounds, with the lowest and the
highest round in brackets. A difference or a ratio is taken round by round.

";
