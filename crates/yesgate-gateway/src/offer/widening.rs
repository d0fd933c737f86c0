//! Letting the result of a tool also be an answer of ours: a strict client throws away what does not fit the
//! `outputSchema` that it was shown, some of them errors as well.
//!
//! INVARIANT: what fitted before still fits, and every `$ref` still points at what it pointed at.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::raw::{RawObject, raw};

/// A schema that admits our answers too; `None`: it is no schema that can be widened.
///
/// What most references point at stays at the root; the rest becomes the first of the alternatives.
pub(super) fn widened(schema: &RawValue) -> Option<Box<RawValue>> {
    let mut original = RawObject::parse(&moved(schema))?;
    let mut widened = RawObject::default();
    for key in AT_THE_ROOT {
        if let Some(value) = original.remove(key) {
            widened.set(key, value);
        }
    }
    if original.get("type").is_some_and(|kind| kind.get() == r#""object""#) {
        widened.set("type", raw(r#""object""#.into()));
    }
    let ours: String = ours().iter().map(|answer| format!(",{answer}")).collect();
    widened.set("anyOf", raw(format!("[{}{ours}]", original.to_raw().get())));
    Some(widened.to_raw())
}

/// What we answer: a question (H2), that there is nothing to do, what would be done, or that the mode was raised (H9,
/// M1, M6), or that it does not run (H6).
fn ours() -> [Value; 3] {
    let answer = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    [
        answer(json!({"confirm_required": {"const": true}}), &["confirm_required"]),
        answer(
            json!({"status": {"enum": ["unchanged", "preview", "mode_set"]}, "message": {"type": "string"}}),
            &["status", "message"],
        ),
        answer(
            json!({
                "error": {"type": "string"},
                "message": {"type": "string"},
                "details": {"type": "object"},
            }),
            &["error", "message", "details"],
        ),
    ]
}

/// The schema with references into what is moved away from the root pointing at its new place.
fn moved(schema: &RawValue) -> Box<RawValue> {
    let mut value: Value = serde_json::from_str(schema.get()).unwrap_or_default();
    // Few have any: the others keep their own bytes.
    if move_references(&mut value) { raw(value.to_string()) } else { schema.to_owned() }
}

fn move_references(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            let mut moved = false;
            for (key, value) in members {
                let place = match (key.as_str(), &*value) {
                    ("$ref" | "$dynamicRef", Value::String(target)) => new_place(target),
                    _ => None,
                };
                match place {
                    Some(place) => {
                        *value = place.into();
                        moved = true;
                    }
                    None => moved |= move_references(value),
                }
            }
            moved
        }
        Value::Array(items) => {
            let mut moved = false;
            for item in items {
                moved |= move_references(item);
            }
            moved
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Where a reference has to point from now on; `None`: where it pointed before.
fn new_place(target: &str) -> Option<String> {
    let pointer = target.strip_prefix('#')?;
    let first = pointer.strip_prefix('/').map(|path| path.split('/').next().unwrap_or_default());
    match first {
        Some(first) if !AT_THE_ROOT.contains(&first) => Some(format!("#/anyOf/0{pointer}")),
        // The whole of it; an anchor (`#name`) finds its place itself.
        None if pointer.is_empty() => Some("#/anyOf/0".to_owned()),
        Some(_) | None => None,
    }
}

/// What stays where it is.
const AT_THE_ROOT: [&str; 4] = ["$schema", "$id", "$defs", "definitions"];
