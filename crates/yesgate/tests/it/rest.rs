//! The REST twin of every tool (H8), questions to look up (H3) and consent for applications (H10), by real HTTP
//! through the real binary.

mod calls;
mod consent;
mod document;
mod late;
mod look;
mod problems;
mod shut;

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, RestAnswer, RestHost, ServeStage, eventually};

/// A gateway with one server on stdio, `notes`.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
}

impl Play {
    #[track_caller]
    fn new() -> Self {
        Self::with("", &[])
    }

    /// With these first lines of configuration, and these flags for the server.
    #[track_caller]
    fn with(config: &str, flags: &[&str]) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let config = format!("{config}\n{}", stage.child("notes", flags));
        let stage = stage.config(&config);
        let gateway = stage.start();
        Self { stage, gateway }
    }

    /// A gateway that wants keys, and clients with these users and programs.
    #[track_caller]
    fn keyed<const N: usize>(config: &str, callers: [(&str, &str); N]) -> (Self, [RestHost; N]) {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let config = format!("{config}\n{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        let keys = callers.map(|(user, client)| {
            let args = ["keys", "add", "--user", user, "--client", client, "--json"];
            let made = stage.stage().yesgate(&args).ok().json();
            made["key"].as_str().unwrap().to_owned()
        });
        let gateway = stage.start();
        let hosts = keys.map(|key| gateway.rest().bearer(&key));
        (Self { stage, gateway }, hosts)
    }

    fn host(&self) -> RestHost {
        self.gateway.rest()
    }

    async fn is(&self, intent: &str, state: &str) {
        let what = format!("{intent} is {state}");
        eventually(&what, async || (self.stage.shown(intent)["state"] == state).then_some(())).await;
    }

    /// How many calls reached the server.
    fn ran(&self) -> usize {
        self.stage.calls("notes").len()
    }

    #[track_caller]
    fn finish(mut self, gated: usize) {
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        let history = self.stage.check_history("notes", &["read_note", "delete_everything"]);
        assert_eq!((history.gated, history.redeemed), (gated, gated));
    }
}

/// The body with another member.
fn and(mut body: Value, key: &str, value: impl Into<Value>) -> Value {
    body[key] = value.into();
    body
}

/// Fails unless an answer is a refusal with this status and code.
#[track_caller]
fn assert_refused(answer: &RestAnswer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.body["error"]), (status, &json!(code)), "{}", answer.text);
}
