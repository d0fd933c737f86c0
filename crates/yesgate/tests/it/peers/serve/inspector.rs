//! The MCP Inspector's command line: every request is a process with a conversation of its own.

use std::ffi::OsString;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, text};

use super::super::on_stage;
use super::{Client, OWN, SERVERS, Served, installed, pinned_node, prefixed};

/// The Inspector at one endpoint.
pub(super) struct Inspector<'a> {
    stage: &'a Stage,
    era: &'static str,
    url: String,
}

impl<'a> Inspector<'a> {
    pub(super) fn new(stage: &'a Stage, era: &'static str, url: &str) -> Self {
        Self { stage, era, url: url.to_owned() }
    }

    /// Makes one request; the answer is the Inspector's own JSON, be it a result or an error.
    #[track_caller]
    pub(super) fn run(&self, words: &[&str]) -> Value {
        let program =
            installed("npm/node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js");
        let mut command: Vec<OsString> = vec![pinned_node().into(), program.into()];
        let place = ["--server-url", &self.url, "--transport", "http", "--protocol-era", self.era];
        // Where a key is wanted it says so, and opens no browser.
        let manner = ["--format", "json", "--quiet", "--stored-auth-only", "--connect-timeout", "90000"];
        command.extend(place.iter().chain(&manner).chain(words).map(Into::into));
        let mut process = Host::spawn(on_stage(self.stage, &command));
        process.close();
        let said =
            if process.all_stdout().is_empty() { process.stderr() } else { process.all_stdout().concat() };
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("no JSON ({error}): {said}"))
    }
}

impl Client for Inspector<'_> {
    /// It says nothing about the version; the era is what it was told.
    fn connect(&mut self, url: &str) -> String {
        url.clone_into(&mut self.url);
        self.era.to_owned()
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        let list = self.run(&["--method", "tools/list"]);
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools: {list:#}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let arguments = arguments.to_string();
        self.run(&["--method", "tools/call", "--tool-name", tool, "--tool-args-json", &arguments])
    }
}

/// The servers start anew with every conversation of the legacy era, so each is read at its own endpoint.
#[test]
fn the_legacy_inspector_uses_six_servers_through_one_gateway() {
    let served = Served::start();
    let mut inspector = Inspector::new(&served.stage, "legacy", &served.all());
    let all = inspector.tools();
    for server in SERVERS {
        assert!(all.iter().any(|name| name.starts_with(&format!("{server}__"))), "{server}: {all:?}");
    }
    for (server, tool, arguments, expected) in served.reads() {
        inspector.connect(&served.only(server));
        let read = inspector.call(tool, &arguments);
        assert!(text(&read).contains(expected), "{server}: {read:#}");
    }
    inspector.connect(&served.only("git"));
    let mut own = prefixed("git", &inspector.tools());
    own.sort();
    assert!(all.windows(own.len()).any(|names| names == own), "{own:?} in {all:?}");
    served.commit_once(&mut inspector, "git_commit");
    served.end(1);
}

/// X10, H1, H4, I5: the whole tour, and a resource and a prompt of it.
#[test]
fn the_modern_inspector_uses_six_servers_through_one_gateway() {
    let served = Served::start();
    let mut inspector = Inspector::new(&served.stage, "modern", &served.all());
    let all = inspector.tools();
    assert!(OWN.iter().all(|own| all.iter().any(|name| name == own)), "{all:?}");
    served.read_all(&mut inspector);
    served.commit_once(&mut inspector, "git__git_commit");
    let read = inspector.run(&["--method", "resources/read", "--uri", "test://static-text"]);
    assert_eq!(read["result"]["contents"][0]["mimeType"], json!("text/plain"), "{read:#}");
    let prompt = inspector.run(&["--method", "prompts/get", "--prompt-name", "everything__simple-prompt"]);
    assert_eq!(prompt["result"]["messages"][0]["role"], "user", "{prompt:#}");
    inspector.connect(&served.only("files"));
    served.write_once(&mut inspector, "write_file");
    served.end(2);
}
