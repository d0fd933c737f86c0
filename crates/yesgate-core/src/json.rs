//! JSON that is judged: read strictly, written in one canonical spelling (RFC 8785).
//!
//! A human says yes to a value, a digest is taken of it, and a server is sent it. That is only
//! one and the same value if no reader along the way can understand the text differently, so a
//! text that two readers may read differently is refused here instead of being repaired.
//!
//! Invariants:
//! - What [`parse_strict`] returns and what [`CanonicalJson::to_value`] gives back are equal.
//! - Two values that [`parse_strict`] accepted have the same canonical text only if they are equal.
//! - `serde_json::from_str::<Value>` is not used: it lets the last of two equal keys win, and it
//!   reads the text *inside* an object whose only key is serde_json's private raw-value marker.

mod canonical;
mod lookalike;
mod number;
pub(crate) mod plain;
mod read;
mod screen;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use self::read::{MAX_DEPTH, Rules};
pub use self::screen::on_screen;

/// A JSON value in its one canonical spelling (RFC 8785).
///
/// Equal values have equal texts, whatever the order of keys and the spelling of numbers was.
/// Clones share one text. `Debug` shows its length only: arguments may hold secrets.
#[derive(Clone)]
pub struct CanonicalJson(Arc<Spelling>);

/// A text that is there, or what it will be written from.
#[derive(Default)]
struct Spelling {
    text: OnceLock<Box<str>>,
    value: OnceLock<Value>,
    /// The value as its sender spelled it.
    source: Option<Box<str>>,
}

impl CanonicalJson {
    /// Writes `value` in its canonical spelling.
    ///
    /// Integers beyond ±2⁵³ become the nearest double, as RFC 8785 demands; [`parse_strict`]
    /// lets none through that would change.
    pub fn of(value: &Value) -> Result<Self, JsonError> {
        if is_deeper_than(value, MAX_DEPTH) {
            return Err(JsonError::TooDeep { limit: MAX_DEPTH });
        }
        match canonical::spelled(value) {
            Ok(text) => Ok(Self::written(text.into())),
            Err(error) => Err(JsonError::syntax(&error)),
        }
    }

    /// Takes a value that [`parse_strict`] gave. Its text is written when somebody first asks for it, which
    /// for most calls is never.
    pub fn of_strict(value: Value) -> Result<Self, JsonError> {
        if is_deeper_than(&value, MAX_DEPTH) {
            return Err(JsonError::TooDeep { limit: MAX_DEPTH });
        }
        Ok(Self(Arc::new(Spelling { value: value.into(), ..Spelling::default() })))
    }

    /// Takes a text that [`plain`] has walked over. It is read when somebody first asks for what it says.
    pub(crate) fn of_plain(source: &str) -> Self {
        Self(Arc::new(Spelling { source: Some(source.into()), ..Spelling::default() }))
    }

    fn written(text: Box<str>) -> Self {
        Self(Arc::new(Spelling { text: text.into(), ..Spelling::default() }))
    }

    /// Shows the canonical text.
    pub fn as_str(&self) -> &str {
        // INVARIANT: only numbers that are none cannot be written, and `Value` has no such. Were there one, the
        // text would be no JSON: what is digested and sent is this text, so nothing could run by it.
        let write = || canonical::spelled(self.value().as_ref()).unwrap_or_default().into();
        self.0.text.get_or_init(write)
    }

    /// Shows the bytes of the canonical text: what is digested and what is sent.
    pub fn as_bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }

    /// The value: the one that it was made of, or read back from the text.
    pub fn value(&self) -> Cow<'_, Value> {
        let Spelling { text, value, source } = &*self.0;
        // INVARIANT: a source was walked over, and a text was written by `of` or compared with it. Both always read.
        match (value.get(), source, text.get()) {
            (Some(value), _, _) => Cow::Borrowed(value),
            (None, Some(source), _) => Cow::Borrowed(value.get_or_init(|| {
                read::read(source.as_bytes(), Limits::NONE, Rules::Strict).unwrap_or_default()
            })),
            (None, None, Some(text)) => {
                Cow::Owned(read::read(text.as_bytes(), Limits::NONE, Rules::Lenient).unwrap_or_default())
            }
            (None, None, None) => Cow::Owned(Value::Null),
        }
    }

    /// The value, for keeps.
    pub fn to_value(&self) -> Value {
        self.value().into_owned()
    }

    /// Makes `{}`, the arguments of a call that was sent without any.
    pub fn empty_object() -> Self {
        static EMPTY: LazyLock<CanonicalJson> = LazyLock::new(|| CanonicalJson::written("{}".into()));
        EMPTY.clone()
    }
}

impl PartialEq for CanonicalJson {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Eq for CanonicalJson {}

impl Hash for CanonicalJson {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for CanonicalJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for CanonicalJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CanonicalJson({} bytes)", self.as_str().len())
    }
}

/// A string that holds the canonical text, so that no encoder can respell it.
impl Serialize for CanonicalJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CanonicalJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<str>::deserialize(deserializer)?;
        let value = read::read(text.as_bytes(), Limits::NONE, Rules::Lenient).map_err(de::Error::custom)?;
        let canonical = Self::of(&value).map_err(de::Error::custom)?;
        if *canonical.as_str() == *text {
            Ok(canonical)
        } else {
            Err(de::Error::custom("the JSON text is not in its canonical spelling"))
        }
    }
}

