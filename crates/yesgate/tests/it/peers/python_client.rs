//! The Python SDK's client as the host: it starts `yesgate wrap` as its server, and holds every result
//! against the output schema that the list of tools promised.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, structured, text};

use super::{
    Peer, START, YESGATE, all_pass, audited, bank, everything, filesystem, git, git_in, on_stage, python,
    repository, script,
};

/// A Python process that is a host.
struct PythonHost {
    process: Host,
    protocol_version: String,
}

impl PythonHost {
    /// Connects to a server behind the gate.
    #[track_caller]
    fn connect(stage: &Stage, peer: &Peer, mode: &str) -> Self {
        let wrapped = peer.wrapped(stage);
        let mut words: Vec<OsString> = vec![python().into(), script("host.py").into(), mode.into()];
        words.push(wrapped.get_program().into());
        words.extend(wrapped.get_args().map(OsString::from));
        let mut host =
            Self { process: Host::spawn(on_stage(stage, &words)), protocol_version: String::new() };
        host.protocol_version = host.hear()["protocol_version"].as_str().unwrap().to_owned();
        host
    }

    #[track_caller]
    fn hear(&mut self) -> Value {
        let line = self.process.recv_where(|_| true, START);
        line.unwrap_or_else(|| panic!("the host fell silent; stderr:\n{}", self.process.stderr()))
    }

    #[track_caller]
    fn order(&mut self, order: &Value) -> Value {
        self.process.send(order);
        let answer = self.hear();
        assert!(answer.get("broken").is_none(), "the SDK broke off at {order}: {answer:#}");
        answer
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        let tools = self.order(&json!({"list": true}));
        tools["tools"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.order(&json!({"call": tool, "arguments": arguments}))
    }

    /// A gated call, first without and then with the token; `undone` is asked in between.
    #[track_caller]
    fn call_twice(&mut self, tool: &str, arguments: &Value, undone: impl Fn() -> bool) -> Value {
        let held = self.call(tool, arguments);
        assert_eq!(structured(&held)["status"], "confirmation_required");
        assert!(undone(), "`{tool}` ran before the yes");
        let mut arguments = arguments.clone();
        arguments["confirm_token"] = confirm_token(&held).into();
        self.call(tool, &arguments)
    }

    /// Lets the host go; it ends well, and takes the gateway and the server along.
    #[track_caller]
    fn leave(mut self) {
        let status = self.process.close();
        assert!(status.success(), "{status}; stderr:\n{}", self.process.stderr());
    }
}

/// The host reads and writes files; both go through output schemas.
#[track_caller]
fn check_filesystem(mode: &str) {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("poem.txt"), "roses").unwrap();
    let file = folder.path().join("letter.txt");
    let mut host = PythonHost::connect(&stage, &filesystem(folder.path()), mode);
    assert_eq!(host.protocol_version, "2025-11-25");

