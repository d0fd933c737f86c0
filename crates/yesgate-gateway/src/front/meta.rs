//! What every modern request says of its sender, in `params._meta`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Fields, Malformed};
use crate::trace::{TraceContext, parent_in_meta};

/// The members of `_meta` that a front looks at.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientInfo")]
    pub(crate) info: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/logLevel")]
    log_level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tracestate: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "progressToken")]
    pub(crate) progress_token: Option<&'a RawValue>,
}

impl<'a> Meta<'a> {
    /// Reads `_meta`; none is as good as an empty one.
    pub(crate) fn read(fields: &Fields<'a>) -> Result<Self, Malformed> {
        let Some(meta) = fields.meta else { return Ok(Self::default()) };
        if !meta.get().starts_with('{') {
            return Err(Malformed("`_meta` must be an object".into()));
        }
        serde_json::from_str(meta.get()).map_err(|error| Malformed(format!("`_meta` was not read: {error}")))
    }

    /// The revision that the message is written in. `None`: it does not say.
    pub(crate) fn version(&self) -> Option<Result<Cow<'a, str>, Malformed>> {
        let version = self.version?;
        // Written without escapes, as everybody does, it need not be copied.
        let plain = serde_json::from_str::<&'a str>(version.get()).ok().map(Cow::Borrowed);
        Some(
            plain
                .or_else(|| text(version).map(Cow::Owned))
                .ok_or_else(|| Malformed("`_meta` must name the protocol version as a string".into())),
        )
    }

    /// The least level of log messages that the sender wants to hear with the answer.
    pub(crate) fn log_level(&self) -> Option<String> {
        self.log_level.and_then(text)
    }

    /// The span of the sender's that the request belongs to.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        let state = self.tracestate.and_then(text);
        parent_in_meta(&self.traceparent.and_then(text)?, state.as_deref())
    }

    /// The capabilities, which every modern request must declare.
    pub(crate) fn capabilities(&self) -> Result<&'a RawValue, Malformed> {
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
