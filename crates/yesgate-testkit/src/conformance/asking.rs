//! Tools that ask the client while they run, as the legacy era does: a request on the call's own stream.
//!
//! The modern era has no such requests; there these tools fail in band, and `rounds` has their successors.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::model;
use super::plain::{argument, failure, text};

/// Answers a call of one of these tools; `None` if the tool is none of them.
pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResult, ErrorData>> {
    let answer = match &*request.name {
        "test_sampling" => sample(context, argument(request, "prompt")).await,
        "test_elicitation" => {
            let question = json!({
                "type": "object",
                "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                },
                "required": ["username", "email"],
            });
            elicit(context, argument(request, "message"), question).await
        }
        "test_elicitation_sep1034_defaults" => elicit(context, "Please check your details", defaults()).await,
        "test_elicitation_sep1330_enums" => elicit(context, "Please choose", choices()).await,
        _ => return None,
    };
    Some(Ok(answer))
}

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

async fn sample(context: &RequestContext<RoleServer>, prompt: &str) -> CallToolResult {
    let question = json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": 100,
    });
    match context.peer.create_message(model(question)).await {
        Ok(answer) => text(&format!("LLM response: {}", in_json(&answer.message.content))),
        Err(error) => failure(&format!("the client's model did not answer: {error}")),
    }
}

async fn elicit(context: &RequestContext<RoleServer>, message: &str, schema: Value) -> CallToolResult {
    let question = json!({"mode": "form", "message": message, "requestedSchema": schema});
    match context.peer.create_elicitation(model(question)).await {
        Ok(answer) => text(&format!(
            "Elicitation completed: action={}, content={}",
            in_json(&answer.action),
            in_json(&answer.content)
        )),
        Err(error) => failure(&format!("the client's user did not answer: {error}")),
    }
}

fn in_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("what was read as JSON can be written as JSON")
}
