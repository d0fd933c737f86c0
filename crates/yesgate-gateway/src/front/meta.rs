//! What every modern request says of its sender, in `params._meta`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Fields, Malformed};
use crate::mirror;
use crate::raw::Raw;
use crate::trace::{TraceContext, parent_in_meta};

/// The members of `_meta` that a front looks at.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Raw<'a>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: Option<Raw<'a>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    pub(crate) info: Option<Raw<'a>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<Raw<'a>>,
    #[serde(borrow, default)]
    traceparent: Option<Raw<'a>>,
    #[serde(borrow, default)]
    tracestate: Option<Raw<'a>>,
    #[serde(borrow, default, rename = "progressToken")]
    pub(crate) progress_token: Option<Raw<'a>>,
}

impl<'a> Meta<'a> {
    /// Reads `_meta`; none is as good as an empty one.
    pub(crate) fn read(fields: &Fields<'a>) -> Result<Self, Malformed> {
        if let Some(glimpsed) = fields.glimpsed {
            return Ok(glimpsed);
        }
        let Some(meta) = fields.meta else { return Ok(Self::default()) };
        if !meta.get().starts_with('{') {
            return Err(Malformed("`_meta` must be an object".into()));
        }
        serde_json::from_str(meta.get()).map_err(|error| Malformed(format!("`_meta` was not read: {error}")))
    }

    /// Notes a member that is there once.
    pub(super) fn note(&mut self, key: &str, value: Raw<'a>) {
        let member = match key {
            "io.modelcontextprotocol/protocolVersion" => &mut self.version,
            "io.modelcontextprotocol/clientCapabilities" => &mut self.capabilities,
            "io.modelcontextprotocol/clientInfo" => &mut self.info,
            "io.modelcontextprotocol/logLevel" => &mut self.log_level,
            "traceparent" => &mut self.traceparent,
            "tracestate" => &mut self.tracestate,
            "progressToken" => &mut self.progress_token,
            _ => return,
        };
        // To the close reader `null` is as good as nothing.
        *member = Some(value).filter(|value| value.get() != "null");
    }

    /// The revision that the message is written in. `None`: it does not say.
    pub(crate) fn version(&self) -> Option<Result<Cow<'a, str>, Malformed>> {
        let version = mirror::text(self.version?.get());
        Some(version.ok_or_else(|| Malformed("`_meta` must name the protocol version as a string".into())))
    }

    /// The least level of log messages that the sender wants to hear with the answer.
    pub(crate) fn log_level(&self) -> Option<String> {
        self.log_level.map(Raw::value).and_then(text)
    }

    /// The span of the sender's that the request belongs to.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        let state = self.tracestate.map(Raw::value).and_then(text);
        parent_in_meta(&self.traceparent.map(Raw::value).and_then(text)?, state.as_deref())
    }

    /// The capabilities, which every modern request must declare.
    pub(crate) fn capabilities(&self) -> Result<Raw<'a>, Malformed> {
        match self.capabilities {
            Some(capabilities) if capabilities.get().starts_with('{') => Ok(capabilities),
            Some(_) | None => Err(Malformed(
                "`_meta` must have `io.modelcontextprotocol/clientCapabilities`, an object".into(),
            )),
        }
    }
}

/// The text of a JSON string; `None` where it is none.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}
