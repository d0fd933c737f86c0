//! What goes into a statement and what comes out of it: nothing, whole numbers, texts and bytes.

use std::borrow::Cow;

use crate::error::LedgerError;

/// One value.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Value<'a> {
    /// None.
    Null,
    /// A whole number. Yes and no are one and zero.
    Int(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// Bytes.
    Blob(Cow<'a, [u8]>),
}

impl Value<'_> {
    /// The same, owning what it holds.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Self::Blob(bytes) => Value::Blob(Cow::Owned(bytes.into_owned())),
        }
    }
}

/// The parameters of a statement, each of whatever type can be one.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::engine::value::Value::from($value)),*] };
}
pub(crate) use values;

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<bool> for Value<'_> {
    fn from(yes: bool) -> Self {
        Self::Int(i64::from(yes))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Value<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::Blob(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Blob(Cow::Owned(bytes))
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// One row of a look-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row(Vec<Value<'static>>);

impl Row {
    /// Makes a row of its values.
    pub(crate) const fn new(values: Vec<Value<'static>>) -> Self {
        Self(values)
    }

    /// Takes the last column for the place of the row among several look-ups.
    pub(crate) fn with_place(mut self) -> Result<(i64, Self), LedgerError> {
        match self.0.pop() {
            Some(Value::Int(place)) => Ok((place, self)),
            Some(Value::Null | Value::Text(_) | Value::Blob(_)) | None => Err(misshapen()),
        }
    }

    /// Reads one column. What is of another type was not stored by us.
    pub(crate) fn get<T: FromValue>(&self, column: usize) -> Result<T, LedgerError> {
        self.0.get(column).and_then(T::from_value).ok_or_else(misshapen)
    }
}

/// What can be read from a column.
pub(crate) trait FromValue: Sized {
    /// `None`: it is something else.
    fn from_value(value: &Value<'static>) -> Option<Self>;
}

impl FromValue for i64 {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        match value {
            Value::Int(number) => Some(*number),
            Value::Null | Value::Text(_) | Value::Blob(_) => None,
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        i64::from_value(value).and_then(|number| Self::try_from(number).ok())
    }
}

impl FromValue for bool {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for String {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone().into_owned()),
            Value::Null | Value::Int(_) | Value::Blob(_) => None,
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Some(bytes.clone().into_owned()),
            Value::Null | Value::Int(_) | Value::Text(_) => None,
        }
    }
}

impl FromValue for [u8; 32] {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        match value {
            Value::Blob(bytes) => Self::try_from(bytes.as_ref()).ok(),
            Value::Null | Value::Int(_) | Value::Text(_) => None,
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value<'static>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            Value::Int(_) | Value::Text(_) | Value::Blob(_) => T::from_value(value).map(Some),
        }
    }
}

/// What is stored is not of the shape that we store.
pub(crate) fn misshapen() -> LedgerError {
    LedgerError::Damaged("a column holds what nobody stored there".to_owned())
}
