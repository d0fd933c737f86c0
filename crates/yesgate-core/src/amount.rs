//! Amounts of money: exact decimals, never floating point.
//!
//! INVARIANT: what cannot be read exactly is an error. No amount is rounded, guessed or left out,
//! so no limit is ever dropped because of how an amount was written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An exact amount, zero or more, with at most eighteen digits on either side of the point.
///
/// Its order is exact: `0.1` equals `0.10` and is less than `0.100000000000000001`.
///
/// A sum of amounts may have more digits; only what is written down is bounded.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Amount(u128);

/// Why something is no amount. It never repeats what was sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AmountError {
    /// It has another type.
    #[error("it is {0}, not a number")]
    Type(&'static str),
    /// It is below zero.
    #[error("it is negative")]
    Negative,
    /// It is not written as a plain decimal.
    #[error("it is not a plain decimal number such as 12.50")]
    Malformed,
    /// It has more digits than are kept exactly.
    #[error("it has more than {DIGITS} digits before or after the point")]
    TooLong,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// The exact sum; `None` where it is larger than any sum of money.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// What is left of this after the other was taken away; nothing where the other is more.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Reads an amount from an argument: a JSON number, or a string that is a strict decimal.
    ///
    /// # Errors
    /// On everything else: null, booleans, `"1usd"`, `"1e3"`, `" 1"`, `"NaN"`, negatives.
    pub fn of_json(value: &Value) -> Result<Self, AmountError> {
        match value {
            Value::String(text) => text.parse(),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => whole.to_string().parse(),
                (None, Some(number)) => Self::of_f64(number),
                (None, None) => Err(AmountError::Malformed),
            },
            Value::Null => Err(AmountError::Type("null")),
            Value::Bool(_) => Err(AmountError::Type("a boolean")),
            Value::Array(_) => Err(AmountError::Type("a list")),
            Value::Object(_) => Err(AmountError::Type("an object")),
        }
    }

    /// Reads the decimal that a JSON number was written as.
    ///
    /// A call holds only numbers whose shortest text has their very value (RFC 8785), and `Display`
    /// gives that text, so this is exact for them.
    pub(crate) fn of_f64(number: f64) -> Result<Self, AmountError> {
        if number.is_nan() || number.is_infinite() {
            Err(AmountError::Malformed)
        } else if number.is_sign_negative() {
            Err(AmountError::Negative)
        } else {
            number.to_string().parse()
        }
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// Reads a strict decimal: digits, and perhaps a point with digits after it.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(AmountError::Malformed),
            Some(parts) => parts,
            None => (text, ""),
        };
        let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(rest) = whole.strip_prefix('-')
            && !rest.is_empty()
            && plain(rest)
            && plain(fraction)
        {
            return Err(AmountError::Negative);
        }
        if whole.is_empty()
            || !plain(whole)
            || !plain(fraction)
            || (whole.len() > 1 && whole.starts_with('0'))
        {
            return Err(AmountError::Malformed);
        }
        if whole.len() > DIGITS || fraction.len() > DIGITS {
            return Err(AmountError::TooLong);
        }
        let digits =
            whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', DIGITS - fraction.len()));
        Ok(Self(digits.fold(0, |amount, digit| amount * 10 + u128::from(digit - b'0'))))
    }
}

impl TryFrom<String> for Amount {
    type Error = AmountError;

    fn try_from(text: String) -> Result<Self, AmountError> {
        text.parse()
    }
}

impl From<Amount> for String {
    fn from(amount: Amount) -> Self {
        amount.to_string()
    }
}

impl fmt::Display for Amount {
    /// Writes the shortest text of the amount: no zeros that say nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.0 / ONE;
        let fraction = format!("{:0DIGITS$}", self.0 % ONE);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            fraction => write!(f, "{whole}.{fraction}"),
        }
    }
}

/// How many digits are kept on either side of the point.
const DIGITS: usize = 18;

/// The whole number one, in the unit of the last digit kept.
const ONE: u128 = 1_000_000_000_000_000_000;

#[cfg(test)]
mod tests;
