//! What the fixture offers: its tools, prompts, resources and templates, in a fixed order.
//!
//! INVARIANT: the first tool needs no arguments and the first resource can be read; scenarios of the suite
//! that need any tool or any resource take the first one.

use rmcp::ErrorData;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use serde_json::{Map, Value, json};

use super::model;

/// A picture of one pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A sound of no length.
pub(super) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Lists all tools.
pub(super) fn tools() -> Vec<Tool> {
    let without_arguments = [
        ("test_simple_text", "Answers with text"),
        ("test_image_content", "Answers with a picture"),
        ("test_audio_content", "Answers with a sound"),
        ("test_embedded_resource", "Answers with a resource"),
        ("test_multiple_content_types", "Answers with text, a picture and a resource"),
        ("test_error_handling", "Always fails, in band"),
        ("test_tool_with_logging", "Logs three times while it runs"),
        ("test_logging_tool", "Logs once, if the caller wants logs"),
        ("test_tool_with_progress", "Reports progress three times while it runs"),
        ("test_reconnection", "Answers after a while"),
        ("test_missing_capability", "Needs a client that declares sampling"),
        ("test_trigger_tool_change", "Says that the list of tools has changed"),
        ("test_trigger_prompt_change", "Says that the list of prompts has changed"),
        ("test_elicitation_sep1034_defaults", "Asks the user with a default for every type"),
        ("test_elicitation_sep1330_enums", "Asks the user with every kind of choice"),
        ("test_streaming_elicitation", "Needs one answer of the user"),
        ("test_input_required_result_elicitation", "Needs the user's name"),
        ("test_input_required_result_sampling", "Needs an answer of the model"),
        ("test_input_required_result_list_roots", "Needs the client's roots"),
        ("test_input_required_result_request_state", "Needs a confirmation, and its state back"),
        ("test_input_required_result_multiple_inputs", "Needs a name, a greeting and roots at once"),
        ("test_input_required_result_multi_round", "Needs two answers, one after the other"),
        ("test_input_required_result_tampered_state", "Refuses a state that is not its own"),
        ("test_input_required_result_capabilities", "Asks only for what the client can give"),
        ("failing_job", "Fails in band, as a task"),
        ("protocol_error_job", "Fails with a protocol error, as a task"),
        ("multi_input", "Needs two answers at once, as a task"),
        ("test_tool_with_task", "Needs the user's name first, then runs as a task"),
    ]
    .map(|(name, description)| (name, description, json!({"type": "object", "properties": {}})));
    let text =
        |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let with_arguments = [
        ("test_sampling", "Asks the client's model", text("prompt")),
        ("test_elicitation", "Asks the client's user", text("message")),
        ("greet", "Greets", text("name")),
        ("confirm_delete", "Needs a confirmation, as a task", text("filename")),
        (
            "slow_compute",
            "Takes its time, as a task if the client can have one",
            json!({"type": "object", "properties": {
                "seconds": {"type": "number"}, "label": {"type": "string"},
            }}),
        ),
        (
            "test_header_parameter",
            "Has a parameter that the client repeats in a header",
            json!({"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
            }}),
        ),
        ("json_schema_2020_12_tool", "Has an input schema with features of 2020-12", schema_2020_12()),
    ];
    without_arguments
        .into_iter()
        .chain(with_arguments)
        .map(|(name, description, schema)| Tool::new(name, description, model::<Map<String, Value>>(schema)))
        .collect()
}

/// The keywords that must reach the client unchanged (SEP-1613, SEP-2106).
fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Lists all prompts.
pub(super) fn prompts() -> Vec<Prompt> {
    model(json!([
        {"name": "test_simple_prompt", "description": "A prompt of one sentence"},
        {
            "name": "test_prompt_with_arguments",
            "description": "A prompt with two arguments",
            "arguments": [
                {"name": "arg1", "description": "The first argument", "required": true},
                {"name": "arg2", "description": "The second argument", "required": true},
            ],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt that has a resource in it",
            "arguments": [{"name": "resourceUri", "description": "The resource", "required": true}],
        },
        {"name": "test_prompt_with_image", "description": "A prompt that has a picture in it"},
        {"name": "test_input_required_result_prompt", "description": "A prompt that needs an answer first"},
    ]))
}

/// Answers `prompts/get` for the prompts that ask nothing.
pub(super) fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![json!({"type": "text", "text": "This is a simple prompt for testing."})],
        "test_prompt_with_arguments" => {
            let text =
                format!("Prompt with arguments: arg1='{}', arg2='{}'", argument("arg1"), argument("arg2"));
            vec![json!({"type": "text", "text": text})]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({"type": "resource", "resource": {
                "uri": argument("resourceUri"),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }}),
            json!({"type": "text", "text": "Please process the embedded resource above."}),
        ],
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PNG, "mimeType": "image/png"}),
            json!({"type": "text", "text": "Please analyze the image above."}),
        ],
        unknown => return Err(ErrorData::invalid_params(format!("there is no prompt `{unknown}`"), None)),
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|content| json!({"role": "user", "content": content})).collect();
    Ok(GetPromptResult::new(model(Value::from(messages))))
}

/// Lists all resources that have an address of their own.
pub(super) fn resources() -> Vec<Resource> {
    model(json!([
        {
            "uri": "test://static-text",
            "name": "static-text",
            "description": "A text that never changes",
            "mimeType": "text/plain",
        },
        {
            "uri": "test://static-binary",
            "name": "static-binary",
            "description": "A picture that never changes",
            "mimeType": "image/png",
        },
        {
            "uri": "test://watched-resource",
            "name": "watched-resource",
            "description": "A text that can be subscribed to",
            "mimeType": "text/plain",
        },
    ]))
}

/// Lists all templates of resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    model(json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "Data about one id",
        "mimeType": "application/json",
    }]))
}

/// Answers `resources/read`.
pub(super) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, id) {
        ("test://static-text", _) => json!({
            "uri": uri,
            "mimeType": "text/plain",
            "text": "This is the content of the static text resource.",
        }),
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Nothing has happened yet."})
        }
        (_, Some(id)) => json!({
            "uri": uri,
            "mimeType": "application/json",
            "text": json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string(),
        }),
        (_, None) => {
            return Err(ErrorData::resource_not_found(
                "there is no such resource",
                Some(json!({"uri": uri})),
            ));
        }
    };
    Ok(ReadResourceResult::new(model(json!([content]))))
}
