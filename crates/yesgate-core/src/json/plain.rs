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

    /// Gives what is walked over in its own characters.
    pub(crate) fn over(&mut self, walk: impl FnOnce(&mut Self) -> Walked) -> Walked<&'t str> {
        let start = self.at;
        walk(self)?;
        self.text.get(start..self.at).ok_or(Doubt)
    }

    /// Walks over any value, and gives it in its own characters.
    pub(crate) fn value(&mut self) -> Walked<&'t str> {
        self.over(Self::any)
    }

    /// Walks over a string that has no escapes, and gives what is between its quotes.
    pub(crate) fn text(&mut self) -> Walked<&'t str> {
        let start = self.at + 1;
        match self.string()? {
            Spelling::Plain => self.text.get(start..self.at.saturating_sub(1)).ok_or(Doubt),
            Spelling::Escaped => Err(Doubt),
        }
    }

    fn any(&mut self) -> Walked {
        match self.peek().ok_or(Doubt)? {
            b'{' => self.object(|walk, _| walk.any()),
            b'[' => self.array(),
            b'"' => self.string().map(|_| ()),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.integer(),
        }
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
            self.any()?;
            self.blanks();
            if self.take(b']') {
                return self.close();
            }
            self.expect(b',')?;
            self.blanks();
        }
    }

    fn string(&mut self) -> Walked<Spelling> {
        self.expect(b'"')?;
        let mut spelling = Spelling::Plain;
        loop {
            let rest = self.text.as_bytes().get(self.at..).ok_or(Doubt)?;
            let length = plain_length(rest)?;
            self.at += length;
            match rest.get(length..).ok_or(Doubt)? {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(spelling);
                }
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => self.at += 2,
                _ => return Err(Doubt),
            }
            spelling = Spelling::Escaped;
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
        // A carriage return is white space too, but ends a line for some readers.
        while self.peek().is_some_and(|byte| b" \t\n".contains(&byte)) {
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

/// Whether a string is written as it reads.
enum Spelling {
    Plain,
    Escaped,
}

/// How many bytes come before the first quote or backslash. A control character before that is a doubt.
fn plain_length(bytes: &[u8]) -> Walked<usize> {
    let mut length = 0;
    // Most strings are short: eight bytes are looked at in one step, without preparations.
    while length < SHORT
        && let Some(eight) = bytes.get(length..).and_then(<[u8]>::first_chunk::<8>)
    {
        let word = u64::from_le_bytes(*eight);
        let controls = below_blank(word);
        let found =
            controls | zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            let first = found & found.wrapping_neg();
            let before = usize::try_from(found.trailing_zeros() / 8).unwrap_or_default();
            return if controls & first == 0 { Ok(length + before) } else { Err(Doubt) };
        }
        length += 8;
    }
    let rest = bytes.get(length..).ok_or(Doubt)?;
    let more = memchr2(b'"', b'\\', rest).ok_or(Doubt)?;
    // Without an early end, so that many are looked at in one step.
    if rest.get(..more).ok_or(Doubt)?.iter().fold(false, |found, byte| found | (*byte < b' ')) {
        return Err(Doubt);
    }
    Ok(length + more)
}

/// The lowest bit that is set is the highest one of the first byte that is zero. Above that nothing is certain.
const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// The same for the first byte that is less than a blank.
const fn below_blank(word: u64) -> u64 {
    word.wrapping_sub(ONES * (b' ' as u64)) & !word & (ONES << 7)
}

const ONES: u64 = 0x0101_0101_0101_0101;
/// Where it begins to be worth the while to prepare for more than eight bytes at a time.
const SHORT: usize = 32;

/// Each key of an object is compared with those before it: more are better compared otherwise.
const MOST_KEYS: usize = 16;
/// Integers of so many digits are doubles too.
const MOST_DIGITS: usize = 15;
