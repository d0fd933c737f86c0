//! What tells the tools of one server from those of another where all stand in one list.
//!
//! INVARIANT: a prefixed name is taken apart at its first `__`, and there is one way to do it: a
//! prefix holds no `__` and does not end in `_`.

use std::fmt;
use std::str::FromStr;

/// What stands before the `__` in a tool's name on the endpoint of all servers.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Prefix(String);

/// A text cannot be a prefix.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them")]
pub struct ParsePrefixError;

impl Prefix {
    /// The prefix as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a person, or a client that ignores case, would take the two for one.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl FromStr for Prefix {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Self, ParsePrefixError> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if text.len() <= LONGEST && text.split('_').all(is_part) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParsePrefixError)
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Many models take names of 64 characters at most, and the tool's own name needs room.
const LONGEST: usize = 32;
