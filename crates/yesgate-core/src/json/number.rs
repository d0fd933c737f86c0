//! Which numbers keep their value when they are written as RFC 8785 wants them.
//!
//! RFC 8785 prints the shortest decimal that names the same double. A number is exact if that
//! decimal is worth the same as the one that was sent: `0.10` is, `9007199254740993` is not.
//! Values are compared digit by digit, so nothing is rounded while comparing.

use serde_json::{Number, Value};

/// Says whether `token` is worth the same as the canonical spelling of `double`, its nearest double.
pub(super) fn keeps_its_value(token: &str, double: f64) -> bool {
    let sent = Decimal::of(token);
    // Rust's own `{:e}` will not do: it breaks a tie upwards where RFC 8785 breaks it to even.
    sent.is_short() || sent.is_worth(&Decimal::of(ryu_js::Buffer::new().format(double)))
}

/// Gives a double the [`Value`] that its canonical spelling reads back as.
///
/// `1e2` and `100.0` thus become the integer `100`: a rule about integers cannot be dodged by
/// spelling one as a fraction, and `-0` is `0`.
pub(super) fn value_of(double: f64) -> Option<Value> {
    if double.fract() != 0.0 || double.abs() >= BEYOND_U64 {
        return Number::from_f64(double).map(Value::Number);
    }
    if double.abs() <= LAST_EXACT_INTEGER as f64 {
        return Some(Value::from(double as i64));
    }
    // Beyond 2⁵³ the canonical digits are fewer than the double has, so they are asked for.
    let mut canonical = ryu_js::Buffer::new();
    let digits = canonical.format(double);
    let whole = digits.parse::<u64>().map(Value::from).or_else(|_| digits.parse::<i64>().map(Value::from));
    whole.ok().or_else(|| Number::from_f64(double).map(Value::Number))
}

/// A decimal number, taken apart.
struct Decimal<'t> {
    whole: &'t str,
    fraction: &'t str,
    leading_zeros: usize,
    significant: usize,
    /// The power of ten of the first significant digit, plus one.
    magnitude: i64,
}

impl<'t> Decimal<'t> {
    fn of(token: &'t str) -> Self {
        let unsigned = token.strip_prefix('-').unwrap_or(token);
        let (digits, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        let leading_zeros = all().take_while(|digit| *digit == b'0').count();
        let trailing_zeros = all().rev().take_while(|digit| *digit == b'0').count();
        let significant = all().count().saturating_sub(leading_zeros).saturating_sub(trailing_zeros);
        let magnitude =
            exponent_of(exponent).saturating_add(signed(whole.len())).saturating_sub(signed(leading_zeros));
        Self { whole, fraction, leading_zeros, significant, magnitude }
    }

    /// Fifteen digits always survive a double, as long as it is not near the ends of its range.
    fn is_short(&self) -> bool {
        self.significant <= 15 && (self.significant == 0 || (-290..=300).contains(&self.magnitude))
    }

    /// Compares without the sign: rounding never changes one, and `-0` is `0`.
    fn is_worth(&self, other: &Self) -> bool {
        self.significant == other.significant
            && (self.significant == 0 || self.magnitude == other.magnitude)
            && self.digits().eq(other.digits())
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes()).skip(self.leading_zeros).take(self.significant)
    }
}

/// Reads an exponent; one that is too long to be read is worth as much as the greatest.
fn exponent_of(text: &str) -> i64 {
    let furthest = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    text.parse().unwrap_or(furthest)
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The number tokens of a JSON text, in the order in which a reader meets them.
///
/// The text must be valid JSON up to the token that is asked for.
pub(super) struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text }
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let start = self.rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
            let (_, found) = self.rest.split_at_checked(start)?;
            if let Some(inside) = found.strip_prefix('"') {
                self.rest = after_string(inside)?;
                continue;
            }
            let end = found.find(|c: char| !is_part_of_number(c)).unwrap_or(found.len());
            let (token, rest) = found.split_at_checked(end)?;
            self.rest = rest;
            return Some(token);
        }
    }
}

fn is_part_of_number(character: char) -> bool {
    match character {
        '0'..='9' | '+' | '-' | '.' | 'e' | 'E' => true,
        _ => false,
    }
}

fn after_string(mut inside: &str) -> Option<&str> {
    loop {
        let end = inside.find(['"', '\\'])?;
        let (_, found) = inside.split_at_checked(end)?;
        let mut rest = found.chars();
        if rest.next() == Some('"') {
            return Some(rest.as_str());
        }
        // Whatever a backslash escapes, it is not the end of the string.
        rest.next();
        inside = rest.as_str();
    }
}

/// Up to here every integer is a double of its own.
pub(super) const LAST_EXACT_INTEGER: u64 = 1 << 53;

const BEYOND_U64: f64 = 18_446_744_073_709_551_616.0;
