//! Looking a question up (H3): it only reads, but for noting that the agent has had the result.
//!
//! INVARIANT: a question is shown to the caller that asked it, and to the application that put it; to everybody else
//! there is none.

use http::header::RETRY_AFTER;
use http::{Response, StatusCode};
use jiff::SignedDuration;
use serde_json::{Map, Value};
use yesgate_core::caller::Caller;
use yesgate_core::digest::Binding;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{DoneKind, Intent, ResultKind, State, StoredResult};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::refusal::Why;
use yesgate_ledger::LedgerError;

use super::answer::{self, Parts};
use super::pace::Pace;
use super::{RestFront, application};
use crate::board::Visitor;
use crate::custom::METHOD;
use crate::gate::Naming;
use yesgate_http::edge::body::Body;
use yesgate_http::problem::Problem;

impl RestFront {
    /// Says where a question stands.
    pub(super) async fn look(&self, visitor: &Visitor, id: &str) -> Response<Body> {
        let caller = &visitor.caller;
        let Ok(id) = id.parse::<IntentId>() else { return no_such_intent() };
        let intent = match self.present(&id).await {
            Ok(Some(intent)) if self.may_see(visitor, &intent.question().binding) => intent,
            Ok(Some(_) | None) => return no_such_intent(),
            Err(error) => {
                let why = Why::ConsentUnavailable { reason: error.public_reason() };
                return answer::refusal(&why.into());
            }
        };
        if intent.result().is_some()
            && !intent.handed_over()
            && let Err(error) =
                self.gate.ledger().update(intent.id(), |intent, now| intent.hand_over(now)).await
        {
            tracing::error!(intent.id = %intent.id(), %error, "a hand-over could not be written: {error}");
        }
        let standing = Standing::of(&intent);
        let look = (caller.key(), intent.id().clone());
        let interval = match standing {
            Standing::Pending => match self.looks.look(look, self.gate.ledger().now()) {
                Pace::TooSoon(interval) => return slow_down(&intent, seconds(interval)),
                Pace::Fine(interval) => Some(seconds(interval)),
            },
            Standing::Approved | Standing::Over(_) => {
                self.looks.forget(&look);
                None
            }
        };
        let mut payload = described(&intent, standing);
        if let Some(interval) = interval {
            payload.insert("poll_interval_seconds".into(), interval.into());
        }
        let mut response = answer::json(StatusCode::OK, &Value::Object(payload));
        if let Some(interval) = interval {
            response.headers_mut().insert(RETRY_AFTER, interval.into());
        }
        response
    }

    /// The question as it is now: one whose time is over has expired, whether somebody noticed or not, and one that a
    /// human changed is what they made of it.
    pub(super) async fn present(&self, id: &IntentId) -> Result<Option<Intent>, LedgerError> {
        let ledger = self.gate.ledger();
        let found = ledger.intent(id).await?;
        let found = match found.as_ref().and_then(Intent::edited_as) {
            Some(changed) => ledger.intent(changed).await?,
            None => found,
        };
        match found {
            Some(intent) if intent.ends_at().is_some_and(|end| ledger.now() >= end) => {
                let noticed = ledger.update(intent.id(), |intent, now| {
                    intent.notice_expiry(now);
                    intent.clone()
                });
                noticed.await
            }
            found => Ok(found),
        }
    }

    /// Whether a question is a visitor's own. A client that one person connected speaks for that person alone, and is no
    /// application even where it has the name of one.
    pub(super) fn may_see(&self, visitor: &Visitor, binding: &Binding) -> bool {
        let (asked, caller) = (&binding.caller, &visitor.caller);
        let is_asker = match self.naming {
            Naming::ByKey => asked == caller,
            // Clients give themselves names here, which proves nothing; and by REST they give none.
            Naming::BySelf => asked.org == caller.org && asked.principal == caller.principal,
        };
        is_asker || (visitor.scopes.is_none() && is_its_application(caller, binding))
    }
}

/// Whether a caller is the application that put a question.
pub(super) fn is_its_application(caller: &Caller, binding: &Binding) -> bool {
    binding.method == METHOD
        && binding.caller.org == caller.org
        && application(caller).is_ok_and(|application| application == binding.server)
}

pub(super) fn no_such_intent() -> Response<Body> {
    answer::failure(StatusCode::NOT_FOUND, "no_such_intent", "There is no such question for this caller.")
}

