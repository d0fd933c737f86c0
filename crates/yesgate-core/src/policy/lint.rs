//! What a policy allows but its author probably did not mean.

use std::fmt;

use serde::Serialize;

use super::Policy;
use super::preview::Preview;
use super::rule::{Rule, Then};
use crate::id::ServerName;

/// A remark about one rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Lint {
    rule: String,
    line: usize,
    #[serde(flatten)]
    kind: LintKind,
}

/// What is odd about a rule.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "lint", rename_all = "snake_case")]
pub enum LintKind {
    /// An earlier rule always decides first.
    Unreachable {
        /// That rule.
        behind: String,
    },
    /// An earlier rule lets calls run that this one would hold up.
    RunAbove {
        /// That rule.
        runs: String,
    },
    /// The condition has the same answer for every call.
    ConstantCondition {
        /// The answer.
        answer: bool,
    },
    /// No configured server has a name that the rule speaks of.
    UnknownServer {
        /// The tools the rule speaks of.
        tool: String,
    },
    /// The rule lets calls run by what was spent, and does not count them.
    Uncounted {
        /// The budget that it looks at.
        budget: String,
    },
    /// The agent is shown what a human must type.
    TypedIsShown {
        /// Where that stands.
        path: String,
        /// The key that shows it.
        shown_by: &'static str,
    },
    /// No rule counts in the budget or looks at it; it is the budget's name that stands for the rule's.
    UnusedBudget,
}

impl Lint {
    fn new(rule: &Rule, kind: LintKind) -> Self {
        Self { rule: rule.name.clone(), line: rule.line, kind }
    }

    /// The rule's name.
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// The line the rule begins on.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// What is odd about it.
    pub const fn kind(&self) -> &LintKind {
        &self.kind
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, line, kind } = self;
        let subject = if *kind == LintKind::UnusedBudget { "budget" } else { "rule" };
        write!(f, "{line}: {subject} {rule} ")?;
        match kind {
            LintKind::Unreachable { behind } => {
                write!(f, "is never reached: rule {behind} above it decides every call of its tools")
            }
            LintKind::RunAbove { runs } => {
                write!(f, "comes too late for some calls: rule {runs} above it lets them run; move it up")
            }
            LintKind::ConstantCondition { answer: true } => {
                f.write_str("has a condition that is always true")
            }
            LintKind::ConstantCondition { answer: false } => {
                f.write_str("has a condition that is always false: it never matches")
            }
            LintKind::UnknownServer { tool } => {
                write!(f, "speaks of `{tool}`, and no configured server has such a name")
            }
            LintKind::Uncounted { budget } => {
                write!(f, "lets calls run by what was spent in `{budget}`, and counts them in no budget")
            }
            LintKind::TypedIsShown { path, shown_by } => write!(
                f,
                "has a human type `{path}`, and its {shown_by} shows it to the agent; show something else, or have \
                 something else typed"
            ),
            LintKind::UnusedBudget => f.write_str("is used by no rule: it limits nothing"),
        }
    }
}

/// Looks at the rules alone.
pub(super) fn rules(rules: &[Rule]) -> Vec<Lint> {
    let mut lints = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        if let Some((path, shown_by)) = typed_is_shown(rule) {
            lints.push(Lint::new(rule, LintKind::TypedIsShown { path, shown_by }));
        }
        let constant = rule.when.as_ref().and_then(|when| when.constant());
        if let Some(answer) = constant {
            lints.push(Lint::new(rule, LintKind::ConstantCondition { answer }));
        }
        if constant == Some(false) {
            continue;
        }
        let above = rules.get(..index).unwrap_or_default();
        if let Some(first) =
            above.iter().find(|first| first.is_unconditional() && first.tool.covers(&rule.tool))
        {
            lints.push(Lint::new(rule, LintKind::Unreachable { behind: first.name.clone() }));
        } else if let Some(first) = above.iter().find(|first| runs_too_early(first, rule)) {
            lints.push(Lint::new(rule, LintKind::RunAbove { runs: first.name.clone() }));
        }
    }
    lints
}

/// M6: what a human must type, and what tells it to the agent. An argument is the agent's own word: it knows it anyway.
fn typed_is_shown(rule: &Rule) -> Option<(String, &'static str)> {
    let typed = rule.confirm.typed.as_ref().filter(|path| path.is_of_state())?;
    let by_summary = rule.summary.as_ref().is_some_and(|summary| summary.shows(typed));
    let by_preview = rule.confirm.preview.as_ref().is_some_and(|preview| match preview {
        Preview::Text(text) => text.shows(typed),
        Preview::Tool(read) => rule.lookup.as_ref() == Some(read),
        Preview::Arguments(_) => false,
    });
    let shown_by = if by_summary { "summary" } else { by_preview.then_some("preview")? };
    Some((typed.to_string(), shown_by))
}

/// Looks at what is spent and not counted, and at budgets that limit nothing.
pub(super) fn budgets(policy: &Policy) -> Vec<Lint> {
    let uncounted = policy.rules.iter().filter(|rule| rule.lets_run() && rule.budgets.is_empty());
    let uncounted = uncounted.filter_map(|rule| {
        let budget = rule.all_budgets().next()?.to_string();
        Some(Lint::new(rule, LintKind::Uncounted { budget }))
    });
    let is_used = |name| policy.rules.iter().any(|rule| rule.all_budgets().any(|used| used == name));
    let unused = policy.budgets().filter(|budget| !is_used(budget.name())).map(|budget| Lint {
        rule: budget.name().to_string(),
        line: budget.line,
        kind: LintKind::UnusedBudget,
    });
    uncounted.chain(unused).collect()
}

/// Looks at which servers the rules speak of. Without configured servers there is nothing to compare.
pub(super) fn unknown_servers(policy: &Policy, servers: &[&ServerName]) -> Vec<Lint> {
    if servers.is_empty() {
        return Vec::new();
    }
    let unknown =
        policy.rules.iter().filter(|rule| !servers.iter().any(|server| rule.tool.matches_server(server)));
    unknown.map(|rule| Lint::new(rule, LintKind::UnknownServer { tool: rule.tool.to_string() })).collect()
}

/// Whether the first rule lets calls run that the second one is there to hold up.
///
/// A condition before a catch-all is how one writes an exception, so that alone is no remark.
fn runs_too_early(first: &Rule, second: &Rule) -> bool {
    let late = match second.then {
        Some(Then::Reject) => first.is_unconditional() || !second.is_unconditional(),
        Some(Then::Ask) => first.is_unconditional(),
        Some(Then::Run) | None => false,
    };
    late && first.lets_run() && first.tool.overlaps(&second.tool)
}
