//! How a child ended, for code to branch on and for people to read.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

/// How a child ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExitReport {
    /// What happened.
    pub ending: Ending,
    /// The same in words, for a log or an operator.
    pub text: String,
}

/// What ended a child.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending {
    /// It never ran: 127 if there is no such program, 126 if it cannot be executed, 125 if the guard failed.
    NotStarted(i32),
    /// It ended by itself.
    Code(i32),
    /// It was ended by a signal. The guard tells that by a code above 128, as shells do.
    Signal(i32),
    /// It ended, and the system does not tell how.
    Unknown,
}

impl ExitReport {
    pub(super) fn new(program: &OsStr, status: ExitStatus, why_not_started: Option<String>) -> Self {
        let program = quoted(program);
        let (ending, text) = match (why_not_started, status.code(), status.signal()) {
            (Some(reason), code, _) => {
                (Ending::NotStarted(code.unwrap_or(125)), format!("{program} could not be started: {reason}"))
            }
            (None, Some(code @ 129..=192), _) => by_signal(&program, code - 128),
            (None, Some(code), _) => (Ending::Code(code), format!("{program} ended with exit code {code}")),
            (None, None, Some(signal)) => by_signal(&program, signal),
            (None, None, None) => (Ending::Unknown, format!("{program} ended, how is not known")),
        };
        Self { ending, text }
    }

    pub(super) fn unknown(program: &OsStr, error: &io::Error) -> Self {
        let program = quoted(program);
        Self { ending: Ending::Unknown, text: format!("{program} ended, how is not known: {error}") }
    }
}

/// A program's name for people: in backticks, without characters that could disturb a terminal.
pub(super) fn quoted(program: &OsStr) -> String {
    format!("`{}`", program.to_string_lossy().escape_debug())
}

fn by_signal(program: &str, signal: i32) -> (Ending, String) {
    let name = NAMES.iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| *name);
    let text = match name {
        Some(name) => format!("{program} was ended by signal {signal} ({name})"),
        None => format!("{program} was ended by signal {signal}"),
    };
    (Ending::Signal(signal), text)
}

const NAMES: [(Signal, &str); 13] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::SYS, "SIGSYS"),
];

#[cfg(test)]
mod tests;
