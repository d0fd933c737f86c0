//! How a tool is put before the agent: it can send what the gateway needs, and what the gateway answers is no
//! surprise.
//!
//! What is not gated is not touched; of a gated tool only the two schemas are.

mod widening;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use yesgate_core::policy::{Answers, Offer, OwnArgument};

use crate::raw::{RawObject, elements, raw};

/// The definition of a tool with what its offer needs; `None` where nothing needs to change.
pub(crate) fn offer(tool: &RawValue, offer: &Offer) -> Option<Box<RawValue>> {
    if *offer == Offer::default() {
        return None;
    }
    let mut fields = RawObject::parse(tool)?;
    let mut changed = false;
    if let Some(mut input) = fields.get("inputSchema").and_then(RawObject::parse) {
        let strict = forbids_extras(&input);
        for argument in &offer.arguments {
            let is_shown = match argument {
                OwnArgument::Token | OwnArgument::Reason => true,
                // K3: absent from the tool's description, but where no client could send it otherwise.
                OwnArgument::Typed | OwnArgument::Key | OwnArgument::Mode | OwnArgument::Channel => strict,
            };
            changed |= is_shown && add_property(&mut input, argument.as_str(), &schema(*argument));
        }
        if changed {
            fields.set("inputSchema", input.to_raw());
        }
    }
    if offer.answers == Answers::OursToo
        && let Some(widened) = fields.get("outputSchema").and_then(widening::widened)
    {
        fields.set("outputSchema", widened);
        changed = true;
    }
    changed.then(|| fields.to_raw())
}

fn schema(argument: OwnArgument) -> Value {
    match argument {
        OwnArgument::Token => json!({
            "type": "string",
            "description": "Leave out on the first call. This tool answers with a summary and a confirm_token \
                and does not run; show the summary to the user, and only if they agree repeat the call with \
                the same arguments and that token.",
        }),
        OwnArgument::Typed => json!({
            "type": "string",
            "description": "Leave out on the first call. What the user typed when they were asked to; never fill \
                it in yourself.",
        }),
        OwnArgument::Key => json!({"type": "boolean"}),
        OwnArgument::Mode => json!({
            "enum": ["ask", "plan", "execute"],
            "description": "How far this one call may go. Leave out to go as far as your mode allows.",
        }),
        OwnArgument::Reason => json!({
            "type": "string",
            "maxLength": 1000,
            "description": "Why you make this call, in a sentence; a human who is asked reads it as your words.",
        }),
        OwnArgument::Channel => json!({
            "enum": ["chat", "web"],
            "description": "Where the user is asked, if this call has to be asked about. Leave out unless they \
                chose: chat is this conversation, web is away from it.",
        }),
    }
}

/// Adds an optional property to the schema of the arguments.
fn add_property(input: &mut RawObject, name: &str, schema: &Value) -> bool {
    let mut properties = input.get("properties").and_then(RawObject::parse).unwrap_or_default();
    if properties.get(name).is_some() {
        return false;
    }
    properties.set(name, raw(schema.to_string()));
    input.set("properties", properties.to_raw());
    true
}

/// Whether a schema has something against properties that it does not name.
fn forbids_extras(input: &RawObject) -> bool {
    let minds = |key| input.get(key).is_some_and(|extras| extras.get() != "true" && !is_empty_object(extras));
    minds("additionalProperties") || minds("unevaluatedProperties")
}

fn is_empty_object(value: &RawValue) -> bool {
    RawObject::parse(value).is_some_and(|object| object.is_empty())
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
        if let Some(offered) = offer(tool, &needed) {
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
