//! A quick look at JSON text that is as plain as nearly all of it is, without building anything.
//!
//! INVARIANT: whatever is walked over to its end is text that [`parse_strict`](super::parse_strict) accepts.
//! The other way round does not hold: a doubt is no fault, and whoever gets one has the text read properly.

use memchr::memchr2;

/// A walk over a text, up to the first doubt.
#[derive(Debug)]
pub(crate) struct Plain<'t> {
    text: &'t str,
    at: usize,
    /// How many more levels may be opened.
    levels: usize,
}

/// What is not plain enough to be judged at a glance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt;

type Walked<T = ()> = Result<T, Doubt>;

impl<'t> Plain<'t> {
    /// Stands before the first character.
    pub(crate) const fn before(text: &'t str, levels: usize) -> Self {
        Self { text, at: 0, levels }
    }

    /// Walks over the one object that the text consists of.
    pub(crate) fn whole_object(mut self, member: impl FnMut(&mut Self, &'t str) -> Walked) -> Walked {
        self.blanks();
        self.object(member)?;
        self.blanks();
        if self.peek().is_none() { Ok(()) } else { Err(Doubt) }
    }

    /// Walks over an object. `member` is given each key, and has to walk over its value.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&mut Self, &'t str) -> Walked) -> Walked {
        self.open(b'{')?;
        let mut keys = [""; MOST_KEYS];
        let mut count = 0;
        if self.take(b'}') {
            return self.close();
        }
        loop {
            let key = self.text()?;
            let known = keys.get(..count).ok_or(Doubt)?;
            // Keys in ASCII look alike only in their case.
            if !key.is_ascii() || known.iter().any(|known| known.eq_ignore_ascii_case(key)) {
                return Err(Doubt);
            }
            *keys.get_mut(count).ok_or(Doubt)? = key;
            count += 1;
            self.blanks();
            self.expect(b':')?;
            self.blanks();
            member(self, key)?;
            self.blanks();
            if self.take(b'}') {
                return self.close();
            }
            self.expect(b',')?;
            self.blanks();
        }
    }

    /// The text from here on.
    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Walks over any value, and gives it in its own characters.
    pub(crate) fn value(&mut self) -> Walked<&'t str> {
        let start = self.at;
        match self.peek().ok_or(Doubt)? {
            b'{' => self.object(|walk, _| walk.value().map(|_| ()))?,
            b'[' => self.array()?,
            b'"' => self.string()?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => self.integer()?,
        }
        self.text.get(start..self.at).ok_or(Doubt)
    }

    /// Walks over a string that has no escapes, and gives what is between its quotes.
    pub(crate) fn text(&mut self) -> Walked<&'t str> {
        let start = self.at + 1;
        self.string()?;
        let text = self.text.get(start..self.at.saturating_sub(1)).ok_or(Doubt)?;
        if text.contains('\\') { Err(Doubt) } else { Ok(text) }
    }

    /// Walks over an integer that every reader reads as the same.
    pub(crate) fn integer(&mut self) -> Walked {
        self.take(b'-');
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let is_more = self.peek().is_some_and(|byte| b".eE+-".contains(&byte));
        // A zero before other digits is no JSON, and one after a minus is no integer.
        let begins_with_zero = self.text.as_bytes().get(start) == Some(&b'0') && self.at - start > 1;
        let is_minus_zero = self.text.get(start.saturating_sub(1)..self.at) == Some("-0");
        match self.at - start {
            1..=MOST_DIGITS if !is_more && !begins_with_zero && !is_minus_zero => Ok(()),
            _ => Err(Doubt),
        }
    }

    fn array(&mut self) -> Walked {
        self.open(b'[')?;
        if self.take(b']') {
            return self.close();
        }
        loop {
            self.value()?;
            self.blanks();
            if self.take(b']') {
                return self.close();
            }
            self.expect(b',')?;
            self.blanks();
        }
    }

    fn string(&mut self) -> Walked {
        self.expect(b'"')?;
        loop {
            let rest = self.text.as_bytes().get(self.at..).ok_or(Doubt)?;
            let (plain, mark) =
                rest.split_at_checked(memchr2(b'"', b'\\', rest).ok_or(Doubt)?).ok_or(Doubt)?;
            // Without an early end, so that many are looked at in one step.
            if plain.iter().fold(false, |found, byte| found | (*byte < b' ')) {
                return Err(Doubt);
            }
            self.at += plain.len();
            match mark {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(());
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                _ => return Err(Doubt),
            }
        }
    }

    fn word(&mut self, word: &str) -> Walked {
        if !self.text.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(Doubt);
        }
        self.at += word.len();
        Ok(())
    }

    fn open(&mut self, bracket: u8) -> Walked {
        self.expect(bracket)?;
        self.levels = self.levels.checked_sub(1).ok_or(Doubt)?;
        self.blanks();
        Ok(())
    }

    const fn close(&mut self) -> Walked {
        self.levels += 1;
        Ok(())
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Walked {
        if self.take(byte) { Ok(()) } else { Err(Doubt) }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_it = self.peek() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Each key of an object is compared with those before it: more are better compared otherwise.
const MOST_KEYS: usize = 16;
/// Integers of so many digits are doubles too.
const MOST_DIGITS: usize = 15;
