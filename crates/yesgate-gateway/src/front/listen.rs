//! `subscriptions/listen`: what a modern client wants to hear, and how every notice tells which wish it
//! belongs to.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::message::Malformed;
use super::wire;
use crate::board::Wanted;
use crate::raw::{RawObject, raw};
use crate::reply::Reply;
use crate::talk::Notice;

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Reads the wishes.
pub(crate) fn wanted(params: Option<&RawValue>) -> Result<Wanted, Malformed> {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Wishes {
        tools_list_changed: bool,
        prompts_list_changed: bool,
        resources_list_changed: bool,
        resource_subscriptions: Vec<String>,
        task_ids: Vec<String>,
    }
    let fields = params.and_then(RawObject::parse).unwrap_or_default();
    let wishes = match fields.get("notifications") {
        Some(wishes) if wishes.get().starts_with('{') => serde_json::from_str::<Wishes>(wishes.get())
            .map_err(|error| Malformed(format!("`notifications` was not read: {error}")))?,
        Some(_) | None => return Err(Malformed("`notifications` must be an object".into())),
    };
    if wishes.resource_subscriptions.len() + wishes.task_ids.len() > MOST_NAMES {
        return Err(Malformed(format!("`notifications` names more than {MOST_NAMES} resources and tasks")));
    }
    Ok(Wanted {
        tools: wishes.tools_list_changed,
        prompts: wishes.prompts_list_changed,
        resources: wishes.resources_list_changed,
        uris: wishes.resource_subscriptions,
        tasks: wishes.task_ids,
    })
}

/// The first message: what will be heard.
pub(crate) fn acknowledged(granted: &Wanted, id: &RawValue) -> Bytes {
    let mut heard = Map::new();
    for (key, granted) in [
        ("toolsListChanged", granted.tools),
        ("promptsListChanged", granted.prompts),
        ("resourcesListChanged", granted.resources),
    ] {
        if granted {
            heard.insert(key.into(), true.into());
        }
    }
    for (key, names) in [("resourceSubscriptions", &granted.uris), ("taskIds", &granted.tasks)] {
        if !names.is_empty() {
            heard.insert(key.into(), names.as_slice().into());
        }
    }
    let params = raw(format!(r#"{{"notifications":{}}}"#, Value::Object(heard)));
    let method = Cow::Borrowed("notifications/subscriptions/acknowledged");
    tagged(Notice { method, params: Some(params) }, id)
}

/// A notice, with the id of the request that it belongs to.
pub(crate) fn tagged(mut notice: Notice, id: &RawValue) -> Bytes {
    let mut params = notice.params.as_deref().and_then(RawObject::parse).unwrap_or_default();
    let mut meta = params.get("_meta").and_then(RawObject::parse).unwrap_or_default();
    meta.set(SUBSCRIPTION_ID, id.to_owned());
    params.set("_meta", meta.to_raw());
    notice.params = Some(params.to_raw());
    wire::notification(&notice)
}

/// The answer that ends the stream in good order.
pub(crate) fn ended(id: &RawValue) -> Reply {
    Reply::Result(
        format!(r#"{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{}}}}}"#, id.get()).into(),
    )
}

const MOST_NAMES: usize = 1024;
