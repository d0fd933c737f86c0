//! Reads TOML strictly: every key is known, every value has its type, every error has its place.

mod values;

use jiff::SignedDuration;
use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, hint_for, listed};

/// The text that is read, for finding places in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    text: &'t str,
}

impl<'t> Source<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text }
    }

    /// Line and character, both counted from one, of a byte of the text.
    pub(super) fn place(self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.split('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// Reads the whole text as one table.
    pub(super) fn parse(self) -> Result<Spanned<DeTable<'t>>, ConfigError> {
        if self.text.len() > LONGEST_CONFIGURATION {
            return Err(ConfigError::new((1, 1), "the configuration is longer than 1 MiB"));
        }
        DeTable::parse(self.text).map_err(|error| {
            let place = self.place(error.span().map_or(0, |span| span.start));
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            ConfigError::new(place, format!("this is not TOML: {message}"))
        })
    }
}

/// A table with a closed list of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    source: Source<'a>,
    table: &'a DeTable<'a>,
    start: usize,
}

impl<'a> Section<'a> {
    /// Opens a table that may hold the given keys and no others.
    pub(super) fn open(
        source: Source<'a>,
        table: &'a DeTable<'a>,
        start: usize,
        keys: &[&str],
    ) -> Result<Self, ConfigError> {
        let unknown = table
            .keys()
            .filter(|key| !keys.contains(&key.get_ref().as_ref()))
            .min_by_key(|key| key.span().start);
        match unknown {
            Some(key) => {
                let name = key.get_ref();
                Err(ConfigError::new(
                    source.place(key.span().start),
                    format!("unknown key `{}`", shown(name)),
                )
                .with_hint(hint_for(name, keys)))
            }
            None => Ok(Self { source, table, start }),
        }
    }

    /// The entry under a key, if there is one.
    pub(super) fn entry(&self, key: &'static str) -> Option<Entry<'a>> {
        let value = self.table.get(key)?;
        Some(Entry { source: self.source, name: key, value })
    }

    /// The entry under a key that must be there.
    pub(super) fn required(&self, key: &'static str) -> Result<Entry<'a>, ConfigError> {
        self.entry(key).ok_or_else(|| self.error(format!("`{key}` is missing")))
    }

    /// An error about the table as a whole.
    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.place(), message)
    }

    /// Where the table begins.
    pub(super) fn place(&self) -> (usize, usize) {
        self.source.place(self.start)
    }
}

