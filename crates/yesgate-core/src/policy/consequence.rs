//! The classification matrix: what happens to a tool, by class and mode (M5).

use std::fmt;

use serde::Serialize;

use super::Policy;
use super::judge::{Action, Allowed};
use crate::class::{Class, Trust};
use crate::definition::ToolDefinition;
use crate::id::{ServerName, ToolName};
use crate::mode::Mode;
use crate::verdict::ConfirmType;

/// One cell of the matrix.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consequence {
    /// It runs.
    Runs,
    /// A human is asked first.
    Asks,
    /// It is explained and does not run.
    Explained,
    /// Its preview is made and shown, and it does not run.
    Previewed,
    /// It is refused.
    Refused,
    /// It runs with both keys turned, and is previewed otherwise.
    TwoKeys,
    /// It depends on the arguments, the caller or the time.
    Depends,
}

impl Consequence {
    /// The word used in tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Asks => "asks",
            Self::Explained => "explained",
            Self::Previewed => "previewed",
            Self::Refused => "refused",
            Self::TwoKeys => "two keys",
            Self::Depends => "depends",
        }
    }
}

impl fmt::Display for Consequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Policy {
    /// How a human confirms calls of a tool where one is asked: the most that any rule for it wants.
    pub fn confirm(&self, server: &ServerName, tool: &ToolName) -> ConfirmType {
        let mut most = ConfirmType::Simple;
        for rule in self.rules.iter().filter(|rule| rule.tool.matches(server, tool)) {
            most = most.max(rule.confirm.kind.unwrap_or(ConfirmType::Simple));
            if rule.is_unconditional() {
                break;
            }
        }
        most
    }
}

pub(super) fn of(
    policy: &Policy,
    server: &ServerName,
    definition: &ToolDefinition,
    trust: Trust,
    class: Class,
    mode: Mode,
) -> Consequence {
    let mut cells = Vec::new();
    let mut ended = false;
    for rule in policy.rules.iter().filter(|rule| rule.tool.matches(server, &definition.name)) {
        let class = rule.class.unwrap_or(class);
        let previews = mode == Mode::Plan && rule.confirm.preview.is_some();
        let action = policy.action(Some(rule.then), definition, trust, class);
        // A budget that is used up holds up what it lets run otherwise.
        let actions = std::iter::once(action).chain(policy.over_budget(rule));
        cells.extend(actions.map(|action| match cell(action, class, mode) {
            Consequence::Explained if previews => Consequence::Previewed,
            cell @ (Consequence::Runs
            | Consequence::Asks
            | Consequence::Explained
            | Consequence::Previewed
            | Consequence::Refused
            | Consequence::TwoKeys
            | Consequence::Depends) => cell,
        }));
        if rule.is_unconditional() {
            ended = true;
            break;
        }
    }
    if !ended {
        cells.push(cell(policy.action(None, definition, trust, class), class, mode));
    }
    match cells.split_first() {
        Some((first, rest)) if rest.iter().all(|other| other == first) => *first,
        Some(_) | None => Consequence::Depends,
    }
}

const fn cell(action: Action, class: Class, mode: Mode) -> Consequence {
    match (action, Allowed::of(class, mode)) {
        (Action::Reject, _) => Consequence::Refused,
        (Action::RunByClass | Action::RunByRule | Action::Ask | Action::TwoKeys, Allowed::Explain) => {
            Consequence::Explained
        }
        (Action::RunByClass | Action::RunByRule, Allowed::Yes) => Consequence::Runs,
        (Action::Ask, Allowed::Yes) => Consequence::Asks,
        (Action::TwoKeys, Allowed::Yes) => Consequence::TwoKeys,
    }
}
