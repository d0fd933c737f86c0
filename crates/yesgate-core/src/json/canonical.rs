//! Writing the canonical spelling (RFC 8785).
//!
//! INVARIANT: what is written here is what `serde_json_canonicalizer` writes. Nearly all JSON is plain: keys in ASCII, whose
//! order is that of their bytes, and whole numbers that every double keeps. That is written at once; for anything else
//! that crate is asked, which takes several times as long.

use std::io::Write as _;

use serde_json::{Map, Value};

/// Writes a value in its canonical spelling.
pub(super) fn spelled(value: &Value) -> Result<String, serde_json::Error> {
    let mut text = Vec::with_capacity(EXPECTED);
    match write(value, &mut text).and_then(|()| String::from_utf8(text).ok()) {
        Some(text) => Ok(text),
        None => serde_json_canonicalizer::to_string(value),
    }
}

/// `None`: it is not plain.
fn write(value: &Value, text: &mut Vec<u8>) -> Option<()> {
    match value {
        Value::Null => text.extend(b"null"),
        Value::Bool(true) => text.extend(b"true"),
        Value::Bool(false) => text.extend(b"false"),
        Value::Number(number) => {
            let whole = number.as_i64().filter(|whole| whole.unsigned_abs() <= LAST_EXACT)?;
            write!(text, "{whole}").ok()?;
        }
        Value::String(string) => quote(string, text)?,
        Value::Array(items) => {
            text.push(b'[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(b',');
                }
                write(item, text)?;
            }
            text.push(b']');
        }
        Value::Object(members) => write_object(members, text)?,
    }
    Some(())
}

fn write_object(members: &Map<String, Value>, text: &mut Vec<u8>) -> Option<()> {
    let mut before: Option<&String> = None;
    text.push(b'{');
    for (key, member) in members {
        if !key.is_ascii() || before.is_some_and(|before| before >= key) {
            return None;
        }
        if before.is_some() {
            text.push(b',');
        }
        quote(key, text)?;
        text.push(b':');
        write(member, text)?;
        before = Some(key);
    }
    text.push(b'}');
    Some(())
}

fn quote(string: &str, text: &mut Vec<u8>) -> Option<()> {
    if string.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        return serde_json::to_writer(text, string).ok();
    }
    text.push(b'"');
    text.extend_from_slice(string.as_bytes());
    text.push(b'"');
    Some(())
}

/// A double keeps every whole number up to this one.
const LAST_EXACT: u64 = 1 << 53;
/// How long most texts are at most.
const EXPECTED: usize = 512;
