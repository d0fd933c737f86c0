//! Looking up the present state before a human is asked (H1): which read tool, and with what.
//!
//! The answer is `state` in summaries and conditions. It informs; the yes is still bound to the
//! call alone, and what the state says is looked up again before the call runs.

use serde_json::{Map, Value};

use super::reader::{Entry, Form, Section, shown};
use super::template::Path;
use super::{ConfigError, LOOKUP_KEYS, Policy};
use crate::id::{ServerName, ToolName};

/// A read tool that is asked before a human is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lookup {
    server: ServerName,
    tool: ToolName,
    arguments: Vec<(String, Filling)>,
}

/// What an argument of the lookup is filled with.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Filling {
    At(Path),
    Literal(Value),
}

impl Lookup {
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        match entry.form() {
            Form::Table => Self::of_section(&entry.section(&LOOKUP_KEYS)?),
            Form::Single | Form::List => {
                let (server, tool) = names(entry)?;
                Ok(Self { server, tool, arguments: Vec::new() })
            }
        }
    }

    /// Reads `tool` and `args` of a table.
    pub(super) fn of_section(section: &Section<'_>) -> Result<Self, ConfigError> {
        let (server, tool) = names(&section.required("tool")?)?;
        Ok(Self { server, tool, arguments: fillings(section)? })
    }

    /// The server that is asked.
    pub const fn server(&self) -> &ServerName {
        &self.server
    }

    /// The tool that is asked.
    pub const fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// What it is asked with, for one call.
    pub fn arguments(&self, call: &Value) -> Map<String, Value> {
        self.arguments
            .iter()
            .filter_map(|(key, filling)| {
                let value = match filling {
                    Filling::At(path) => path.find(call)?.clone(),
                    Filling::Literal(value) => value.clone(),
                };
                Some((key.clone(), value))
            })
            .collect()
    }
}

impl Policy {
    /// What is looked up before a call of this tool is judged; the first rule that names it counts.
    pub fn lookup(&self, server: &ServerName, tool: &ToolName) -> Option<&Lookup> {
        self.rules.iter().filter(|rule| rule.tool.matches(server, tool)).find_map(|rule| rule.lookup.as_ref())
    }
}

fn names(entry: &Entry<'_>) -> Result<(ServerName, ToolName), ConfigError> {
    let text = entry.text()?;
    text.split_once('/')
        .and_then(|(server, tool)| Some((server.parse().ok()?, tool.parse().ok()?)))
        .ok_or_else(|| {
            entry.error(format!("`{}` names no tool", shown(text))).with_hint("write `server/tool`")
        })
}

/// `args.x` takes a value from the call; `=text` and everything that is no text stand for themselves.
fn fillings(section: &Section<'_>) -> Result<Vec<(String, Filling)>, ConfigError> {
    let Some(entry) = section.entry("args") else { return Ok(Vec::new()) };
    let mut filled = Vec::new();
    for (key, value) in entry.json_object()? {
        let filling = match value.as_str() {
            None => Filling::Literal(value),
            Some(text) => match text.strip_prefix('=') {
                Some(literal) => Filling::Literal(literal.into()),
                None => Filling::At(Path::parse(text).map_err(|error| {
                    entry
                        .error(error.message)
                        .with_hint("write `args.` and the argument's name, or `=` and a text")
                })?),
            },
        };
        filled.push((key, filling));
    }
    Ok(filled)
}
