//! What an agent may say about its own question: what its user said in the conversation, and that it is withdrawn.
//!
//! - INVARIANT: a yes of an agent's is `relayed` and never more. It goes the way of `yesgate_approve`: through the
//!   board, to the gate that asked, and to no server but that one.
//! - INVARIANT: whatever only a person may say is refused, and written down.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde_json::{Map, Value, json};
use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Intent, State};
use yesgate_core::json::{Limits, parse_strict};
use yesgate_core::refusal::Why;

use super::look::no_such_intent;
use super::{RestFront, answer};
use crate::board::Visitor;
use crate::custom::METHOD;
use yesgate_http::edge::body::Body;
use yesgate_http::problem::Problem;

/// What an agent says.
enum Said {
    /// Its user said yes.
    Yes { typed: Option<String> },
    /// Its user said no.
    No { reason: Option<String> },
    /// Something that only a person may say.
    MoreThanIts,
}

impl RestFront {
    /// Passes on what a user said.
    pub(super) async fn decide(
        &self,
        visitor: &Visitor,
        id: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Response<Body> {
        let caller = &visitor.caller;
        let said = match fields(body).and_then(|fields| Said::read(&fields)) {
            Ok(said) => said,
            Err(words) => return invalid(&words),
        };
        let intent = match self.own(visitor, id).await {
            Ok(intent) => intent,
            Err(response) => return *response,
        };
        match intent.state() {
            state @ (State::Denied | State::Done(_) | State::Resolved { .. }) => {
                let decided = Problem::refusal(&Why::AlreadyDecided { state: state.as_str() }.into());
                return decided.with("intent_id", intent.id().as_str()).response();
            }
            // What ended otherwise, or is under way, the gate tells in its own words.
            State::Pending
            | State::Approved
            | State::Running
            | State::Unknown
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided => {}
        }
        let binding = &intent.question().binding;
        let (tool, arguments) = match said {
            // What an application does itself has no call that could be run here.
            Said::Yes { .. } if binding.method == METHOD => return self.more_than_its(caller, &intent).await,
            Said::MoreThanIts => return self.more_than_its(caller, &intent).await,
            Said::Yes { typed } => ("yesgate_approve", json!({"intent_id": intent.id(), "__typed": typed})),
            Said::No { reason } => ("yesgate_reject", json!({"intent_id": intent.id(), "reason": reason})),
        };
        if binding.method == METHOD {
            return self.withdraw(&intent).await;
        }
        let mut arguments = arguments;
        if let Some(arguments) = arguments.as_object_mut() {
            arguments.retain(|_, value| !value.is_null());
        }
        let call = Bytes::from(arguments.to_string());
        self.call(visitor, (binding.server.clone(), tool), headers, &call).await
    }

    /// Withdraws a question before it runs.
    pub(super) async fn cancel(&self, visitor: &Visitor, id: &str, body: &Bytes) -> Response<Body> {
        match fields(body) {
            Ok(fields) if fields.is_empty() => {}
            Ok(_) => return invalid("the body must be `{}`"),
            Err(words) => return invalid(&words),
        }
        match self.own(visitor, id).await {
            Ok(intent) => self.withdraw(&intent).await,
            Err(response) => *response,
        }
    }

    async fn withdraw(&self, intent: &Intent) -> Response<Body> {
        let withdrawn = self.gate.ledger().update(intent.id(), |intent, now| {
            intent.notice_expiry(now);
            match intent.cancel("the caller", now) {
                Ok(()) => Ok(intent.clone()),
                Err(_) => Err(intent.ending()),
            }
        });
        match withdrawn.await {
            Ok(Some(Ok(intent))) => answer::json(StatusCode::OK, &super::look::told(&intent)),
            Ok(Some(Err(refusal))) => answer::refusal(&refusal),
            Ok(None) => no_such_intent(),
            Err(error) => answer::refusal(&Why::ConsentUnavailable { reason: error.public_reason() }.into()),
        }
    }

    /// A question of this caller's, or of this application's.
    async fn own(&self, visitor: &Visitor, id: &str) -> Result<Intent, Box<Response<Body>>> {
        let Ok(id) = id.parse::<IntentId>() else { return Err(Box::new(no_such_intent())) };
        match self.present(&id).await {
            Ok(Some(intent)) if self.may_see(visitor, &intent.question().binding) => Ok(intent),
            Ok(Some(_) | None) => Err(Box::new(no_such_intent())),
            Err(error) => {
                let why = Why::ConsentUnavailable { reason: error.public_reason() };
                Err(Box::new(answer::refusal(&why.into())))
            }
        }
    }

    /// Refuses what only a person may say, and writes it down.
    async fn more_than_its(&self, caller: &Caller, intent: &Intent) -> Response<Body> {
        let binding = &intent.question().binding;
        let refused = AuditEvent::Refused {
            caller: caller.clone(),
            server: binding.server.clone(),
            tool: Some(binding.tool.clone()),
            code: "not_for_agents".to_owned(),
        };
        if let Err(error) = self.gate.ledger().record(refused).await {
            tracing::error!(%error, "a refusal could not be written down: {error}");
        }
        let words = "An agent passes on `approve` or `deny` of its user, and nothing else: that is for people who are \
                     signed in. Nothing was decided.";
        Problem::new(StatusCode::FORBIDDEN, "not_for_agents", words)
            .with("intent_id", intent.id().as_str())
            .response()
    }
}

impl Said {
    fn read(fields: &Map<String, Value>) -> Result<Self, String> {
        let text = |key: &str| match fields.get(key) {
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{key}` must be a string")),
            None => Ok(None),
        };
        if let Some(key) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(format!("`{}` is not known", key.escape_debug()));
        }
        let (typed, reason) = (text("typed")?, text("reason")?);
        text("seen")?;
        match text("answer")?.as_deref() {
            Some("approve") if fields.contains_key("remember") => Ok(Self::MoreThanIts),
            Some("approve") => Ok(Self::Yes { typed }),
            Some("deny") => Ok(Self::No { reason }),
            Some("respond" | "report") => Ok(Self::MoreThanIts),
            Some(_) | None => Err("`answer` must be `approve`, `deny`, `respond` or `report`".to_owned()),
        }
    }
}

fn fields(body: &Bytes) -> Result<Map<String, Value>, String> {
    match parse_strict(body, Limits::default()) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err("the body must be a JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn invalid(words: &str) -> Response<Body> {
    let words = format!("The request was refused: {words}. Nothing was decided.");
    answer::failure(StatusCode::BAD_REQUEST, "invalid_request", &words)
}

/// What people may say is known here too, to be refused as theirs.
const KEYS: [&str; 5] = ["answer", "seen", "reason", "typed", "remember"];
