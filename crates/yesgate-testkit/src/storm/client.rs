//! Clients that ask, are answered by a person or by themselves, and bring the token to any node until they hear how it
//! ended; and the person.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Plan;
use super::dice::Dice;
use super::nodes::Nodes;
use super::told::{Decision, End, Heard, Told};
use crate::visitor::Visitor;
use crate::web_host::WebHost;

/// One client, which calls one after the other.
#[derive(Debug)]
pub(super) struct Client {
    /// Itself at each node.
    hosts: Vec<WebHost>,
    nodes: Arc<Nodes>,
    person: Arc<Person>,
    seed: u64,
    calls_to_a_command: u64,
    dice: Dice,
}

/// Who decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// The human behind the client: it brings the token.
    Chat,
    /// Somebody over REST says yes.
    Yes,
    /// Somebody over REST says no.
    No,
    /// Somebody says yes with `yesgate approve`.
    Command,
}

/// What came of one try.
enum Try {
    /// The question is open.
    Held { intent: String, token: String },
    /// It ended.
    Ended(End),
    /// It has not ended, or nothing can be said for the moment.
    Later,
    /// The answer is lost.
    Lost,
}

impl Client {
    pub(super) fn new(number: u64, nodes: Arc<Nodes>, person: Arc<Person>, plan: &Plan) -> Self {
        let host =
            |node| WebHost::new(format!("{}/mcp/web", nodes.url(node))).named(&format!("storm-{number}"));
        let hosts = (0..nodes.count()).map(host).collect();
        let (seed, calls_to_a_command) = (plan.seed, plan.calls_to_a_command);
        Self { hosts, nodes, person, seed, calls_to_a_command, dice: Dice::new(seed, number) }
    }

    /// Makes one call, from the question to its end.
    pub(super) async fn call(&mut self, number: u64) -> Told {
        let note = format!("{:x}-{number}", self.seed);
        self.dice = Dice::new(self.seed, number + 1_000_000);
        let mut told =
            Told { note, intent: None, decision: Decision::None, heard: Heard::All, end: End::Silence };
        let way = match (number % self.calls_to_a_command, self.dice.below(20)) {
            (0, _) => Way::Command,
            (_, 0 | 1) => Way::Yes,
            (_, 2) => Way::No,
            (_, _) => Way::Chat,
        };
        let held = self.persist(&json!({"id": told.note}), None).await;
        let (intent, token) = match held {
            (Try::Held { intent, token }, _) => (intent, token),
            (Try::Ended(end), _) => return Told { end, ..told },
            (Try::Later | Try::Lost, _) => return told,
        };
        told.intent = Some(intent.clone());
        told.decision = match way {
            Way::Chat => Decision::None,
            Way::Yes => self.person.decide(&intent, "approve").await,
            Way::No => self.person.decide(&intent, "deny").await,
            Way::Command => self.command(intent).await,
        };
        if way == Way::No && told.decision == Decision::None {
            // Whether the no was taken is not known: bringing the token would say yes to it.
            return told;
        }
        let arguments = json!({"id": told.note, "confirm_token": token});
        match self.persist(&arguments, Some(&told.note)).await {
            (Try::Ended(end), heard) => Told { heard, end, ..told },
            (Try::Held { .. } | Try::Later | Try::Lost, heard) => Told { heard, ..told },
        }
    }

    /// Tries at one node after another until there is an end to it.
    async fn persist(&mut self, arguments: &Value, note: Option<&str>) -> (Try, Heard) {
        let mut heard = Heard::All;
        for _ in 0..TRIES {
            let host = &self.hosts[self.dice.below(self.hosts.len() as u64) as usize];
            let draft = host.draft_call("delete_note", arguments.clone());
            let answer = draft.attempt(LONGEST).await;
            match answer.map_or(Try::Lost, |(_, answer)| Try::read(&answer, note)) {
                Try::Later => {}
                Try::Lost => heard = Heard::Some,
                Try::Held { .. } if note.is_some() => {}
                end @ (Try::Held { .. } | Try::Ended(_)) => return (end, heard),
            }
            tokio::time::sleep(Duration::from_millis(5 + self.dice.below(50))).await;
        }
        (Try::Lost, heard)
    }

    async fn command(&self, intent: String) -> Decision {
        let nodes = Arc::clone(&self.nodes);
        let said = tokio::task::spawn_blocking(move || nodes.stage().yesgate(&["approve", &intent, "--yes"]));
        match said.await.expect("a command ends").status.success() {
            true => Decision::Yes,
            false => Decision::None,
        }
    }
}

impl Try {
    /// Reads the answer to a call; `note` where it brought a token.
    fn read(answer: &Value, note: Option<&str>) -> Self {
        let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let said = "/result/structuredContent";
        if let (Some(token), Some(intent)) =
            (text(&format!("{said}/confirm_token")), text(&format!("{said}/intent_id")))
        {
            return Self::Held { intent, token };
        }
        if note.is_some() && text(&format!("{said}/deleted")).as_deref() == note {
            return Self::Ended(End::Done);
        }
        match text("/error/data/outcome").as_deref() {
            Some("not_sent") if answer.pointer("/error/data/retryable") == Some(&Value::Bool(true)) => {
                return Self::Later;
            }
            Some("not_sent") => return Self::Ended(End::NotSent),
            Some("tool_error") => return Self::Ended(End::TurnedAway),
            Some(_) | None => {}
        }
        let code = text(&format!("{said}/error")).or_else(|| text("/error/data/error"));
        match code.as_deref() {
            Some("execution_unknown") => Self::Ended(End::Unknown),
            Some("execution_in_progress" | "consent_unavailable") => Self::Later,
            Some(code) => Self::Ended(End::Refused(code.to_owned())),
            None => Self::Ended(End::Refused(format!("no code: {answer}"))),
        }
    }
}

/// Somebody who decides at the last node, over REST.
#[derive(Debug)]
pub(super) struct Person {
    browser: Visitor,
    url: String,
    token: String,
}

impl Person {
    pub(super) async fn sign_in(nodes: &Nodes) -> Self {
        // Each node prints a link for the owner when it starts, and the newest counts.
        let last = nodes.count() - 1;
        let url = nodes.url(last).to_owned();
        let browser = Visitor::new(&url).sign_in(&nodes.first_link(last)).await;
        let mut person = Self { browser, url, token: String::new() };
        let (_, me) = person.browser.draft("GET", "/api/me").attempt(LONGEST).await.expect("it is calm yet");
        person.token = me["token"].as_str().expect("a token of the session").to_owned();
        person
    }

    /// Says yes or no to what there is to see; gives back what it was told.
    async fn decide(&self, intent: &str, answer: &str) -> Decision {
        let path = format!("/api/intents/{intent}");
        let Ok((200, shown)) = self.browser.draft("GET", &path).attempt(LONGEST).await else {
            return Decision::None;
        };
        let body = json!({"answer": answer, "seen": shown["digest"]});
        let draft = self.browser.draft("POST", &format!("{path}/decide"));
        let draft = draft.header("content-type", "application/json").header("origin", &self.url);
        let draft = draft.header("x-yesgate-token", &self.token).body(body.to_string());
        match (draft.attempt(LONGEST).await, answer) {
            (Ok((200, _)), "approve") => Decision::Yes,
            (Ok((200, _)), _) => Decision::No,
            (Ok(_) | Err(_), _) => Decision::None,
        }
    }
}

/// How often something is tried.
const TRIES: u32 = 100;

/// How long an answer is waited for.
const LONGEST: Duration = Duration::from_secs(10);
