//! JSON for a human: an indented `key: value` tree, or one line.
//!
//! INVARIANT: the form has an inverse. A string is always in double quotes that it cannot close, a key is bare only
//! if it is a plain identifier, an item of an array starts with `-`, and nothing else starts with `(`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::Page;
use super::escape::{Frame, escape};

/// Writes a value as a tree.
pub(super) fn tree(value: &Value, page: &mut Page) {
    match value {
        Value::Object(members) if !members.is_empty() => object(members, 0, page),
        Value::Array(items) if !items.is_empty() => array(items, 0, page),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => leaf(value, "", 0, page),
    }
}

/// Writes a value on one line.
pub(super) fn inline(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            out.push('{');
            inline_members(members, out);
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                inline(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&scalar(value, Frame::Inline));
        }
    }
}

/// Writes the inside of `name(…)`.
pub(super) fn arguments(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => inline_members(members, out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            inline(value, out);
        }
    }
}

/// The name of a tool, bare if it has no sign that could end it.
pub(super) fn tool_name(name: &str) -> String {
    bare_or_quoted(name, |c| c == '.' || c == '/')
}

fn key(name: &str) -> String {
    bare_or_quoted(name, |_| false)
}

/// A plain identifier as it is, everything else in quotes.
fn bare_or_quoted(name: &str, also_plain: impl Fn(char) -> bool) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-' || also_plain(c));
    if is_plain { name.to_owned() } else { format!("\"{}\"", escape(name, Frame::Inline)) }
}

fn object(members: &Map<String, Value>, depth: usize, page: &mut Page) {
    for (name, value) in sorted(members) {
        announce_opaque(name, depth, page);
        branch(value, &format!("{}:", key(name)), depth, page);
    }
}

fn array(items: &[Value], depth: usize, page: &mut Page) {
    for item in items {
        branch(item, "-", depth, page);
    }
}

/// Writes one member or item: on the line of its name if it is a leaf, else below it and further in.
fn branch(value: &Value, name: &str, depth: usize, page: &mut Page) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            page.push(format!("{}{name}", indent(depth)));
            object(members, depth.saturating_add(1), page);
        }
        Value::Array(items) if !items.is_empty() => {
            page.push(format!("{}{name}", indent(depth)));
            array(items, depth.saturating_add(1), page);
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => leaf(value, &format!("{name} "), depth, page),
    }
}

fn leaf(value: &Value, name: &str, depth: usize, page: &mut Page) {
    if let Value::String(text) = value {
        announce_opaque(text, depth, page);
    }
    page.push(format!("{}{name}{}", indent(depth), scalar(value, Frame::Value)));
}

fn scalar(value: &Value, frame: Frame) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("\"{}\"", escape(text, frame)),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
    }
}

fn inline_members(members: &Map<String, Value>, out: &mut String) {
    for (position, (name, value)) in sorted(members).into_iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        out.push_str(&key(name));
        out.push('=');
        inline(value, out);
    }
}

/// Members by key, so that a map that remembers the order of insertion changes no picture.
fn sorted(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    sorted
}

/// Says that what follows is no text for people (REN11). A line of ours: content is never without quotes.
fn announce_opaque(text: &str, depth: usize, page: &mut Page) {
    let opaque = longest_opaque_run(text);
    if opaque <= LONGEST_READABLE_RUN {
        return;
    }
    let mut note = format!("{}(opaque: {}", indent(depth), grouped(opaque));
    let all = text.chars().count();
    if all > opaque {
        let _infallible = write!(note, " of {}", grouped(all));
    }
    note.push_str(" characters, not readable by a person)");
    page.push(note);
}

/// The longest stretch of base64 or hex, with the line breaks that such blobs have after a full line.
fn longest_opaque_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0_usize;
    let mut on_this_line = 0_usize;
    for c in text.chars() {
        let goes_on = match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '+' | '/' | '-' | '_' | '=' => {
                on_this_line = on_this_line.saturating_add(1);
                true
            }
            '\r' => run > 0,
            '\n' => std::mem::take(&mut on_this_line) >= SHORTEST_BLOB_LINE,
            _ => false,
        };
        if goes_on {
            run = run.saturating_add(1);
            longest = longest.max(run);
        } else {
            run = 0;
            on_this_line = 0;
        }
    }
    longest
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len().saturating_mul(2));
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && digits.len().saturating_sub(position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

/// Up to here a person may still know a key, a hash or a path when they see one.
const LONGEST_READABLE_RUN: usize = 256;

/// Base64 is broken after 64 or 76 characters; shorter lines are a list of words.
const SHORTEST_BLOB_LINE: usize = 60;
