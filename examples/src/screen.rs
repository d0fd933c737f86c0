//! What the person in front of a story sees: who acts, and what comes of it. Eighty columns, and colour only where a
//! terminal shows it and nobody asked to do without.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;
use serde_json::{Map, Value};

/// Who acts.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// The scripted agent, with a user at its side.
    Agent,
    /// Yesgate.
    Gate,
    /// The MCP server behind the gate.
    Server,
    /// Whoever may say yes.
    Human,
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gate => "gate",
            Self::Server => "server",
            Self::Human => "human",
        }
    }

    /// Colours that can be read on light and on dark.
    const fn style(self) -> &'static str {
        match self {
            Self::Agent => "36",
            Self::Gate => "35",
            Self::Server => "32",
            Self::Human => "33",
        }
    }
}

/// The terminal, or whatever stdout is.
#[derive(Debug)]
pub struct Screen {
    colour: bool,
}

impl Screen {
    pub(crate) fn new() -> Self {
        let live = io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colour: live && !plain }
    }

    /// Prints sentences that nobody on the stage says.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub fn prose(&self, text: &str) -> anyhow::Result<()> {
        wrapped(text, WIDTH).iter().try_for_each(|line| self.print(line))
    }

    /// Opens a part of the story.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub fn heading(&self, text: &str) -> anyhow::Result<()> {
        self.print("")?;
        self.print(self.styled(text, "1"))
    }

    /// Says who does or says what.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub fn says(&self, who: Who, text: impl Display) -> anyhow::Result<()> {
        let name = format!("{:<NAME$}", who.name());
        let mut margin = self.styled(&name, who.style());
        for line in wrapped(&text.to_string(), WIDTH - INDENT) {
            self.print(format_args!("  {margin}{line}"))?;
            margin = " ".repeat(NAME);
        }
        Ok(())
    }

    /// Goes on below what somebody does.
    ///
    /// # Errors
    /// When nothing can be printed.
    pub fn more(&self, text: impl Display) -> anyhow::Result<()> {
        let text = text.to_string();
        wrapped(&text, WIDTH - INDENT)
            .iter()
            .try_for_each(|line| self.print(format_args!("{:INDENT$}{line}", "")))
    }

    /// Shows lines that were laid out for a terminal, as they are.
    pub(crate) fn as_printed(&self, lines: &str) -> anyhow::Result<()> {
        lines
            .lines()
            .try_for_each(|line| self.print(format_args!("{:INDENT$}{line}", "").to_string().trim_end()))
    }

    /// Shows some fields of an answer, one below the other; a point leads to a field in a field.
    pub(crate) fn fields(&self, payload: &Map<String, Value>, names: &[&str]) -> anyhow::Result<()> {
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
        for name in names {
            let mut path = name.split('.');
            let first = path.next().and_then(|first| payload.get(first));
            let Some(value) = path.fold(first, |found, next| found?.get(next)) else { continue };
            let mut margin = format!("{name:<longest$}");
            for line in field_in_lines(value, WIDTH - INDENT - 2 - longest - 2) {
                self.print(format_args!("{:INDENT$}  {margin}  {line}", ""))?;
                margin = " ".repeat(longest);
            }
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

/// A call as people write it.
pub(crate) fn call_in_words(tool: &str, arguments: &Value) -> String {
    let arguments = arguments.as_object().map(members_in_words).unwrap_or_default();
    format!("{tool}({arguments})")
}

/// The members of a call or an answer as people write them.
pub(crate) fn members_in_words(members: &Map<String, Value>) -> String {
    joined(members.iter().map(|(name, value)| format!("{name}={}", value_in_words(value))))
}

/// A field that stands alone: texts need no quotes, and a list of them is meant to be read line by line.
fn field_in_lines(value: &Value, width: usize) -> Vec<String> {
    let texts = match value {
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        Value::String(text) => Some(vec![text.as_str()]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    match texts {
        Some(texts) => texts.into_iter().flat_map(|text| wrapped(text, width)).collect(),
        None => wrapped(&value_in_words(value), width),
    }
}

/// JSON with room to break it into lines.
fn value_in_words(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| format!("\"{name}\": {}", value_in_words(value)));
            format!("{{{}}}", joined(members))
        }
        Value::Array(items) => format!("[{}]", joined(items.iter().map(value_in_words))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// Breaks a text between words into lines that are not longer than the width, unless a single word is.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

const WIDTH: usize = 80;
/// The column of names, and where the text beside it begins.
const NAME: usize = 8;
const INDENT: usize = 2 + NAME;