/// One value, with the key it stands under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    source: Source<'a>,
    name: &'a str,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Entry<'a> {
    pub(super) fn error(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.source.place(self.value.span().start), message)
    }

    /// The text of a string.
    pub(super) fn text(&self) -> Result<&'a str, ConfigError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            other @ (DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => Err(self.wrong_type("a string", other)),
        }
    }

    /// A string that people will read on one line.
    pub(super) fn line(&self) -> Result<&'a str, ConfigError> {
        let text = self.text()?;
        if text.trim().is_empty() {
            Err(self.error(format!("`{}` is empty", self.name)))
        } else if text.chars().any(char::is_control) {
            Err(self.error(format!("`{}` must be one line without control characters", self.name)))
        } else {
            Ok(text)
        }
    }

    pub(super) fn boolean(&self) -> Result<bool, ConfigError> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            other @ (DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => Err(self.wrong_type("`true` or `false`", other)),
        }
    }

    /// One of a few words, given with what each means.
    pub(super) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Result<T, ConfigError> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let DeValue::String(text) = self.value.get_ref() else {
            return Err(self.wrong_type(&listed(&known), self.value.get_ref()));
        };
        let found = words.iter().find(|(word, _)| word == text);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            self.error(format!("`{}` is not a value of `{}`", shown(text), self.name))
                .with_hint(hint_for(text, &known))
        })
    }

    /// A length of time such as `60s`; zero is no length and never means "without end".
    pub(super) fn duration(&self) -> Result<SignedDuration, ConfigError> {
        match self.duration_or_none()? {
            SignedDuration::ZERO => Err(self
                .error(format!("`{}` must be longer than zero", self.name))
                .with_hint("there is no \"without end\"; write how long")),
            length => Ok(length),
        }
    }

    /// A length of time such as `60s` or `500ms`, or `0s` for none.
    pub(super) fn duration_or_none(&self) -> Result<SignedDuration, ConfigError> {
        self.duration_up_to(LONGEST, "30 days")
    }

    /// A length of time such as `90d`, which may be years.
    pub(super) fn days_or_years(&self) -> Result<SignedDuration, ConfigError> {
        match self.duration_up_to(LONGEST_KEPT, "ten years")? {
            SignedDuration::ZERO => Err(self
                .error(format!("`{}` must be longer than zero", self.name))
                .with_hint("leave it out to keep everything")),
            length => Ok(length),
        }
    }

    /// A length of time such as `30d`, which may be years and is never zero.
    pub(super) fn lasting(&self) -> Result<SignedDuration, ConfigError> {
        match self.duration_up_to(LONGEST_KEPT, "ten years")? {
            SignedDuration::ZERO => Err(self
                .error(format!("`{}` must be longer than zero", self.name))
                .with_hint("there is no \"without end\"; write how long")),
            length => Ok(length),
        }
    }

    fn duration_up_to(&self, longest: SignedDuration, words: &str) -> Result<SignedDuration, ConfigError> {
        let text = match self.value.get_ref() {
            DeValue::String(text) => text,
            other @ (DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_)) => return Err(self.wrong_type("a time such as \"60s\"", other)),
        };
        let wrong = || {
            self.error(format!("`{}` is not a length of time", shown(text)))
                .with_hint("write a whole number and a unit: \"60s\", \"5m\", \"2h\" or \"1d\"")
        };
        let (number, each) = UNITS
            .iter()
            .find_map(|(unit, each)| Some((text.strip_suffix(unit)?, *each)))
            .ok_or_else(wrong)?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let too_long = || self.error(format!("`{}` is longer than {words}", shown(text)));
        let number: i64 = number.parse().map_err(|_| too_long())?;
        match number.checked_mul(each).map(SignedDuration::from_millis) {
            Some(length) if length <= longest => Ok(length),
            Some(_) | None => Err(too_long()),
        }
    }

    /// A table with a closed list of keys.
    pub(super) fn section(&self, keys: &[&str]) -> Result<Section<'a>, ConfigError> {
        Section::open(self.source, self.table()?, self.value.span().start, keys)
    }

    /// A table whose keys somebody else chose, in the order of the text.
    pub(super) fn named_entries(&self) -> Result<Vec<Self>, ConfigError> {
        let entries = self.table()?.iter().map(|(key, value)| Entry {
            source: self.source,
            name: key.get_ref(),
            value,
        });
        let mut entries: Vec<Self> = entries.collect();
        entries.sort_by_key(|entry| entry.value.span().start);
        Ok(entries)
    }

    /// The key it stands under.
    pub(super) const fn name(&self) -> &'a str {
        self.name
    }

    /// The items of an array.
    pub(super) fn items(&self) -> Result<Vec<Self>, ConfigError> {
        match self.value.get_ref() {
            DeValue::Array(items) => {
                Ok(items.iter().map(|value| Entry { source: self.source, name: self.name, value }).collect())
            }
            other @ (DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_)) => Err(self.wrong_type("a list", other)),
        }
    }

    /// Which of the three forms a value has that may have several.
    pub(super) fn form(&self) -> Form {
        match self.value.get_ref() {
            DeValue::Array(_) => Form::List,
            DeValue::Table(_) => Form::Table,
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => Form::Single,
        }
    }

    /// The value as JSON.
    pub(super) fn json(&self) -> Result<Value, ConfigError> {
        let no_json = |what: &str| self.error(format!("{what} has no place in JSON"));
        match self.value.get_ref() {
            DeValue::String(text) => Ok(Value::String(text.to_string())),
            DeValue::Boolean(value) => Ok(Value::Bool(*value)),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(Value::from)
                .map_err(|_| no_json("an integer of this size")),
            DeValue::Float(number) => number
                .as_str()
                .parse()
                .ok()
                .and_then(Number::from_f64)
                .map(Value::Number)
                .ok_or_else(|| no_json("a number that is not finite")),
            DeValue::Datetime(_) => Err(no_json("a date without quotes")),
            DeValue::Array(_) => {
                self.items()?.iter().map(Self::json).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            DeValue::Table(_) => self.json_object().map(Value::Object),
        }
    }

    /// A table as a JSON object.
    pub(super) fn json_object(&self) -> Result<Map<String, Value>, ConfigError> {
        self.named_entries()?.iter().map(|entry| Ok((entry.name.to_owned(), entry.json()?))).collect()
    }

    fn table(&self) -> Result<&'a DeTable<'a>, ConfigError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(table),
            other @ (DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)) => Err(self.wrong_type("a table", other)),
        }
    }

    fn wrong_type(&self, expected: &str, found: &DeValue<'_>) -> ConfigError {
        let found = match found {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("`{}` must be {expected}, not {found}", self.name))
    }
}

/// The form of a value that may have several.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// A string, number, boolean or date.
    Single,
    /// A list.
    List,
    /// A table.
    Table,
}

/// Foreign text amid our own words: one line, and not longer than a word should be.
pub(super) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars().take(LONGEST_SHOWN) {
        match letter {
            '\'' | '"' => shown.push(letter),
            // It would end the quotation.
            '`' => shown.push('\''),
            _ => shown.extend(letter.escape_debug()),
        }
    }
    if text.chars().nth(LONGEST_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

const LONGEST_CONFIGURATION: usize = 1024 * 1024;
/// The units of time, in milliseconds; the one that ends like another comes first.
const UNITS: [(&str, i64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
/// The longest time that a setting may name.
const LONGEST: SignedDuration = SignedDuration::from_hours(30 * 24);
const LONGEST_KEPT: SignedDuration = SignedDuration::from_hours(3660 * 24);
const LONGEST_SHOWN: usize = 60;
