//! What is wrong with a configuration, and where.

use std::fmt;

/// The first thing in a configuration that cannot be understood.
///
/// A configuration is taken whole or not at all: half a policy is no policy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    line: usize,
    column: usize,
    message: String,
    hint: Option<String>,
}

impl ConfigError {
    pub(super) fn new((line, column): (usize, usize), message: impl Into<String>) -> Self {
        Self { line, column, message: message.into(), hint: None }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What is wrong, on one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, where we can tell.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The line it stands on, counted from one.
    pub const fn line(&self) -> usize {
        self.line
    }

    /// The character of that line, counted from one.
    pub const fn column(&self) -> usize {
        self.column
    }

    /// Puts the file's name in front: `yesgate.toml:12:1: unknown key …`.
    pub fn in_file(&self, file: &str) -> String {
        format!("{file}:{self}")
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The word that somebody most likely meant, if one is near enough.
pub(super) fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let enough = word.chars().count().div_ceil(3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= enough)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// What to say about a word that is none of the known ones.
pub(super) fn hint_for(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("one of {}", listed(known)),
    }
}

/// `a`, `b` and `c`, in backticks.
pub(super) fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}

/// How many letters must be changed, added, dropped or swapped to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    let mut further_above = above.clone();
    let mut previous = None;
    for (row, letter) in from.chars().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at = |line: &[usize], column: usize| line.get(column).copied().unwrap_or(usize::MAX);
            let mut best = at(&above, column)
                .saturating_add(usize::from(letter != *other))
                .min(at(&above, column + 1).saturating_add(1))
                .min(at(&current, column).saturating_add(1));
            let swapped = column.checked_sub(1).and_then(|before| to.get(before)) == Some(&letter)
                && previous == Some(*other);
            if swapped {
                best = best.min(at(&further_above, column.saturating_sub(1)).saturating_add(1));
            }
            current.push(best);
        }
        further_above = std::mem::replace(&mut above, current);
        previous = Some(letter);
    }
    above.last().copied().unwrap_or_default()
}