/// How much text is read at most.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// The most bytes a text may have.
    pub max_bytes: usize,
    /// The most arrays and objects that may stand inside each other; more than 126 count as 126.
    pub max_depth: usize,
}

impl Limits {
    /// Bounds nothing but the stack; for text that was measured when it first came in.
    const NONE: Self = Self { max_bytes: usize::MAX, max_depth: MAX_DEPTH };
}

impl Limits {
    /// What a server may say: as long as the longest line that is taken from it.
    pub const SERVER: Self = Self { max_bytes: 4 << 20, max_depth: 64 };
}

impl Default for Limits {
    /// One MiB and 64 levels.
    fn default() -> Self {
        Self { max_bytes: 1024 * 1024, max_depth: 64 }
    }
}

/// Reads text that will be judged.
///
/// Refuses whatever two readers may understand differently: duplicate keys, keys that look
/// alike, and numbers that do not keep their value as a double. A number has one [`Value`]
/// however it was spelled: `100`, `100.0` and `1e2` are the same integer.
pub fn parse_strict(text: &[u8], limits: Limits) -> Result<Value, JsonError> {
    read::read(text, limits, Rules::Strict)
}

/// Reads text that a server describes itself with, such as its tool definitions.
///
/// Duplicate keys, size and depth are refused as in [`parse_strict`]. Keys may look alike and
/// integers may be longer than a double: a schema may name both `x` and `X`, and a bound may be
/// 2⁶⁴, without anything being run because of it.
pub fn parse_lenient(text: &[u8], limits: Limits) -> Result<Value, JsonError> {
    read::read(text, limits, Rules::Lenient)
}

/// Gives `member` the members of the one object that a text consists of, each value in its own characters. `None`:
/// the text is not as plain as nearly all is, and has to be read otherwise; it may have been given some members.
///
/// What is walked over to its end is text that [`parse_strict`] accepts.
pub fn glance<'t>(text: &'t [u8], limits: Limits, mut member: impl FnMut(&'t str, &'t str)) -> Option<()> {
    if text.len() > limits.max_bytes {
        return None;
    }
    let text = str::from_utf8(text).ok()?;
    let walk = plain::Plain::before(text, limits.max_depth.min(MAX_DEPTH));
    walk.whole_object(|walk, key| {
        member(key, walk.value()?);
        Ok(())
    })
    .ok()
}

/// Gives all spellings of a key that look alike the same text: lower case, one Unicode form.
///
/// For comparing only: a folded key is never stored or sent.
pub fn fold_key(key: &str) -> String {
    lookalike::fold(key)
}

/// Why a text was refused. The sender is to blame, and the same text will be refused again.
///
/// A path is a JSON pointer (RFC 6901); the empty one is the whole text.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum JsonError {
    /// The text is longer than the limit.
    #[error("the JSON text has {bytes} bytes, at most {limit} are allowed")]
    TooLarge {
        /// How long the text is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The text has more levels than the limit.
    #[error("the JSON text is nested too deeply, at most {limit} levels are allowed")]
    TooDeep {
        /// How many levels it may have.
        limit: usize,
    },
    /// The bytes are not text.
    #[error("the JSON text is not valid UTF-8")]
    NotUtf8,
    /// The text is not JSON.
    #[error("the text is not valid JSON: {message} at line {line}, column {column}")]
    Syntax {
        /// The line, counted from one.
        line: usize,
        /// The byte in that line, counted from one.
        column: usize,
        /// What was expected; never contains a part of the text.
        message: Box<str>,
    },
    /// An object has one key twice; readers differ in which one they keep.
    #[error("the key {} occurs twice at {}", shown(key), place(path))]
    DuplicateKey {
        /// Where the object is.
        path: String,
        /// The key.
        key: String,
    },
    /// An object has two keys that some readers, and most eyes, take for one.
    #[error(
        "the keys {} and {} at {} look alike, send one of them",
        shown(first),
        shown(second),
        place(path)
    )]
    LookalikeKeys {
        /// Where the object is.
        path: String,
        /// One of the keys.
        first: String,
        /// The other.
        second: String,
    },
    /// A number that another reader would round to another value.
    #[error("the number {} at {} would not keep its value, send it as a string", shown(text), place(path))]
    Number {
        /// Where the number is.
        path: String,
        /// The number as it was sent.
        text: String,
    },
}

impl JsonError {
    fn syntax(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        Self::Syntax { line, column, message: message.into() }
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { "the top level".to_owned() } else { shown(path) }
}

/// Quotes what a peer sent. Only printable ASCII is shown as it is: a message stays one line,
/// cannot be turned around by control characters, and look-alikes can be told apart.
fn shown(text: &str) -> String {
    let mut quoted = String::from("`");
    let mut rest = text.chars();
    for character in rest.by_ref().take(SHOWN_CHARACTERS) {
        match character {
            '"' | '\'' => quoted.push(character),
            '`' => quoted.push_str("\\u{60}"),
            other => quoted.extend(other.escape_default()),
        }
    }
    if rest.next().is_some() {
        quoted.push('…');
    }
    quoted.push('`');
    quoted
}

fn is_deeper_than(value: &Value, levels: usize) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => match levels.checked_sub(1) {
            Some(left) => items.iter().any(|item| is_deeper_than(item, left)),
            None => true,
        },
        Value::Object(members) => match levels.checked_sub(1) {
            Some(left) => members.values().any(|member| is_deeper_than(member, left)),
            None => true,
        },
    }
}

/// Enough to recognise a key or a number by.
const SHOWN_CHARACTERS: usize = 100;
