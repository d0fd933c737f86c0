//! Reads JSON text into a value, and refuses what serde_json alone would let pass.
//!
//! serde_json knows the grammar; this reader sits in its visitor and adds what the grammar does
//! not say: no key twice, no look-alike keys, bounded depth, exact numbers. serde_json hands
//! numbers over as doubles, so their spelling is looked up in the text, which is only walked
//! when a number needs it.

use std::fmt;
use std::mem;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::{JsonError, Limits, lookalike, number};

/// The deepest nesting that is read. serde_json stops one level later, to spare the stack, so the
/// refusal is always ours.
pub(super) const MAX_DEPTH: usize = 126;

/// How much a text is trusted to mean the same to every reader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Rules {
    /// Look-alike keys and inexact numbers are refused.
    Strict,
    /// They are let pass.
    Lenient,
}

/// Reads the one JSON value that `text` consists of.
pub(super) fn read(text: &[u8], limits: Limits, rules: Rules) -> Result<Value, JsonError> {
    if text.len() > limits.max_bytes {
        return Err(JsonError::TooLarge { bytes: text.len(), limit: limits.max_bytes });
    }
    let text = str::from_utf8(text).map_err(|_| JsonError::NotUtf8)?;
    let mut reader = Reader {
        rules,
        levels: limits.max_depth.min(MAX_DEPTH),
        level: 0,
        tokens: number::Tokens::of(text),
        numbers_passed: 0,
        fault: None,
        trail: Vec::new(),
    };
    let mut json = serde_json::Deserializer::from_str(text);
    match reader.deserialize(&mut json).and_then(|value| json.end().map(|()| value)) {
        Ok(value) => Ok(value),
        Err(error) => Err(reader.explain(&error)),
    }
}

struct Reader<'t> {
    rules: Rules,
    /// How many levels there may be, and how many are open.
    levels: usize,
    level: usize,
    tokens: number::Tokens<'t>,
    /// How many number tokens were met since `tokens` was last asked.
    numbers_passed: usize,
    /// What the visitor refused; serde's own error type has no room for it.
    fault: Option<Fault>,
    /// The way back from an error to the top, innermost step first. Empty until there is one.
    trail: Vec<String>,
}

enum Fault {
    TooDeep,
    DuplicateKey(String),
    LookalikeKeys(String, String),
    Number(String),
}

impl Reader<'_> {
    fn refuse<E: de::Error>(&mut self, fault: Fault) -> E {
        self.fault = Some(fault);
        E::custom("refused")
    }

    fn open_level<E: de::Error>(&mut self) -> Result<(), E> {
        if self.level == self.levels {
            return Err(self.refuse(Fault::TooDeep));
        }
        self.level += 1;
        Ok(())
    }

    fn close_level(&mut self) {
        self.level -= 1;
    }

    /// `integer` and `value` are the same number.
    fn integer<E: de::Error>(&mut self, integer: i128, value: Value) -> Result<Value, E> {
        self.numbers_passed += 1;
        if self.rules == Rules::Strict && integer.unsigned_abs() > number::LAST_EXACT_INTEGER.into() {
            let text = integer.to_string();
            if !number::keeps_its_value(&text, integer as f64) {
                return Err(self.refuse(Fault::Number(text)));
            }
        }
        Ok(value)
    }

    fn double<E: de::Error>(&mut self, double: f64) -> Result<Value, E> {
        match self.rules {
            Rules::Lenient => self.numbers_passed += 1,
            Rules::Strict => match self.next_number() {
                Some(token) if number::keeps_its_value(token, double) => {}
                Some(token) => return Err(self.refuse(Fault::Number(token.to_owned()))),
                None => return Err(self.refuse(Fault::Number(double.to_string()))),
            },
        }
        number::value_of(double).ok_or_else(|| self.refuse(Fault::Number(double.to_string())))
    }

    /// Turns serde's error into ours.
    fn explain(mut self, error: &serde_json::Error) -> JsonError {
        let fault = match self.fault.take() {
            Some(fault) => fault,
            // serde_json stops at a number that no double can hold before its visitor sees it.
            None if error.to_string().starts_with("number out of range") => {
                Fault::Number(self.next_number().unwrap_or_default().to_owned())
            }
            None => return JsonError::syntax(error),
        };
        let path = self.path();
        match fault {
            Fault::TooDeep => JsonError::TooDeep { limit: self.levels },
            Fault::DuplicateKey(key) => JsonError::DuplicateKey { path, key },
            Fault::LookalikeKeys(first, second) => JsonError::LookalikeKeys { path, first, second },
            Fault::Number(text) => JsonError::Number { path, text },
        }
    }

    /// Writes the way from the top to the error (RFC 6901).
    fn path(&self) -> String {
        let steps = self.trail.iter().rev();
        steps.flat_map(|step| ["/".to_owned(), step.replace('~', "~0").replace('/', "~1")]).collect()
    }
}

impl<'t> Reader<'t> {
    /// Finds the spelling of the number that serde_json is at.
    fn next_number(&mut self) -> Option<&'t str> {
        self.tokens.nth(mem::take(&mut self.numbers_passed))
    }
}

impl<'de> DeserializeSeed<'de> for &mut Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        self.integer(value.into(), value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.integer(value.into(), value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.double(value)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.open_level()?;
        let mut items = Vec::new();
        loop {
            match access.next_element_seed(&mut *self) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => {
                    self.trail.push(items.len().to_string());
                    return Err(error);
                }
            }
        }
        self.close_level();
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.open_level()?;
        let mut members = Map::new();
        let mut all_plain = true;
        while let Some(key) = access.next_key::<String>()? {
            all_plain = all_plain && lookalike::is_plain(&key);
            match members.entry(key) {
                Entry::Occupied(taken) => {
                    return Err(self.refuse(Fault::DuplicateKey(taken.key().clone())));
                }
                Entry::Vacant(free) => match access.next_value_seed(&mut *self) {
                    Ok(member) => {
                        free.insert(member);
                    }
                    Err(error) => {
                        self.trail.push(free.key().clone());
                        return Err(error);
                    }
                },
            }
        }
        // Keys that are their own folds can only clash by being equal, which was refused above.
        if self.rules == Rules::Strict
            && !all_plain
            && let Some((first, second)) = lookalike::find(&members)
        {
            return Err(self.refuse(Fault::LookalikeKeys(first.to_owned(), second.to_owned())));
        }
        self.close_level();
        Ok(Value::Object(members))
    }
}
