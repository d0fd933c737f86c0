//! Other people's servers and clients with the real binary between them, in both eras of the protocol.
//!
//! `cargo xtask prepare` installs them in exact versions, and `YESGATE_PEERS` says where. INVARIANT: a test
//! that does not find its peers fails; what was not tried is not proved.
#![cfg(test)]

mod asking;
mod bytes;
mod composed;
mod ending;
mod forms;
mod gated;
mod oauth;
mod python_client;
mod rmcp_client;
mod serve;
mod sessions;
mod tool_lists;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use yesgate_testkit::peers::installed;
use yesgate_testkit::{Host, Stage};

const YESGATE: &str = env!("CARGO_BIN_EXE_yesgate");

/// How long a peer may take to come up: a Python on a busy machine needs half a minute.
const START: Duration = Duration::from_secs(90);

/// A foreign server: the operator's name for it, and its command.
#[derive(Debug)]
struct Peer {
    name: &'static str,
    words: Vec<OsString>,
}

/// The reference server for files: TypeScript SDK, legacy era.
fn filesystem(folder: &Path) -> Peer {
    Peer { name: "files", words: node("server-filesystem", &[folder.as_os_str().to_owned()]) }
}

/// The reference server that has everything: TypeScript SDK, legacy era.
fn everything() -> Peer {
    Peer { name: "everything", words: node("server-everything", &["stdio".into()]) }
}

/// The reference server for git: Python SDK, both eras.
fn git(repository: &Path) -> Peer {
    let program = installed("python/bin/mcp-server-git");
    Peer { name: "git", words: vec![program.into(), "--repository".into(), repository.into()] }
}

/// Our own small bank on the Python SDK, both eras: `tests/peers/bank.py`.
fn bank() -> Peer {
    Peer { name: "bank", words: vec![python().into(), script("bank.py").into()] }
}

fn node(package: &str, arguments: &[OsString]) -> Vec<OsString> {
    let program = installed(&format!("npm/node_modules/@modelcontextprotocol/{package}/dist/index.js"));
    [&["node".into(), program.into()], arguments].concat()
}

fn python() -> PathBuf {
    installed("python/bin/python")
}

/// One of our own scripts that play with the peers.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

impl Peer {
    /// Starts it behind the gate.
    fn gated(&self, stage: &Stage) -> Host {
        Host::spawn(self.wrapped(stage))
    }

    /// What a host has in its configuration to start it behind the gate.
    fn wrapped(&self, stage: &Stage) -> Command {
        let mut command = stage.command(&["wrap", "--name", self.name, "--"]);
        command.args(&self.words);
        forget_git(&mut command);
        command
    }

    /// Starts it without a gate.
    fn bare(&self, stage: &Stage) -> Host {
        Host::spawn(on_stage(stage, &self.words))
    }
}

/// Any other command, with the folder and the environment that `yesgate` has on this stage.
fn on_stage(stage: &Stage, words: &[OsString]) -> Command {
    let (program, arguments) = words.split_first().unwrap();
    let mut command = Command::new(program);
    command.args(arguments);
    let yesgate = stage.command::<&str>(&[]);
    command.current_dir(yesgate.get_current_dir().unwrap());
    for (name, value) in yesgate.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    forget_git(&mut command);
    command
}

/// Which protocol a host speaks with a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Era {
    Legacy,
    Modern,
}

/// Opens the conversation, and waits as long as a peer may need to come up.
#[track_caller]
fn open(host: &mut Host, era: Era) -> Value {
    let meta = host.modern_meta();
    let id = match era {
        Era::Legacy => host.request_async(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": meta["io.modelcontextprotocol/clientCapabilities"],
                "clientInfo": meta["io.modelcontextprotocol/clientInfo"],
            }),
        ),
        Era::Modern => {
            host.speak_modern();
            host.request_async("server/discover", json!({"_meta": meta}))
        }
    };
    let is_answer = |message: &Value| message.get("method").is_none() && message["id"] == id;
    let answer = host.recv_where(is_answer, START);
    let answer = answer.unwrap_or_else(|| panic!("the peer never came up; stderr:\n{}", host.stderr()));
    assert!(answer.get("result").is_some(), "the peer did not open the conversation: {answer:#}");
    if era == Era::Legacy {
        host.notify("notifications/initialized", json!({}));
    }
    answer
}

/// A configuration that lets every tool of a server pass.
fn all_pass(peer: &Peer) -> String {
    format!("[[rules]]\ntool = \"{}/*\"\nclass = \"read-only\"\n", peer.name)
}

/// How often something was written to the audit trail, which is checked from end to end.
#[track_caller]
fn audited(stage: &Stage, event: &str) -> usize {
    stage.yesgate(&["audit", "verify"]).ok();
    stage.audit().iter().filter(|row| row.get("entry").unwrap_or(row)["event"] == event).count()
}

/// A repository with one commit, one file that was changed since, and one that git does not know yet. Its
/// times and names are fixed, so that its hashes are.
fn repository(folder: &Path) -> PathBuf {
    let repository = folder.join("repository");
    std::fs::create_dir(&repository).unwrap();
    git_in(&repository, &["init", "--quiet", "--initial-branch=main"]);
    git_in(&repository, &["config", "user.name", "Ann"]);
    git_in(&repository, &["config", "user.email", "ann@example.com"]);
    std::fs::write(repository.join("poem.txt"), "roses\nviolets\n").unwrap();
    git_in(&repository, &["add", "poem.txt"]);
    git_in(&repository, &["commit", "--quiet", "--message", "A poem"]);
    std::fs::write(repository.join("poem.txt"), "roses\nvi\u{f6}lets \u{1f337}\n").unwrap();
    std::fs::write(repository.join("new.txt"), "new\n").unwrap();
    repository
}

/// Runs git itself, not through any server, and gives back what it says.
#[track_caller]
fn git_in(repository: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(repository).args(arguments);
    forget_git(&mut command);
    for variable in ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] {
        command.env(variable, "2026-01-02T03:04:05+00:00");
    }
    let output =
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A test that runs in a hook of git must not work on the repository whose hook it is.
fn forget_git(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("GIT_")) {
            command.env_remove(name);
        }
    }
}
