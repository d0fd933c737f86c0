//! What is not gated passes byte for byte: one recorded session is played to the bare server, through a gate
//! that lets everything pass, and through a gate without any configuration.
//!
//! The sessions hold only requests whose answers do not depend on the time or on dice. Answers come in the
//! order of the requests; what a server says by itself may come between them, so each kind of message is
//! compared in its own order.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, text};

use self::Step::{Answer, Ask, AskRaw, Hear, Tell};
use super::tool_lists::assert_same_tools;
use super::{Era, Peer, YESGATE, all_pass, bank, everything, filesystem, git, git_in, open, repository};

/// One move of a recorded session.
enum Step {
    /// A request, which is made once the one before it was answered.
    Ask(&'static str, Value),
    /// A request in the host's own spelling, and its id.
    AskRaw(&'static str, Value),
    /// A notification.
    Tell(&'static str, Value),
    /// Something that the server says by itself.
    Hear(&'static str),
    /// Something that the server asks by itself, and what it is answered.
    Answer(&'static str, Value),
}

fn call(tool: &str, arguments: Value) -> Step {
    let mut params = json!({"name": tool});
    params["arguments"] = arguments;
    Ask("tools/call", params)
}

/// Plays a session, and gives back every line that the host received.
#[track_caller]
fn play(mut host: Host, era: Era, session: &[Step]) -> Vec<String> {
    open(&mut host, era);
    for step in session {
        match step {
            Ask(method, params) => {
                let mut params = params.clone();
                if era == Era::Modern {
                    params["_meta"] = host.modern_meta();
                }
                host.request(method, params);
            }
            AskRaw(line, id) => {
                host.send_raw(line);
                host.answer_to(id.clone());
            }
            Tell(method, params) => host.notify(method, params.clone()),
            Hear(method) => {
                host.next_of(method);
            }
            Answer(method, result) => {
                let request = host.next_of(method);
                host.respond(&request, result.clone());
            }
        }
    }
    host.close();
    host.assert_only_json_rpc();
    host.all_stdout()
}

/// The lines by what they are: `answer`, or the method of what the server said by itself.
fn by_kind(lines: Vec<String>) -> BTreeMap<String, Vec<String>> {
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lines {
        let message: Value = serde_json::from_str(&line).unwrap();
        let kind = message["method"].as_str().unwrap_or("answer").to_owned();
        kinds.entry(kind).or_default().push(line);
    }
    kinds
}

fn lists_tools(line: &str) -> bool {
    serde_json::from_str::<Value>(line).unwrap().pointer("/result/tools").is_some()
}

fn says_who_it_is(line: &str) -> bool {
    serde_json::from_str::<Value>(line).unwrap().pointer("/result/supportedVersions").is_some()
}

/// A gate that asks adds to what a modern server says of itself that a call may become a task, and nothing else.
#[track_caller]
fn assert_same_hello(bare: &str, gated: &str) {
    let mut expected: Value = serde_json::from_str(bare).unwrap();
    expected["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"] = json!({});
    assert_eq!(serde_json::from_str::<Value>(gated).unwrap(), expected);
}

#[track_caller]
fn assert_same_lines(bare: &[String], gated: &[String], kind: &str) {
    for (bare, gated) in bare.iter().zip(gated) {
        assert_eq!(bare, gated, "{kind}");
    }
    assert_eq!(bare.len(), gated.len(), "as many of kind {kind}:\n{bare:#?}\n{gated:#?}");
}

/// Plays a session three times and compares.
#[track_caller]
fn check(peer: &Peer, era: Era, capabilities: Value, session: &[Step]) {
    let strict = Stage::new(YESGATE);
    let open = Stage::new(YESGATE).config(&all_pass(peer));
    let bare = by_kind(play(peer.bare(&strict).capable(capabilities.clone()), era, session));
    let passed = by_kind(play(peer.gated(&open).capable(capabilities.clone()), era, session));
    let gated = by_kind(play(peer.gated(&strict).capable(capabilities), era, session));

    assert_eq!(bare.keys().collect::<Vec<_>>(), passed.keys().collect::<Vec<_>>());
    assert_eq!(bare.keys().collect::<Vec<_>>(), gated.keys().collect::<Vec<_>>());
    for (kind, bare) in &bare {
        assert_same_lines(bare, &passed[kind], kind);
        // Without a configuration some tools are gated, and only their lists differ, and a modern server's hello.
        let parted = |lines: &[String]| -> [Vec<String>; 3] {
            let (lists, others): (Vec<_>, Vec<_>) = lines.iter().cloned().partition(|line| lists_tools(line));
            let (hellos, rest) = others.into_iter().partition(|line| says_who_it_is(line));
            [lists, hellos, rest]
        };
        let ([bare_lists, bare_hellos, bare_rest], [lists, hellos, rest]) =
            (parted(bare), parted(&gated[kind]));
        assert_eq!(bare_hellos.len(), hellos.len());
        for (bare, gated) in bare_hellos.iter().zip(&hellos) {
            assert_same_hello(bare, gated);
        }
        assert_same_lines(&bare_rest, &rest, kind);
        assert_eq!(bare_lists.len(), lists.len());
        for (bare, gated) in bare_lists.iter().zip(&lists) {
            assert_same_tools(bare, gated);
        }
    }
}

/// Files of several kinds. One of them is never read, so that its times stay.
fn folder_of_files(folder: &Path) {
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::write(folder.join("poem.txt"), "roses\nvi\u{f6}lets\n\u{1f337}\n").unwrap();
    std::fs::write(folder.join("sub/tricky.json"), "{\"a\": 1.10, \"b\": \"\\u2028\", \"c\": 1e400}\r\n")
        .unwrap();
    std::fs::write(folder.join("picture.png"), [0x89, b'P', b'N', b'G', 0, 0xff]).unwrap();
    std::fs::write(folder.join("untouched.txt"), "never read").unwrap();
}

/// I4, X10: reads of files pass in the server's own bytes, errors included.
#[test]
fn a_session_with_the_filesystem_server_passes_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    folder_of_files(folder.path());
    let path = |name: &str| folder.path().join(name);
    check(
        &filesystem(folder.path()),
        Era::Legacy,
        json!({}),
        &[
            Ask("ping", json!({})),
            Ask("tools/list", json!({})),
            call("list_allowed_directories", json!({})),
            call("list_directory", json!({"path": folder.path()})),
            call("list_directory_with_sizes", json!({"path": folder.path(), "sortBy": "size"})),
            call("directory_tree", json!({"path": folder.path(), "excludePatterns": ["*.png"]})),
            call("search_files", json!({"path": folder.path(), "pattern": "**/*.json"})),
            call("get_file_info", json!({"path": path("untouched.txt")})),
            call("read_text_file", json!({"path": path("poem.txt")})),
            call("read_text_file", json!({"path": path("poem.txt"), "head": 1})),
            call("read_text_file", json!({"path": path("sub/tricky.json"), "tail": 2})),
            call("read_media_file", json!({"path": path("picture.png")})),
            call("read_multiple_files", json!({"paths": [path("poem.txt"), path("no such file")]})),
            call("read_text_file", json!({"path": path("no such file")})),
            call("read_text_file", json!({"path": "/etc/passwd"})),
            call("read_text_file", json!({"pathe": 1})),
            Ask("resources/list", json!({})),
            Ask("prompts/list", json!({})),
            Ask("logging/setLevel", json!({"level": "debug"})),
        ],
    );
}

/// What there is to be read in a repository, in either era.
fn repository_session(repository: &Path) -> Vec<Step> {
    let call = |tool: &str, mut arguments: Value| {
        arguments["repo_path"] = json!(repository);
        call(tool, arguments)
    };
    vec![
        Ask("tools/list", json!({})),
        call("git_status", json!({})),
        call("git_log", json!({"max_count": 1})),
        call("git_show", json!({"revision": "HEAD"})),
        call("git_branch", json!({"branch_type": "local"})),
        call("git_diff_unstaged", json!({"context_lines": 0})),
        call("git_diff_staged", json!({})),
        call("git_diff", json!({"target": "HEAD"})),
        call("git_show", json!({"revision": "no-such-revision"})),
        call("git_log", json!({"max_count": "many"})),
        Ask("ping", json!({})),
        Ask("resources/list", json!({})),
        Ask("resources/templates/list", json!({})),
        Ask("resources/read", json!({"uri": "file:///nowhere"})),
        Ask("prompts/list", json!({})),
        Ask("prompts/get", json!({"name": "no-such-prompt"})),
        Ask("tools/list", json!({"cursor": "no-such-cursor"})),
    ]
}

#[track_caller]
fn check_git(era: Era) {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path());
    let head = git_in(&repository, &["rev-parse", "HEAD"]);
    check(&git(&repository), era, json!({}), &repository_session(&repository));
    assert_eq!(git_in(&repository, &["rev-parse", "HEAD"]), head);
}

/// X10: the legacy era of a server that has both.
#[test]
fn a_legacy_session_with_the_git_server_passes_byte_for_byte() {
    check_git(Era::Legacy);
}

/// X10: the modern era of a server that has both.
#[test]
fn a_modern_session_with_the_git_server_passes_byte_for_byte() {
    check_git(Era::Modern);
}

/// X10: structured results, and characters that JSON may write in more than one way.
#[test]
fn a_modern_session_with_a_python_server_passes_byte_for_byte() {
    check(
        &bank(),
        Era::Modern,
        json!({}),
        &[
            Ask("tools/list", json!({})),
            call("balance", json!({"account": "\u{e4}\u{2028}\u{1f337}\"\\/\u{7f}\u{202e}"})),
            call("balance", json!({})),
            Ask("resources/list", json!({})),
            Ask("resources/templates/list", json!({})),
            Ask("prompts/list", json!({})),
        ],
    );
}

/// X10: resources, prompts, completion, logging, progress, roots, subscriptions and changes of lists.
#[test]
fn a_session_with_the_everything_server_passes_byte_for_byte() {
    let completion = |name: &str, value: &str| {
        json!({
            "ref": {"type": "ref/prompt", "name": "completable-prompt"},
            "argument": {"name": name, "value": value},
            "context": {"arguments": {"department": "Sales"}},
        })
    };
    let document = json!({"uri": "demo://resource/static/document/architecture.md"});
    check(
        &everything(),
        Era::Legacy,
        json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {}}),
        &[
            Answer("roots/list", json!({"roots": [{"uri": "file:///tmp/a%20b", "name": "a b"}]})),
            Hear("notifications/message"),
            Ask("ping", json!({})),
            Ask("tools/list", json!({})),
            call("echo", json!({"message": "\u{e4}\u{2028}\u{1f337}\"\\/\u{7f}\u{202e}\0"})),
            call("get-sum", json!({"a": 0.1, "b": 1e21})),
            call("get-sum", json!({"a": "one"})),
            call("get-structured-content", json!({"location": "Chicago"})),
            call("get-tiny-image", json!({})),
            call("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
            call("get-resource-links", json!({"count": 4})),
            call("get-roots-list", json!({})),
            AskRaw(
                r#" {"params": {"_meta":{"x":1.10},"arguments":{"message":"\u00e4\/"},"name":"echo"} ,"method":"tools/call","id":"\u00fc","jsonrpc":"2.0"}"#,
                json!("\u{fc}"),
            ),
            Ask("resources/list", json!({})),
            Ask("resources/templates/list", json!({})),
            Ask("resources/read", document.clone()),
            Ask("resources/read", json!({"uri": "demo://resource/no/such"})),
            Ask("resources/subscribe", document.clone()),
            Ask("resources/unsubscribe", document),
            Ask("prompts/list", json!({})),
            Ask("prompts/get", json!({"name": "simple-prompt"})),
            Ask("prompts/get", json!({"name": "args-prompt", "arguments": {"city": "M\u{fc}nchen"}})),
            Ask("prompts/get", json!({"name": "args-prompt"})),
            Ask("completion/complete", completion("department", "S")),
            Ask("completion/complete", completion("name", "")),
            Ask("logging/setLevel", json!({"level": "debug"})),
            Ask("logging/setLevel", json!({"level": "loud"})),
            Ask(
                "tools/call",
                json!({
                    "name": "trigger-long-running-operation",
                    "arguments": {"duration": 0.2, "steps": 4},
                    "_meta": {"progressToken": "progress-\u{fc}"},
                }),
            ),
            Ask("tasks/list", json!({})),
            Ask("tasks/get", json!({"taskId": "no-such-task"})),
            Tell("notifications/roots/list_changed", json!({})),
            Answer("roots/list", json!({"roots": []})),
            Hear("notifications/message"),
        ],
    );
}

/// The environment that the host gave is what the server sees, no more and no less.
#[test]
fn the_everything_server_sees_the_environment_of_the_host() {
    let stage = Stage::new(YESGATE).env("PEERS_SAY", "h\u{e9}llo \"there\"");
    let session = [call("get-env", json!({}))];
    let environment = |lines: Vec<String>| -> BTreeMap<String, String> {
        let answer: Value = serde_json::from_str(&by_kind(lines)["answer"][1]).unwrap();
        serde_json::from_str(text(&answer)).unwrap()
    };
    let bare = environment(play(everything().bare(&stage), Era::Legacy, &session));
    let gated = environment(play(everything().gated(&stage), Era::Legacy, &session));
    assert_eq!(gated["PEERS_SAY"], "h\u{e9}llo \"there\"");
    assert_eq!(bare.keys().collect::<Vec<_>>(), gated.keys().collect::<Vec<_>>());
    // Values may be secrets of the machine, so that they are not printed.
    let differ: Vec<_> =
        bare.iter().filter(|(name, value)| gated[*name] != **value).map(|(name, _)| name).collect();
    assert!(differ.is_empty(), "other values: {differ:?}");
}
