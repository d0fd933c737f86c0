//! Hides what looks like a secret, for previews, logs and notices. Never for what runs, and never for what a human
//! signs: there every byte is shown.
//!
//! Invariants (K6):
//! - Keys stay, and so do paths, hosts and amounts: a number or a boolean is hidden under a secret key only.
//! - A secret inside a longer text takes only itself away.
//! - Redacting twice is redacting once.
//! - All scans are linear: the text comes from whoever calls.
//!
//! It is a courtesy to the person behind the secret, not a wall: what has neither a telling key nor a known shape
//! stays visible.

use serde_json::{Map, Value};

use key::Secrecy;

mod key;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
mod text;

/// A view of arguments with secret-looking values replaced; for previews, logs and notices, never for what runs.
pub fn redact(value: &Value) -> Value {
    visit(value, Secrecy::Open)
}

fn visit(value: &Value, secrecy: Secrecy) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => match secrecy {
            Secrecy::Open | Secrecy::Text => value.clone(),
            Secrecy::All => Value::String(text::mark("boolean")),
        },
        Value::Number(_) => match secrecy {
            Secrecy::Open | Secrecy::Text => value.clone(),
            Secrecy::All => Value::String(text::mark("number")),
        },
        Value::String(words) => Value::String(match secrecy {
            Secrecy::Open => text::redact(words),
            Secrecy::Text | Secrecy::All => text::hide(words),
        }),
        Value::Array(items) => Value::Array(visit_items(items, secrecy)),
        Value::Object(members) => Value::Object(visit_members(members, secrecy)),
    }
}

/// An argument list may say `"--password", "hunter2"`: a flag tells about the item after it.
fn visit_items(items: &[Value], secrecy: Secrecy) -> Vec<Value> {
    let mut after_flag = Secrecy::Open;
    let mut redacted = Vec::with_capacity(items.len());
    for item in items {
        let flag = item.as_str().filter(|word| word.starts_with('-') && text::is_key(word));
        let here = match flag {
            Some(_) => secrecy,
            None => secrecy.max(after_flag),
        };
        redacted.push(visit(item, here));
        after_flag = flag.map_or(Secrecy::Open, Secrecy::of);
    }
    redacted
}

/// A list of variables may say `{"name": "PASSWORD", "value": "hunter2"}`: the name tells about the value.
fn visit_members(members: &Map<String, Value>, secrecy: Secrecy) -> Map<String, Value> {
    let named = NAMES
        .iter()
        .find_map(|name| members.get(*name)?.as_str().filter(|name| text::is_key(name)))
        .map_or(Secrecy::Open, Secrecy::of);
    members
        .iter()
        .map(|(name, value)| {
            let mut here = Secrecy::of(name);
            if name.eq_ignore_ascii_case("value") {
                here = here.max(named);
            }
            if !key::says_what_is_no_secret(name) {
                here = here.max(secrecy);
            }
            (name.clone(), visit(value, here))
        })
        .collect()
}

/// Members that name what stands in the `value` beside them.
const NAMES: [&str; 6] = ["name", "key", "header", "variable", "Name", "Key"];
