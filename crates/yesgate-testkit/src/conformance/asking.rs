//! Tools that ask the client one thing while they run.
//!
//! They are written as rounds of `input_required`, as the modern era has it; in a session the question goes to the
//! client on the call's own stream (`sessions`).

use rmcp::model::{CallToolRequestParams, CallToolResponse};
use serde_json::{Value, json};

use super::plain::{argument, text};
use super::rounds::{ask, object, sampling};

/// Answers a call of one of these tools; `None` if the tool is none of them.
pub(super) fn call(request: &CallToolRequestParams) -> Option<CallToolResponse> {
    let form = |message: &str, schema: Value| {
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        json!({"method": "elicitation/create", "params": params})
    };
    let question = match &*request.name {
        "test_sampling" => sampling(argument(request, "prompt"), 100),
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                },
                "required": ["username", "email"],
            });
            form(argument(request, "message"), schema)
        }
        "test_elicitation_sep1034_defaults" => form("Please check your details", defaults()),
        "test_elicitation_sep1330_enums" => form("Please choose", choices()),
        _ => return None,
    };
    let Some(answer) = object(request.input_responses.as_ref(), ANSWER) else {
        return Some(ask([(ANSWER, question)], None));
    };
    let part = |key: &str| answer.get(key).unwrap_or(&Value::Null);
    let words = if &*request.name == "test_sampling" {
        format!("LLM response: {}", part("content"))
    } else {
        format!("Elicitation completed: action={}, content={}", part("action"), part("content"))
    };
    Some(text(&words).into())
}

const ANSWER: &str = "answer";

/// A form with a default for every primitive type (SEP-1034).
fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
    })
}

/// A form with every kind of choice (SEP-1330).
fn choices() -> Value {
    let titled = |what: &str| {
        json!([
            {"const": "value1", "title": format!("First {what}")},
            {"const": "value2", "title": format!("Second {what}")},
            {"const": "value3", "title": format!("Third {what}")},
        ])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
    })
}
