//! A host that looks after tasks, of the TypeScript SDK: held calls are tasks to it like any other.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use yesgate_testkit::{ServeStage, until};

use super::super::YESGATE;
use super::{installed, pinned_node};

fn host(url: &str, arguments: &Value, action: &str, content: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/peers/scripts/tasks_host.mjs");
    let mut command = Command::new(pinned_node());
    command.arg(script).arg(installed("npm/node_modules")).arg(url);
    command.args(["delete_note", &arguments.to_string(), action, content]);
    command
}

/// What the host's call came to.
#[track_caller]
fn outcome(mut host: Command) -> Value {
    let output = host.output().expect("the host starts");
    let (said, noise) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(said.trim()).unwrap_or_else(|error| panic!("{error}: {said}\n{noise}"))
}

/// X9, SEP-2663: the host shows the form that comes with the task; a yes in it runs the call once, a no does not.
#[test]
fn a_host_with_tasks_shows_the_form_and_fetches_the_result() {
    let stage = ServeStage::new(YESGATE);
    let server = stage.child("notes", &[]);
    let stage = stage.config(&format!("[times]\nreflex = \"0s\"\n{server}"));
    let mut gateway = stage.start();
    let url = format!("{}/mcp/notes", gateway.url().trim_end_matches('/'));
    let yes = outcome(host(&url, &json!({"id": "a"}), "accept", r#"{"approve":true}"#));
    assert_eq!(yes["asked"][0]["kind"], "elicitation", "{yes:#}");
    assert_eq!(yes["outcome"]["status"], "completed", "{yes:#}");
    assert_eq!(yes["outcome"]["result"]["structuredContent"], json!({"deleted": "a", "run": 1}), "{yes:#}");
    let no = outcome(host(&url, &json!({"id": "b"}), "decline", ""));
    assert_eq!(no["outcome"]["result"]["structuredContent"]["error"], "denied", "{no:#}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 1);
}

/// X9, SEP-2663: the host waits for somebody else's yes without being asked for anything.
#[test]
fn a_host_with_tasks_waits_for_a_yes_from_elsewhere() {
    let stage = ServeStage::new(YESGATE);
    let server = stage.child("notes", &[]);
    let rule = "[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";
    let stage = stage.config(&format!("{rule}{server}"));
    let mut gateway = stage.start();
    let url = format!("{}/mcp/notes", gateway.url().trim_end_matches('/'));
    let waiting = std::thread::spawn(move || outcome(host(&url, &json!({"id": "a"}), "cancel", "")));
    let question = until("the question is open", || stage.stage().pending().pop());
    stage.approve(question["intent_id"].as_str().expect("an id")).ok();
    let told = waiting.join().expect("the host ends");
    assert_eq!(told["asked"], json!([]), "{told:#}");
    assert_eq!(told["outcome"]["result"]["structuredContent"], json!({"deleted": "a", "run": 1}), "{told:#}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &[]).gated, 1);
}
