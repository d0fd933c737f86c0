//! Asking through the client's own form: `elicitation/create` in the old era, a round of input in the new one.
//!
//! INVARIANT: the client's word for it is `client` and no more. Only an accepted form that says yes in its one
//! field is a yes; a no that comes faster than anybody can read is nobody's, and the question stays open.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout};
use yesgate_core::assurance::Assurance;
use yesgate_core::call::CallRequest;
use yesgate_core::form::{FormAnswer, form, read};
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Approver, Intent, State};
use yesgate_core::json::{Limits, parse_lenient};

use super::late::{Asking, LeftOpen};
use crate::era::Era;
use crate::errand::{Errand, Person};
use crate::gate::Gate;
use crate::raw::raw;
use crate::reply::Reply;
use crate::talk::{AskError, Given, InputAnswer, InputMethod, InputRequest};

/// What came of asking through the client.
pub(crate) enum Elicited {
    /// The call is answered.
    Answered(Reply),
    /// Nobody is there: ask another way. A form that was waited for long enough is still open.
    Nobody(Option<Box<LeftOpen>>),
}

/// What the client made of the form.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Filled {
    Yes {
        typed: Option<String>,
    },
    No,
    /// The form was closed: no, for now.
    Closed,
    /// No human did this.
    Nothing,
}

impl Gate {
    /// Asks through the client, while the question is open elsewhere too.
    pub(crate) async fn elicit(
        &self,
        intent: &Intent,
        person: &Person,
        request: &CallRequest,
        errand: &Errand,
    ) -> Elicited {
        let Ok(params) = form(intent) else { return Elicited::Nobody(None) };
        let asked = InputRequest {
            key: KEY.into(),
            method: InputMethod::Elicitation,
            params: raw(Value::Object(params).to_string()),
        };
        // A form that its client leaves behind is withdrawn before the gateway ends; a task has none to leave.
        let _open = errand.job.is_none().then(|| self.forms.begin());
        let begun = Instant::now();
        let talk = Arc::clone(&person.talk);
        let mut asking: Asking = Box::pin(async move { talk.ask(vec![asked]).await });
        let given = tokio::select! {
            biased;
            () = errand.cancel.fired() => {
                self.withdraw(intent.id()).await;
                return Elicited::Answered(Reply::Silent);
            }
            () = self.decided(intent.id()) => {
                return Elicited::Answered(self.decided_before(intent, person, asking, begun, errand).await);
            }
            given = &mut asking => given,
            () = self.too_long(person) => {
                tracing::info!(client = %errand.caller.client, "this client did not answer in time");
                self.setting.manners.silent(&errand.caller);
                let late_no = self.late_no(intent, errand);
                return Elicited::Nobody(Some(Box::new(LeftOpen { late_no, asking, begun })));
            }
        };
        let caller = &errand.caller;
        let manners = &self.setting.manners;
        match self.read(given, person.talk.seen_for(begun)) {
            Ok(Filled::Yes { typed }) => {
                manners.answered(caller);
                Elicited::Answered(self.yes_now(intent, by_client(typed), request, errand).await)
            }
            Ok(Filled::No) => {
                manners.answered(caller);
                Elicited::Answered(self.no(intent.id(), by_client(None), errand).await)
            }
            Ok(Filled::Closed) => {
                manners.answered(caller);
                self.withdraw(intent.id()).await;
                Elicited::Answered(self.wait(intent.id(), errand).await)
            }
            Ok(Filled::Nothing) => {
                tracing::info!(client = %caller.client, "nobody answers through this client");
                manners.nobody_there(caller);
                Elicited::Nobody(None)
            }
            Err(AskError::Late) => {
                tracing::info!(client = %caller.client, "this client did not answer in time");
                manners.silent(caller);
                Elicited::Nobody(None)
            }
            Err(AskError::Unable) => {
                manners.nobody_there(caller);
                Elicited::Nobody(None)
            }
            Err(AskError::Gone) => {
                self.withdraw(intent.id()).await;
                Elicited::Answered(Reply::Silent)
            }
        }
    }

    /// A host of the old era keeps its call open while the human reads, and gives up after a minute.
    pub(super) async fn too_long(&self, person: &Person) {
        match person.party.era {
            Era::Legacy => tokio::time::sleep(self.hold()).await,
            Era::Modern => std::future::pending().await,
        }
    }

    /// Waits until the question is no longer open, because somebody decided it elsewhere or its time is over.
    pub(super) async fn decided(&self, id: &IntentId) {
        let mut changes = self.ledger.changes();
        loop {
            match self.ledger.intent(id).await {
                Ok(Some(intent)) if intent.state() == State::Pending => match self.time_left(&intent) {
                    Some(Duration::ZERO) => return,
                    // Nobody announces that a question's own time is over.
                    Some(left) => drop(timeout(left, changes.changed()).await),
                    None => changes.changed().await,
                },
                // One that cannot be read now is looked at when the client answers.
                Err(_) => changes.changed().await,
                Ok(Some(_) | None) => return,
            }
        }
    }

    fn read(&self, given: Result<Vec<InputAnswer>, AskError>, took: Duration) -> Result<Filled, AskError> {
        filled(given, took, self.policy().reflex().unsigned_abs())
    }
}

/// What a client made of the form in this time, where nobody answers faster than that.
pub(super) fn filled(
    given: Result<Vec<InputAnswer>, AskError>,
    took: Duration,
    reflex: Duration,
) -> Result<Filled, AskError> {
    let answer = given?.into_iter().find(|answer| answer.key == KEY).map(|answer| answer.answer);
    let Some(Given::Result(result)) = answer else { return Ok(Filled::Nothing) };
    let result = parse_lenient(result.get().as_bytes(), Limits::SERVER).unwrap_or_default();
    let is_reflex = took < reflex;
    Ok(match result.get("action").and_then(Value::as_str) {
        Some("accept") => match read(result.get("content")) {
            FormAnswer::Yes { typed } => Filled::Yes { typed },
            // Some clients accept by themselves, with nothing ticked.
            FormAnswer::No if is_reflex => Filled::Nothing,
            FormAnswer::No => Filled::No,
            FormAnswer::Nothing => Filled::Nothing,
        },
        Some("decline" | "cancel") if is_reflex => Filled::Nothing,
        Some("decline") => Filled::No,
        Some("cancel") => Filled::Closed,
        Some(_) | None => Filled::Nothing,
    })
}

pub(super) fn by_client(typed: Option<String>) -> Approver {
    Approver::beside_the_agent("the user, at the client", Assurance::Client, typed)
}

/// Tells our question from those of servers.
pub(crate) const KEY: &str = "dev.yesgate/confirm";
