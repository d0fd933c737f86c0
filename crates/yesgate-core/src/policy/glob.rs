//! Which tools a rule speaks of: names in which `*` stands for any characters.

use std::fmt;

use crate::id::{ServerName, ToolName};

/// A text in which `*` stands for any characters, also none; split once, matched in linear time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Glob {
    parts: Vec<Box<str>>,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self { parts: pattern.split('*').map(Box::from).collect() }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let Some((first, rest)) = self.parts.split_first() else { return false };
        let Some(text) = text.strip_prefix(first.as_ref()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return text.is_empty() };
        let Some(mut text) = text.strip_suffix(last.as_ref()) else { return false };
        for part in middle {
            match text.split_once(part.as_ref()) {
                Some((_, after)) => text = after,
                None => return false,
            }
        }
        true
    }

    /// Whether everything that the other one matches is matched by this one too.
    fn covers(&self, other: &Self) -> bool {
        // A letter that no pattern holds stands for "any characters": only a `*` can match it.
        self.matches(&other.parts.join("\0"))
    }

    /// Whether there is a text that both match.
    fn overlaps(&self, other: &Self) -> bool {
        let one: Vec<char> = self.parts.join("*").chars().collect();
        let two: Vec<char> = other.parts.join("*").chars().collect();
        // `row[j]` says whether what is left of `one` and `two[j..]` have a text in common.
        let mut row: Vec<bool> = vec![false; two.len() + 1];
        for start in (0..=one.len()).rev() {
            let letter = one.get(start);
            let below = row.clone();
            let under = |column: usize| start < one.len() && below.get(column).copied().unwrap_or(false);
            let mut right = false;
            for column in (0..=two.len()).rev() {
                let here = match (letter, two.get(column)) {
                    (None, None) => true,
                    (Some('*'), None) => under(column),
                    (None, Some('*')) => right,
                    (Some('*'), Some(_)) | (Some(_), Some('*')) => under(column) || right,
                    (Some(one), Some(two)) => one == two && under(column + 1),
                    (Some(_), None) | (None, Some(_)) => false,
                };
                if let Some(cell) = row.get_mut(column) {
                    *cell = here;
                }
                right = here;
            }
        }
        row.first().copied().unwrap_or(false)
    }
}

/// The tools that a rule speaks of: `server/tool`, or `*` for all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ToolGlob {
    text: String,
    server: Glob,
    tool: Glob,
}

/// Why a text names no tools.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum ToolGlobError {
    #[error("a tool is written `server/tool`")]
    NoServer,
    #[error("the server in front of the `/` can hold `A-Z a-z 0-9 _ . -` and `*`")]
    Server,
    #[error("the tool behind the `/` can hold visible ASCII characters and `*`")]
    Tool,
    #[error("`**` says no more than `*`")]
    Doubled,
}

impl ToolGlob {
    pub(super) fn parse(text: &str) -> Result<Self, ToolGlobError> {
        let (server, tool) = match text {
            "*" => ("*", "*"),
            // The tool is everything behind the first slash: a tool's name may hold one too.
            _ => text.split_once('/').ok_or(ToolGlobError::NoServer)?,
        };
        if text.contains("**") {
            return Err(ToolGlobError::Doubled);
        }
        if server.replace('*', "x").parse::<ServerName>().is_err() {
            return Err(ToolGlobError::Server);
        }
        if tool.replace('*', "x").parse::<ToolName>().is_err() {
            return Err(ToolGlobError::Tool);
        }
        Ok(Self { text: text.to_owned(), server: Glob::new(server), tool: Glob::new(tool) })
    }

    pub(super) fn matches(&self, server: &ServerName, tool: &ToolName) -> bool {
        self.server.matches(server.as_str()) && self.tool.matches(tool.as_str())
    }

    /// Whether it speaks of every tool of the servers that it speaks of.
    pub(super) fn is_any(&self) -> bool {
        self.tool == Glob::new("*")
    }

    pub(super) fn matches_server(&self, server: &ServerName) -> bool {
        self.server.matches(server.as_str())
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.server.covers(&other.server) && self.tool.covers(&other.tool)
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.server.overlaps(&other.server) && self.tool.overlaps(&other.tool)
    }
}

impl fmt::Display for ToolGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
