//! One message of a client, read strictly before anybody acts on it.
//!
//! INVARIANT: what comes out is exactly one of request, notification and response; its id, if it has one, is
//! a string or an integer; its parameters, if it has some, are an object in which no key that a front looks
//! at occurs twice. Everything else is refused here and reaches no board.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use yesgate_core::call::{CallRequest, Glance};

use super::meta::Meta;
use crate::envelope::{Envelope, Kind};
use crate::methods::{Route, passes, route};
use crate::mirror;
use crate::raw::Raw;
use crate::reply::Reply;
use crate::talk::Given;

/// A request id in one spelling.
pub(crate) type IdKey = crate::envelope::RequestKey;

/// What a client sent.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// It wants an answer.
    Request(Request<'a>),
    /// It tells something.
    Notification(Notification<'a>),
    /// It answers one of our requests.
    Response {
        /// The id of our request.
        id: &'a RawValue,
        /// The answer.
        given: Given,
    },
}

/// A request.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: &'a RawValue,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<Raw<'a>>,
    pub(crate) fields: Fields<'a>,
    /// The call that it is, where a glance was enough to read it.
    pub(crate) call: Option<Arc<CallRequest>>,
}

/// A notification that may pass, or is passed over in silence.
#[derive(Debug)]
pub(crate) struct Notification<'a> {
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) fields: Fields<'a>,
}

/// The members of `params` that a front looks at.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Fields<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<Raw<'a>>,
    /// What `_meta` says, where that was read along with the rest.
    #[serde(skip)]
    pub(crate) glimpsed: Option<Meta<'a>>,
    #[serde(borrow, default)]
    name: Option<Raw<'a>>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "taskId")]
    task_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestState")]
    pub(crate) request_state: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(crate) input_responses: Option<&'a RawValue>,
}

impl<'a> Fields<'a> {
    /// Reads the parameters of a message; none are as good as empty ones.
    pub(crate) fn read(params: Option<&'a RawValue>) -> Result<Self, Malformed> {
        let Some(params) = params else { return Ok(Self::default()) };
        // The derived reader would take an array for the members in their order.
        if !params.get().starts_with('{') {
            return Err(Malformed("`params` must be an object".into()));
        }
        serde_json::from_str(params.get())
            .map_err(|error| Malformed(format!("`params` was not read: {error}")))
    }
}

impl<'a> Fields<'a> {
    /// What a request of this method is about, where its headers have to repeat that.
    pub(crate) fn subject(&self, method: &str) -> Option<Cow<'a, str>> {
        let subject = match mirror::name_key(method)? {
            "name" => self.name,
            "uri" => self.uri.map(Raw::from),
            "taskId" => self.task_id.map(Raw::from),
            _ => None,
        };
        mirror::text(subject?.get())
    }
}

/// The parameters make no sense.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) String);

/// Why a message goes no further.
#[derive(Debug)]
pub(crate) struct Unreadable {
    /// The id to answer under, where one could be read.
    pub(crate) id: Option<Box<RawValue>>,
    /// What to answer.
    pub(crate) reply: Reply,
}

impl Unreadable {
    /// The answer as a message.
    pub(crate) fn into_parts(self) -> Option<[bytes::Bytes; 3]> {
        self.reply.into_parts(self.id.as_deref().unwrap_or(RawValue::NULL))
    }
}

/// Reads one message. Most are calls that one glance is enough for.
pub(crate) fn read(bytes: &[u8]) -> Result<Message<'_>, Unreadable> {
    glance(bytes).map(Message::Request).map_or_else(|| read_closely(bytes), Ok)
}

/// Reads a call in one walk over its bytes, `_meta` included. `None`: it has to be read closely.
///
/// INVARIANT: what comes out of it is what [`read_closely`] and [`Meta::read`] would make of the same bytes.
fn glance(bytes: &[u8]) -> Option<Request<'_>> {
    let mut meta = Meta::default();
    let glance = Glance::at(bytes, |key, value| meta.note(key, Raw::rehydrate(value)))?;
    let id = Raw::rehydrate(glance.id).value();
    let fields = Fields {
        meta: glance.meta.map(Raw::rehydrate),
        glimpsed: glance.meta.is_some().then_some(meta),
        name: Some(Raw::rehydrate(glance.name)),
        ..Fields::default()
    };
    is_id(id).then(|| Request {
        id,
        method: Cow::Borrowed("tools/call"),
        params: Some(Raw::rehydrate(glance.params)),
        fields,
        call: Some(Arc::new(glance.call)),
    })
}

