//! Messages of ours, as JSON text.

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::reply::Reply;
use crate::talk::Notice;

/// A notification.
pub(crate) fn notification(notice: &Notice) -> Bytes {
    let method = Value::from(notice.method.as_ref());
    match &notice.params {
        Some(params) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{}}}"#, params.get()),
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
    .into()
}

/// A request under an id of ours.
pub(crate) fn request(id: &str, method: &str, params: &RawValue) -> Bytes {
    let (id, method) = (Value::from(id), Value::from(method));
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method},"params":{}}}"#, params.get()).into()
}

/// The withdrawal of a request under an id of ours.
pub(crate) fn cancelled(id: &Value) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#).into()
}

/// The answer to a request, in pieces. `None`: it was given up, and none is due.
pub(crate) fn answer(reply: Reply, id: &RawValue) -> Option<[Bytes; 3]> {
    match reply {
        // No server speaks to this client by itself: whoever says so is mistaken, and the client must not wait.
        Reply::Relayed => Reply::error(-32603, "the answer was lost", None).into_parts(id),
        reply @ (Reply::Result(_) | Reply::Own(_) | Reply::Error(_) | Reply::Silent) => reply.into_parts(id),
    }
}
