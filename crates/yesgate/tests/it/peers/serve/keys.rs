//! A gateway with keys: every client is turned away with 401 without one, and comes in with it.

use serde_json::Value;
use yesgate_testkit::Host;

use super::super::{Era, on_stage, open};
use super::inspector::Inspector;
use super::mcp_remote::bridge;
use super::scripted::ScriptedHost;
use super::{LEGACY, MODERN, Served};

/// What the server behind the gateway has.
const TOOLS: [&str; 2] = ["get_current_time", "convert_time"];

/// What clients make of a 401: the gateway's words, or their own.
#[track_caller]
fn assert_turned_away(answer: &Value) {
    let words = answer.to_string();
    assert!(words.contains("a bearer key is needed") || words.contains("401"), "{words}");
}

/// Only whoever has a key is answered, whichever library and era it is.
#[test]
fn no_library_comes_in_without_a_key_and_each_does_with_one() {
    let (served, key) = Served::start_with_key();
    let (url, stage) = (served.only("time"), &served.stage);
    for start in [ScriptedHost::typescript, ScriptedHost::python, ScriptedHost::fastmcp] {
        let mut host = start(stage, "auto");
        for (mode, version) in [("legacy", LEGACY), ("auto", MODERN)] {
            assert_turned_away(&host.try_connect(&url, mode, None));
            assert_eq!(host.try_connect(&url, mode, Some(&key))["version"], version);
            assert_eq!(host.names("tools"), TOOLS);
        }
        host.leave();
    }
    served.end(0);
}

/// The same for clients that are programs. `mcp-remote` takes a 401 for an invitation to OAuth, finds nobody
/// to ask, and ends.
#[test]
fn no_program_comes_in_without_a_key_and_each_does_with_one() {
    let (served, key) = Served::start_with_key();
    let (url, stage) = (served.only("time"), &served.stage);
    let header = format!("Authorization: Bearer {key}");
    for era in ["legacy", "modern"] {
        let inspector = Inspector::new(stage, era, &url);
        let refused = inspector.run(&["--method", "tools/list"]);
        assert_eq!(refused["error"]["code"], "auth_required", "{refused:#}");
        assert_turned_away(&refused);
        let list = inspector.run(&["--method", "tools/list", "--header", &header]);
        assert_eq!(list["result"]["tools"][0]["name"], TOOLS[0], "{list:#}");
    }

    let mut refused = Host::spawn(on_stage(stage, &bridge(&url, &[])));
    assert!(!refused.ended().success(), "the bridge goes on without a key");
    let mut bridged = Host::spawn(on_stage(stage, &bridge(&url, &["--header", &header])));
    open(&mut bridged, Era::Legacy);
    assert_eq!(bridged.list_tools()[0]["name"], TOOLS[0]);
    assert!(bridged.close().success());
    served.end(0);
}
