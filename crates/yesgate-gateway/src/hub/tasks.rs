//! Tasks where several servers share an endpoint: there are none.
//!
//! A task is named by an id that its server chose. Two servers may choose the same one, by accident or to be given
//! what is meant for the other, and an id cannot be prefixed as a name can: results, notices and later answers
//! mention it in places that we do not know. So the shared endpoint does not say that it has tasks, and asks no
//! server for one. What a client asks for all the same is a call like any other, as the specification wants it of
//! whoever does not have tasks (2025-11-25), and a server may not make a task of it (SEP-2663). At the endpoint of
//! one server its tasks pass.

use crate::board::Ask;
use crate::era;
use crate::raw::{RawObject, bytes};

/// A call without its wish to become a task; `None` where it has none.
pub(super) fn without_tasks(ask: &Ask) -> Option<Ask> {
    let text = ask.params.as_ref()?.raw().get();
    // Most calls are without, which a look tells; one with an escape may spell its keys in another way.
    if !text.contains(r#""task""#) && !text.contains(EXTENSION) && !text.contains('\\') {
        return None;
    }
    let mut params = ask.fields()?;
    params.retain(|key| key != "task");
    if let Some(mut meta) = params.get("_meta").and_then(RawObject::parse)
        && let Some(mut capabilities) = meta.get(era::CLIENT_CAPABILITIES).and_then(RawObject::parse)
        && let Some(mut extensions) = capabilities.get("extensions").and_then(RawObject::parse)
    {
        extensions.retain(|key| key != EXTENSION);
        capabilities.set("extensions", extensions.to_raw());
        meta.set(era::CLIENT_CAPABILITIES, capabilities.to_raw());
        params.set("_meta", meta.to_raw());
    }
    let params = params.to_raw();
    let mut message: RawObject = serde_json::from_slice(&ask.message).ok()?;
    message.set("params", params.clone());
    Some(ask.with(bytes(message.to_raw()), params.into()))
}

/// What a client declares that can deal with tasks (SEP-2663).
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
