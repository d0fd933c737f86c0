//! Sending the human to a page of ours (URL elicitation), where the question is to be decided there.
//!
//! INVARIANT: that the client opened the page, or says so, decides nothing. The decision is read from the ledger,
//! and the address names the question and nothing else.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Intent, State};
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::policy::{Belief, HostWay};

use super::elicitation::by_client;
use super::late::{Asking, come_back};
use crate::era::Era;
use crate::errand::{Errand, Person};
use crate::front::revision::Revision;
use crate::gate::Gate;
use crate::raw::raw;
use crate::reply::Reply;
use crate::talk::{AskError, Elicitation, Given, InputAnswer, InputMethod, InputRequest, Notice};

/// What the client made of being sent to a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sent {
    /// The human went, or says to be done; or nobody knows: the page decides.
    Maybe,
    /// The human will not go.
    No,
}

impl Gate {
    /// Sends the human to the page where the client can do that, and waits for the decision.
    pub(crate) async fn send_to_page(&self, intent: &Intent, errand: &Errand) -> Reply {
        let id = intent.id();
        let Some((person, url)) = self.page(errand, id) else { return self.wait_elsewhere(id, errand).await };
        let request = InputRequest {
            key: KEY.into(),
            method: InputMethod::Elicitation,
            params: raw(elicitation(intent, &url).to_string()),
        };
        let begun = Instant::now();
        let talk = Arc::clone(&person.talk);
        let mut asking: Asking = Box::pin(async move { talk.ask(vec![request]).await });
        let sent = tokio::select! {
            biased;
            () = errand.cancel.fired() => {
                self.withdraw(id).await;
                return Reply::Silent;
            }
            () = self.decided(id) => match (person.party.era, &errand.job) {
                (Era::Legacy, _) | (Era::Modern, Some(_)) => Sent::Maybe,
                // What was decided is for whoever hears it, when they come back.
                (Era::Modern, None) => match come_back(asking, errand).await {
                    Ok(_) => Sent::Maybe,
                    Err(AskError::Gone | AskError::Late | AskError::Unable) => return Reply::Silent,
                },
            },
            () = self.too_long(person) => Sent::Maybe,
            given = &mut asking => {
                let is_reflex = person.talk.seen_for(begun) < self.policy().reflex().unsigned_abs();
                if is_reflex { Sent::Maybe } else { read(given) }
            }
        };
        if sent == Sent::No {
            return self.no(id, by_client(None), errand).await;
        }
        let reply = self.wait_elsewhere(id, errand).await;
        match self.ledger.intent(id).await {
            Ok(Some(still)) if still.state() == State::Pending => {
                match Revision::named(&person.party.version) {
                    // It fails, and is told to try again when the page is done: then the same call finds its yes.
                    Some(Revision::November2025) => {
                        self.tell_when_decided(id.clone(), person);
                        let elicitations = json!({"elicitations": [elicitation(intent, &url)]});
                        Reply::error(
                            URL_REQUIRED,
                            "A human must decide on a page. Nothing ran.",
                            Some(elicitations),
                        )
                    }
                    Some(_) | None => reply,
                }
            }
            Ok(_) | Err(_) => {
                person.talk.notify(Notice::elicitation_complete(id.as_str()));
                reply
            }
        }
    }

    /// The page of a question, and who can be sent there.
    fn page<'a>(&self, errand: &'a Errand, id: &IntentId) -> Option<(&'a Person, String)> {
        let person = errand.person.as_ref().filter(|person| person.party.can_elicit(Elicitation::Url))?;
        match self.belief(HostWay::Page, &person.party) {
            Belief::Sworn | Belief::Usual => Some((person, self.pages_for(errand)?.approval(id))),
            Belief::None => None,
        }
    }

    /// Tells a session that its question was decided, or ran out of time.
    fn tell_when_decided(&self, id: IntentId, person: &Person) {
        let Some(session) = person.party.session.clone() else { return };
        let ledger = self.ledger.clone();
        tokio::spawn(async move {
            let mut changes = ledger.changes();
            while let Ok(Some(intent)) = ledger.intent(&id).await
                && intent.state() == State::Pending
                && ledger.now() < intent.decide_by()
            {
                let left = intent.decide_by().duration_since(ledger.now()).unsigned_abs();
                // Nobody announces that a question's own time is over.
                drop(tokio::time::timeout(left, changes.changed()).await);
            }
            session.notify(Notice::elicitation_complete(id.as_str()));
        });
    }
}

fn elicitation(intent: &Intent, url: &str) -> Value {
    let summary = &intent.question().summary;
    let code = intent.digest().match_code();
    json!({
        "mode": "url",
        "elicitationId": intent.id().as_str(),
        "url": url,
        "message": format!("{summary}\nDecide on the page; its code is {code}."),
    })
}

fn read(given: Result<Vec<InputAnswer>, AskError>) -> Sent {
    let answer = given.unwrap_or_default().into_iter().find(|answer| answer.key == KEY);
    let Some(Given::Result(result)) = answer.map(|answer| answer.answer) else { return Sent::Maybe };
    let result = parse_lenient(result.get().as_bytes(), Limits::SERVER).unwrap_or_default();
    match result.get("action").and_then(Value::as_str) {
        Some("decline") => Sent::No,
        // Opened, closed or anything else: the page is where it is decided.
        Some(_) | None => Sent::Maybe,
    }
}

/// Tells our question from those of servers.
const KEY: &str = "dev.yesgate/page";

/// The error of 2025-11-25 that sends a human to a page.
const URL_REQUIRED: i64 = -32042;
