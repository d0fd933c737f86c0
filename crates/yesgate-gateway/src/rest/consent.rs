//! Consent for what applications do themselves (H10), over HTTP: mint a question, consume the yes, say how it ended.
//!
//! - INVARIANT: the application is whoever the key says. It may speak for users of its own organisation, which it
//!   has verified, and for nobody else.
//! - INVARIANT: a yes that was consumed has an outcome: what the application says, or `unknown` once it said nothing
//!   for as long as an outcome may take.

use std::sync::PoisonError;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{DoneKind, ResultKind, StoredResult};
use yesgate_core::json::{CanonicalJson, Limits, parse_strict};
use yesgate_core::refusal::Why;
use yesgate_core::token::ConfirmToken;

use super::look::{is_its_application, no_such_intent};
use super::{RestFront, answer, application};
use crate::custom::{CustomError, CustomOperation};
use yesgate_http::edge::body::Body;

impl RestFront {
    /// Puts a question for an application.
    pub(super) async fn mint(&self, caller: &Caller, headers: &HeaderMap, body: &Bytes) -> Response<Body> {
        let operation = match Fields::read(body, &MINT_KEYS).and_then(|fields| fields.operation(caller)) {
            Ok(operation) => operation,
            Err(words) => return invalid(&words),
        };
        let terms = self.changeable().terms.clone();
        let gate = self.gate.clone();
        // What changes the ledger goes to its end even if whoever waits for it vanishes.
        match tokio::spawn(async move { gate.mint(&operation, &terms).await }).await {
            Ok(Ok(put)) => answer::held(put.payload, self.base(headers).as_ref()),
            Ok(Err(error)) => answer::refusal(&error.refusal()),
            Err(_) => ended(),
        }
    }

    /// Spends a yes for an application.
    pub(super) async fn consume(&self, caller: &Caller, body: &Bytes) -> Response<Body> {
        let read = Fields::read(body, &CONSUME_KEYS).and_then(|fields| {
            let token = fields.text("confirm_token")?.ok_or("`confirm_token` is missing")?;
            Ok((ConfirmToken::presented(token), fields.operation(caller)?))
        });
        let (token, operation) = match read {
            Ok(read) => read,
            Err(words) => return invalid(&words),
        };
        let (gate, unsettled, longest) = (self.gate.clone(), self.unsettled.clone(), self.outcome);
        let spending = async move {
            let (id, permitted) = gate.consume(&token, &operation).await?;
            let watched = id.clone();
            let watch = tokio::spawn({
                let unsettled = unsettled.clone();
                async move {
                    tokio::time::sleep(longest).await;
                    gate.lose(&watched).await;
                    unsettled.lock().unwrap_or_else(PoisonError::into_inner).remove(&watched);
                }
            });
            unsettled.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), watch.abort_handle());
            Ok::<_, CustomError>((id, permitted))
        };
        match tokio::spawn(spending).await {
            Ok(Ok((id, permitted))) => {
                let params = permitted.call().binding.arguments.to_value();
                answer::json(StatusCode::OK, &json!({"permit": id, "intent_id": id, "params": params}))
            }
            Ok(Err(error)) => answer::refusal(&error.refusal()),
            Err(_) => ended(),
        }
    }

    /// Writes down what an application says of the run that it was permitted.
    pub(super) async fn settle(&self, caller: &Caller, id: &str, body: &Bytes) -> Response<Body> {
        let (outcome, done, stored) =
            match Fields::read(body, &OUTCOME_KEYS).and_then(|fields| fields.outcome()) {
                Ok(read) => read,
                Err(words) => return invalid(&words),
            };
        let Ok(id) = id.parse::<IntentId>() else { return no_such_intent() };
        match self.gate.ledger().intent(&id).await {
            Ok(Some(intent)) if is_its_application(caller, &intent.question().binding) => {}
            Ok(Some(_) | None) => return no_such_intent(),
            Err(error) => {
                let why = Why::ConsentUnavailable { reason: error.public_reason() };
                return answer::refusal(&why.into());
            }
        }
        let gate = self.gate.clone();
        let settling = {
            let id = id.clone();
            async move { gate.settle(&id, done, stored).await }
        };
        match tokio::spawn(settling).await {
            Ok(Ok(())) => {
                let watch = self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                if let Some(watch) = watch {
                    watch.abort();
                }
                answer::json(StatusCode::OK, &json!({"intent_id": id, "outcome": outcome}))
            }
            Ok(Err(error)) => answer::refusal(&error.refusal()),
            Err(_) => ended(),
        }
    }
}

