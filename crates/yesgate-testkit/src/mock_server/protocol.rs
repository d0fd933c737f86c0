//! The two eras of MCP, as far as a server must know them.

use serde_json::{Map, Value, json};

/// The rules under which a request is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    /// 2025-11-25 and before: `initialize` opens a session.
    Legacy,
    /// 2026-07-28: each request stands alone.
    Modern,
}

/// The newest revision with sessions.
pub(crate) const LEGACY_VERSION: &str = "2025-11-25";
/// All with sessions.
const SESSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY_VERSION];
/// The revision without.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";
/// The keys of `_meta` that every modern request carries, or may.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A JSON-RPC error.
#[derive(Debug)]
pub(crate) struct RpcError {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(error), Some(data)) = (error.as_object_mut(), &self.data) {
            error.insert("data".into(), data.clone());
        }
        error
    }
}

impl Era {
    /// The era of a request; an error where a modern one lacks what it must have.
    pub(crate) fn of(params: &Value) -> Result<Self, RpcError> {
        let meta = &params["_meta"];
        let Some(version) = meta.get(PROTOCOL_VERSION) else { return Ok(Self::Legacy) };
        if version != MODERN_VERSION {
            let data = json!({"supported": [MODERN_VERSION], "requested": version});
            return Err(RpcError::new(-32022, "unsupported protocol version").with(data));
        }
        if !meta[CLIENT_CAPABILITIES].is_object() {
            return Err(RpcError::new(-32602, format!("`_meta` lacks `{CLIENT_CAPABILITIES}`")));
        }
        Ok(Self::Modern)
    }

    /// A result with what its era demands of every result.
    pub(crate) fn complete(self, mut result: Map<String, Value>) -> Value {
        match self {
            Self::Legacy => {}
            Self::Modern => {
                result.entry("resultType").or_insert_with(|| json!("complete"));
                result.insert("_meta".into(), json!({ SERVER_INFO: server_info() }));
            }
        }
        Value::Object(result)
    }

    /// The same for a list, which modern clients may cache.
    pub(crate) fn complete_list(self, mut result: Map<String, Value>) -> Value {
        match self {
            Self::Legacy => {}
            Self::Modern => {
                result.insert("ttlMs".into(), json!(0));
                result.insert("cacheScope".into(), json!("private"));
            }
        }
        self.complete(result)
    }

    /// Whether a server may write log messages while it answers this request.
    pub(crate) fn wants_log(self, params: &Value) -> bool {
        match self {
            Self::Legacy => true,
            Self::Modern => params["_meta"].get(LOG_LEVEL).is_some(),
        }
    }
}

/// What a notification for a modern subscription says of itself.
pub(crate) fn of_subscription(id: &Value) -> Value {
    json!({ SUBSCRIPTION: id })
}

/// Agrees on the revision that the client asks for, where there are sessions in it.
pub(crate) fn initialized(params: &Value) -> Value {
    let asked = params["protocolVersion"].as_str().filter(|asked| SESSIONS.contains(asked));
    json!({
        "protocolVersion": asked.unwrap_or(LEGACY_VERSION),
        "capabilities": capabilities(),
        "serverInfo": server_info(),
        "instructions": "Notes, and money.",
    })
}

pub(crate) fn discovered() -> Map<String, Value> {
    object(json!({
        "supportedVersions": [MODERN_VERSION],
        "capabilities": capabilities(),
        "instructions": "Notes, and money.",
    }))
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "logging": {}})
}

fn server_info() -> Value {
    json!({"name": "mock-server", "version": "1.0.0"})
}

/// The members of an object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            panic!("no object: {other}")
        }
    }
}
