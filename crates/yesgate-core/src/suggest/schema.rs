//! What a tool's arguments say about it.

use serde_json::Value;

use super::words::{CODE_ARGUMENTS, OPERATION_ARGUMENTS, OUTPUT_ARGUMENTS, Words};
use super::{Suggestion, Sureness, of_name, split};
use crate::class::Class;

/// What the arguments in `schema` raise a tool of class `base` to, if any does.
///
/// Arguments count wherever the schema names properties, so that neither a wrapper object nor a
/// list of variants hides one.
pub(super) fn of_arguments(schema: &Value, base: Class) -> Option<Suggestion> {
    let mut found = Vec::new();
    collect(schema, DEPTH, base, &mut found);
    found.into_iter().reduce(Suggestion::worse)
}

/// Adds what every property below `schema` suggests to `found`.
fn collect(schema: &Value, depth: usize, base: Class, found: &mut Vec<Suggestion>) {
    let Some(depth) = depth.checked_sub(1) else {
        return found.push(Suggestion::new(Class::Dangerous, Sureness::Guess, "schema too deep".to_owned()));
    };
    if let Some(Value::Object(properties)) = schema.get("properties") {
        found.extend(properties.iter().filter_map(|(name, argument)| of_argument(name, argument, base)));
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|value| collect(value, depth, base, found)),
        Value::Array(items) => items.iter().for_each(|value| collect(value, depth, base, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What one argument suggests by itself, in our words: an argument's own name may hold anything.
fn of_argument(name: &str, argument: &Value, base: Class) -> Option<Suggestion> {
    let plain = split(name).join(" ");
    let is_in = |list: Words| list.has(&plain);
    if is_in(OUTPUT_ARGUMENTS) {
        return Some(Suggestion::new(Class::SafeWrite, Sureness::Guess, format!("writes to `{plain}`")));
    }
    if !is_in(CODE_ARGUMENTS) && !is_in(OPERATION_ARGUMENTS) {
        return None;
    }
    let mut choices = Vec::new();
    literals(argument, DEPTH, &mut choices);
    if let Some(worst) = choices.iter().filter_map(|choice| of_name(&split(choice))).reduce(Suggestion::worse)
    {
        let why = format!("{} among `{plain}`", worst.why);
        return (worst.class > Class::ReadOnly).then(|| Suggestion::new(worst.class, worst.sure, why));
    }
    let kind = argument.get("type").and_then(Value::as_str).unwrap_or_default();
    if !choices.is_empty() || ["boolean", "integer", "null", "number", "object"].contains(&kind) {
        return None;
    }
    // A free `command` is danger whatever the name says; a free `action` is one only where the
    // name does not promise a read already.
    let sure = if is_in(CODE_ARGUMENTS) {
        Sureness::Clear
    } else if base > Class::ReadOnly {
        Sureness::Guess
    } else {
        return None;
    };
    Some(Suggestion::new(Class::Dangerous, sure, format!("free-form `{plain}` argument")))
}

/// Collects the values that `schema` allows by name.
fn literals<'a>(schema: &'a Value, depth: usize, found: &mut Vec<&'a str>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    found.extend(schema.get("const").and_then(Value::as_str));
    let items = |key| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    found.extend(items("enum").filter_map(Value::as_str));
    for variant in ["anyOf", "oneOf", "allOf"].into_iter().flat_map(items) {
        literals(variant, depth, found);
    }
    schema.get("items").into_iter().for_each(|items| literals(items, depth, found));
}

/// How deep a schema is looked into. The stack is ours, the schema is not.
const DEPTH: usize = 64;
