//! A place in a JSON text, and the ways to move on from it.
//!
//! INVARIANT: the place never goes back and never leaves the text; so every loop ends.

use std::ops::Range;

use memchr::memchr2;

use super::NotJson;

/// A place in a text.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// What may come next within a value.
#[derive(Clone, Copy)]
enum Due {
    /// A value.
    Value,
    /// A value, or the end of an array that is still empty.
    ValueOrEnd,
    /// A key.
    Key,
    /// A key, or the end of an object that is still empty.
    KeyOrEnd,
    /// A comma, or the end of what is open.
    More,
}

/// What is open: one bit for each level, the innermost lowest.
struct Open {
    objects: u128,
    levels: u32,
    most: u32,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Bracket {
    Object,
    Array,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Skips white space.
    pub(super) fn white(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Takes this byte if it comes next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        if there {
            self.at += 1;
        }
        there
    }

    /// Takes this byte, which must come next.
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.eat(byte) { Ok(()) } else { Err(self.fault()) }
    }

    /// Nothing may come any more.
    pub(super) const fn expect_end(&self) -> Result<(), NotJson> {
        if self.at == self.text.len() { Ok(()) } else { Err(self.fault()) }
    }

    /// Takes a key and its colon.
    pub(super) fn key(&mut self) -> Result<&'a [u8], NotJson> {
        let start = self.at;
        self.string()?;
        let key = self.text.get(start + 1..self.at - 1).ok_or(NotJson { at: start })?;
        self.white();
        self.expect(b':')?;
        Ok(key)
    }

    /// Takes a value with the white space before it, and says where it is. It may be nested this
    /// many levels deep.
    pub(super) fn value(&mut self, most: u32) -> Result<Range<usize>, NotJson> {
        self.white();
        let start = self.at;
        let mut open = Open { objects: 0, levels: 0, most };
        let mut due = Due::Value;
        loop {
            self.white();
            due = match (due, self.peek()) {
                (Due::Value | Due::ValueOrEnd, Some(b'{')) => {
                    self.open(&mut open, Bracket::Object)?;
                    Due::KeyOrEnd
                }
                (Due::Value | Due::ValueOrEnd, Some(b'[')) => {
                    self.open(&mut open, Bracket::Array)?;
                    Due::ValueOrEnd
                }
                (Due::ValueOrEnd, Some(b']')) => self.close(&mut open, Bracket::Array)?,
                (Due::KeyOrEnd, Some(b'}')) => self.close(&mut open, Bracket::Object)?,
                (Due::More, Some(b']')) => self.close(&mut open, Bracket::Array)?,
                (Due::More, Some(b'}')) => self.close(&mut open, Bracket::Object)?,
                (Due::More, Some(b',')) => {
                    self.at += 1;
                    match open.innermost() {
                        Bracket::Object => Due::Key,
                        Bracket::Array => Due::Value,
                    }
                }
                (Due::Key | Due::KeyOrEnd, Some(b'"')) => {
                    self.key()?;
                    Due::Value
                }
                (Due::Value | Due::ValueOrEnd, Some(b'"')) => {
                    self.string()?;
                    Due::More
                }
                (Due::Value | Due::ValueOrEnd, Some(_)) => {
                    self.scalar()?;
                    Due::More
                }
                (Due::Key | Due::KeyOrEnd | Due::More, Some(_))
                | (Due::Value | Due::ValueOrEnd | Due::Key | Due::KeyOrEnd | Due::More, None) => {
                    return Err(self.fault());
                }
            };
            if open.levels == 0 {
                return Ok(start..self.at);
            }
        }
    }

    fn open(&mut self, open: &mut Open, bracket: Bracket) -> Result<(), NotJson> {
        if open.levels == open.most {
            return Err(self.fault());
        }
        open.push(bracket);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self, open: &mut Open, bracket: Bracket) -> Result<Due, NotJson> {
        if open.innermost() != bracket {
            return Err(self.fault());
        }
        open.pop();
        self.at += 1;
        Ok(Due::More)
    }

    /// Takes a string.
    fn string(&mut self) -> Result<(), NotJson> {
        self.expect(b'"')?;
        loop {
            match memchr2(b'"', b'\\', self.rest()) {
                Some(skipped) => self.at += skipped,
                None => return Err(self.early_end()),
            }
            if self.eat(b'"') {
                return Ok(());
            }
            // A backslash, and what it escapes.
            match self.text.len() - self.at {
                0 | 1 => return Err(self.early_end()),
                _ => self.at += 2,
            }
        }
    }

    /// Takes `true`, `false`, `null` or the characters of a number.
    fn scalar(&mut self) -> Result<(), NotJson> {
        let word: &[u8] = match self.peek() {
            Some(b't') => b"true",
            Some(b'f') => b"false",
            Some(b'n') => b"null",
            Some(b'-' | b'0'..=b'9') => {
                while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
                    self.at += 1;
                }
                return Ok(());
            }
            Some(_) | None => return Err(self.fault()),
        };
        if !self.rest().starts_with(word) {
            return Err(self.fault());
        }
        self.at += word.len();
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    const fn fault(&self) -> NotJson {
        NotJson { at: self.at }
    }

    const fn early_end(&self) -> NotJson {
        NotJson { at: self.text.len() }
    }
}

impl Open {
    fn push(&mut self, bracket: Bracket) {
        self.levels += 1;
        self.objects = (self.objects << 1) | u128::from(bracket == Bracket::Object);
    }

    const fn pop(&mut self) {
        self.levels -= 1;
        self.objects >>= 1;
    }

    const fn innermost(&self) -> Bracket {
        match self.objects & 1 {
            0 => Bracket::Array,
            _ => Bracket::Object,
        }
    }
}
