//! The pages on which people decide, by plain HTTP as a browser without scripts speaks it.

mod approvers;
mod budgets;
mod clients;
mod decide;
mod edit;
mod figures;
mod people;
mod policy;
mod receipts;
mod sign_in;
mod tools;
mod verified;

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, Page, RestHost, ServeStage, Visitor, eventually};

/// A gateway that wants keys and signed-in people, an agent of ann's, and the first owner's browser.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    ann: RestHost,
    owner: Visitor,
}

/// What every question needs here.
const RULES: &str = r#"
[times]
hold = "1s"
[[rules]]
name = "deletes"
tool = "notes/delete_note"
then = "ask"
channel = "web"
assurance = "signed_in"
reason = "a deleted note is gone"
[[rules]]
tool = "notes/delete_everything"
then = "ask"
channel = "web"
confirm = "type"
type = "args.name"
assurance = "signed_in"
"#;

impl Play {
    async fn new() -> Self {
        Self::with("", RULES).await
    }

    /// With these first lines, and these rules.
    async fn with(first: &str, rules: &str) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let config = format!("{first}\n{rules}\n{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        let key = stage.key("ann");
        let gateway = stage.start();
        let ann = gateway.rest().bearer(&key);
        let owner = gateway.visitor().sign_in(&gateway.first_link()).await;
        Self { stage, gateway, ann, owner }
    }

    /// Somebody else, in a browser of their own.
    async fn person(&self, words: &[&str]) -> Visitor {
        let words = [&["people", "add"], words, &["--json"]].concat();
        let told = self.stage.stage().yesgate(&words).ok().json();
        self.gateway.visitor().sign_in(told["link"].as_str().unwrap()).await
    }

    /// Has the agent ask, and gives back the question.
    async fn ask(&self, tool: &str, arguments: Value) -> String {
        self.ann.call("notes", tool, arguments).await.text_of("intent_id")
    }

    /// Has the agent ask to delete a note.
    async fn delete(&self, note: &str) -> String {
        self.ask("delete_note", json!({"id": note})).await
    }

    /// How a question ended, in the words of the agent's poll.
    async fn polled(&self, intent: &str) -> Value {
        eventually("it is decided", async || {
            let looked = self.ann.get(&format!("/api/intents/{intent}")).await;
            (looked.status == 200 && looked.body["status"] != "pending").then_some(looked.body)
        })
        .await
    }

    fn ran(&self) -> usize {
        self.stage.calls("notes").len()
    }

    fn finish(self, gated: usize) {
        self.finish_with(gated, &[]);
    }

    /// The same where these tools ran without a question.
    fn finish_with(mut self, gated: usize, ungated: &[&str]) {
        assert!(self.gateway.close().success());
        assert_eq!(self.stage.check_history("notes", ungated).gated, gated);
    }
}

fn page_of(intent: &str) -> String {
    format!("/approve/{intent}")
}

/// Says yes as soon as anybody could have read the page: before that the same form is refused (REN7).
async fn approve(who: &Visitor, page: &Page, fields: &[(&str, &str)]) -> Page {
    eventually("the yes is not inert any more", async || {
        let answer = who.press(page, ("answer", "approve"), fields).await;
        (!answer.html.contains("faster than anybody can read")).then_some(answer)
    })
    .await
}
