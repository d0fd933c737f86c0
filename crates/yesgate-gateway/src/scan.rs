//! Finds the members of a JSON object without building anything, for messages that pass in their
//! own bytes: nothing is allocated, and long strings are skipped as fast as memory is read.
//!
//! What holds:
//! - For every text that `serde_json` reads as an object and that is nested no deeper than
//!   [`DEEPEST`], the members, their order and their spans are those of `serde_json`'s `RawValue`.
//! - A text that ends early, whose brackets do not match, or whose commas, colons, literals and
//!   keys do not stand where JSON has them, is [`NotJson`]; so is anything but white space after
//!   the object.
//! - A span lies within the text and holds exactly one value, without white space around it.
//!
//! What is not looked at: whether a string is UTF-8, has only escapes that exist and has no
//! control characters (a line feed among them); whether the characters of a number make a number.
//! A value that goes to a reader who cares must still be read by a parser.

use std::ops::Range;

use memchr::memchr;

use self::cursor::Cursor;

mod cursor;

/// How deep a text may be nested, the outermost object included. It is one level more than
/// `serde_json` builds a value of.
pub const DEEPEST: u32 = 128;

/// The text is not one JSON object, or is nested deeper than [`DEEPEST`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a JSON object that can be followed beyond byte {at}")]
pub struct NotJson {
    /// The first byte that does not belong there.
    pub at: usize,
}

/// Why a member was not found.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MemberError {
    /// The text is not one JSON object.
    #[error(transparent)]
    NotJson(#[from] NotJson),
    /// The key is there more than once, and two readers could take two different values.
    #[error("the key is there more than once")]
    Repeated,
}

/// The members of an object, in their order. Compare their keys with [`key_is`].
///
/// The members before a fault are given before the fault is. Whoever acts on one of them before
/// the end acts on a text that may not be JSON.
pub const fn members(object: &[u8]) -> Members<'_> {
    Members { cursor: Cursor::new(object), next: Next::Object }
}

/// Where the value of a key is, if the object has the key. The whole object is read.
///
/// # Errors
/// When the text is not one JSON object, or has the key more than once, however it is written.
pub fn member(object: &[u8], key: &str) -> Result<Option<Range<usize>>, MemberError> {
    let mut found = None;
    for member in members(object) {
        let (name, value) = member?;
        if key_is(name, key) && found.replace(value).is_some() {
            return Err(MemberError::Repeated);
        }
    }
    Ok(found)
}

/// Whether a key, as it is written between its quotes, is this one: `i\u0064` is `id`.
pub fn key_is(written: &[u8], key: &str) -> bool {
    // An escape is longer than the character that it stands for, so this short there is none.
    if written.len() <= key.len() {
        return written == key.as_bytes() && !key.contains('\\');
    }
    if memchr(b'\\', written).is_none() {
        return false;
    }
    let (mut written, mut key) = (written, key.as_bytes());
    while let Some((&first, rest)) = written.split_first() {
        let mut utf8 = [0; 4];
        let (expected, after): (&[u8], _) = match first {
            b'\\' => match unescape(rest) {
                Some((c, after)) => (c.encode_utf8(&mut utf8).as_bytes(), after),
                None => return false,
            },
            _ => (&[first], rest),
        };
        match key.strip_prefix(expected) {
            Some(left) => (written, key) = (after, left),
            None => return false,
        }
    }
    key.is_empty()
}

/// One member: the key as it is written between its quotes, and where the value is.
pub type Member<'a> = (&'a [u8], Range<usize>);

/// Iterates over the members of an object.
#[derive(Clone, Debug)]
pub struct Members<'a> {
    cursor: Cursor<'a>,
    next: Next,
}

/// What the iterator comes to next.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// The start of the object.
    Object,
    /// A comma or the end.
    More,
    /// Nothing: it ended, or a fault was found.
    Nothing,
}

impl<'a> Members<'a> {
    fn step(&mut self) -> Result<Option<Member<'a>>, NotJson> {
        match self.next {
            Next::Object => {
                self.cursor.white();
                self.cursor.expect(b'{')?;
                self.cursor.white();
                if self.cursor.eat(b'}') {
                    return self.end();
                }
            }
            Next::More => {
                self.cursor.white();
                if self.cursor.eat(b'}') {
                    return self.end();
                }
                self.cursor.expect(b',')?;
                self.cursor.white();
            }
            Next::Nothing => return Ok(None),
        }
        let key = self.cursor.key()?;
        let value = self.cursor.value(DEEPEST - 1)?;
        self.next = Next::More;
        Ok(Some((key, value)))
    }

    fn end<T>(&mut self) -> Result<Option<T>, NotJson> {
        self.next = Next::Nothing;
        self.cursor.white();
        self.cursor.expect_end()?;
        Ok(None)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<Member<'a>, NotJson>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            self.next = Next::Nothing;
        }
        step.transpose()
    }
}

impl std::iter::FusedIterator for Members<'_> {}

/// Reads what follows a backslash: the character that is meant, and the rest.
fn unescape(text: &[u8]) -> Option<(char, &[u8])> {
    let (&kind, rest) = text.split_first()?;
    let plain = match kind {
        b'"' | b'\\' | b'/' => char::from(kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(rest),
        _ => return None,
    };
    Some((plain, rest))
}

/// Reads what follows `\u`, and a second `\u…` where the two are one character.
fn unescape_unicode(text: &[u8]) -> Option<(char, &[u8])> {
    let (unit, rest) = utf16_unit(text)?;
    if let Some(c) = char::from_u32(unit.into()) {
        return Some((c, rest));
    }
    let (low, rest) = utf16_unit(rest.strip_prefix(b"\\u")?)?;
    let c = char::decode_utf16([unit, low]).next()?.ok()?;
    Some((c, rest))
}

fn utf16_unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<4>()?;
    let unit =
        digits.iter().try_fold(0, |unit: u32, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?));
    Some((u16::try_from(unit?).ok()?, rest))
}

#[cfg(test)]
mod tests;
