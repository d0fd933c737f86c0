//! Examples in rules: calls that a rule must decide, or must not, tried when the policy is loaded.

use std::collections::BTreeMap;

use serde_json::Value;

use super::condition::{Spending, Subject, World};
use super::error::ConfigError;
use super::reader::{Entry, Form, Section, shown};
use super::{EXAMPLE_KEYS, Policy};
use crate::amount::Amount;
use crate::caller::Caller;
use crate::id::{BudgetName, ClientId, OrgId, PrincipalId, ServerName, ToolName};
use crate::json::CanonicalJson;

/// A call that the operator expects a rule to decide, or not to.
#[derive(Debug)]
pub(super) struct Example<'a> {
    entry: Entry<'a>,
    /// The place of the rule in the list.
    rule: usize,
    expected: Expected,
    server: ServerName,
    tool: ToolName,
    arguments: CanonicalJson,
    state: Option<Value>,
    /// What was spent before; nothing where it says nothing.
    spent: BTreeMap<BudgetName, Amount>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expected {
    Match,
    NoMatch,
}

impl<'a> Example<'a> {
    /// Reads the examples of one rule.
    pub(super) fn parse_all(section: &Section<'a>, rule: usize) -> Result<Vec<Self>, ConfigError> {
        let mut examples = Vec::new();
        for (key, expected) in [("match", Expected::Match), ("not_match", Expected::NoMatch)] {
            for entry in section.entry(key).map_or_else(|| Ok(Vec::new()), |list| list.items())? {
                examples.push(Self::parse(entry, rule, expected)?);
            }
        }
        Ok(examples)
    }

    fn parse(entry: Entry<'a>, rule: usize, expected: Expected) -> Result<Self, ConfigError> {
        let (name, arguments, state, spent) = match entry.form() {
            Form::Table => {
                let section = entry.section(&EXAMPLE_KEYS)?;
                let arguments = section.entry("args").map(|arguments| arguments.json_object()).transpose()?;
                let state = section.entry("state").map(|state| state.json_object()).transpose()?;
                let spent = section.entry("spent").map(|spent| read_spent(&spent)).transpose()?;
                let tool = section.required("tool")?.text()?;
                (tool, arguments.unwrap_or_default(), state.map(Value::Object), spent.unwrap_or_default())
            }
            Form::Single | Form::List => (entry.text()?, serde_json::Map::new(), None, BTreeMap::new()),
        };
        let wrong = || {
            entry
                .error(format!("`{}` is no call", shown(name)))
                .with_hint("write `server/tool`, or { tool = \"server/tool\", args = { … } }")
        };
        let (server, tool) = name.split_once('/').ok_or_else(wrong)?;
        if name.contains('*') {
            return Err(wrong());
        }
        let arguments = CanonicalJson::of(&Value::Object(arguments))
            .map_err(|error| entry.error(format!("the arguments are no JSON that could be sent: {error}")))?;
        Ok(Self {
            entry,
            rule,
            expected,
            server: server.parse().map_err(|_| wrong())?,
            tool: tool.parse().map_err(|_| wrong())?,
            arguments,
            state,
            spent,
        })
    }

    /// Tries the example on the whole policy.
    pub(super) fn try_on(&self, policy: &Policy) -> Result<(), ConfigError> {
        let caller = example_caller().ok_or_else(|| self.entry.error("no caller to try it with"))?;
        let class = policy
            .class_by_rule(&self.server, &self.tool)
            .map_or(crate::class::Class::Dangerous, |(class, _)| class);
        let world = World::new(Subject {
            caller: &caller,
            server: &self.server,
            tool: &self.tool,
            class,
            arguments: &self.arguments,
            state: self.state.as_ref(),
            spent: Spending::Told(&self.spent),
            now: jiff::Timestamp::constant(EXAMPLE_SECOND, 0),
        });
        let found = policy.first_match(&world, &mut |_, _| {});
        let decider = found.as_ref().map(|found| found.index);
        let meant = policy.rules.get(self.rule).map_or("", |rule| rule.name.as_str());
        let call = format!("{}/{}", self.server, self.tool);
        let said = match (self.expected, decider == Some(self.rule)) {
            (Expected::Match, true) | (Expected::NoMatch, false) => return Ok(()),
            (Expected::NoMatch, true) => {
                format!("the example `{call}` is decided by rule {meant} and should not be")
            }
            (Expected::Match, false) => {
                let instead = match found {
                    Some(found) => format!("rule {} decides it", found.rule.name),
                    None => "no rule matches it".to_owned(),
                };
                format!("the example `{call}` should be decided by rule {meant}, but {instead}")
            }
        };
        Err(self.entry.error(said))
    }
}

/// Reads what was spent before an example: `{ daily = "49.50" }`.
fn read_spent(entry: &Entry<'_>) -> Result<BTreeMap<BudgetName, Amount>, ConfigError> {
    let sums = entry.named_entries()?.into_iter().map(|sum| {
        let name = sum.name().parse::<BudgetName>().map_err(|error| sum.error(error.to_string()))?;
        let amount = sum.text()?.parse::<Amount>();
        Ok((name, amount.map_err(|error| sum.error(format!("the sum cannot be read: {error}")))?))
    });
    sums.collect()
}

/// Who calls in an example.
fn example_caller() -> Option<Caller> {
    Some(Caller {
        org: "example".parse::<OrgId>().ok()?,
        principal: "example".parse::<PrincipalId>().ok()?,
        client: "example".parse::<ClientId>().ok()?,
    })
}

/// When an example is called: a Monday, 2024-01-01, at noon.
const EXAMPLE_SECOND: i64 = 1_704_110_400;