/// The members of a body, each of a known name.
struct Fields(Map<String, Value>);

impl Fields {
    fn read(body: &[u8], known: &[&str]) -> Result<Self, String> {
        let fields = match parse_strict(body, Limits::default()) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Err("the body must be a JSON object".into()),
            Err(error) => return Err(error.to_string()),
        };
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                Err(format!("`{}` is not known; known are {}", key.escape_debug(), known.join(", ")))
            }
            None => Ok(Self(fields)),
        }
    }

    fn text(&self, key: &str) -> Result<Option<&str>, String> {
        match self.0.get(key) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{key}` must be a string")),
            None => Ok(None),
        }
    }

    fn operation(&self, caller: &Caller) -> Result<CustomOperation, String> {
        let name = self.text("operation")?.ok_or("`operation` is missing")?;
        let params = match self.0.get("params") {
            Some(params @ Value::Object(_)) => CanonicalJson::of_strict(params.clone()).map_err(words)?,
            Some(_) => return Err("`params` must be an object".into()),
            None => CanonicalJson::empty_object(),
        };
        let summary = self.text("summary")?;
        if summary.is_some_and(|summary| summary.len() > LONGEST_SUMMARY) {
            return Err(format!("`summary` is longer than {LONGEST_SUMMARY} bytes"));
        }
        let lifetime = match self.0.get("ttl_seconds") {
            Some(seconds) => seconds
                .as_i64()
                .filter(|seconds| (1..=LONGEST_SECONDS).contains(seconds))
                .ok_or(format!("`ttl_seconds` must be a whole number from 1 to {LONGEST_SECONDS}"))?,
            None => USUAL_SECONDS,
        };
        let least = match self.text("assurance")? {
            Some(text) => Assurance::ALL
                .into_iter()
                .find(|known| known.as_str() == text)
                .ok_or("`assurance` is none of the levels of proof")?,
            None => Assurance::Relayed,
        };
        let principal = match self.text("principal")? {
            Some(principal) => principal.parse().map_err(words)?,
            None => caller.principal.clone(),
        };
        let client = match self.text("client")? {
            Some(client) => client.parse().map_err(words)?,
            None => caller.client.clone(),
        };
        Ok(CustomOperation {
            application: application(caller)?,
            caller: Caller { org: caller.org.clone(), principal, client },
            name: name.parse().map_err(words)?,
            params,
            summary: summary.map(str::to_owned),
            lifetime: SignedDuration::from_secs(lifetime),
            least,
        })
    }

    fn outcome(&self) -> Result<(&'static str, DoneKind, Option<StoredResult>), String> {
        let json = || self.0.get("result").map_or_else(|| "null".to_owned(), ToString::to_string);
        match self.text("outcome")? {
            Some("done") => {
                let stored = StoredResult { kind: ResultKind::Result, json: json() };
                Ok(("done", DoneKind::Ok, Some(stored)))
            }
            Some("failed") => {
                let stored = StoredResult { kind: ResultKind::Error, json: json() };
                Ok(("failed", DoneKind::ToolError, Some(stored)))
            }
            Some("not_run") if self.0.contains_key("result") => {
                Err("what did not run has no `result`".into())
            }
            Some("not_run") => Ok(("not_run", DoneKind::NotSent, None)),
            Some(_) | None => Err("`outcome` must be `done`, `failed` or `not_run`".into()),
        }
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn invalid(words: &str) -> Response<Body> {
    let words = format!("The request was refused: {words}.");
    answer::failure(StatusCode::BAD_REQUEST, "invalid_request", &words)
}

fn ended() -> Response<Body> {
    answer::refusal(&Why::ConsentUnavailable { reason: "the gateway ends" }.into())
}

pub(super) const MINT_KEYS: [&str; 7] =
    ["operation", "params", "summary", "principal", "client", "ttl_seconds", "assurance"];
pub(super) const CONSUME_KEYS: [&str; 5] = ["confirm_token", "operation", "params", "principal", "client"];
pub(super) const OUTCOME_KEYS: [&str; 2] = ["outcome", "result"];
pub(super) const LONGEST_SUMMARY: usize = 1000;
pub(super) const LONGEST_SECONDS: i64 = 24 * 60 * 60;
pub(super) const USUAL_SECONDS: i64 = 60;