/// It was looked at too soon: nothing is said of it but when to look again.
fn slow_down(intent: &Intent, seconds: u64) -> Response<Body> {
    let words =
        format!("Nobody has decided yet, and you looked too soon. Look again after {seconds} seconds.");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "slow_down", &words)
        .with("intent_id", intent.id().as_str())
        .with("poll_interval_seconds", seconds)
        .response_after(seconds)
}

fn seconds(time: SignedDuration) -> u64 {
    u64::try_from(time.as_secs()).unwrap_or_default()
}

/// Where a question stands, in the words that agents poll for (H3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Standing {
    /// Look again later: nobody has decided, or the call runs now.
    Pending,
    /// A human said yes, and it ran; or the application may spend the yes.
    Approved,
    /// It will not run, or nobody knows whether it did: its state is the word.
    Over(State),
}

impl Standing {
    fn of(intent: &Intent) -> Self {
        let is_custom = intent.question().binding.method == METHOD;
        match intent.state() {
            State::Pending | State::Running => Self::Pending,
            // Its yes is the application's to spend.
            State::Approved if is_custom => Self::Approved,
            State::Approved => Self::Pending,
            State::Done(_) => Self::Approved,
            state @ (State::Unknown
            | State::Resolved { .. }
            | State::Denied
            | State::Expired
            | State::Cancelled
            | State::Superseded
            | State::Voided) => Self::Over(state),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Over(state) => state.as_str(),
        }
    }
}

/// A question as its caller is told of it.
pub(super) fn told(intent: &Intent) -> Value {
    Value::Object(described(intent, Standing::of(intent)))
}

fn described(intent: &Intent, standing: Standing) -> Map<String, Value> {
    let mut payload = Map::new();
    let mut set = |key: &str, value: Value| {
        payload.insert(key.to_owned(), value);
    };
    set("intent_id", intent.id().as_str().into());
    set("status", standing.as_str().into());
    set("state", intent.state().as_str().into());
    set("summary", intent.question().summary.as_str().into());
    set("match_code", intent.digest().match_code().into());
    match intent.state() {
        State::Pending => {
            set("message", "Nobody has decided yet. Nothing has run.".into());
            set("expires_at", format!("{:.3}", intent.decide_by()).into());
        }
        State::Approved | State::Running => {
            set("message", "A human said yes; it is about to run or runs now.".into());
        }
        State::Done(DoneKind::NotSent) => {
            set("outcome", DoneKind::NotSent.as_str().into());
            set("message", "A human said yes, and the call was not sent. Nothing ran.".into());
        }
        State::Done(done) => set("outcome", done.as_str().into()),
        State::Resolved { ran } => {
            set("ran", ran.into());
            set("message", "The answer was lost, and a human settled whether it ran.".into());
        }
        State::Unknown
        | State::Denied
        | State::Expired
        | State::Cancelled
        | State::Superseded
        | State::Voided => {
            let refusal = intent.ending().payload();
            for key in ["error", "message", "details"] {
                set(key, refusal.get(key).cloned().unwrap_or_default());
            }
            if let Some(reason) = refusal.get("details").and_then(|details| details.get("reason")) {
                set("reason", reason.clone());
            }
        }
    }
    if intent.edited().is_some() && intent.purged_at().is_none() {
        set("edited", true.into());
        set("arguments", intent.question().binding.arguments.to_value());
    }
    if let Some(decision) = intent.decision() {
        set("assurance", decision.assurance.as_str().into());
    }
    if let Some(stored) = intent.result() {
        match stored.kind {
            ResultKind::Result => set("result", result(intent, stored)),
            ResultKind::Error => {
                set("error", "server_error".into());
                set("details", read(stored.json.as_bytes()));
            }
        }
    }
    payload
}

/// A stored result as the call itself would have been answered with.
fn result(intent: &Intent, stored: &StoredResult) -> Value {
    let whole = stored.json.as_bytes();
    if intent.question().binding.method == METHOD {
        return read(whole);
    }
    let content = Parts::of(whole).and_then(|parts| parts.content);
    read(content.as_deref().unwrap_or(whole))
}

fn read(json: &[u8]) -> Value {
    parse_lenient(json, Limits::SERVER)
        .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(json).into_owned()))
}
