//! How an end is told.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::{Ending, ExitReport, quoted};

fn check(status: i32, why_not_started: Option<&str>, ending: Ending, text: &str) {
    let why_not_started = why_not_started.map(str::to_owned);
    let report = ExitReport::new(OsStr::new("npx"), ExitStatus::from_raw(status), why_not_started);
    assert_eq!(report, ExitReport { ending, text: text.to_owned() });
}

#[test]
fn every_way_to_end_has_its_words() {
    check(0, None, Ending::Code(0), "`npx` ended with exit code 0");
    check(3 << 8, None, Ending::Code(3), "`npx` ended with exit code 3");
    check(127 << 8, None, Ending::Code(127), "`npx` ended with exit code 127");
    check(255 << 8, None, Ending::Code(255), "`npx` ended with exit code 255");
    check(143 << 8, None, Ending::Signal(15), "`npx` was ended by signal 15 (SIGTERM)");
    check(162 << 8, None, Ending::Signal(34), "`npx` was ended by signal 34");
    check(9, None, Ending::Signal(9), "`npx` was ended by signal 9 (SIGKILL)");
    check(
        127 << 8,
        Some("there is no such program"),
        Ending::NotStarted(127),
        "`npx` could not be started: there is no such program",
    );
}

#[test]
fn a_program_name_cannot_disturb_a_terminal() {
    assert_eq!(quoted(OsStr::new("a\u{1b}[2J\nb")), "`a\\u{1b}[2J\\nb`");
}
