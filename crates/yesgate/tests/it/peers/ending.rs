//! How conversations with real servers end: by the host, by a signal, or by the server's death. Nothing of
//! them is left behind, and nothing but JSON-RPC was ever on stdout.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, text, until};

use super::{Era, Peer, START, YESGATE, bank, everything, filesystem, git, open, repository};

/// How long the gateway lets a server end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// The processes that were started on a stage, by the environment that they were given.
fn processes(stage: &Stage) -> Vec<u32> {
    let ours = format!("YESGATE_HOME={}", stage.home().display());
    let ids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        // A process may end while it is looked at.
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == ours.as_bytes())
    })
    .collect()
}

#[track_caller]
fn assert_nothing_is_left(stage: &Stage) {
    until("nothing is left", || processes(stage).is_empty().then_some(()));
}

/// The server's own process: the one that is neither the gateway nor its guard.
#[track_caller]
fn server_process(stage: &Stage) -> u32 {
    let yesgate = fs::canonicalize(YESGATE).unwrap();
    let is_server =
        |id: &u32| fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|program| program != yesgate);
    until("a server process", || processes(stage).into_iter().find(is_server))
}

/// Starts a conversation behind the gate, with a list of tools and one gated call in it.
#[track_caller]
fn converse(stage: &Stage, peer: &Peer, era: Era, gated: &str) -> Host {
    let mut host = peer.gated(stage);
    open(&mut host, era);
    assert!(host.list_tools().len() > 3);
    let held = host.call(gated, json!({}));
    assert_eq!(held["result"]["structuredContent"]["confirm_required"], true, "{held:#}");
    assert!(!processes(stage).is_empty());
    host
}

/// I4: a host that closes stdin gets the server's own exit code.
#[track_caller]
fn check_leaving(peer: &Peer, era: Era, gated: &str) {
    let stage = Stage::new(YESGATE);
    let mut bare = peer.bare(&stage);
    open(&mut bare, era);
    let expected = bare.close();
    let mut host = converse(&stage, peer, era, gated);
    let told = Instant::now();
    let status = host.close();
    // On a very busy machine the gateway's patience may end before a Python does.
    let was_ended = told.elapsed() >= PATIENCE && status.code() == Some(128 + 15);
    assert!(status == expected || was_ended, "{status}; stderr:\n{}", host.stderr());
    host.assert_only_json_rpc();
    assert_nothing_is_left(&stage);
}

fn with_folder(check: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    check(folder.path());
}

/// I4: nothing but JSON-RPC on stdout, though this server greets on stderr.
#[test]
fn the_filesystem_server_ends_with_its_host() {
    with_folder(|folder| check_leaving(&filesystem(folder), Era::Legacy, "write_file"));
}

/// I4.
#[test]
fn the_everything_server_ends_with_its_host() {
    check_leaving(&everything(), Era::Legacy, "toggle-simulated-logging");
}

/// I4.
#[test]
fn the_git_server_ends_with_its_host() {
    with_folder(|folder| check_leaving(&git(&repository(folder)), Era::Legacy, "git_reset"));
}

/// I4.
#[test]
fn a_modern_server_ends_with_its_host() {
    check_leaving(&bank(), Era::Modern, "pay");
}

/// The host hears what the server says on stderr, and only there.
#[test]
fn words_of_a_server_on_stderr_reach_the_hosts_stderr() {
    let stage = Stage::new(YESGATE);
    let mut host = converse(&stage, &everything(), Era::Legacy, "toggle-simulated-logging");
    host.close();
    assert!(host.stderr().contains("Starting default (STDIO) server"), "{}", host.stderr());
    host.assert_only_json_rpc();
}

/// A server that waits for an answer does not end when its stdin closes; behind the gate it is ended.
#[test]
fn a_server_that_does_not_leave_is_ended() {
    let stage = Stage::new(YESGATE);
    let mut host = everything().gated(&stage).capable(json!({"roots": {}}));
    open(&mut host, Era::Legacy);
    host.next_of("roots/list");
    let status = host.close();
    assert_eq!(status.code(), Some(128 + 15), "{status}");
    assert_nothing_is_left(&stage);
}

/// A gateway that is told to end takes a real server along.
#[test]
fn a_terminated_gateway_leaves_no_server() {
    let stage = Stage::new(YESGATE);
    let mut host = converse(&stage, &bank(), Era::Legacy, "pay");
    host.signal("TERM");
    assert_eq!(host.ended().code(), Some(128 + 15));
    assert_nothing_is_left(&stage);
}

/// A gateway that is killed cannot clean up, and still leaves no server.
#[test]
fn a_killed_gateway_leaves_no_server() {
    let stage = Stage::new(YESGATE);
    let mut host = converse(&stage, &everything(), Era::Legacy, "toggle-simulated-logging");
    host.kill9();
    assert_nothing_is_left(&stage);
}

/// A server that is killed is started again when it is needed, and the host's session goes on.
#[track_caller]
fn check_restart(peer: &Peer, era: Era, read: &str, arguments: &Value, gated: &str) {
    let stage = Stage::new(YESGATE);
    let mut host = converse(&stage, peer, era, gated);
    let before = host.call(read, arguments.clone());
    let first = server_process(&stage);
    let killed = std::process::Command::new("kill").args(["-9", &first.to_string()]).status().unwrap();
    assert!(killed.success());
    until("the first server is gone", || (!processes(&stage).contains(&first)).then_some(()));
    let after = until("the server answers again", || {
        let id = host.call_async(read, arguments.clone());
        let answer = host.recv_where(|message| message["id"] == id, START).unwrap();
        (answer["result"].is_object() && answer["result"]["isError"] != true).then_some(answer)
    });
    assert_eq!(text(&before), text(&after));
    assert_ne!(server_process(&stage), first);
    host.assert_only_json_rpc();
    host.close();
    assert_nothing_is_left(&stage);
}

/// A legacy server learns the host's capabilities again.
#[test]
fn the_everything_server_is_started_again_after_its_death() {
    let arguments = json!({"location": "Chicago"});
    check_restart(
        &everything(),
        Era::Legacy,
        "get-structured-content",
        &arguments,
        "toggle-simulated-logging",
    );
}

/// A modern server has nothing to be told again.
#[test]
fn a_modern_server_is_started_again_after_its_death() {
    check_restart(&bank(), Era::Modern, "balance", &json!({"account": "Ann"}), "pay");
}
