//! A `tools/call` as it came in, read strictly, with the gateway's own arguments taken out.
//!
//! INVARIANT: magic keys exist nowhere after [`CallRequest::parse`]; what is left is what is
//! shown, digested and sent.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::digest::Binding;
use crate::json::plain::{Doubt, Plain};
use crate::json::{CanonicalJson, JsonError, Limits, parse_strict};
use crate::mode::Mode;
use crate::token::ConfirmToken;

/// One call by one caller to one tool: the thing that is permitted or not.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolCall {
    /// Everything the yes is bound to, and everything the server will see.
    pub binding: Binding,
}

/// A `tools/call` request after strict parsing.
#[derive(Clone, Debug)]
pub struct CallRequest {
    /// The request's id, a string or an integer.
    pub id: Value,
    /// The tool's name as the caller wrote it.
    pub name: String,
    /// The arguments without the gateway's own.
    pub arguments: CanonicalJson,
    /// What came along in `_meta`.
    pub meta: CallMeta,
    /// The gateway's own arguments.
    pub presented: Presented,
    /// What else the request holds that a gated call may not.
    pub extras: Extras,
    /// Whether the bytes that came in are also what a server may see: nothing was taken out.
    pub untouched: Untouched,
}

/// The `_meta` of a call. It is read when somebody asks for it: few calls that pass need any of it.
#[derive(Clone, Debug, Default)]
pub struct CallMeta {
    source: Box<str>,
    parted: OnceLock<(Map<String, Value>, Map<String, Value>)>,
}

impl CallMeta {
    /// The keys that steer the transport: progress, tracing, protocol version.
    pub fn transport(&self) -> &Map<String, Value> {
        &self.parted().0
    }

    /// The other keys; a gated call drops them.
    pub fn vendor(&self) -> &Map<String, Value> {
        &self.parted().1
    }

    fn parted(&self) -> &(Map<String, Value>, Map<String, Value>) {
        self.parted.get_or_init(|| match parse_strict(self.source.as_bytes(), Limits::default()) {
            Ok(Value::Object(meta)) => split_meta(meta),
            // There is none: a source was walked over, and is an object.
            Ok(_) | Err(_) => (Map::new(), Map::new()),
        })
    }
}

/// Whether taking out the gateway's arguments changed the call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Untouched {
    /// The caller's own bytes may be passed on.
    Yes,
    /// Something was taken out: only the canonical form may be sent.
    No,
}

/// The gateway's own arguments of one call.
#[derive(Clone, Debug, Default)]
pub struct Presented {
    /// `confirm_token`: the agent claims that a human agreed.
    pub token: Option<ConfirmToken>,
    /// `__typed`: what the human typed, as the agent says.
    pub text: Option<String>,
    /// `__confirm`: the model turned its key.
    pub key: CallKey,
    /// `__mode`: the mode wished for this call.
    pub mode: Option<Mode>,
    /// `__channel`: where the caller wants the human to be asked.
    pub channel: Option<WishedChannel>,
    /// `__reason`: why, as the agent says.
    pub reason: Option<String>,
}

/// The caller's key of the two.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum CallKey {
    /// `__confirm` was the boolean `true`.
    Turned,
    /// It was absent, or anything else.
    #[default]
    Absent,
}

/// Where a caller wants the human to be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WishedChannel {
    /// In the conversation.
    Chat,
    /// Away from the agent.
    Web,
}

/// Parts of a call that pass only where nothing is decided about them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Extras {
    /// Keys that no revision of the protocol knows.
    pub unknown_keys: Vec<String>,
    /// `task`: the caller wants a task instead of an answer.
    pub task: bool,
    /// `inputResponses` or `requestState`: the call continues an earlier one.
    pub continuation: bool,
}

