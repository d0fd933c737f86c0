//! The configuration that each README has for a host starts that example's server, with the gate in front of it.

use std::process::Command;

use serde_json::{Value, json};
use yesgate_testkit::{Host, refusal, structured, yesgate_beside};

use crate::example::{CUSTOM, Example, HANDSHAKE, MODES, SPEND, TWO_KEY};

/// A host that was configured as the README says, on a home of its own.
#[track_caller]
fn host(example: Example, home: &std::path::Path) -> Host {
    let yesgate = yesgate_beside(example.program);
    let folder = yesgate.parent().unwrap();
    let absolute = |word: &Value| {
        let word = word.as_str().unwrap();
        match (word.strip_prefix("target/debug/"), word.strip_prefix("examples/")) {
            (Some(program), _) => folder.join(program),
            (_, Some(_)) => Example::workspace().join(word),
            (None, None) => word.into(),
        }
    };
    let entry = example.host_entry();
    let mut command = Command::new(absolute(&entry["command"]));
    command.args(entry["args"].as_array().unwrap().iter().map(absolute));
    command.current_dir(home).env_remove("MCP_DRY_RUN").env("YESGATE_HOME", home);
    let mut host = Host::spawn(command);
    assert!(host.initialize_legacy().get("result").is_some());
    host
}

#[track_caller]
fn tools(host: &mut Host) -> Vec<String> {
    host.list_tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_configuration_of_each_readme_starts_a_gated_server() {
    for (example, own_tool) in [
        (HANDSHAKE, Some("yesgate_approve")),
        (TWO_KEY, None),
        (SPEND, Some("approve_payment")),
        (MODES, Some("yesgate_set_mode")),
        (CUSTOM, None),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut host = host(example, home.path());
        let tools = tools(&mut host);
        if let Some(own) = own_tool {
            assert!(tools.iter().any(|tool| tool == own), "{}: {tools:?}", example.name);
        }
        let (tool, arguments) = match example.name {
            "handshake-billing" => ("upgrade_plan", json!({"to": "scale"})),
            "two-key-moderation" => ("delete_post", json!({"id": 41})),
            "spend-wallet" => ("pay", json!({"amount": "3.00", "to": "ann"})),
            "modes-deploy" => ("deploy", json!({"name": "shop"})),
            "custom-tool" => ("send_newsletter", json!({"subject": "hello"})),
            other => panic!("{other} is no example"),
        };
        assert!(tools.iter().any(|offered| offered == tool), "{tools:?}");
        let answer = host.call(tool, arguments);
        match example.name {
            "two-key-moderation" => assert_eq!(refusal(&answer), "DRY_RUN_PREVIEW"),
            "modes-deploy" => assert_eq!(refusal(&answer), "mode_forbids"),
            _ => assert_eq!(structured(&answer)["confirm_required"], true, "{answer:#}"),
        }
        assert!(host.close().success(), "{}", example.name);
    }
}
