//! Other people's clients at one `yesgate serve`, with six of other people's servers behind it at once.
//!
//! Each client takes the same tour: it lists the tools of all servers and of each one, reads from every server,
//! and has a dangerous call held, approved and run. What ran is read from the world, not from anybody's answer.
//! INVARIANT: the gateway ends well and has complained about nothing, or the test fails.

mod inspector;
mod keys;
mod mcp_remote;
mod rust;
pub(crate) mod scripted;
mod scripts;
mod tasks;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use yesgate_testkit::peers::pinned_node;
use yesgate_testkit::{Host, Stage, confirm_token, intent_id, structured, text, until};

use super::{
    Peer, YESGATE, audited, everything, filesystem, forget_git, git, git_in, installed, node, repository,
};

/// The version that each era negotiates.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// The servers, in the order in which the endpoint of all of them lists their tools.
const SERVERS: [&str; 6] = ["everything", "files", "fixture", "git", "memory", "time"];

/// The tools that the gateway adds where tools are gated.
const OWN: [&str; 3] = ["yesgate_approve", "yesgate_reject", "yesgate_status"];

/// A foreign client, as far as the tour needs it. Answers are put where JSON-RPC has them.
trait Client {
    /// Opens a conversation in place of the one before; gives back the protocol version.
    fn connect(&mut self, url: &str) -> String;

    fn tools(&mut self) -> Vec<String>;

    fn call(&mut self, tool: &str, arguments: &Value) -> Value;
}

/// A running gateway with six servers behind it.
struct Served {
    origin: String,
    gateway: Host,
    /// The one server that is reached over HTTP.
    _fixture: Host,
    stage: Stage,
    folder: TempDir,
    repository: PathBuf,
}

impl Served {
    /// Starts everything; whoever calls is the local user.
    #[track_caller]
    fn start() -> Self {
        Self::start_after(|_| ())
    }

    /// Starts everything behind a key, which is given back.
    #[track_caller]
    fn start_with_key() -> (Self, String) {
        let mut key = String::new();
        let served = Self::start_after(|stage| {
            key = stage.yesgate(&["keys", "add", "--user", "ann"]).ok().stdout.trim().to_owned();
        });
        (served, key)
    }

    /// Does something on the stage first.
    #[track_caller]
    fn start_after(prepare: impl FnOnce(&Stage)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("poem.txt"), "roses").unwrap();
        let repository = repository(folder.path());
        git_in(&repository, &["add", "poem.txt"]);
        let stage = Stage::new(YESGATE).config("");
        let mut fixture = std::process::Command::new(stage.conformance_server());
        fixture.args(["--http", "127.0.0.1:0"]);
        let fixture = Host::spawn(fixture);
        let url = until("the fixture's address", || fixture.all_stdout().into_iter().next());
        stage.set_config(&configuration(folder.path(), &repository, &url));
        prepare(&stage);

