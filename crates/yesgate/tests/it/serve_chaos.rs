//! Servers behind `serve` that die, hang, drip, babble or lie: each caller gets a clear answer, the ledger an
//! honest outcome, others do not notice, memory stays bounded, and nothing gated runs twice.

mod others;
mod pipes;
mod web;

use serde_json::{Value, json};
use yesgate_testkit::{
    Gateway, MockEras, MockHttp, ServeStage, WebHost, confirm_token, eventually, intent_id,
};

/// The most memory that a gateway may ever have had, whatever its servers do: a debug build with a few
/// answers of the largest size under way.
const MOST_MEMORY: u64 = 192 << 20;

/// What becomes of a gated call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fate {
    /// The server answered.
    Ok,
    /// The server turned it away.
    TurnedAway,
    /// It may have run.
    Unknown,
}

impl Fate {
    /// As the ledger tells it: the state, and the outcome if there is one.
    fn told(self) -> (&'static str, Value) {
        match self {
            Self::Ok => ("done", json!("ok")),
            Self::TurnedAway => ("done", json!("tool_error")),
            Self::Unknown => ("unknown", Value::Null),
        }
    }
}

/// A gateway with one server over HTTP, `web`, and one on stdio, `notes`.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    server: MockHttp,
}

impl Play {
    /// With these further lines of configuration.
    #[track_caller]
    fn new(eras: MockEras, further: &str) -> Self {
        let server = MockHttp::start(eras);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let toml = format!("{}{}{further}", stage.web("web", &server), stage.child("notes", &[]));
        let stage = stage.config(&toml);
        let gateway = stage.start();
        Self { stage, gateway, server }
    }

    /// With a key for each of two users.
    #[track_caller]
    fn with_keys(eras: MockEras) -> (Self, [String; 2]) {
        let mut play = Self::new(eras, "");
        let keys = ["alice", "bob"].map(|user| play.stage.key(user));
        // A gateway that starts with keys knows them from its first request on.
        assert!(play.gateway.close().success());
        play.gateway = play.stage.start();
        (play, keys)
    }

    /// Ends the gateway, and joins what the server received with what the ledger says.
    #[track_caller]
    fn finish(mut self, gated: usize) {
        let peak = self.gateway.peak_memory();
        assert!(peak <= MOST_MEMORY, "the gateway had {} MiB at its peak", peak >> 20);
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        let history = self.stage.check_web_history("web", &self.server, &UNGATED);
        assert_eq!((history.gated, history.redeemed), (gated, gated));
        self.stage.check_history("notes", &UNGATED);
    }
}

const UNGATED: [&str; 3] = ["read_note", "echo", "bytes"];

/// An answer to a call that waits for a yes, and what brings the yes.
struct Held {
    intent: String,
    arguments: Value,
}

/// Asks about deleting a note.
async fn hold(host: &WebHost, note: &str) -> Held {
    let held = host.call("delete_note", json!({"id": note})).await;
    let arguments = json!({"id": note, "confirm_token": confirm_token(&held)});
    Held { intent: intent_id(&held), arguments }
}

/// Waits until the ledger knows what became of a call.
async fn fate(stage: &ServeStage, intent: &str, expected: Fate) {
    let (state, outcome) = expected.told();
    let what = format!("{intent} is {expected:?}");
    eventually(&what, async || {
        let shown = stage.shown(intent);
        (shown["state"] == state && shown["outcome"] == outcome).then_some(())
    })
    .await;
}

fn is_ok(answer: &Value) -> bool {
    answer.get("result").is_some_and(|result| result["isError"] != true)
}

/// Reads until it works: a server that was lost is looked for again after a moment.
async fn wait_for_server(host: &WebHost) {
    eventually("the server is back", async || {
        is_ok(&host.call("read_note", json!({"id": "a"})).await).then_some(())
    })
    .await;
}