/// Why a `tools/call` was not even looked at.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The text is not the JSON we accept.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// The message is no JSON-RPC request.
    #[error("not a JSON-RPC 2.0 request: {0}")]
    Envelope(&'static str),
    /// A key is spelled almost like one that means something.
    #[error("the key `{}` is not `{expected}`, but some readers would take it for that", .found.escape_debug())]
    LookalikeKey {
        /// What was sent.
        found: String,
        /// What it resembles.
        expected: &'static str,
    },
    /// A parameter has the wrong type.
    #[error("`{field}` must be {expected}")]
    IllTyped {
        /// The parameter.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
}

impl CallError {
    /// The JSON-RPC error code.
    pub const fn code(&self) -> i64 {
        match self {
            Self::Json(JsonError::Syntax { .. } | JsonError::NotUtf8) => -32700,
            Self::Json(
                JsonError::TooLarge { .. }
                | JsonError::TooDeep { .. }
                | JsonError::DuplicateKey { .. }
                | JsonError::LookalikeKeys { .. }
                | JsonError::Number { .. },
            )
            | Self::Envelope(_) => -32600,
            Self::LookalikeKey { .. } | Self::IllTyped { .. } => -32602,
        }
    }
}

impl CallRequest {
    /// Reads a whole JSON-RPC message whose method is `tools/call`.
    ///
    /// # Errors
    /// On anything that two readers could understand in two ways.
    pub fn parse(message: &[u8]) -> Result<Self, CallError> {
        match Self::parse_plain(message) {
            Ok(call) => Ok(call),
            Err(Doubt) => Self::parse_closely(message),
        }
    }

    /// Reads a call that has nothing but a name, arguments of its tool and `_meta`, in plain spelling: most are.
    fn parse_plain(message: &[u8]) -> Result<Self, Doubt> {
        Glance::walk(message, |_, _| ()).map(|glance| glance.call)
    }

    fn parse_closely(message: &[u8]) -> Result<Self, CallError> {
        let Value::Object(mut envelope) = parse_strict(message, Limits::default())? else {
            return Err(CallError::Envelope("it is not an object"));
        };
        let mut extras = Extras::default();
        extras.unknown_keys.extend(unknown_keys(&envelope, &ENVELOPE_KEYS, &["result", "error"])?);
        if envelope.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(CallError::Envelope("`jsonrpc` is not \"2.0\""));
        }
        if envelope.get("method").and_then(Value::as_str) != Some("tools/call") {
            return Err(CallError::Envelope("`method` is not \"tools/call\""));
        }
        let id = request_id(envelope.remove("id"))?;
        let Some(Value::Object(mut params)) = envelope.remove("params") else {
            return Err(CallError::IllTyped { field: "params", expected: "an object" });
        };
        extras.unknown_keys.extend(unknown_keys(&params, &PARAM_KEYS, &[])?);
        extras.task = present_object(&params, "task")?;
        extras.continuation =
            present_object(&params, "inputResponses")? || present_string(&params, "requestState")?;
        let Some(Value::String(name)) = params.remove("name") else {
            return Err(CallError::IllTyped { field: "params.name", expected: "a string" });
        };
        let arguments = optional_object(params.remove("arguments"), "params.arguments")?;
        let meta = optional_object(params.remove("_meta"), "params._meta")?;
        let (arguments, presented, untouched) = take_meta_arguments(arguments)?;
        Ok(Self {
            id,
            name,
            arguments: CanonicalJson::of_strict(Value::Object(arguments))?,
            meta: CallMeta { source: Box::default(), parted: split_meta(meta).into() },
            presented,
            extras,
            untouched,
        })
    }
}

/// A call that was understood at a glance, and its parts in the caller's own characters.
#[derive(Debug)]
pub struct Glance<'t> {
    /// The call.
    pub call: CallRequest,
    /// The request's id.
    pub id: &'t str,
    /// All parameters.
    pub params: &'t str,
    /// The name of the tool, with its quotes.
    pub name: &'t str,
    /// `_meta`, if there is one.
    pub meta: Option<&'t str>,
}

impl<'t> Glance<'t> {
    /// Reads a call that has nothing but a name, arguments of its tool and `_meta`, in plain spelling, and gives
    /// `meta` each member of the latter. `None`: it has to be read more closely, and may be as sound as others.
    pub fn at(message: &'t [u8], meta: impl FnMut(&'t str, &'t str)) -> Option<Self> {
        Self::walk(message, meta).ok()
    }

