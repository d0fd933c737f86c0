//! Numbers, sizes and lists: values that are bounded, so that a slip of the pen is not a limit.

use std::fmt::Display;
use std::str::FromStr;

use toml::de::{DeInteger, DeValue};

use super::super::error::ConfigError;
use super::{Entry, Form, shown};

impl Entry<'_> {
    /// How many there may be. Zero means none; whether that makes sense is for the caller to say.
    pub(in crate::policy) fn count(&self) -> Result<usize, ConfigError> {
        match self.value.get_ref() {
            DeValue::Integer(number) => whole(number).filter(|count| *count <= MOST).ok_or_else(|| {
                self.error(format!("`{}` is not 0 to {MOST}", self.name))
                    .with_hint("write how many there may be")
            }),
            other @ (DeValue::String(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => Err(self.wrong_type("an integer", other)),
        }
    }

    /// A number of bytes: `1048576` or `"1MiB"`. Zero means none.
    pub(in crate::policy) fn size(&self) -> Result<usize, ConfigError> {
        let bytes = match self.value.get_ref() {
            DeValue::Integer(number) => whole(number),
            DeValue::String(text) => {
                let unit = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
                let number = text.strip_suffix(unit).unwrap_or_default();
                let bytes_each: usize = match unit {
                    "KiB" => 1 << 10,
                    "MiB" => 1 << 20,
                    "GiB" => 1 << 30,
                    _ => return Err(self.no_size(text)),
                };
                if number.is_empty() {
                    return Err(self.no_size(text));
                }
                number.parse().ok().and_then(|number: usize| number.checked_mul(bytes_each))
            }
            other @ (DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => return Err(self.wrong_type("a size such as \"1MiB\"", other)),
        };
        bytes.filter(|bytes| *bytes <= LARGEST).ok_or_else(|| {
            self.error(format!("`{}` is not 0 to 64GiB", self.name))
                .with_hint("write how many bytes there may be")
        })
    }

    /// A list in which nothing stands twice.
    pub(in crate::policy) fn distinct<T: PartialEq>(
        &self,
        read: impl Fn(&Self) -> Result<T, ConfigError>,
    ) -> Result<Vec<T>, ConfigError> {
        let mut values = Vec::new();
        for item in self.items()? {
            let value = read(&item)?;
            if values.contains(&value) {
                return Err(item
                    .error(format!("`{}` names the same thing twice", self.name))
                    .with_hint("leave one out"));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// One name, or several of which none stands twice.
    pub(in crate::policy) fn names<T>(&self) -> Result<Vec<T>, ConfigError>
    where
        T: FromStr<Err: Display> + PartialEq,
    {
        let name = |entry: &Self| entry.text()?.parse::<T>().map_err(|error| entry.error(error.to_string()));
        match self.form() {
            Form::List => match self.distinct(name)? {
                names if names.is_empty() => Err(self.error(format!("`{}` is an empty list", self.name))),
                names => Ok(names),
            },
            Form::Single | Form::Table => Ok(vec![name(self)?]),
        }
    }

    fn no_size(&self, text: &str) -> ConfigError {
        self.error(format!("`{}` is not a size", shown(text)))
            .with_hint("write a whole number and a unit: \"64KiB\", \"1MiB\" or \"2GiB\"; a number without quotes is bytes")
    }
}

/// The number, if it is not negative and fits.
fn whole(number: &DeInteger<'_>) -> Option<usize> {
    usize::from_str_radix(number.as_str(), number.radix()).ok()
}

const MOST: usize = 1_000_000;
const LARGEST: usize = 64 << 30;