        let mut command = stage.command(&["serve", "--listen", "127.0.0.1:0"]);
        forget_git(&mut command);
        let gateway = Host::spawn(command);
        let origin = until("the gateway's address", || {
            let said = gateway.stderr();
            let line = said.lines().find_map(|line| line.strip_prefix("listening on "))?;
            said.ends_with('\n').then(|| line.to_owned())
        });
        Self { origin, gateway, _fixture: fixture, stage, folder, repository }
    }

    /// The endpoint of all servers.
    fn all(&self) -> String {
        format!("{}/api/mcp", self.origin)
    }

    /// The endpoint of one server.
    fn only(&self, server: &str) -> String {
        format!("{}/mcp/{server}", self.origin)
    }

    /// One read of each server: the tool, its arguments, and something that the answer's first text has.
    fn reads(&self) -> [(&'static str, &'static str, Value, &'static str); 6] {
        [
            ("everything", "echo", json!({"message": "hello"}), "Echo: hello"),
            ("files", "read_text_file", json!({"path": self.folder.path().join("poem.txt")}), "roses"),
            ("fixture", "test_simple_text", json!({}), "simple text response"),
            ("git", "git_log", json!({"repo_path": self.repository}), "A poem"),
            ("memory", "read_graph", json!({}), "\"entities\": []"),
            ("time", "get_current_time", json!({"timezone": "UTC"}), "\"timezone\": \"UTC\""),
        ]
    }

    /// Tells the gateway to end, when all clients have left. Its word about the calls is checked.
    #[track_caller]
    fn end(mut self, redeemed: usize) {
        self.gateway.signal("TERM");
        let status = self.gateway.ended();
        let said = self.gateway.stderr();
        assert!(status.success(), "{status}: {said}");
        let complaint = |line: &&str| line.contains(" WARN yesgate") || line.contains(" ERROR yesgate");
        assert_eq!(said.lines().find(complaint), None);
        assert_eq!(audited(&self.stage, "redeemed"), redeemed);
    }

    /// H1, H4: a file is written by the second call, not by the first, and not again by the third.
    #[track_caller]
    fn write_once(&self, client: &mut dyn Client, tool: &str) {
        let file = self.folder.path().join("letter.txt");
        let mut arguments = json!({"path": file, "content": "Dear"});
        let held = client.call(tool, &arguments);
        assert_eq!(structured(&held)["status"], "confirmation_required", "{held:#}");
        assert!(!file.exists());
        // What the agent is told to do holds at both kinds of endpoint: only one of them calls the tool so.
        let message = structured(&held)["message"].as_str().unwrap();
        assert!(message.contains("repeat the call") && !message.contains("`write_file`"), "{message}");

        arguments["confirm_token"] = confirm_token(&held).into();
        let ran = client.call(tool, &arguments);
        assert!(text(&ran).starts_with("Successfully wrote"), "{ran:#}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "Dear");

        fs::remove_file(&file).unwrap();
        let again = client.call(tool, &arguments);
        let message = again["error"]["message"].as_str().unwrap_or_else(|| panic!("no refusal: {again:#}"));
        assert!(message.contains("onfirm token does not exist or was already used"), "{message}");
        assert!(!file.exists());
    }

    /// I5: a human says yes in another terminal; the call runs then, and repeated it hands over the result.
    #[track_caller]
    fn commit_once(&self, client: &mut dyn Client, tool: &str) {
        let commits = || git_in(&self.repository, &["rev-list", "--count", "HEAD"]);
        let arguments = json!({"repo_path": self.repository, "message": "Flowers"});
        let held = client.call(tool, &arguments);
        assert_eq!(structured(&held)["confirm_required"], true, "{held:#}");
        assert_eq!(commits(), "1");
        let said = self.stage.yesgate(&["approve", &intent_id(&held), "--yes"]).ok().stdout;
        assert!(said.contains("It ran once: ok."), "{said}");
        assert_eq!(commits(), "2");
        let handed = client.call(tool, &arguments);
        assert!(text(&handed).starts_with("Changes committed"), "{handed:#}");
        assert_eq!(commits(), "2");
    }

    /// Reads from every server at the endpoint of all.
    #[track_caller]
    fn read_all(&self, client: &mut dyn Client) {
        for (server, tool, arguments, expected) in self.reads() {
            let read = client.call(&format!("{server}__{tool}"), &arguments);
            assert!(text(&read).contains(expected), "{server}: {read:#}");
        }
    }

    /// The tour at the endpoint of all servers; gives back the names of the tools. One call is redeemed by it.
    #[track_caller]
    fn tour_all(&self, client: &mut dyn Client, version: &str) -> Vec<String> {
        assert_eq!(client.connect(&self.all()), version);
        let tools = client.tools();
        self.read_all(client);
        self.write_once(client, "files__write_file");
        tools
    }

    /// The tour at the endpoint of each server, whose tools are those that the endpoint of all servers has, under
    /// their own names. One call is redeemed by it.
    #[track_caller]
    fn tour_each(&self, client: &mut dyn Client, version: &str, mut all: Vec<String>) {
        let mut expected: Vec<String> = OWN.map(String::from).into();
        for (server, tool, arguments, answer) in self.reads() {
            assert_eq!(client.connect(&self.only(server)), version);
            expected.extend(prefixed(server, &client.tools()));
            let read = client.call(tool, &arguments);
            assert!(text(&read).contains(answer), "{server}: {read:#}");
            if server == "git" {
                self.commit_once(client, "git_commit");
            }
        }
        // The order is the server's own at one endpoint and that of the alphabet at the other.
        expected.sort();
        all.sort();
        assert_eq!(all, expected);
    }
}

/// A server's own tools, as the endpoint of all servers calls them.
fn prefixed(server: &str, tools: &[String]) -> Vec<String> {
    let own = tools.iter().filter(|name| !OWN.contains(&name.as_str()));
    own.map(|name| format!("{server}__{name}")).collect()
}

/// The reference server that remembers a graph: TypeScript SDK, legacy era.
fn memory() -> Peer {
    Peer { name: "memory", words: node("server-memory", &[]) }
}

/// The reference server that knows the time: Python SDK, both eras.
fn time() -> Peer {
    let program = installed("python/bin/mcp-server-time");
    Peer { name: "time", words: vec![program.into(), "--local-timezone".into(), "UTC".into()] }
}

/// Five servers that are believed, and the Rust SDK's over HTTP, whose tools say nothing about themselves.
fn configuration(folder: &Path, repository: &Path, fixture: &str) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    // Some of these hosts can show forms; our own question is put in the conversation here.
    let mut toml = String::from("channel = \"chat\"\n");
    for peer in [everything(), filesystem(folder), git(repository), memory(), time()] {
        let words: Vec<String> = peer.words.iter().map(|word| quoted(word.to_str().unwrap())).collect();
        toml += &format!("[servers.{}]\ncommand = [{}]\ntrusted = true\n", peer.name, words.join(", "));
        if peer.name == "memory" {
            let file = folder.join("memory.json");
            toml += &format!("env = {{ MEMORY_FILE_PATH = {} }}\n", quoted(file.to_str().unwrap()));
        }
    }
    toml += &format!("[servers.fixture]\nurl = {}\n", quoted(fixture));
    for (tool, class) in [
        ("fixture/*", "read-only"),
        ("git/git_commit", "dangerous"),
        ("everything/trigger-elicitation-request", "dangerous"),
    ] {
        toml += &format!("[[rules]]\ntool = \"{tool}\"\nclass = \"{class}\"\n");
    }
    toml
}
