//! Between the eras: what a request must carry for a server of the other era, and what an answer must
//! look like for a client of the other era. Where both are of one era, nothing is touched.

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use yesgate_core::intent::ResultKind;

use crate::era::{self, Era};
use crate::hearing::LogLevel;
use crate::raw::{Params, RawObject, bytes, raw};
use crate::talk::Party;
use crate::upstream::Answer;

/// What has to change in a request's parameters on their way to a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing<'a> {
    /// Who asks.
    pub(crate) party: &'a Party,
    /// The era that the server is spoken to in.
    pub(crate) server: Era,
    /// The least level of log messages that a client of the old era has set.
    pub(crate) log: Option<LogLevel>,
}

impl Crossing<'_> {
    /// The parameters as the server understands them, with one member replaced where it goes by another name
    /// there. Where nothing has to change they are the same bytes, not a copy.
    pub(crate) fn params(&self, params: Option<&Params>, renamed: Option<(&str, &str)>) -> Bytes {
        if self.party.era == self.server && renamed.is_none() {
            return params.map_or_else(|| Bytes::from_static(b"{}"), Params::bytes);
        }
        let mut fields = params.map(Params::raw).and_then(RawObject::parse).unwrap_or_default();
        if let Some((member, name)) = renamed {
            fields.set(member, raw(Value::from(name).to_string()));
        }
        if self.party.era != self.server {
            let mut meta = fields.get("_meta").and_then(RawObject::parse).unwrap_or_default();
            match self.server {
                Era::Modern => self.modernize(&mut meta),
                Era::Legacy => {
                    meta.retain(|key| !key.starts_with(era::OWN_KEYS));
                    // Only modern servers give out states, so these belong to nobody here.
                    fields.remove("inputResponses");
                    fields.remove("requestState");
                }
            }
            if meta.is_empty() {
                fields.remove("_meta");
            } else {
                fields.set("_meta", meta.to_raw());
            }
        }
        bytes(fields.to_raw())
    }

    /// The keys of `_meta` that steer the transport, as the server understands them.
    pub(crate) fn meta(&self, transport: &Map<String, Value>) -> Map<String, Value> {
        let mut meta = RawObject::default();
        for (key, value) in transport {
            meta.set(key, raw(value.to_string()));
        }
        match (self.party.era, self.server) {
            (Era::Legacy, Era::Modern) => self.modernize(&mut meta),
            (Era::Modern, Era::Legacy) => meta.retain(|key| !key.starts_with(era::OWN_KEYS)),
            (Era::Legacy, Era::Legacy) | (Era::Modern, Era::Modern) => {}
        }
        serde_json::from_str(meta.to_raw().get()).unwrap_or_default()
    }

    fn modernize(&self, meta: &mut RawObject) {
        meta.set(era::PROTOCOL_VERSION, raw(json!(era::MODERN_VERSION).to_string()));
        meta.set(era::CLIENT_CAPABILITIES, self.party.capabilities.clone());
        if let Some(info) = &self.party.info {
            meta.set(era::CLIENT_INFO, info.clone());
        }
        if let Some(level) = self.log {
            meta.set(era::LOG_LEVEL, raw(json!(level.as_str()).to_string()));
        }
    }
}

/// An answer of a server of one era, as a client of another expects it.
pub(crate) fn answer(method: &str, answer: Answer, server: Era, client: Era) -> Answer {
    match (server, client, answer.kind) {
        (Era::Legacy, Era::Modern, ResultKind::Result) => {
            Answer { json: complete(method, &answer.json), ..answer }
        }
        (Era::Legacy, Era::Modern, ResultKind::Error) => modern_error(answer),
        (Era::Modern, Era::Legacy, ResultKind::Result) => Answer { json: plain(answer.json), ..answer },
        (Era::Modern, Era::Legacy, ResultKind::Error)
        | (Era::Legacy, Era::Legacy, _)
        | (Era::Modern, Era::Modern, _) => answer,
    }
}

/// A result with what every modern result has.
pub(crate) fn complete(method: &str, json: &Bytes) -> Bytes {
    let Ok(mut fields) = serde_json::from_slice::<RawObject>(json) else { return json.clone() };
    let mut whole = RawObject::default();
    if fields.get("resultType").is_none() {
        whole.set("resultType", raw(r#""complete""#.into()));
    }
    if is_cacheable(method) {
        // What we do not know the lifetime of, nobody may keep.
        for (key, value) in [("ttlMs", "0"), ("cacheScope", r#""private""#)] {
            if fields.get(key).is_none() {
                fields.set(key, raw(value.into()));
            }
        }
    }
    for (key, value) in fields.iter() {
        whole.set(key, value.to_owned());
    }
    bytes(whole.to_raw())
}

/// A result without what only modern results have.
fn plain(json: Bytes) -> Bytes {
    let Ok(mut fields) = serde_json::from_slice::<RawObject>(&json) else { return json };
    for key in ["resultType", "ttlMs", "cacheScope"] {
        fields.remove(key);
    }
    bytes(fields.to_raw())
}

/// Two codes of the old era that a modern server must not use.
fn modern_error(answer: Answer) -> Answer {
    let Ok(mut error) = serde_json::from_slice::<RawObject>(&answer.json) else { return answer };
    match error.get("code").map(RawValue::get) {
        // A resource that is not there.
        Some("-32002") => {
            error.set("code", raw("-32602".into()));
            Answer { json: bytes(error.to_raw()), ..answer }
        }
        // Pages that must be visited first.
        Some("-32042") => {
            asks_for_visits(&error).map_or(answer, |json| Answer { kind: ResultKind::Result, json })
        }
        Some(_) | None => answer,
    }
}

/// "Visit these pages, then call again" in the words of the modern era.
fn asks_for_visits(error: &RawObject) -> Option<Bytes> {
    let data = error.get("data").and_then(RawObject::parse)?;
    let mut requests = RawObject::default();
    for visit in crate::raw::elements(data.get("elicitations")?)? {
        let mut params = RawObject::parse(&visit)?;
        let key = params.text("elicitationId")?;
        params.remove("elicitationId");
        let request = format!(r#"{{"method":"elicitation/create","params":{}}}"#, params.to_raw().get());
        requests.set(&key, raw(request));
    }
    let requests = requests.to_raw();
    Some(format!(r#"{{"resultType":"input_required","inputRequests":{}}}"#, requests.get()).into())
}

/// The methods whose results say how long they may be kept (SEP-2549).
fn is_cacheable(method: &str) -> bool {
    [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    ]
    .contains(&method)
}

#[cfg(test)]
mod tests;
