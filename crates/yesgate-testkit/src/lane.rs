//! The four ways into the gateway, so that one test can show a promise on all of them: `yesgate wrap` on stdio and
//! `yesgate serve` over HTTP, in either era of the protocol.
//!
//! Behind each stands the same mock server on stdio under the name `mock`, with the same configuration and the same
//! log. A [`Player`] is one client; everything it does blocks and has a deadline, whatever the lane. It is strict:
//! an answer that does not fit the output schema that its tool is offered with is a panic when the client leaves.
//!
//! ```no_run
//! use serde_json::json;
//! use yesgate_testkit::{Human, Lane, structured};
//!
//! # let yesgate = "target/debug/yesgate"; // In a test: `env!("CARGO_BIN_EXE_yesgate")`.
//! for lane in Lane::ALL {
//!     let mut player = lane.open(yesgate, "", json!({"elicitation": {}}));
//!     let told = player.call_answering("delete_note", json!({"id": "a"}), Human::Accepts);
//!     assert_eq!(structured(&told.answer)["deleted"], "a");
//!     player.finish(1);
//! }
//! ```

mod client;
mod human;
mod player;
mod promise;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::runtime::Runtime;

pub use self::human::{Answers, Human};
pub use self::player::{Pending, Player, Told};
use crate::host::Host;
use crate::mock_server::protocol::LEGACY_VERSION;
use crate::serve_stage::{Gateway, ServeStage};
use crate::stage::Output;
use crate::web_host::WebHost;

/// A way into the gateway.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lane {
    /// `yesgate wrap`, in a session.
    StdioLegacy,
    /// `yesgate wrap`, each request by itself.
    StdioModern,
    /// `yesgate serve`, in a session.
    HttpLegacy,
    /// `yesgate serve`, each request by itself.
    HttpModern,
}

/// The rules of the protocol that hold on a lane.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LaneEra {
    /// Up to 2025-11-25: the human is asked by a request in the middle of the call.
    Legacy,
    /// From 2026-07-28: the human is asked by an answer, and the client comes back.
    Modern,
}

impl Lane {
    /// All four.
    pub const ALL: [Self; 4] = [Self::StdioLegacy, Self::StdioModern, Self::HttpLegacy, Self::HttpModern];

    /// The rules that hold here.
    pub const fn era(self) -> LaneEra {
        match self {
            Self::StdioLegacy | Self::HttpLegacy => LaneEra::Legacy,
            Self::StdioModern | Self::HttpModern => LaneEra::Modern,
        }
    }

    /// Prepares a play on this lane for this `yesgate` binary: in a test of crate `yesgate`,
    /// `env!("CARGO_BIN_EXE_yesgate")`.
    #[track_caller]
    pub fn setup(self, yesgate: impl Into<PathBuf>) -> Setup {
        // A test that fails shows on which lane.
        eprintln!("{self:?}");
        Setup {
            lane: self,
            stage: ServeStage::new(yesgate),
            config: String::new(),
            flags: Vec::new(),
            ungated: vec!["read_note".into()],
            greeting: Greeting { revision: LEGACY_VERSION.into(), first: First::ItsEra },
        }
    }

    /// Starts a play with this configuration and one client with these capabilities.
    #[track_caller]
    pub fn open(self, yesgate: impl Into<PathBuf>, config: &str, capabilities: Value) -> Player {
        self.setup(yesgate).config(config).open(capabilities)
    }

    const fn is_web(self) -> bool {
        match self {
            Self::StdioLegacy | Self::StdioModern => false,
            Self::HttpLegacy | Self::HttpModern => true,
        }
    }
}

/// A play that has not begun.
#[derive(Debug)]
pub struct Setup {
    lane: Lane,
    stage: ServeStage,
    config: String,
    flags: Vec<String>,
    ungated: Vec<String>,
    greeting: Greeting,
}

/// How the clients of a play open a session.
#[derive(Clone, Debug)]
struct Greeting {
    revision: String,
    first: First,
}

/// What a client on stdio says first.
#[derive(Clone, Copy, Debug)]
enum First {
    /// The word of its lane's era.
    ItsEra,
    /// `server/discover`, which the server does not know, before it opens a session.
    Discover,
}

impl Setup {
    /// Gives the gateway a configuration, beside the server that always stands in it.
    #[must_use]
    pub fn config(mut self, toml: &str) -> Self {
        self.config = toml.into();
        self
    }

    /// Sets a variable for every process.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.stage = self.stage.env(name, value);
        self
    }

    /// Adds to the mock server's command line.
    #[must_use]
    pub fn server_args(mut self, words: &[&str]) -> Self {
        self.flags.extend(words.iter().map(ToString::to_string));
        self
    }

    /// Tells [`Player::finish`] that these tools may run without a question; `read_note` always may.
    #[must_use]
    pub fn ungated(mut self, tools: &[&str]) -> Self {
        self.ungated.extend(tools.iter().map(ToString::to_string));
        self
    }

    /// Has the clients ask for this revision when they open a session.
    #[must_use]
    pub fn revision(mut self, revision: &str) -> Self {
        self.greeting.revision = revision.into();
        self
    }

    /// Has the clients look for the new era before they open a session, and puts a server behind the gateway that
    /// knows only the old one. For [`Lane::StdioLegacy`]: over HTTP the gateway speaks the new one itself.
    #[must_use]
    pub fn falling_back(mut self) -> Self {
        self.greeting.first = First::Discover;
        self.server_args(&["--era", "legacy"])
    }

    /// Begins, with one client called `testkit`.
    #[track_caller]
    pub fn open(self, capabilities: Value) -> Player {
        self.open_as("testkit", capabilities)
    }

    /// Begins, with one client of this name.
    #[track_caller]
    pub fn open_as(self, name: &str, capabilities: Value) -> Player {
        let Self { lane, stage, config, flags, ungated, greeting } = self;
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let server = stage.child(SERVER, &flags);
        let words = stage.child_words(SERVER, &flags);
        let stage = stage.config(&format!("{config}\n{server}"));
        let web = lane.is_web().then(|| Web::new(&stage));
        let play = Play { lane, stage, server, words, ungated, greeting, web };
        Player::enter(Arc::new(play), name, capabilities)
    }
}

