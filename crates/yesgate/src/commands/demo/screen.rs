//! What the person in front of the demo sees: who acts, and what happens. Eighty columns, and colour
//! only where a terminal shows it and nobody asked to do without.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use yesgate_core::render::Sanitized;

/// Who acts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Who {
    Agent,
    Gate,
    Server,
    You,
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gate => "gate",
            Self::Server => "server",
            Self::You => "you",
        }
    }
}

/// The word that a line begins with, where something was decided or done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    Passed,
    Held,
    Refused,
    Ran,
}

impl Mark {
    const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Held => "held",
            Self::Refused => "refused",
            Self::Ran => "ran",
        }
    }

    /// Colours that can be read on light and on dark.
    const fn style(self) -> &'static str {
        match self {
            Self::Passed | Self::Ran => "32",
            Self::Held => "35",
            Self::Refused => "31",
        }
    }
}

/// The terminal, or whatever stdout is.
#[derive(Debug)]
pub(super) struct Screen {
    colour: bool,
    /// Whether a line can be written over.
    live: bool,
}

impl Screen {
    pub(super) fn new() -> Self {
        let live = io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colour: live && !plain, live }
    }

    /// Prints lines of their own.
    pub(super) fn prose(&self, text: &str) -> anyhow::Result<()> {
        for line in wrapped(text, WIDTH) {
            self.print(line)?;
        }
        Ok(())
    }

    /// Opens a part of the story.
    pub(super) fn heading(&self, text: &str) -> anyhow::Result<()> {
        self.print("")?;
        self.print(self.styled(text, "1"))
    }

    /// Says who does what.
    pub(super) fn says(&self, who: Who, text: impl Display) -> anyhow::Result<()> {
        self.entry(who, &text.to_string(), None)
    }

    /// Says what was decided or done, and by whom.
    pub(super) fn marked(&self, who: Who, mark: Mark, text: impl Display) -> anyhow::Result<()> {
        self.entry(who, &format!("{} {text}", mark.word()), Some(mark))
    }

    /// Goes on below what somebody does.
    pub(super) fn more(&self, text: impl Display) -> anyhow::Result<()> {
        for line in wrapped(&text.to_string(), WIDTH - INDENT) {
            self.print(format_args!("{:INDENT$}{line}", ""))?;
        }
        Ok(())
    }

    /// Shows the question that a human is asked.
    pub(super) fn question(&self, summary: &Sanitized, details: impl Display) -> anyhow::Result<()> {
        for line in wrapped(summary.as_str(), WIDTH - INDENT - 2) {
            self.print(format_args!("{:INDENT$}  {}", "", self.styled(&line, "1")))?;
        }
        self.print(format_args!("{:INDENT$}  {details}", ""))
    }

    /// Shows a command so that it can be copied: broken between its parts, if at all, as a shell reads it.
    pub(super) fn command(&self, parts: &[String]) -> anyhow::Result<()> {
        let lines = broken(parts, WIDTH - INDENT - 6);
        let last = lines.len().saturating_sub(1);
        for (index, line) in lines.iter().enumerate() {
            let margin = if index == 0 { INDENT + 2 } else { INDENT + 4 };
            let end = if index == last { "" } else { " \\" };
            self.print(format_args!("{:margin$}{}{end}", "", self.styled(line, "1")))?;
        }
        Ok(())
    }

    /// Prints a line that is to be copied as one, however long it is.
    pub(super) fn unbroken(&self, text: &str) -> anyhow::Result<()> {
        self.print(text)
    }

    /// Says that the story was broken off.
    pub(super) fn interrupted(&self) -> anyhow::Result<()> {
        self.waited()?;
        self.print("Interrupted; the gate is stopped.")
    }

    /// Says what is awaited and how long at most, where no line can keep itself up to date.
    pub(super) fn starts_waiting(&self, what: &str, at_most: Duration) -> anyhow::Result<()> {
        if self.live {
            return Ok(());
        }
        self.more(format_args!("waiting for {what}: at most {}", clock(at_most)))
    }

    /// Shows what is awaited and for how long, in a line of the terminal that keeps itself up to date.
    pub(super) fn waiting(&self, what: &str, since: Duration, at_most: Duration) -> anyhow::Result<()> {
        if self.live {
            let mut out = io::stdout().lock();
            write!(out, "\r{:INDENT$}waiting for {what}: {} of {}\x1b[K", "", clock(since), clock(at_most))?;
            out.flush()?;
        }
        Ok(())
    }

    /// Clears the line of [`Self::waiting`].
    pub(super) fn waited(&self) -> anyhow::Result<()> {
        if self.live {
            let mut out = io::stdout().lock();
            write!(out, "\r\x1b[K")?;
            out.flush()?;
        }
        Ok(())
    }

    fn entry(&self, who: Who, text: &str, mark: Option<Mark>) -> anyhow::Result<()> {
        let mut name = who.name();
        for (index, line) in wrapped(text, WIDTH - INDENT).into_iter().enumerate() {
            let line = match mark {
                Some(mark) if index == 0 => match line.strip_prefix(mark.word()) {
                    Some(rest) => format!("{}{rest}", self.styled(mark.word(), mark.style())),
                    None => line,
                },
                Some(_) | None => line,
            };
            self.print(format_args!("  {name:<NAME$}{line}"))?;
            name = "";
        }
        Ok(())
    }

    fn styled(&self, text: &str, style: &str) -> String {
        if self.colour { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn print(&self, line: impl Display) -> anyhow::Result<()> {
        writeln!(io::stdout().lock(), "{line}").context("the story cannot be printed")
    }
}

/// Breaks a text between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    broken(&words, width)
}

/// Puts words into lines that are not longer than the width, unless a single word is.
fn broken(words: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.clone()),
        }
    }
    lines
}

fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

const WIDTH: usize = 80;
/// The column of names, and where the text beside it begins.
const NAME: usize = 8;
const INDENT: usize = 2 + NAME;
