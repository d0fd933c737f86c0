//! The child under test: an MCP server that does as little as a server can.
//!
//! It offers one tool that only reads, and as many that destroy as it is told to.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use anyhow::{Context as _, Result};
use serde_json::json;
use serde_json::value::RawValue;

/// The tool that only reads: it answers with the text that it is given.
pub(crate) const READ_TOOL: &str = "get_note";

/// The name of the n-th tool that destroys.
pub(crate) fn dangerous_tool(number: usize) -> String {
    format!("delete_note_{number}")
}

/// Answers on stdin and stdout until stdin is closed.
pub(crate) fn serve(dangerous_tools: usize) -> Result<()> {
    let list = tools(dangerous_tools);
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(answer) = answer(&line, &list)? {
            output.write_all(answer.as_bytes())?;
            output.flush()?;
        }
    }
}

fn answer(line: &[u8], list: &str) -> Result<Option<String>> {
    let message: HashMap<&str, &RawValue> = serde_json::from_slice(line).context("not a message")?;
    let (Some(id), Some(method)) = (message.get("id"), message.get("method")) else { return Ok(None) };
    let body = match method.get() {
        r#""initialize""# => format!(r#""result":{INITIALIZED}"#),
        r#""tools/list""# => format!(r#""result":{list}"#),
        r#""tools/call""# => {
            let params = message.get("params").context("a call without parameters")?;
            let text = text_argument(params)?.unwrap_or(r#""done""#);
            format!(r#""result":{{"content":[{{"type":"text","text":{text}}}]}}"#)
        }
        r#""ping""# => r#""result":{}"#.to_owned(),
        _ => r#""error":{"code":-32601,"message":"unknown method"}"#.to_owned(),
    };
    Ok(Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{body}}}\n", id.get())))
}

/// The argument `text` of a call, as it was written.
pub(crate) fn text_argument(params: &RawValue) -> Result<Option<&str>> {
    let params: HashMap<&str, &RawValue> = serde_json::from_str(params.get())?;
    let Some(arguments) = params.get("arguments") else { return Ok(None) };
    let arguments: HashMap<&str, &RawValue> = serde_json::from_str(arguments.get())?;
    Ok(arguments.get("text").map(|text| text.get()))
}

pub(crate) fn tools(dangerous_tools: usize) -> String {
    let read = json!({
        "name": READ_TOOL,
        "description": "Reads a note.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": {"readOnlyHint": true},
    });
    let dangerous = (0..dangerous_tools).map(|number| {
        json!({
            "name": dangerous_tool(number),
            "description": "Deletes a note.",
            "inputSchema": {"type": "object", "properties": {"note": {"type": "integer"}}},
            "annotations": {"destructiveHint": true},
        })
    });
    json!({"tools": std::iter::once(read).chain(dangerous).collect::<Vec<_>>()}).to_string()
}

pub(crate) const INITIALIZED: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}"#;