/// What all clients of one test share: the gateway, its home and the server behind it.
#[derive(Debug)]
pub struct Play {
    lane: Lane,
    stage: ServeStage,
    /// The part of the configuration that never changes.
    server: String,
    words: Vec<String>,
    ungated: Vec<String>,
    greeting: Greeting,
    web: Option<Web>,
}

/// `yesgate serve`, and what drives its clients.
#[derive(Debug)]
struct Web {
    runtime: Runtime,
    gateway: Mutex<Option<Gateway>>,
}

impl Play {
    /// The lane it is played on.
    pub fn lane(&self) -> Lane {
        self.lane
    }

    /// Runs `yesgate` with these words, in the same home, to its end.
    #[track_caller]
    pub fn yesgate(&self, words: &[&str]) -> Output {
        self.stage.stage().yesgate(words)
    }

    /// Says yes to a question at the command line, and waits until its call has run.
    #[track_caller]
    pub fn approve(&self, intent: &str) -> Output {
        self.stage.approve(intent)
    }

    /// The questions that are open.
    #[track_caller]
    pub fn pending(&self) -> Vec<Value> {
        self.stage.stage().pending()
    }

    /// Waits until a question waits for an answer, and gives its id back.
    ///
    /// # Panics
    /// When none comes in time.
    #[track_caller]
    pub fn question(&self) -> String {
        let question = self.stage.stage().wait_for_question();
        question["intent_id"].as_str().expect("a question has an id").to_owned()
    }

    /// One question, as `yesgate show --json` prints it.
    #[track_caller]
    pub fn shown(&self, intent: &str) -> Value {
        self.stage.shown(intent)
    }

    /// The state of a question.
    ///
    /// # Panics
    /// When there is no such question.
    #[track_caller]
    pub fn state(&self, intent: &str) -> String {
        self.shown(intent)["state"].as_str().expect("a question has a state").to_owned()
    }

    /// All rows of the audit trail, the oldest first.
    #[track_caller]
    pub fn audit(&self) -> Vec<Value> {
        self.stage.stage().audit()
    }

    /// How well a human was proven by each yes so far.
    ///
    /// # Panics
    /// When a yes says nothing about that.
    #[track_caller]
    pub fn yeses(&self) -> Vec<String> {
        let rows = self.audit();
        let yeses = rows.iter().filter(|row| row["entry"]["event"] == "approved");
        yeses.map(|row| row["entry"]["assurance"].as_str().expect("a yes says it").to_owned()).collect()
    }

    /// The `tools/call` messages that reached the server, in order.
    pub fn upstream_calls(&self) -> Vec<Value> {
        self.stage.calls(SERVER)
    }

    /// The arguments with which one tool was called at the server, each time.
    pub fn runs(&self, tool: &str) -> Vec<Value> {
        let calls = self.upstream_calls().into_iter().filter(|call| call["params"]["name"] == tool);
        calls.map(|call| call["params"]["arguments"].clone()).collect()
    }

    /// The folder of the ledger.
    pub fn home(&self) -> PathBuf {
        self.stage.stage().home()
    }

    /// Replaces the configuration for gateways that start from now on.
    pub fn set_config(&self, toml: &str) {
        self.stage.set_config(&format!("{toml}\n{}", self.server));
    }

    /// Compares what reached the server with what the ledger says.
    #[track_caller]
    fn check_history(&self, gated: usize) {
        let ungated: Vec<&str> = self.ungated.iter().map(String::as_str).collect();
        assert_eq!(self.stage.check_history(SERVER, &ungated).gated, gated, "runs after a yes");
    }

    /// `yesgate wrap`, with nobody speaking yet.
    #[track_caller]
    fn wrap(&self) -> Host {
        let mut words: Vec<&str> = vec!["wrap", "--name", SERVER, "--"];
        words.extend(self.words.iter().map(String::as_str));
        Host::spawn(self.stage.stage().command(&words))
    }
}

impl Web {
    #[track_caller]
    fn new(stage: &ServeStage) -> Self {
        // A worker of its own: streams go on while the test does something else.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let gateway = Mutex::new(Some(stage.start()));
        Self { runtime: runtime.expect("a runtime can be made"), gateway }
    }

    /// A client of the server's own endpoint.
    #[track_caller]
    fn host(&self) -> WebHost {
        self.gateway().as_ref().expect("the gateway runs").server(SERVER)
    }

    /// Ends the gateway.
    #[track_caller]
    fn close(&self) {
        if let Some(mut gateway) = self.gateway().take() {
            let status = gateway.close();
            assert!(status.success(), "{status}\n{}", gateway.stderr());
        }
    }

    fn gateway(&self) -> MutexGuard<'_, Option<Gateway>> {
        self.gateway.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the server is called.
const SERVER: &str = "mock";
