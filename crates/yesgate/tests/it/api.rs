//! REST for people, beside that for agents: two kinds of callers who are never taken for each other.

mod account;
mod agents;
mod clients;
mod decide;
mod lists;
mod reference;
mod schemathesis;
mod shut;

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, RestAnswer, RestHost, ServeStage, Visitor, eventually};

/// A gateway that wants keys and signed-in people, an agent of ann's, and the first owner's browser.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    ann: RestHost,
    owner: Person,
}

/// Somebody who is signed in, and the token of their session.
struct Person {
    browser: Visitor,
    url: String,
    token: String,
}

const RULES: &str = r#"
[times]
hold = "1s"
[[rules]]
name = "deletes"
tool = "notes/delete_note"
then = "ask"
channel = "web"
assurance = "signed_in"
[[rules]]
tool = "notes/delete_everything"
then = "ask"
channel = "web"
confirm = "type"
type = "args.name"
assurance = "signed_in"
[[rules]]
tool = "notes/write_note"
then = "ask"
channel = "chat"
"#;

impl Play {
    async fn new() -> Self {
        Self::with(RULES).await
    }

    async fn with(rules: &str) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let config = format!("{rules}\n{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        let key = stage.key("ann");
        let gateway = stage.start();
        let ann = gateway.rest().bearer(&key);
        let owner = Person::new(&gateway, &gateway.first_link()).await;
        Self { stage, gateway, ann, owner }
    }

    /// Somebody else, in a browser of their own.
    async fn person(&self, words: &[&str]) -> Person {
        let words = [&["people", "add"], words, &["--json"]].concat();
        let told = self.stage.stage().yesgate(&words).ok().json();
        Person::new(&self.gateway, told["link"].as_str().unwrap()).await
    }

    /// Another key.
    fn key(&self, words: &[&str]) -> (RestHost, Value) {
        let words = [&["keys", "add"], words, &["--json"]].concat();
        let made = self.stage.stage().yesgate(&words).ok().json();
        (self.gateway.rest().bearer(made["key"].as_str().unwrap()), made)
    }

    async fn ask(&self, tool: &str, arguments: Value) -> String {
        self.ann.call("notes", tool, arguments).await.text_of("intent_id")
    }

    async fn delete(&self, note: &str) -> String {
        self.ask("delete_note", json!({"id": note})).await
    }

    /// How a question ended, in the words of the agent's poll.
    async fn polled(&self, intent: &str) -> Value {
        eventually("it is decided", async || {
            let looked = self.ann.get(&question(intent)).await;
            (looked.status == 200 && looked.body["status"] != "pending").then_some(looked.body)
        })
        .await
    }

    fn state(&self, intent: &str) -> Value {
        self.stage.shown(intent)["state"].clone()
    }

    /// The audit rows of this kind.
    fn rows(&self, event: &str) -> Vec<Value> {
        let rows = self.stage.stage().yesgate(&["audit", "list", "--last", "200", "--json"]).ok().json();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["entry"].clone())
            .filter(|entry| entry["event"] == event)
            .collect()
    }

    fn finish(mut self, gated: usize) {
        assert!(self.gateway.close().success());
        assert_eq!(self.stage.check_history("notes", &[]).gated, gated);
    }
}

impl Person {
    async fn new(gateway: &Gateway, link: &str) -> Self {
        let browser = gateway.visitor().sign_in(link).await;
        let mut person = Self { browser, url: gateway.url().to_owned(), token: String::new() };
        person.token = person.get("/api/me").await.text_of("token");
        person
    }

    async fn get(&self, path: &str) -> RestAnswer {
        RestAnswer::read(self.browser.draft("GET", path).send().await).await
    }

    async fn post(&self, path: &str, body: Value) -> RestAnswer {
        let draft = self.browser.draft("POST", path).header("content-type", "application/json");
        let draft = draft.header("origin", &self.url).header("x-yesgate-token", &self.token);
        RestAnswer::read(draft.body(body.to_string()).send().await).await
    }

    async fn delete(&self, path: &str) -> RestAnswer {
        let draft = self.browser.draft("DELETE", path).header("origin", &self.url);
        RestAnswer::read(draft.header("x-yesgate-token", &self.token).send().await).await
    }

    /// Says yes to what there is to see.
    async fn approve(&self, intent: &str) -> RestAnswer {
        let seen = self.get(&question(intent)).await.text_of("digest");
        self.post(&decide(intent), json!({"answer": "approve", "seen": seen})).await
    }
}

fn question(intent: &str) -> String {
    format!("/api/intents/{intent}")
}

fn decide(intent: &str) -> String {
    format!("/api/intents/{intent}/decide")
}

fn cancel(intent: &str) -> String {
    format!("/api/intents/{intent}/cancel")
}

/// Fails unless an answer is a problem with this status and code.
#[track_caller]
fn assert_problem(answer: &RestAnswer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.body["code"]), (status, &json!(code)), "{}", answer.text);
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    assert_eq!(answer.body["status"], status);
}
