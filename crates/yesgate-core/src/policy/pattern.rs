//! A condition over the arguments alone, with which a human says what calls a grant covers (X4).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::condition::{Condition, Spending, Subject, World};
use crate::class::Class;
use crate::digest::Binding;

/// A condition over `args`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    condition: Condition,
}

// The text says all: two patterns of one text are one pattern.
impl Eq for Pattern {}

/// Why a text is no pattern.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct PatternError {
    message: String,
    hint: Option<String>,
}

impl PatternError {
    /// What to write instead.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// When it is no condition, or looks at anything but the arguments.
    pub fn parse(source: &str) -> Result<Self, PatternError> {
        let condition = Condition::compile(source)
            .map_err(|error| PatternError { message: error.message, hint: error.hint })?;
        if condition.reads_arguments_only() && condition.budgets().is_empty() {
            Ok(Self { condition })
        } else {
            let hint = r#"write a condition such as args.path.startsWith("/tmp/")"#;
            let message = "a pattern looks at the arguments and at nothing else".to_owned();
            Err(PatternError { message, hint: Some(hint.to_owned()) })
        }
    }

    /// Whether it holds for a call. Where it has no answer, it does not.
    pub fn holds(&self, binding: &Binding, now: Timestamp) -> bool {
        let nothing = BTreeMap::new();
        let world = World::new(Subject {
            caller: &binding.caller,
            server: &binding.server,
            tool: &binding.tool,
            class: Class::Dangerous,
            arguments: &binding.arguments,
            state: None,
            spent: Spending::Told(&nothing),
            now,
        });
        // What was spent is no part of a pattern: it speaks of arguments alone.
        self.condition.holds(&world, &|_| Err(String::new())) == Ok(true)
    }

    /// The text as the human wrote it.
    pub fn as_str(&self) -> &str {
        self.condition.source()
    }
}

impl TryFrom<String> for Pattern {
    type Error = PatternError;

    fn try_from(source: String) -> Result<Self, PatternError> {
        Self::parse(&source)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.as_str().to_owned()
    }
}
