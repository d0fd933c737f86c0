//! The configuration is read again while the gateway runs, and only a sound one counts.

use serde_json::json;
use yesgate_testkit::{ServeStage, eventually};

#[tokio::test]
async fn a_changed_policy_counts_at_once_and_an_unsound_one_not_at_all() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("notes", &[]);
    let stage = stage.config(&server);
    let gateway = stage.start();
    let host = gateway.server("notes");
    let is_refused =
        async || host.call("read_note", json!({"id": "a"})).await.to_string().contains("policy_denied");
    assert!(!is_refused().await);

    // The file is watched.
    let stricter =
        format!("{server}\n[[rules]]\ntool = \"notes/read_note\"\nthen = \"reject\"\nreason = \"closed\"\n");
    stage.set_config(&stricter);
    eventually("the stricter policy is in force", async || is_refused().await.then_some(())).await;

    // A signal has it read at once; what cannot be read changes nothing, and is said.
    stage.set_config(&format!("{server}\nno_such_key = 1\n"));
    gateway.signal("HUP");
    let is_said = || gateway.stderr().contains("the old one stays in force");
    eventually("the unsound file is complained about", async || is_said().then_some(())).await;
    assert!(is_refused().await);

    stage.set_config(&server);
    eventually("the first policy is in force again", async || (!is_refused().await).then_some(())).await;
}