    fn walk(message: &'t [u8], mut in_meta: impl FnMut(&'t str, &'t str)) -> Result<Self, Doubt> {
        let limits = Limits::default();
        if message.len() > limits.max_bytes {
            return Err(Doubt);
        }
        let text = str::from_utf8(message).map_err(|_| Doubt)?;
        let (mut version, mut method, mut id, mut params) = ("", "", "", "");
        let (mut name, mut arguments, mut meta) = ("", "{}", None);
        Plain::before(text, limits.max_depth).whole_object(|walk, key| {
            match key {
                "jsonrpc" => version = walk.text()?,
                "method" => method = walk.text()?,
                "id" => id = walk.value()?,
                "params" => {
                    params = walk.over(|walk| {
                        walk.object(|walk, key| {
                            match key {
                                "name" => name = walk.over(|walk| walk.text().map(|_| ()))?,
                                "arguments" => arguments = walk.over(plain_arguments)?,
                                "_meta" => meta = Some(walk.over(|walk| plain_meta(walk, &mut in_meta))?),
                                _ => return Err(Doubt),
                            }
                            Ok(())
                        })
                    })?;
                }
                _ => return Err(Doubt),
            }
            Ok(())
        })?;
        if version != "2.0" || method != "tools/call" {
            return Err(Doubt);
        }
        let call = CallRequest {
            id: plain_id(id)?,
            name: unquoted(name).ok_or(Doubt)?.to_owned(),
            arguments: CanonicalJson::of_plain(arguments),
            meta: CallMeta { source: meta.unwrap_or_default().into(), parted: OnceLock::new() },
            presented: Presented::default(),
            extras: Extras::default(),
            untouched: Untouched::Yes,
        };
        Ok(Self { call, id, params, name, meta })
    }
}

const ENVELOPE_KEYS: [&str; 4] = ["jsonrpc", "id", "method", "params"];
const PARAM_KEYS: [&str; 6] = ["name", "arguments", "_meta", "task", "inputResponses", "requestState"];

/// The gateway's own arguments.
const OWN_ARGUMENTS: [&str; 6] = ["confirm_token", "__typed", "__confirm", "__mode", "__channel", "__reason"];

/// So many characters of a reason a human reads before deciding; more would only hide what is asked.
const LONGEST_REASON: usize = 1000;

/// Walks over arguments that have none of the gateway's own among them.
fn plain_arguments(walk: &mut Plain<'_>) -> Result<(), Doubt> {
    walk.object(|walk, key| {
        if OWN_ARGUMENTS.contains(&key) {
            return Err(Doubt);
        }
        walk.value().map(|_| ())
    })
}

fn plain_meta<'t>(walk: &mut Plain<'t>, in_meta: &mut impl FnMut(&'t str, &'t str)) -> Result<(), Doubt> {
    walk.object(|walk, key| {
        in_meta(key, walk.value()?);
        Ok(())
    })
}

fn plain_id(id: &str) -> Result<Value, Doubt> {
    match unquoted(id) {
        Some(text) if !text.contains('\\') => Ok(text.into()),
        Some(_) => Err(Doubt),
        None => id.parse::<i64>().map(Value::from).map_err(|_| Doubt),
    }
}

/// What is between the quotes of a string.
fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

fn request_id(id: Option<Value>) -> Result<Value, CallError> {
    match id {
        Some(id @ Value::String(_)) => Ok(id),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Ok(Value::Number(id)),
        Some(Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            Err(CallError::Envelope("`id` is neither a string nor an integer"))
        }
        None => Err(CallError::Envelope("a call without `id` cannot be answered, so it is not run")),
    }
}