fn read_closely(bytes: &[u8]) -> Result<Message<'_>, Unreadable> {
    let envelope = Envelope::parse(bytes).map_err(|error| {
        let code = if error.is_syntax() || error.is_eof() { -32700 } else { -32600 };
        let words = format!("the message was not read and nothing ran: {error}");
        Unreadable { id: None, reply: Reply::error(code, &words, None) }
    })?;
    if let Some(id) = envelope.id
        && !is_id(id)
    {
        return Err(refuse(None, "`id` must be a string or an integer"));
    }
    match (envelope.kind(), envelope.id, envelope.method) {
        (Kind::Request, Some(id), Some(method)) => {
            let fields = Fields::read(envelope.params).map_err(|malformed| Unreadable {
                id: Some(id.to_owned()),
                reply: Reply::error(-32602, &malformed.0, None),
            })?;
            let params = envelope.params.map(Raw::from);
            Ok(Message::Request(Request { id, method, params, fields, call: None }))
        }
        (Kind::Notification, None, Some(method)) => {
            // A call that nobody waits for is still a call: it must not slip through as a remark.
            if route(&method) != Route::Unknown || !method.starts_with("notifications/") {
                return Err(refuse(None, "a request needs an `id`"));
            }
            let fields = Fields::read(envelope.params).map_err(|malformed| refuse(None, &malformed.0))?;
            Ok(Message::Notification(Notification { method, params: envelope.params, fields }))
        }
        (Kind::Response, Some(id), _) => match (envelope.result, envelope.error) {
            (Some(result), None) => Ok(Message::Response { id, given: Given::Result(result.to_owned()) }),
            (None, Some(error)) => Ok(Message::Response { id, given: Given::Error(error.to_owned()) }),
            (Some(_), Some(_)) | (None, None) => {
                Err(refuse(None, "a response has either a `result` or an `error`"))
            }
        },
        (Kind::Request | Kind::Notification | Kind::Response | Kind::Neither, id, _) => {
            Err(refuse(id, "not a JSON-RPC 2.0 message: neither a request, a notification nor a response"))
        }
    }
}

/// Whether a notification is handed on; what is not, is noted.
pub(crate) fn is_handed_on(method: &str) -> bool {
    let handed_on = passes(method);
    if !handed_on {
        tracing::warn!(
            rpc.method = %method.escape_debug(),
            "a notification that the gateway does not know does not pass"
        );
    }
    handed_on
}

/// The elements of a batch, each in its own bytes. `None`: it is no batch.
pub(crate) fn batch(bytes: &[u8]) -> Option<Result<Vec<&RawValue>, Unreadable>> {
    let first = bytes.iter().find(|byte| !b" \t\r\n".contains(byte))?;
    if *first != b'[' {
        return None;
    }
    let read = || {
        if bytes.contains(&b'\r') {
            return Err(refuse(None, "the batch has a carriage return, which ends a line for some readers"));
        }
        serde_json::from_slice(bytes).map_err(|error| Unreadable {
            id: None,
            reply: Reply::error(-32700, &format!("the batch was not read and nothing ran: {error}"), None),
        })
    };
    Some(read())
}

/// A message that breaks the rules of JSON-RPC.
pub(crate) fn refuse(id: Option<&RawValue>, words: &str) -> Unreadable {
    Unreadable { id: id.map(ToOwned::to_owned), reply: Reply::error(-32600, words, None) }
}

/// MCP's ids are strings and integers; `null` and fractions are not.
fn is_id(id: &RawValue) -> bool {
    let text = id.get();
    let digits = text.strip_prefix('-').unwrap_or(text);
    text.len() <= LONGEST_ID
        && (text.starts_with('"') || (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())))
}

const LONGEST_ID: usize = 1024;

#[cfg(test)]
mod tests;
