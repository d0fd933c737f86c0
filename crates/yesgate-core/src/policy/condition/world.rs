//! What a condition can see of one call.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};

use cel::Context;
use cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use cel::common::value::Val;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{ConditionError, functions};
use crate::amount::Amount;
use crate::budget::Sums;
use crate::caller::Caller;
use crate::class::Class;
use crate::id::{BudgetName, ServerName, ToolName};
use crate::json::CanonicalJson;

/// The call that a rule is held against.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) struct Subject<'a> {
    pub(in crate::policy) caller: &'a Caller,
    pub(in crate::policy) server: &'a ServerName,
    pub(in crate::policy) tool: &'a ToolName,
    pub(in crate::policy) class: Class,
    pub(in crate::policy) arguments: &'a CanonicalJson,
    pub(in crate::policy) state: Option<&'a Value>,
    pub(in crate::policy) spent: Spending<'a>,
    pub(in crate::policy) now: Timestamp,
}

/// What was spent before.
#[derive(Clone, Copy, Debug)]
pub(in crate::policy) enum Spending<'a> {
    /// What the ledger knows.
    Read(&'a Sums),
    /// What an example says; nothing where it says nothing.
    Told(&'a BTreeMap<BudgetName, Amount>),
}

/// A name that conditions can read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Root {
    Args,
    Caller,
    Tool,
    Time,
    State,
}

impl Root {
    pub(super) const ALL: [Self; 5] = [Self::Args, Self::Caller, Self::Tool, Self::Time, Self::State];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Args => "args",
            Self::Caller => "caller",
            Self::Tool => "tool",
            Self::Time => "time",
            Self::State => "state",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|root| root.name() == name)
    }

    /// What can stand behind it; `None`: whatever the caller sent.
    pub(super) const fn fields(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Args | Self::State => None,
            Self::Caller => Some(&["org", "principal", "client"]),
            Self::Tool => Some(&["name", "server", "class"]),
            Self::Time => Some(&["hour", "minute", "weekday", "date"]),
        }
    }
}

/// A call as conditions, summaries and spending see it; each part is made when it is first asked for.
pub(in crate::policy) struct World<'a> {
    subject: Subject<'a>,
    arguments: OnceCell<Value>,
    longest_list: OnceCell<usize>,
    names: RefCell<Names>,
}

/// The names that have a value so far.
#[derive(Default)]
struct Names {
    context: Option<Context<'static, 'static>>,
    made: Vec<Root>,
}

impl<'a> World<'a> {
    pub(in crate::policy) fn new(subject: Subject<'a>) -> Self {
        Self { subject, arguments: OnceCell::new(), longest_list: OnceCell::new(), names: RefCell::default() }
    }

    pub(in crate::policy) const fn subject(&self) -> &Subject<'a> {
        &self.subject
    }

    /// The arguments, parsed once.
    pub(in crate::policy) fn arguments(&self) -> &Value {
        self.arguments.get_or_init(|| self.subject.arguments.to_value())
    }

    pub(super) fn argument_bytes(&self) -> usize {
        self.subject.arguments.as_bytes().len()
    }

    pub(super) fn longest_list(&self) -> usize {
        *self.longest_list.get_or_init(|| longest_list(self.arguments()))
    }

    /// Evaluates something that reads the given names.
    pub(super) fn with_context<T>(
        &self,
        reads: &[Root],
        sums: &[(&str, Amount)],
        zones: &[TimeZone],
        evaluate: impl FnOnce(&Context<'_, '_>) -> T,
    ) -> Result<T, ConditionError> {
        let mut names = self.names.borrow_mut();
        let Names { context, made } = &mut *names;
        let context = match context {
            Some(context) => context,
            None => context
                .insert(functions::bare_context().map_err(|error| ConditionError::Failed(error.message))?),
        };
        for root in reads {
            if !made.contains(root) {
                context.add_variable_as_val(root.name(), self.value_of(*root));
                made.push(*root);
            }
        }
        // Which account a budget means depends on the rule, so these are made anew for each.
        if !sums.is_empty() {
            let sums = sums.iter().map(|(name, sum)| (*name, functions::exact(*sum)));
            context.add_variable_as_val(SPENT, map(sums));
        }
        if !zones.is_empty() {
            let zones = zones.iter().filter_map(|zone| Some((zone.iana_name()?, self.time_in(zone))));
            context.add_variable_as_val(ZONES, map(zones));
        }
        Ok(evaluate(context))
    }

    /// What the clock shows in a time zone.
    fn time_in(&self, zone: &TimeZone) -> CelValue {
        let time = self.subject.now.to_zoned(zone.clone());
        map([
            ("hour", integer(time.hour())),
            ("minute", integer(time.minute())),
            ("weekday", integer(time.weekday().to_monday_one_offset())),
            ("date", text(&time.date().to_string())),
        ])
    }

    fn value_of(&self, root: Root) -> CelValue {
        let Subject { caller, server, tool, class, .. } = &self.subject;
        match root {
            Root::Args => cel_value(self.arguments()),
            // Nothing was looked up: reading a key of nothing is an error, and that is the closed way.
            Root::State => self.subject.state.map_or_else(|| map([]), cel_value),
            Root::Caller => map([
                ("org", text(caller.org.as_str())),
                ("principal", text(caller.principal.as_str())),
                ("client", text(caller.client.as_str())),
            ]),
            Root::Tool => map([
                ("name", text(tool.as_str())),
                ("server", text(server.as_str())),
                ("class", text(class.as_str())),
            ]),
            Root::Time => self.time_in(&TimeZone::UTC),
        }
    }
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("subject", &self.subject).finish_non_exhaustive()
    }
}

pub(super) type CelValue = Box<dyn Val>;

/// What `spent("name")` is looked up in; no condition can write such a name.
pub(super) const SPENT: &str = "@spent";
/// What `time.at("zone")` is looked up in.
pub(super) const ZONES: &str = "@zones";

/// The same value in CEL. An integer is an `int` wherever it fits, so that `args.n + 1` works.
fn cel_value(value: &Value) -> CelValue {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), _, _) => Box::new(CelInt::from(number)),
            (None, Some(number), _) => Box::new(CelUInt::from(number)),
            (None, None, Some(number)) => Box::new(CelDouble::from(number)),
            (None, None, None) => Box::new(CelNull),
        },
        Value::String(words) => text(words),
        Value::Array(items) => Box::new(CelList::from(items.iter().map(cel_value).collect::<Vec<_>>())),
        Value::Object(members) => map(members.iter().map(|(key, value)| (key.as_str(), cel_value(value)))),
    }
}

fn text(words: &str) -> CelValue {
    Box::new(CelString::from(words.to_owned()))
}

fn integer(number: i8) -> CelValue {
    Box::new(CelInt::from(i64::from(number)))
}

fn map<'k>(members: impl IntoIterator<Item = (&'k str, CelValue)>) -> CelValue {
    let members: HashMap<CelMapKey<'static>, CelValue> =
        members.into_iter().map(|(key, value)| (CelMapKey::from(key.to_owned()), value)).collect();
    Box::new(CelMap::from(members))
}

fn longest_list(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(longest_list).fold(items.len(), usize::max),
        Value::Object(members) => members.values().map(longest_list).fold(members.len(), usize::max),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
