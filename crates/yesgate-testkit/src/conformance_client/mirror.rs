//! Repeats parts of a request in its headers, as the modern era wants it of clients (SEP-2243).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The headers that repeat the method, the name and the designated arguments of a request.
///
/// `schema` is the input schema of the tool that is called, if it was listed.
pub(super) fn headers(method: &str, params: &Value, schema: Option<&Value>) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Method".to_owned(), method.to_owned())];
    let name = match method {
        "tools/call" | "prompts/get" => &params["name"],
        "resources/read" => &params["uri"],
        _ => &Value::Null,
    };
    headers.extend(text(name).map(|name| ("Mcp-Name".to_owned(), encoded(&name))));
    let properties = schema.and_then(|schema| schema["properties"].as_object());
    for (property, schema) in properties.into_iter().flatten() {
        let header = schema["x-mcp-header"].as_str();
        if let (Some(header), Some(value)) = (header, text(&params["arguments"][property.as_str()])) {
            headers.push((format!("Mcp-Param-{header}"), encoded(&value)));
        }
    }
    headers
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Writes a value as it is, or in base64 where a header could not carry it or would be misread.
fn encoded(value: &str) -> String {
    let is_plain = value.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && value.trim() == value;
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_plain && !looks_encoded {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_header_cannot_carry_is_encoded() {
        assert_eq!(encoded("us west 1"), "us west 1");
        assert_eq!(encoded(""), "");
        assert_eq!(encoded("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
        assert_eq!(encoded(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encoded("a\nb"), "=?base64?YQpi?=");
        assert_eq!(encoded("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    }

    #[test]
    fn designated_arguments_are_repeated_and_no_others() {
        let schema = json!({"properties": {
            "a": {"x-mcp-header": "A"}, "b": {"x-mcp-header": "B"}, "c": {}, "d": {"x-mcp-header": "D"},
        }});
        let params = json!({"name": "tool", "arguments": {"a": 1, "b": null, "c": "x"}});
        let found = headers("tools/call", &params, Some(&schema));
        let found: Vec<String> = found.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(found, ["Mcp-Method: tools/call", "Mcp-Name: tool", "Mcp-Param-A: 1"]);
    }
}
