//! One line of a server's own log of what it received.
//!
//! ```json
//! {"at": "2026-07-01T12:00:00.5Z", "id": "yesgate-…-7", "tool": "pay", "arguments": {"amount": 10}}
//! {"at": "2026-07-01T12:00:01Z", "message": {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {…}}}
//! ```
//!
//! Either the parts of a call, or the whole message as it came. In place of `arguments` there may be `arguments_sha256`: the
//! SHA-256, in hexadecimal, of their canonical text (RFC 8785). `server` says whose log it is. Other members are left alone.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use yesgate_core::json::CanonicalJson;

/// A call that a server received.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) at: Timestamp,
    pub(crate) server: Option<String>,
    pub(crate) tool: String,
    pub(crate) arguments: Sha,
    /// It brings the input that the server asked for in its answer to an earlier one.
    pub(crate) goes_on: bool,
    id: Option<String>,
}

/// The SHA-256 of canonical arguments.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Sha([u8; 32]);

impl Sha {
    pub(crate) fn of(arguments: &CanonicalJson) -> Self {
        Self(Sha256::digest(arguments.as_str().as_bytes()).into())
    }

    fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let mut digits = text.as_bytes().chunks_exact(2);
        for byte in &mut bytes {
            let pair = std::str::from_utf8(digits.next()?).ok()?;
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        (text.len() == 64).then_some(Self(bytes))
    }
}

impl std::fmt::Display for Sha {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Why a line tells nothing.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, thiserror::Error)]
pub(crate) enum LineError {
    #[error("it is no JSON object")]
    NoJson,
    #[error("it has no `at` with a time such as 2026-07-01T12:00:00Z")]
    NoTime,
    #[error("it has neither a `tool` nor a `message`")]
    NoTool,
    #[error("its arguments have no canonical form")]
    NoArguments,
    #[error("it is longer than any call that the gateway sends")]
    TooLong,
}

#[derive(Deserialize)]
struct Written {
    at: Option<Value>,
    server: Option<String>,
    message: Option<Value>,
    id: Option<Value>,
    tool: Option<String>,
    arguments: Option<Value>,
    arguments_sha256: Option<String>,
    #[serde(rename = "inputResponses")]
    input_responses: Option<Value>,
}

impl Call {
    /// Reads a line. `None`: it is about something else than a call.
    ///
    /// # Errors
    /// When nothing can be made of it.
    pub(crate) fn parse(text: &[u8]) -> Result<Option<Self>, LineError> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        if text.len() > LONGEST {
            return Err(LineError::TooLong);
        }
        let mut written: Written = serde_json::from_slice(text).map_err(|_| LineError::NoJson)?;
        if let Some(message) = written.message.take() {
            if message.get("method").and_then(Value::as_str) != Some("tools/call") {
                return Ok(None);
            }
            let mut params = message.get("params").cloned().unwrap_or_default();
            written.id = message.get("id").cloned();
            written.tool = params.get("name").and_then(Value::as_str).map(str::to_owned);
            written.arguments = params.get_mut("arguments").map(Value::take);
            written.input_responses = params.get_mut("inputResponses").map(Value::take);
        }
        let at = written.at.as_ref().and_then(Value::as_str).and_then(|at| at.parse().ok());
        let arguments = match written.arguments_sha256 {
            Some(text) => Sha::parse(&text),
            None => {
                let arguments = written.arguments.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
                CanonicalJson::of(&arguments).ok().as_ref().map(Sha::of)
            }
        };
        Ok(Some(Self {
            at: at.ok_or(LineError::NoTime)?,
            server: written.server,
            tool: written.tool.ok_or(LineError::NoTool)?,
            arguments: arguments.ok_or(LineError::NoArguments)?,
            goes_on: written.input_responses.is_some(),
            id: written.id.as_ref().and_then(Value::as_str).map(str::to_owned),
        }))
    }

    /// The process that its id names: on a pipe, where the gateway's own calls have ids of its own.
    pub(crate) fn process(&self) -> Option<&str> {
        let (process, _) = self.id.as_deref()?.strip_prefix("yesgate-")?.rsplit_once('-')?;
        Some(process)
    }
}

/// More bytes than the gateway lets a call have, with room for how a server writes it down.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
