//! Scopes: sets of the operator's words for what a client may do.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::ScopeName;

/// A set of scopes, written with spaces between them.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Scopes(BTreeSet<ScopeName>);

impl Scopes {
    /// Reads a set. What can be no scope is passed over: asking for it gives nothing.
    pub fn read(text: &str) -> Self {
        text.split(' ').filter_map(|word| word.parse().ok()).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one is among them.
    pub fn has(&self, scope: &ScopeName) -> bool {
        self.0.contains(scope)
    }

    /// Those that are in both.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).cloned().collect())
    }

    /// Those that are in either.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// Whether all of them are in the other set.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &ScopeName> {
        self.0.iter()
    }
}

impl FromIterator<ScopeName> for Scopes {
    fn from_iter<I: IntoIterator<Item = ScopeName>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl From<String> for Scopes {
    fn from(text: String) -> Self {
        Self::read(&text)
    }
}

impl From<Scopes> for String {
    fn from(scopes: Scopes) -> Self {
        scopes.to_string()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{scope}")?;
        }
        Ok(())
    }
}