/// The keys nobody knows. One that only resembles a known key, or one that belongs in an answer,
/// is an error: another reader may take it for the real thing.
fn unknown_keys(
    object: &Map<String, Value>,
    known: &'static [&'static str],
    forbidden: &[&str],
) -> Result<Vec<String>, CallError> {
    let mut unknown = Vec::new();
    for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
        if forbidden.contains(&key.as_str()) {
            return Err(CallError::Envelope("it is a request and an answer at once"));
        }
        let folded = crate::json::fold_key(key);
        if let Some(expected) = known.iter().find(|name| crate::json::fold_key(name) == folded) {
            return Err(CallError::LookalikeKey { found: key.clone(), expected });
        }
        unknown.push(key.clone());
    }
    Ok(unknown)
}

fn present_object(params: &Map<String, Value>, field: &'static str) -> Result<bool, CallError> {
    match params.get(field) {
        None => Ok(false),
        Some(Value::Object(_)) => Ok(true),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(CallError::IllTyped { field, expected: "an object" })
        }
    }
}

fn present_string(params: &Map<String, Value>, field: &'static str) -> Result<bool, CallError> {
    match params.get(field) {
        None => Ok(false),
        Some(Value::String(_)) => Ok(true),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) | Value::Array(_)) => {
            Err(CallError::IllTyped { field, expected: "a string" })
        }
    }
}

fn optional_object(value: Option<Value>, field: &'static str) -> Result<Map<String, Value>, CallError> {
    match value {
        None => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(CallError::IllTyped { field, expected: "an object" })
        }
    }
}

/// Takes the gateway's own arguments out of the payload.
fn take_meta_arguments(
    mut arguments: Map<String, Value>,
) -> Result<(Map<String, Value>, Presented, Untouched), CallError> {
    let before = arguments.len();
    let mut presented = Presented::default();
    match arguments.remove("confirm_token") {
        // Some clients fill every optional argument they see with null or nothing.
        Some(Value::String(token)) if token.is_empty() => {}
        Some(Value::String(token)) => presented.token = Some(ConfirmToken::presented(&token)),
        Some(Value::Null) | None => {}
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(CallError::IllTyped { field: "confirm_token", expected: "a string" });
        }
    }
    match arguments.remove("__typed") {
        Some(Value::String(text)) if !text.is_empty() => presented.text = Some(text),
        Some(Value::String(_) | Value::Null) | None => {}
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(CallError::IllTyped { field: "__typed", expected: "a string" });
        }
    }
    // K3: strict boolean. "true", 1 and the like are not the key, and are taken out all the same.
    if arguments.remove("__confirm") == Some(Value::Bool(true)) {
        presented.key = CallKey::Turned;
    }
    if let Some(mode) = arguments.remove("__mode") {
        let mode = mode.as_str().and_then(|mode| mode.parse().ok());
        presented.mode = Some(
            mode.ok_or(CallError::IllTyped { field: "__mode", expected: "`ask`, `plan` or `execute`" })?,
        );
    }
    if let Some(channel) = arguments.remove("__channel") {
        presented.channel = match channel.as_str() {
            Some("chat") => Some(WishedChannel::Chat),
            Some("web") => Some(WishedChannel::Web),
            Some(_) | None => {
                return Err(CallError::IllTyped { field: "__channel", expected: "`chat` or `web`" });
            }
        };
    }
    match arguments.remove("__reason") {
        Some(Value::String(reason)) if reason.trim().is_empty() => {}
        Some(Value::String(reason)) if reason.chars().count() <= LONGEST_REASON => {
            presented.reason = Some(reason);
        }
        Some(Value::Null) | None => {}
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_)) => {
            let expected = "a string of at most 1000 characters";
            return Err(CallError::IllTyped { field: "__reason", expected });
        }
    }
    let untouched = if arguments.len() == before { Untouched::Yes } else { Untouched::No };
    Ok((arguments, presented, untouched))
}

/// Parts `_meta` into what steers the transport and what does not.
///
/// Hosts put a fresh id of their own into `_meta` of every call, so vendor keys can be neither
/// bound (the second call would never match) nor passed on unseen: a gated call drops them.
fn split_meta(meta: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    meta.into_iter().partition(|(key, _)| {
        key.starts_with("io.modelcontextprotocol/")
            || ["progressToken", "traceparent", "tracestate", "baggage"].contains(&key.as_str())
    })
}

#[cfg(test)]
mod tests;
