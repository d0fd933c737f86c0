//! Conditions of rules: CEL over the arguments, the caller, the tool and the time.
//!
//! INVARIANT: a condition answers yes, no, or an error, and never panics or runs long. What makes an
//! answer slow or ambiguous is refused when the policy is loaded (`check`), what makes it large is
//! refused before it is evaluated. An error is never a no: the rule that owns the condition decides
//! which way is the closed one.

mod check;
mod functions;
mod world;

use cel::common::types::CelBool;
use cel::parser::Expression;
use cel::{ExecutionError, Value};
use jiff::tz::TimeZone;

use self::world::Root;
pub(super) use self::world::{Spending, Subject, World};
use crate::amount::Amount;
use crate::id::BudgetName;

/// A condition, compiled once when the policy is loaded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    source: String,
    expression: Expression,
    /// What it looks at; nothing else is made for it.
    reads: Vec<Root>,
    /// The budgets whose sums it looks at.
    budgets: Vec<BudgetName>,
    /// The time zones that it looks at the clock in.
    zones: Vec<TimeZone>,
    loops: Loops,
    measures: Measures,
    constant: Option<bool>,
}

/// Whether a condition goes through lists.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Loops {
    Once,
    Never,
}

/// Whether a condition compares amounts of money.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Measures {
    Amounts,
    Nothing,
}

/// Why a text is no condition; found when the policy is loaded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct CompileError {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

/// Why a condition has no answer for one call. It names keys and types, never values.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum ConditionError {
    #[error("the arguments are {bytes} bytes, more than the {LARGEST_ARGUMENTS} that a condition looks at")]
    TooLarge { bytes: usize },
    #[error("a list or an object in the arguments has more than {LONGEST_LIST} items")]
    TooManyItems,
    #[error("the answer is no boolean")]
    NoBoolean,
    #[error("{0}")]
    Failed(String),
}

impl Condition {
    /// Compiles a condition, or says what is wrong with it.
    pub(super) fn compile(source: &str) -> Result<Self, CompileError> {
        let checked = check::parse(source)?;
        let mut condition = Self {
            source: source.to_owned(),
            expression: checked.expression,
            reads: checked.reads,
            budgets: checked.budgets,
            zones: checked.zones,
            loops: checked.loops,
            measures: checked.measures,
            constant: None,
        };
        if condition.reads.is_empty() && condition.budgets.is_empty() {
            // Nothing about a call can change the answer, so there must be one now.
            let answer = condition.resolve(&functions::bare_context()?);
            condition.constant = Some(answer.map_err(|error| CompileError::plain(error.to_string()))?);
        }
        Ok(condition)
    }

    /// The answer that is the same for all calls, if it is.
    pub(super) const fn constant(&self) -> Option<bool> {
        self.constant
    }

    /// The text as the operator wrote it.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Whether it looks at the arguments and at nothing else.
    pub(super) fn reads_arguments_only(&self) -> bool {
        !self.reads.is_empty() && self.reads.iter().all(|root| *root == Root::Args)
    }

    /// Whether it looks at what a lookup found.
    pub(super) fn reads_state(&self) -> bool {
        self.reads.contains(&Root::State)
    }

    /// Whether it compares amounts of money: a rule that rejects by it is a cap.
    pub(super) const fn measures(&self) -> Measures {
        self.measures
    }

    /// The budgets whose sums it looks at.
    pub(super) fn budgets(&self) -> &[BudgetName] {
        &self.budgets
    }

    /// Answers for one call. `spent` says what was spent in a budget, or why that is not known.
    pub(super) fn holds(
        &self,
        world: &World<'_>,
        spent: &dyn Fn(&BudgetName) -> Result<Amount, String>,
    ) -> Result<bool, ConditionError> {
        if self.reads.contains(&Root::Args) {
            let bytes = world.argument_bytes();
            if bytes > LARGEST_ARGUMENTS {
                return Err(ConditionError::TooLarge { bytes });
            }
            if self.loops == Loops::Once && world.longest_list() > LONGEST_LIST {
                return Err(ConditionError::TooManyItems);
            }
        }
        let mut sums = Vec::new();
        for name in &self.budgets {
            sums.push((name.as_str(), spent(name).map_err(ConditionError::Failed)?));
        }
        world.with_context(&self.reads, &sums, &self.zones, |context| self.resolve(context))?
    }

    fn resolve(&self, context: &cel::Context<'_, '_>) -> Result<bool, ConditionError> {
        let answer = Value::resolve_val(&self.expression, context).map_err(|error| self.describe(&error))?;
        answer.downcast_ref::<CelBool>().map(|answer| *answer.inner()).ok_or(ConditionError::NoBoolean)
    }

    /// Says what went wrong without repeating values: they may be secrets, and they are the agent's.
    fn describe(&self, error: &ExecutionError) -> ConditionError {
        let words = if let ExecutionError::NoSuchKey(key) = error {
            // A key may be a value too: `args[args.name]`.
            if self.source.contains(key.as_str()) {
                format!("the call has no `{}`", super::reader::shown(key))
            } else {
                "the call lacks a key".to_owned()
            }
        } else if let ExecutionError::NoSuchOverload(overload) = error {
            let operator = overload.function().replace(['_', '@'], "");
            format!("`{operator}` does not fit ({})", overload.argument_types().join(", "))
        } else if let ExecutionError::FunctionError { function, message } = error {
            if functions::OURS.contains(&function.as_str()) {
                format!("`{function}`: {message}")
            } else {
                format!("`{function}` cannot be had of this value")
            }
        } else if let ExecutionError::UnsupportedBinaryOperator(operator, ..) = error {
            format!("the values do not fit the operator `{operator}`")
        } else if let ExecutionError::IndexOutOfBounds(_) = error {
            "a list is shorter than the condition expects".to_owned()
        } else {
            "the values do not fit the condition".to_owned()
        };
        ConditionError::Failed(words)
    }
}

impl CompileError {
    fn plain(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hinting(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
    }
}

/// The longest text of a condition.
const LONGEST_CONDITION: usize = 4 * 1024;

/// The largest arguments, as canonical JSON, that a condition looks at.
const LARGEST_ARGUMENTS: usize = 64 * 1024;

/// The longest list or object that a condition with `all`, `exists`, `filter` or `map` goes through.
const LONGEST_LIST: usize = 1000;
