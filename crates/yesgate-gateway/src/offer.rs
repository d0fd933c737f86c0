//! How a gated tool is offered to the agent: it must be able to say that a human agreed.
//!
//! What is not gated is not touched; of a gated tool only the two schemas are.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::raw::{RawObject, elements, raw};

/// What the agent must be able to add to a call of a tool.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Offer {
    /// Nothing: the tool is not gated, or its yes comes from elsewhere.
    Plain,
    /// Held answers, but nothing to bring back: the yes comes from elsewhere.
    HeldOnly,
    /// `confirm_token`, and held answers.
    ConfirmToken,
    /// `__confirm`, but only where the schema forbids what it does not name (K3).
    CallKey,
}

/// The definition of a tool with what its offer needs; `None` where nothing needs to change.
pub(crate) fn offer(tool: &RawValue, offer: Offer) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(tool)?;
    let changed = match offer {
        Offer::Plain => return None,
        Offer::HeldOnly => widen_output(&mut fields),
        Offer::ConfirmToken => {
            let input = add_property(&mut fields, "confirm_token", &confirm_token_schema());
            widen_output(&mut fields) || input
        }
        Offer::CallKey => {
            forbids_extras(&fields) && add_property(&mut fields, "__confirm", &json!({"type": "boolean"}))
        }
    };
    changed.then(|| fields.to_raw())
}

fn confirm_token_schema() -> Value {
    json!({
        "type": "string",
        "description": "Leave out on the first call. This tool answers with a summary and a confirm_token \
            and does not run; show the summary to the user, and only if they agree repeat the call with \
            the same arguments and that token.",
    })
}

/// Adds an optional property to the schema of the arguments.
fn add_property(fields: &mut RawObject, name: &str, schema: &Value) -> bool {
    let Some(mut input) = fields.get("inputSchema").and_then(RawObject::parse) else { return false };
    let mut properties = input.get("properties").and_then(RawObject::parse).unwrap_or_default();
    if properties.get(name).is_some() {
        return false;
    }
    properties.set(name, raw(schema.to_string()));
    input.set("properties", properties.to_raw());
    fields.set("inputSchema", input.to_raw());
    true
}

fn forbids_extras(fields: &RawObject) -> bool {
    fields
        .get("inputSchema")
        .and_then(RawObject::parse)
        .and_then(|schema| schema.get("additionalProperties").map(|extras| extras.get() == "false"))
        .unwrap_or(false)
}

/// Lets the tool's result also be a held answer, or strict clients would throw it away.
///
/// What `$ref` may point at stays at the root; the rest becomes one of two alternatives.
fn widen_output(fields: &mut RawObject) -> bool {
    let Some(mut original) = fields.get("outputSchema").and_then(RawObject::parse) else { return false };
    let mut widened = RawObject::default();
    for key in ["$schema", "$id", "$defs", "definitions"] {
        if let Some(value) = original.remove(key) {
            widened.set(key, value);
        }
    }
    if original.get("type").is_some_and(|kind| kind.get() == r#""object""#) {
        widened.set("type", raw(r#""object""#.into()));
    }
    let held = json!({
        "type": "object",
        "properties": {"confirm_required": {"const": true}},
        "required": ["confirm_required"],
    });
    widened.set("anyOf", raw(format!("[{},{held}]", original.to_raw().get())));
    fields.set("outputSchema", widened.to_raw());
    true
}

/// A page of a tool list, rewritten where an offer needs it. `None`: nothing needs to change.
pub(crate) fn rewrite_list(
    result: &RawValue,
    mut offer_of: impl FnMut(&RawValue) -> Offer,
    own_tools: Option<&[Value]>,
) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(result)?;
    let mut tools = elements(fields.get("tools")?)?;
    let mut changed = false;
    for tool in &mut tools {
        let needed = offer_of(tool);
        if let Some(offered) = offer(tool, needed) {
            *tool = offered;
            changed = true;
        }
    }
    if let Some(own) = own_tools {
        tools.extend(own.iter().map(|tool| raw(tool.to_string())));
        changed = true;
    }
    let list: Vec<&str> = tools.iter().map(|tool| tool.get()).collect();
    fields.set("tools", raw(format!("[{}]", list.join(","))));
    changed.then(|| fields.to_raw())
}

#[cfg(test)]
mod tests;
