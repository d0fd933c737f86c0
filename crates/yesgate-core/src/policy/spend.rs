//! What a call costs: where the amount, the currency and the recipient stand.
//!
//! INVARIANT: a rule that says where money stands finds it there or refuses the call; nothing is
//! spent because an amount could not be read.

use serde_json::Value;

use super::budget::Parties;
use super::reader::{Entry, shown};
use super::template::Path;
use super::{ConfigError, SPEND_KEYS};
use crate::amount::Amount;
use crate::budget::Sums;
use crate::verdict::Spend;

/// Where a rule finds what a call costs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SpendPaths {
    amount: Path,
    currency: Option<Word>,
    recipient: Option<Word>,
}

/// A word that stands in the arguments, or in the rule itself.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Word {
    At(Path),
    Literal(String),
}

impl SpendPaths {
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&SPEND_KEYS)?;
        let amount = section.required("amount")?;
        let word = |entry: Entry<'_>| match entry.line()?.strip_prefix('=') {
            Some(literal) if !literal.trim().is_empty() => Ok(Word::Literal(literal.trim().to_owned())),
            Some(_) => Err(entry.error("there is nothing behind the `=`")),
            None => path(&entry).map(Word::At),
        };
        Ok(Self {
            amount: path(&amount)?,
            currency: section.entry("currency").map(word).transpose()?,
            recipient: section.entry("recipient").map(word).transpose()?,
        })
    }

    /// Reads what a call costs, or says loudly why it cannot be read.
    pub(super) fn read(&self, arguments: &Value) -> Result<Spend, String> {
        let value =
            self.amount.find(arguments).ok_or_else(|| format!("the amount `{}` is missing", self.amount))?;
        let amount = Amount::of_json(value)
            .map_err(|error| format!("the amount `{}` cannot be read: {error}", self.amount))?;
        let amount = match value {
            Value::String(text) => text.clone(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                amount.to_string()
            }
        };
        let Parties { currency, recipient } = self.parties(arguments)?;
        Ok(Spend { amount, currency, recipient, charges: Vec::new(), seen: Sums::default() })
    }

    /// Reads who gets it, and in which currency, or says loudly why that cannot be read.
    pub(super) fn parties(&self, arguments: &Value) -> Result<Parties, String> {
        let read =
            |word: &Option<Word>, what| word.as_ref().map(|word| word.read(arguments, what)).transpose();
        Ok(Parties {
            currency: read(&self.currency, "currency")?,
            recipient: read(&self.recipient, "recipient")?,
        })
    }

    /// Whether it says in which currency.
    pub(super) const fn says_currency(&self) -> bool {
        self.currency.is_some()
    }

    /// Whether it says who gets it.
    pub(super) const fn says_recipient(&self) -> bool {
        self.recipient.is_some()
    }

    /// The currency that is the same for all calls, if it is.
    pub(super) fn literal_currency(&self) -> Option<&str> {
        match self.currency.as_ref()? {
            Word::Literal(word) => Some(word),
            Word::At(_) => None,
        }
    }
}

impl Word {
    fn read(&self, arguments: &Value, what: &str) -> Result<String, String> {
        match self {
            Self::Literal(word) => Ok(word.clone()),
            Self::At(path) => match path.find(arguments) {
                Some(Value::String(word)) if !word.trim().is_empty() => Ok(word.clone()),
                Some(_) => Err(format!("the {what} `{path}` is no text")),
                None => Err(format!("the {what} `{path}` is missing")),
            },
        }
    }
}

fn path(entry: &Entry<'_>) -> Result<Path, ConfigError> {
    let text = entry.text()?;
    Path::parse(text).map_err(|error| {
        entry
            .error(format!("`{}` is not where an argument stands", shown(text)))
            .with_hint(error.hint.unwrap_or(error.message))
    })
}
