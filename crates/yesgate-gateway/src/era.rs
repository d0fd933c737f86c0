//! Which protocol rules hold: before 2026-07-28 there are sessions, from then on each request
//! stands alone.

use serde_json::{Map, Value, json};

/// The two families of protocol revisions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Era {
    /// Up to 2025-11-25: `initialize` opens a session.
    Legacy,
    /// From 2026-07-28: every request carries its version and capabilities.
    Modern,
}

/// The revision that the gateway speaks of its own accord.
pub const MODERN_VERSION: &str = "2026-07-28";
/// The newest revision that opens sessions.
pub const LEGACY_VERSION: &str = "2025-11-25";

/// The key of `_meta` that every modern request carries, and no legacy one.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key of `_meta` with which a modern request asks for log messages.
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The key of `_meta` with which a modern server names itself.
pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The key of `_meta` that ties a notice to the request that asked for it.
pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// What the protocol's own keys of `_meta` begin with.
pub(crate) const OWN_KEYS: &str = "io.modelcontextprotocol/";

impl Era {
    /// The era of a request with these keys in `_meta`.
    pub fn of_meta(meta: &Map<String, Value>) -> Self {
        if meta.contains_key(PROTOCOL_VERSION) { Self::Modern } else { Self::Legacy }
    }

    /// What a modern request of the gateway's own carries.
    pub fn own_meta() -> Map<String, Value> {
        let mut meta = Map::new();
        meta.insert(PROTOCOL_VERSION.into(), MODERN_VERSION.into());
        meta.insert(CLIENT_INFO.into(), own_info());
        meta.insert(CLIENT_CAPABILITIES.into(), json!({}));
        meta
    }

    /// What the gateway opens a session of its own with.
    pub fn own_initialize() -> Value {
        json!({"protocolVersion": LEGACY_VERSION, "capabilities": {}, "clientInfo": own_info()})
    }
}

/// The name that a client gives itself in a modern request.
pub fn client_name(meta: &Map<String, Value>) -> Option<&str> {
    meta.get(CLIENT_INFO)?.get("name")?.as_str()
}

/// How the gateway introduces itself.
pub(crate) fn own_info() -> Value {
    json!({"name": "yesgate", "version": env!("CARGO_PKG_VERSION")})
}
