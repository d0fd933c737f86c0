//! Clients that connect by OAuth, over plain HTTP against the real binary: from the first 401 to the last token.
//!
//! The person who lets them in signs in by a link and answers on the real page; nothing here takes another way in.

mod apart;
mod asking;
mod discovery;
mod external;
mod floods;
mod leaks;
mod letting_in;
mod refreshing;
mod registering;
mod revoking;
mod without_a_browser;

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, OAuthClient, RestAnswer, RestHost, ServeStage, Tokens, Visitor};

/// A gateway that lets clients in by OAuth, and the browser of its first owner.
pub(crate) struct Play {
    pub(crate) stage: ServeStage,
    pub(crate) gateway: Gateway,
    pub(crate) owner: Visitor,
}

/// One tool waits for a person who has signed in; the one that reads does not wait.
const RULES: &str = r#"
[times]
hold = "1s"
[[rules]]
name = "deletes"
tool = "notes/delete_note"
then = "ask"
channel = "web"
assurance = "signed_in"
"#;

/// What lets clients in.
const ON: &str = "[oauth]\nenabled = true\n";

impl Play {
    pub(crate) async fn new() -> Self {
        Self::with("").await
    }

    /// With these further lines, which begin below `[oauth]`.
    async fn with(oauth: &str) -> Self {
        Self::on(ServeStage::new(env!("CARGO_BIN_EXE_yesgate")), oauth).await
    }

    /// With a log that says all that it can.
    async fn talkative(oauth: &str) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        Self::on(stage.env("YESGATE_LOG", "trace"), oauth).await
    }

    async fn on(stage: ServeStage, oauth: &str) -> Self {
        let servers = format!("{}{}", stage.child("notes", &[]), stage.child("other", &[]));
        let stage = stage.config(&format!("{ON}{oauth}\n{RULES}\n{servers}"));
        let gateway = stage.start();
        let owner = gateway.visitor().sign_in(&gateway.first_link()).await;
        Self { stage, gateway, owner }
    }

    /// Ends the gateway, however it is, and starts it anew at the same address. Whoever had a connection needs another.
    pub(crate) fn restart(&mut self) {
        self.gateway.kill9();
        self.gateway = self.stage.start_again(&self.gateway);
        self.owner = self.owner.reconnected();
    }

    /// Somebody else, in a browser of their own.
    async fn person(&self, words: &[&str]) -> Visitor {
        let words = [&["people", "add"], words, &["--json"]].concat();
        let told = self.stage.stage().yesgate(&words).ok().json();
        self.gateway.visitor().sign_in(told["link"].as_str().unwrap()).await
    }

    /// A client that needs no secret.
    async fn client(&self) -> OAuthClient {
        OAuthClient::register(self.gateway.url(), Some("none")).await
    }

    /// A client that the owner let in.
    async fn connected(&self) -> (OAuthClient, Tokens) {
        let client = self.client().await;
        let tokens = client.connect(&self.owner).await;
        (client, tokens)
    }

    /// Calls of tools with this token.
    fn rest(&self, tokens: &Tokens) -> RestHost {
        self.gateway.rest().bearer(&tokens.access)
    }

    /// The steps of this kind that the audit trail has.
    pub(crate) fn steps(&self, step: &str) -> Vec<Value> {
        let rows = self.stage.stage().audit().into_iter().map(|row| row["entry"].clone());
        rows.filter(|entry| entry["event"] == "oauth" && entry["step"] == step).collect()
    }

    pub(crate) fn finish(mut self, gated: usize) {
        assert!(self.gateway.close().success());
        assert_eq!(self.stage.check_history("notes", &["read_note", "write_note"]).gated, gated);
    }
}

/// Reads a note: what every token that counts can do.
async fn read(rest: &RestHost) -> RestAnswer {
    rest.call("notes", "read_note", json!({"id": "a"})).await
}

/// Fails unless this token lets nobody in.
#[track_caller]
fn assert_out(answer: &RestAnswer) {
    assert_eq!(answer.status, 401, "{}", answer.text);
    let told = answer.header("www-authenticate").unwrap_or_default();
    assert!(told.contains("error=\"invalid_token\""), "{told}");
}

/// Fails unless an answer is an error of an OAuth endpoint.
#[track_caller]
fn assert_error(answer: &RestAnswer, status: u16, error: &str) {
    assert_eq!((answer.status, &answer.body["error"]), (status, &json!(error)), "{}", answer.text);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_unstored(answer);
}

/// O-D12: fails unless nobody on the way may keep an answer.
#[track_caller]
fn assert_unstored(answer: &RestAnswer) {
    assert!(answer.header("cache-control").is_some_and(|value| value.contains("no-store")), "{answer:?}");
}

/// What a page of ours needs of a program that deletes something for somebody who has signed in.
async fn delete(browser: &Visitor, gateway: &Gateway, path: &str) -> RestAnswer {
    let me = RestAnswer::read(browser.draft("GET", "/api/me").send().await).await;
    let draft = browser.draft("DELETE", path).header("origin", gateway.url());
    let draft = draft.header("x-yesgate-token", &me.text_of("token"));
    RestAnswer::read(draft.send().await).await
}
