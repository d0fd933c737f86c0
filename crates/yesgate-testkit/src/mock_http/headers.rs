//! What a strict modern server demands of the headers: they mirror the body (SEP-2243).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::arrived::Arrived;
use crate::mock_server::protocol::{MODERN_VERSION, RpcError};

/// Fails where a header is missing, stands twice, or says something else than the body.
pub(super) fn mirror(arrived: &Arrived, method: &str, params: &Value) -> Result<(), RpcError> {
    same(arrived, "mcp-protocol-version", MODERN_VERSION)?;
    same(arrived, "mcp-method", method)?;
    let named = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    named.map_or(Ok(()), |name| same(arrived, "mcp-name", name))
}

fn same(arrived: &Arrived, name: &str, expected: &str) -> Result<(), RpcError> {
    let wrong = |found: Value| {
        let data = json!({"header": name, "found": found, "expected": expected});
        Err(RpcError::new(-32020, format!("the header `{name}` does not fit the body")).with(data))
    };
    let found: Vec<&str> = arrived
        .headers
        .iter()
        .filter(|(spelt, _)| spelt.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
        .collect();
    let [value] = found.as_slice() else { return wrong(json!(found)) };
    if decoded(value).as_deref() == Some(expected) { Ok(()) } else { wrong(json!(value)) }
}

fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}
