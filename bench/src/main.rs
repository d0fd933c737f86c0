//! The benchmark: what the gate costs, next to the same thing without it, in one and the same run.
//!
//! - INVARIANT: nothing is compared across runs. The two sides of a comparison take turns within a
//!   round, and what is reported is the median over rounds with the lowest and the highest round.
//! - The whole run ends within [`LONGEST`], whatever a child does.
#![expect(
    clippy::print_stdout,
    reason = "stdout is a terminal here; in `server` and `relay` it is the wire, in other servers it says where they listen"
)]

mod calls;
mod client;
mod http;
mod ledgers;
mod machine;
mod memory;
mod order;
mod pages;
mod peers;
mod redeems;
mod relay;
mod report;
mod server;
mod starts;
mod stats;
mod storm;
mod subject;
mod tokens;
mod verdicts;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use yesgate_testkit::yesgate_beside;

use crate::report::{Output, Report};
use crate::stats::Pace;
use crate::subject::Subject;

/// The one that `yesgate` has: ledgers are measured in this process.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["server", tools] => server::serve(tools.parse().context("`server` wants a number of tools")?),
        ["relay", program, arguments @ ..] => relay::relay(program, arguments),
        ["web-server"] => http::serve_lean(),
        ["sdk-server"] => http::serve_sdk(),
        ["keep", program, arguments @ ..] => http::keep(program, arguments),
        ["--order"] => order::write(),
        [option] if option.starts_with("--storm=") => {
            let calls = option.trim_start_matches("--storm=").parse();
            let own = std::env::current_exe().context("this program cannot find itself")?;
            storm::run(yesgate_beside(own), calls.context("`--storm=` wants a number of calls")?)
        }
        options => {
            let (mut pace, mut output, mut only) = (Pace::Full, Output::Shown, None);
            for option in options {
                match (*option, option.strip_prefix("--only=")) {
                    ("--quick", _) => pace = Pace::Quick,
                    ("--write", _) => output = Output::Written,
                    (_, Some(words)) => only = Some(words),
                    (other, None) => {
                        bail!(
                            "`{other}` is no option; known are `--quick`, `--write`, `--only=WORDS`, and alone `--storm=CALLS` and `--order`"
                        )
                    }
                }
            }
            if only.is_some() && output == Output::Written {
                bail!("the report is of a whole run: `--only` does not go with `--write`");
            }
            measure(pace, output, only.unwrap_or_default())
        }
    }
}

/// Measures everything whose name has these words in it.
fn measure(pace: Pace, output: Output, only: &str) -> Result<()> {
    let subject = Subject::build()?;
    let peers = peers::installed(&subject)?;
    end_in_time();
    let mut report = Report::begin(pace, &subject, &peers);
    let sections: [(&str, &dyn Fn() -> Result<report::Section>); 15] = [
        ("calls that pass", &|| calls::measure(&subject, &peers, pace)),
        ("calls in flight", &|| calls::measure_in_flight(&subject, pace)),
        ("verdicts", &|| verdicts::measure(pace)),
        ("starts", &|| starts::measure(&subject, &peers, pace)),
        ("memory", &|| memory::measure(&subject, &peers, pace)),
        ("ledgers", &|| ledgers::measure(&subject, pace)),
        ("ledgers that have grown", &|| ledgers::measure_large(&subject, pace)),
        ("the whole audit trail", &|| ledgers::trail::measure(&subject, pace)),
        ("redeems", &|| redeems::measure(&subject, pace)),
        ("http, one call at a time", &|| http::measure_one(&subject, pace)),
        ("http, many calls at a time", &|| http::measure_many(&subject, pace)),
        ("http, beside peers", &|| http::measure_peers(&subject, pace)),
        ("http, memory", &|| http::measure_memory(&subject, pace)),
        ("pages", &|| pages::measure(&subject, pace)),
        ("tokens", &|| tokens::measure(&subject, pace)),
    ];
    for (name, section) in sections.into_iter().filter(|(name, _)| name.contains(only)) {
        eprintln!("measuring {name} …");
        report.add(section().with_context(|| format!("measuring {name}"))?);
    }
    let text = report.to_markdown();
    print!("{text}");
    match output {
        Output::Shown => Ok(()),
        Output::Written => subject.write_report(&text),
    }
}

/// A child that hangs must not hang us. Children see their stdin close when we are gone, and end.
fn end_in_time() {
    std::thread::spawn(|| {
        std::thread::sleep(LONGEST);
        eprintln!("Error: the benchmark took longer than {} seconds and was given up", LONGEST.as_secs());
        std::process::exit(1);
    });
}

/// The longest that a run may take, after everything is built.
const LONGEST: Duration = Duration::from_secs(1200);
