//! Shows a call to a human so that what is read is what would run.
//!
//! Invariants:
//! - A surface prints [`Sanitized`] and nothing else, and only this module makes one from foreign text (REN9).
//! - Two different texts or values never look the same: every character outside an allow-list of code points,
//!   the backslash included, stands as a visible escape (REN2).
//! - Nothing is cut: what is too large to review is refused instead (REN4).
//! - Brackets, boxes and the counted-run marks belong to us: they never come out of content (REN12).
//!
//! `Sanitized` is plain text, not HTML, not Markdown: a surface that interprets `<` or `*` escapes those itself.

use std::fmt;

use serde_json::Value;

use escape::{Frame, escape};

mod alphabet;
mod escape;
#[cfg(test)]
mod hostile;
mod json;
#[cfg(test)]
mod properties;
mod stored;
#[cfg(test)]
mod tests;

/// How many rendered bytes, line ends included, a person can be asked to review (REN4).
pub const REVIEW_LIMIT_BYTES: usize = 16 * 1024;

/// How many rendered lines a person can be asked to review (REN4).
pub const REVIEW_LIMIT_LINES: usize = 400;

/// Text that is safe to show to a human: every character outside the allow-list stands as a visible escape.
///
/// It is the only thing a surface may print. It never holds a line break, a control character or an ANSI escape.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Sanitized(String);

impl Sanitized {
    /// Shows foreign text on a line of its own; line breaks are escaped too, and so are spaces at either end.
    pub fn line(text: &str) -> Self {
        Self(escape(text, Frame::Line))
    }

    /// Shows foreign text in double quotes, which the text itself cannot close: safe amid our own words.
    pub fn quoted(text: &str) -> Self {
        Self(format!("\"{}\"", escape(text, Frame::Inline)))
    }

    /// Takes our own words, the chrome around content.
    ///
    /// They may use the marks that content may not, and still no control or invisible character.
    pub fn fixed(text: &'static str) -> Self {
        Self(escape::chrome(text))
    }

    /// Puts safe texts behind each other on one line.
    pub fn join(parts: &[Self]) -> Self {
        Self(parts.iter().map(Self::as_str).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Sanitized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The call cannot be shown in full to a person, so nobody may be asked about it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "the call is too large to review: {bytes} of at most {REVIEW_LIMIT_BYTES} bytes, \
     {lines} of at most {REVIEW_LIMIT_LINES} lines"
)]
pub struct TooLargeToReview {
    /// Rendered size, line ends included.
    pub bytes: usize,
    /// Rendered lines.
    pub lines: usize,
}

/// Shows one JSON value as lines: every byte of it, and no two different values alike.
///
/// Objects and arrays are indented, keys sorted, strings always in double quotes. A string that no person can
/// read (a long base64 or hex run) has a line before it that says so, and still follows in full (REN11).
pub fn render_value(value: &Value) -> Result<Vec<Sanitized>, TooLargeToReview> {
    let mut page = Page::default();
    json::tree(value, &mut page);
    page.finish()
}

/// Shows one JSON value on one line: `{key="value", n=3}`. Nothing is cut; the caller minds the length.
pub fn render_inline(value: &Value) -> Sanitized {
    let mut line = String::new();
    json::inline(value, &mut line);
    Sanitized(line)
}

/// Shows a call on one line for summaries: `name(key="value", n=3)`.
pub fn render_call(name: &str, arguments: &Value) -> Sanitized {
    let mut line = json::tool_name(name);
    line.push('(');
    json::arguments(arguments, &mut line);
    line.push(')');
    Sanitized(line)
}

/// Shows the agent's own words in a box that they cannot leave: a claim, never our statement (REN1, REN12).
///
/// Floods of empty lines are counted instead of shown. The words are not cut: pass the whole page through
/// [`reviewable`], so that they cannot bury the call either.
pub fn fence(label: &'static str, words: &str) -> Vec<Sanitized> {
    let mut lines = vec![Sanitized(format!("┌ {}", escape::chrome(label)))];
    let words: Vec<&str> = words.split('\n').collect();
    for run in words.chunk_by(|a, b| a.is_empty() && b.is_empty()) {
        if run.len() > EMPTY_LINES_SHOWN {
            lines.push(Sanitized(format!("│ {}", escape::counted("\\n", run.len()))));
            continue;
        }
        for line in run {
            lines.push(Sanitized(format!("│ {}", escape(line, Frame::Fence)).trim_end().to_owned()));
        }
    }
    lines.push(Sanitized("└".to_owned()));
    lines
}

/// The characters of a JSON document, and whether each may be shown as it is. What may not be, stands in a string.
pub(crate) fn in_json(json: &str) -> impl Iterator<Item = (char, bool)> {
    escape::in_json(json)
}

/// Lets a whole page through if a person can review it.
pub fn reviewable(lines: Vec<Sanitized>) -> Result<Vec<Sanitized>, TooLargeToReview> {
    let mut page = Page::default();
    for line in lines {
        page.push(line.0);
    }
    page.finish()
}

/// Lines that are counted to the end but kept only while they fit.
#[derive(Default)]
struct Page {
    kept: Vec<Sanitized>,
    bytes: usize,
    lines: usize,
}

impl Page {
    fn push(&mut self, line: String) {
        self.bytes = self.bytes.saturating_add(line.len()).saturating_add(1);
        self.lines = self.lines.saturating_add(1);
        if self.fits() {
            self.kept.push(Sanitized(line));
        }
    }

    const fn fits(&self) -> bool {
        self.bytes <= REVIEW_LIMIT_BYTES && self.lines <= REVIEW_LIMIT_LINES
    }

    fn finish(self) -> Result<Vec<Sanitized>, TooLargeToReview> {
        if self.fits() {
            Ok(self.kept)
        } else {
            Err(TooLargeToReview { bytes: self.bytes, lines: self.lines })
        }
    }
}

/// How many empty lines in a row a fence shows one by one.
const EMPTY_LINES_SHOWN: usize = 2;
