//! What the mock over HTTP says that it has: the tools of the mock on stdio and a few more, resources, prompts.

use serde_json::{Map, Value, json};

use crate::mock_server::flags::Flags;
use crate::mock_server::protocol::{LEGACY_VERSION, MODERN_VERSION, RpcError, object};
use crate::mock_server::tools;

/// What `initialize` is answered with.
pub(super) fn initialized() -> Value {
    json!({
        "protocolVersion": LEGACY_VERSION,
        "capabilities": capabilities(),
        "serverInfo": {"name": "mock-http", "version": "1.0.0"},
        "instructions": "Notes, and money.",
    })
}

/// What `server/discover` is answered with.
pub(super) fn discovered() -> Map<String, Value> {
    object(json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities(),
        "instructions": "Notes, and money.",
    }))
}

fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true},
        "prompts": {"listChanged": true},
        "completions": {},
        "logging": {},
    })
}

/// What `tools/list` says, in this order.
pub(super) fn tools(flags: &Flags, lists_before: u64) -> Vec<Value> {
    let mut all = tools::definitions(flags, lists_before);
    let reads = json!({"readOnlyHint": true});
    all.push(json!({
        "name": "echo",
        "description": "Answers with its arguments, byte for byte.",
        "inputSchema": {"type": "object"},
        "annotations": reads,
    }));
    all.push(json!({
        "name": "bytes",
        "description": "Answers with so many bytes of text.",
        "inputSchema": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]},
        "annotations": reads,
    }));
    all
}

/// The resources there are, by their addresses.
#[derive(Debug)]
pub(super) struct Resources(Vec<String>);

impl Resources {
    /// These; none: one note.
    pub(super) fn new(addresses: Vec<String>) -> Self {
        Self(if addresses.is_empty() { vec!["note://a".to_owned()] } else { addresses })
    }

    pub(super) fn list(&self) -> Map<String, Value> {
        let entry = |uri: &String| json!({"uri": uri, "name": "a", "mimeType": "text/plain"});
        object(json!({"resources": self.0.iter().map(entry).collect::<Vec<_>>()}))
    }

    /// One template, for addresses that begin as the first one does.
    pub(super) fn templates(&self) -> Map<String, Value> {
        object(
            json!({"resourceTemplates": [{"uriTemplate": format!("{}{{id}}", self.scheme()), "name": "note"}]}),
        )
    }

    /// What `resources/read` is answered with.
    pub(super) fn read(&self, params: &Value) -> Result<Map<String, Value>, RpcError> {
        let uri = &params["uri"];
        if self.0.iter().any(|known| uri == known) {
            let contents = json!([{"uri": uri, "mimeType": "text/plain", "text": "the first note"}]);
            return Ok(object(json!({ "contents": contents })));
        }
        Err(RpcError::new(-32602, "no such resource").with(json!({"uri": uri})))
    }

    /// What `completion/complete` is answered with: what was typed, and where.
    pub(super) fn complete(&self, params: &Value) -> Map<String, Value> {
        let typed = params["argument"]["value"].as_str().unwrap_or_default();
        object(json!({"completion": {"values": [format!("{typed} at {}", self.scheme())]}}))
    }

    fn scheme(&self) -> String {
        let first = self.0.first().map_or("", String::as_str);
        first.split_once("://").map_or_else(String::new, |(scheme, _)| format!("{scheme}://"))
    }
}

pub(super) fn prompts() -> Map<String, Value> {
    object(json!({"prompts": [{"name": "greet", "description": "Greets.", "arguments": [{"name": "whom"}]}]}))
}

/// What `prompts/get` is answered with.
pub(super) fn prompt(params: &Value) -> Result<Map<String, Value>, RpcError> {
    if params["name"] == "greet" {
        let text = format!("Hello, {}!", params["arguments"]["whom"].as_str().unwrap_or("world"));
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        return Ok(object(json!({"messages": [message]})));
    }
    Err(RpcError::new(-32602, "no such prompt"))
}