    let tools = host.tools();
    assert!(tools.contains(&"write_file".to_owned()) && tools.contains(&"yesgate_status".to_owned()));
    let read = host.call("read_text_file", &json!({"path": folder.path().join("poem.txt")}));
    assert_eq!(structured(&read), &json!({"content": "roses"}));
    let ran = host.call_twice("write_file", &json!({"path": file, "content": "Dear"}), || !file.exists());
    assert!(structured(&ran)["content"].as_str().unwrap().starts_with("Successfully wrote"), "{ran:#}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "Dear");

    host.leave();
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// H2, X10: a held answer does not break a client that believes in output schemas.
#[test]
fn the_legacy_python_client_writes_a_file() {
    check_filesystem("legacy");
}

/// X10: the question for the era passes, and so does the legacy server's way of not understanding it.
#[test]
fn a_python_client_that_tries_both_eras_falls_back_and_writes_a_file() {
    check_filesystem("auto");
}

fn commits(repository: &Path) -> String {
    git_in(repository, &["rev-list", "--count", "HEAD"])
}

#[track_caller]
fn check_git(mode: &str, version: &str) {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path());
    git_in(&repository, &["add", "poem.txt"]);
    let mut host = PythonHost::connect(&stage, &git(&repository), mode);
    assert_eq!(host.protocol_version, version);

    assert_eq!(host.tools().len(), 12 + 3);
    let read = host.call("git_log", &json!({"repo_path": repository}));
    assert!(text(&read).contains("A poem"), "{read:#}");
    let arguments = json!({"repo_path": repository, "message": "Flowers"});
    let ran = host.call_twice("git_commit", &arguments, || commits(&repository) == "1");
    assert!(text(&ran).starts_with("Changes committed"), "{ran:#}");
    assert_eq!(commits(&repository), "2");

    host.leave();
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// X10: the legacy era of both.
#[test]
fn the_legacy_python_client_commits() {
    check_git("legacy", "2025-11-25");
}

/// X10: the modern era of both.
#[test]
fn the_modern_python_client_commits() {
    check_git("2026-07-28", "2026-07-28");
}

/// X10: a client that tries finds the modern era through the gate.
#[test]
fn a_python_client_that_tries_both_eras_commits_in_the_modern_one() {
    check_git("auto", "2026-07-28");
}

/// H2, H6: held answers and refusals on a tool whose output schema is strict, in the modern era.
#[test]
fn the_modern_python_client_pays_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("payments");
    let stage = Stage::new(YESGATE).env("BANK_LOG", &log);
    let mut host = PythonHost::connect(&stage, &bank(), "2026-07-28");

    assert_eq!(host.tools().len(), 3 + 3);
    let read = host.call("balance", &json!({"account": "Ann"}));
    assert_eq!(structured(&read), &json!({"result": "Ann: 100.00 EUR"}));
    let arguments = json!({"to": "Bob", "amount": "1.10"});
    let ran = host.call_twice("pay", &arguments, || !log.exists());
    assert_eq!(structured(&ran), &json!({"result": "paid 1.10 to Bob"}));
    let refused = host.call("pay", &json!({"to": "Bob", "amount": "1.10", "confirm_token": "pbc_nonsense"}));
    assert_eq!(refused["error"]["data"]["error"], "consent_token_invalid", "{refused:#}");

    host.leave();
    assert_eq!(fs::read_to_string(&log).unwrap(), "Bob 1.10\n");
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// X10: what an ungated tool asks of the user reaches the user, whichever way the era has for it.
#[track_caller]
fn check_question_of_the_server(mode: &str) {
    let peer = bank();
    let stage = Stage::new(YESGATE).config(&all_pass(&peer));
    let mut host = PythonHost::connect(&stage, &peer, mode);
    let order = json!({"call": "close_account", "arguments": {"account": "Ann"}, "accept": {"sure": true}});
    let answer = host.order(&order);
    assert_eq!(answer["asked"], json!(["Close the account?"]));
    assert_eq!(structured(&answer), &json!({"result": "Ann closed"}));
    host.leave();
}

/// X10: by `elicitation/create`.
#[test]
fn a_legacy_python_client_is_asked_by_the_server() {
    check_question_of_the_server("legacy");
}

/// X10: by an input-required result, which the client answers with a second request.
#[test]
fn a_modern_python_client_is_asked_by_the_server() {
    check_question_of_the_server("2026-07-28");
}

/// X10: a server on the TypeScript SDK asks a client on the Python SDK, after the yes of a human.
#[test]
fn a_python_client_is_asked_by_a_gated_tool_of_the_everything_server() {
    // The host can show forms; our own question is put in the conversation here.
    let stage = Stage::new(YESGATE).config("channel = \"chat\"\n");
    let mut host = PythonHost::connect(&stage, &everything(), "legacy");
    let held = host.call("trigger-elicitation-request", &json!({}));
    assert_eq!(held["asked"], json!([]));
    let arguments = json!({"confirm_token": confirm_token(&held)});
    let order =
        json!({"call": "trigger-elicitation-request", "arguments": arguments, "accept": {"name": "Ann"}});
    let ran = host.order(&order);
    assert_eq!(ran["asked"], json!(["Please provide inputs for the following fields:"]));
    assert!(ran["result"]["content"][1]["text"].as_str().unwrap().contains("- Name: Ann"), "{ran:#}");
    host.leave();
    assert_eq!(audited(&stage, "redeemed"), 1);
}
