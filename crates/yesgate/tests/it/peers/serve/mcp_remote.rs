//! `mcp-remote`: a host that knows only stdio reaches the gateway over HTTP.
//!
//! The bridge passes on what the host says, so the host decides about the era. It asks servers for OAuth where they
//! say 401; the gateway's keys go into a header instead.

use serde_json::{Value, json};
use yesgate_testkit::{Host, Stage, confirm_token, structured, text};

use super::super::{Era, on_stage, open};
use super::{Client, LEGACY, MODERN, Served, installed, pinned_node};

/// A host that starts the bridge as its server.
struct Bridged<'a> {
    stage: &'a Stage,
    era: Era,
    host: Option<Host>,
}

impl Bridged<'_> {
    #[track_caller]
    fn host(&mut self) -> &mut Host {
        self.host.as_mut().expect("not connected")
    }

    /// The host has enough; the bridge ends the session and then itself.
    #[track_caller]
    fn leave(&mut self) {
        if let Some(mut host) = self.host.take() {
            host.assert_only_json_rpc();
            let status = host.close();
            assert!(status.success(), "{status}; stderr:\n{}", host.stderr());
        }
    }
}

impl Client for Bridged<'_> {
    #[track_caller]
    fn connect(&mut self, url: &str) -> String {
        self.leave();
        let host = Host::spawn(on_stage(self.stage, &bridge(url, &[])));
        let host = self.host.insert(host.capable(json!({"elicitation": {"form": {}}})));
        let hello = open(host, self.era);
        match self.era {
            Era::Legacy => hello["result"]["protocolVersion"].as_str().unwrap().to_owned(),
            // A server may speak several; the host takes this one.
            Era::Modern => {
                let versions = hello["result"]["supportedVersions"].as_array().unwrap();
                assert!(versions.iter().any(|version| version == MODERN), "{hello:#}");
                MODERN.to_owned()
            }
        }
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        let tools = self.host().list_tools();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.host().call(tool, arguments.clone())
    }
}

/// The bridge's command. Plain HTTP is for this machine only, and it wants to be told that it may.
pub(super) fn bridge(url: &str, words: &[&str]) -> Vec<std::ffi::OsString> {
    let program = installed("npm/node_modules/mcp-remote/dist/proxy.js");
    let options = [url, "--transport", "http-only", "--allow-http"];
    let options = options.iter().chain(words).map(Into::into);
    [pinned_node().into(), program.into()].into_iter().chain(options).collect()
}

/// X10, H1, H4, I5: a session, and a question of a gated tool on its way through the bridge.
#[test]
fn a_legacy_host_behind_mcp_remote_uses_six_servers_through_one_gateway() {
    let served = Served::start();
    let mut client = Bridged { stage: &served.stage, era: Era::Legacy, host: None };
    let tools = served.tour_all(&mut client, LEGACY);

    let tool = "everything__trigger-elicitation-request";
    let host = client.host();
    let held = host.call(tool, json!({}));
    assert_eq!(structured(&held)["confirm_required"], true, "{held:#}");
    let arguments = json!({"confirm_token": confirm_token(&held)});
    let running = host.call_async(tool, arguments);
    let question = host.next_of("elicitation/create");
    host.respond(&question, json!({"action": "accept", "content": {"name": "Ann"}}));
    assert!(text(&host.answer_to(running)).contains("User provided the requested information"));
    served.tour_each(&mut client, LEGACY, tools);
    client.leave();
    served.end(3);
}

/// X10, H1, H4, I5: the bridge has no session, and does not need one.
#[test]
fn a_modern_host_behind_mcp_remote_uses_six_servers_through_one_gateway() {
    let served = Served::start();
    let mut client = Bridged { stage: &served.stage, era: Era::Modern, host: None };
    let tools = served.tour_all(&mut client, MODERN);
    served.tour_each(&mut client, MODERN, tools);
    client.leave();
    served.end(2);
}
