//! What people and programs read: tables and texts on stdout, `Error:` and `Hint:` on stderr.
//!
//! INVARIANT: whatever came from an agent or a server is printed only as `Sanitized`.

use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

use serde::Serialize;
use yesgate_core::json::on_screen;
use yesgate_core::refusal::Refusal;

/// Prints one line. A reader that has seen enough (`| head`) is no error.
pub(crate) fn line(text: impl fmt::Display) {
    writeln!(std::io::stdout().lock(), "{text}").ok();
}

/// Prints a value as JSON.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(on_screen(&serde_json::to_string_pretty(value)?));
    Ok(())
}

/// Prints columns, each as wide as its widest cell; the last one is not padded.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) {
    let width = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| cell.chars().count());
        cells.chain(head.get(index).map(|cell| cell.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let print = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        line(padded.join("  ").trim_end());
    };
    print(&mut head.iter().copied());
    for row in rows {
        print(&mut row.iter().map(String::as_str));
    }
}

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Done {
    /// Well.
    Ok,
    /// It was refused.
    Refused,
    /// There is no such thing.
    NotFound,
    /// A check found a problem.
    Problem,
    /// With a server's own exit code.
    Code(i32),
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        match done {
            Done::Ok => Self::SUCCESS,
            Done::Refused => Self::from(3),
            Done::NotFound => Self::from(4),
            Done::Problem => Self::from(5),
            Done::Code(code) => Self::from(u8::try_from(code).unwrap_or(1)),
        }
    }
}

/// An error that knows what to do about it.
#[derive(Debug)]
pub(crate) struct Hinted {
    message: String,
    hint: Option<String>,
}

impl Hinted {
    pub(crate) fn new(message: impl Into<String>, hint: Option<impl Into<String>>) -> Self {
        Self { message: message.into(), hint: hint.map(Into::into) }
    }
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Hinted {}

/// Prints an error, its causes in one line, and its hint.
pub(crate) fn error(error: &anyhow::Error) {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    eprintln!("Error: {}", causes.join(": "));
    if let Some(hint) = error.downcast_ref::<Hinted>().and_then(|hinted| hinted.hint.as_deref()) {
        eprintln!("Hint: {hint}");
    }
}

/// Prints why something was refused.
pub(crate) fn refusal(refusal: &Refusal) -> Done {
    eprintln!("Error: {} ({})", refusal.why.message(), refusal.why.code());
    Done::Refused
}

/// Prints that there is no such thing.
pub(crate) fn not_found(what: &str, hint: &str) -> Done {
    eprintln!("Error: {what}");
    eprintln!("Hint: {hint}");
    Done::NotFound
}
