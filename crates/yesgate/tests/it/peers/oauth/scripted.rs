//! Clients that are libraries, by scripts of ours (`peers/scripts/oauth_*`), which do what a test orders line by line:
//!
//! - `{"connect": URL, "mode": MODE, "method": METHOD}` opens a conversation in place of the one before, with what the
//!   client kept from it; the answer is `{"version": …}`. The method is how the client wants to prove itself, if it says.
//! - `{"tools": true}` and `{"call": TOOL, "arguments": {…}}` use it.
//! - `{"spoil": true}` has the client believe or find that its access token does not count any more.
//! - `{"secrets": true}` asks for every secret that it was ever given.
//!
//! Meanwhile `{"open": URL}` says that a browser is opened. The test answers `{"answer": URL}` when the browser came back,
//! unless the client listens for that itself. `{"broken": WHY}` answers an order that could not be carried out.

use serde_json::{Value, json};
use yesgate_testkit::consent::deliver;
use yesgate_testkit::peers::pinned_node;
use yesgate_testkit::{Host, Visitor};

use super::{Play, START, Says, assert_unwritten, endpoint, installed, on_stage, python, revoke_all};

/// A library's client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Library {
    TypeScript,
    Python,
    FastMcp,
}

struct Scripted {
    library: Library,
    process: Host,
    orders: u64,
}

/// What became of an order, and how often the person was asked meanwhile.
struct Done {
    answer: Value,
    asked: usize,
}

impl Scripted {
    #[track_caller]
    fn start(play: &Play, library: Library) -> Self {
        let (program, script) = match library {
            Library::TypeScript => (pinned_node(), "oauth_typescript.cjs"),
            Library::Python => (python(), "oauth_python.py"),
            Library::FastMcp => (python(), "oauth_fastmcp.py"),
        };
        let scripts = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers/scripts");
        let mut command = on_stage(play.stage.stage(), &[program.into(), scripts.join(script).into()]);
        command.env("NODE_PATH", installed("npm/node_modules"));
        // The scripts' folder is part of the source, and stays as it is.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        Self { library, process: Host::spawn(command), orders: 0 }
    }

    /// Gives an order, and has the person answer wherever the client sends them.
    async fn order(&mut self, mut order: Value, person: &Visitor, says: Says) -> Done {
        self.orders += 1;
        order["order"] = self.orders.into();
        self.process.send(&order);
        let mut asked = 0;
        loop {
            let number = self.orders;
            let line =
                self.process.recv_where(|line| line["order"] == number || line.get("open").is_some(), START);
            let line =
                line.unwrap_or_else(|| panic!("no answer to {order}; stderr:\n{}", self.process.stderr()));
            let Some(url) = line["open"].as_str() else { return Done { answer: line, asked } };
            asked += 1;
            let back = says.at(person, url).await;
            match (self.library, back) {
                (Library::FastMcp, Some(back)) => {
                    deliver(&back).await;
                }
                (Library::FastMcp, None) => panic!("it looks at the page first, and does not open a bad one"),
                (Library::TypeScript | Library::Python, back) => {
                    let back =
                        back.unwrap_or_else(|| "http://127.0.0.1:7777/callback?error=closed".to_owned());
                    self.process.send(&json!({"answer": back}));
                }
            }
        }
    }

    /// Gives an order that must be carried out, without anybody being asked.
    async fn alone(&mut self, order: Value, play: &Play) -> Value {
        let done = self.order(order, &play.owner, Says::No).await;
        assert_eq!(done.asked, 0, "nobody had to be asked: {:#}", done.answer);
        assert!(done.answer.get("broken").is_none(), "{:#}\n{}", done.answer, self.process.stderr());
        done.answer
    }

    async fn read(&mut self, play: &Play) {
        let read = self.alone(json!({"call": "notes__read_note", "arguments": {"id": "a"}}), play).await;
        assert_ne!(read["result"]["isError"], true, "{read:#}");
        assert!(read["result"]["content"].is_array(), "{read:#}");
    }
}

/// The whole life of a connection.
async fn check(library: Library, method: Option<&str>, mode: &str) {
    let mut play = Play::new().await;
    let mut client = Scripted::start(&play, library);
    let connect = json!({"connect": endpoint(&play), "mode": mode, "method": method});
    let first = client.order(connect.clone(), &play.owner, Says::Yes).await;
    assert_eq!(first.asked, 1, "{:#}\n{}", first.answer, client.process.stderr());
    let version = if mode == "legacy" { "2025-11-25" } else { "2026-07-28" };
    assert_eq!(first.answer["version"], version, "{:#}\n{}", first.answer, client.process.stderr());
    let tools = client.alone(json!({"tools": true}), &play).await;
    assert!(tools["tools"].as_array().unwrap().contains(&json!("notes__read_note")), "{tools:#}");
    client.read(&play).await;

    client.alone(json!({"spoil": true}), &play).await;
    client.read(&play).await;
    assert_eq!(play.steps("refreshed").len(), 1);

    play.restart();
    client.alone(connect, &play).await;
    client.read(&play).await;
    assert_eq!(play.steps("connected").len(), 1, "one yes was enough for all of this");

    let secrets = client.alone(json!({"secrets": true}), &play).await;
    revoke_all(&play).await;
    let call = json!({"call": "notes__read_note", "arguments": {"id": "b"}});
    let out = client.order(call, &play.owner, Says::No).await;
    assert!(out.asked > 0 && out.answer.get("result").is_none(), "it is not logged out: {:#}", out.answer);

    let secrets = secrets["secrets"].as_array().unwrap().iter();
    let secrets = secrets.map(|secret| secret.as_str().unwrap().to_owned()).collect();
    assert_unwritten(&play.stage, &play.gateway.stderr(), &secrets);
    client.process.close();
    play.finish(0);
}

/// O2, O3, O5, O6: the TypeScript SDK as a client without a secret.
#[tokio::test]
async fn the_typescript_client_without_a_secret_is_let_in_and_out() {
    check(Library::TypeScript, Some("none"), "auto").await;
}

/// O2, O3, O5, O6, O-R2: the TypeScript SDK as a client that does not say how it proves itself.
#[tokio::test]
async fn the_typescript_client_that_does_not_say_how_is_let_in_and_out() {
    check(Library::TypeScript, None, "auto").await;
}

/// O2, O3, O5, O6: the TypeScript SDK with its secret in the form, in a session of the old era.
#[tokio::test]
async fn the_typescript_client_with_its_secret_in_the_form_is_let_in_and_out() {
    check(Library::TypeScript, Some("client_secret_post"), "legacy").await;
}

/// O2, O3, O5, O6, O-R2, O-T2: the Python SDK as it is, with its secret in a header and its id in the form beside it.
#[tokio::test]
async fn the_python_client_that_does_not_say_how_is_let_in_and_out() {
    check(Library::Python, None, "auto").await;
}

/// O2, O3, O5, O6: the Python SDK as a client without a secret, in a session of the old era.
#[tokio::test]
async fn the_python_client_without_a_secret_is_let_in_and_out() {
    check(Library::Python, Some("none"), "legacy").await;
}

/// O2, O3, O5, O6: the Python SDK with its secret in the form.
#[tokio::test]
async fn the_python_client_with_its_secret_in_the_form_is_let_in_and_out() {
    check(Library::Python, Some("client_secret_post"), "auto").await;
}

/// O2, O3, O5, O6, O-A6: FastMCP's client, which looks at the page before the browser does, listens for the answer
/// itself, and at another port each time.
#[tokio::test]
async fn the_fastmcp_client_is_let_in_and_out() {
    check(Library::FastMcp, None, "auto").await;
}
