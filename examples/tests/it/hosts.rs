//! The configuration that each README has for a host starts that example's server, with the gate in front of it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use yesgate_testkit::{Host, refusal, structured, yesgate_beside};

use crate::example::{CUSTOM, Example, HANDSHAKE, MODES, SPEND, TWO_KEY};

/// A host that was configured as the README says, on a home of its own.
#[track_caller]
fn host(example: Example, home: &Path) -> Host {
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

/// What became of a call: that it is held, or the code of its refusal.
fn outcome(answer: &Value) -> &str {
    match answer["result"]["isError"].as_bool() {
        Some(true) => refusal(answer),
        Some(false) | None => structured(answer)["status"].as_str().unwrap(),
    }
}

#[test]
fn the_configuration_of_each_readme_starts_a_gated_server() {
    for (example, offered, tool, arguments, expected) in [
        (HANDSHAKE, "yesgate_approve", "upgrade_plan", json!({"to": "scale"}), "confirmation_required"),
        (TWO_KEY, "list_posts", "delete_post", json!({"id": 41}), "DRY_RUN_PREVIEW"),
        (SPEND, "approve_payment", "pay", json!({"amount": "3.00", "to": "ann"}), "approval_required"),
        (MODES, "yesgate_set_mode", "deploy", json!({"name": "shop"}), "mode_forbids"),
        (CUSTOM, "delete_list", "send_newsletter", json!({"subject": "hello"}), "confirmation_required"),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut host = host(example, home.path());
        let tools = host.list_tools();
        for name in [offered, tool] {
            assert!(tools.iter().any(|tool| tool["name"] == name), "{name}: {tools:?}");
        }
        assert_eq!(outcome(&host.call(tool, arguments)), expected, "{}", example.name);
        assert!(host.close().success(), "{}", example.name);
    }
}
