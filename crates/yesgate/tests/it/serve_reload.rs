//! The configuration is read again while the gateway runs, and only a sound one counts.

use serde_json::json;
use yesgate_testkit::{ServeStage, confirm_token, eventually};

/// FC-15: a policy that is not sound never comes into force: the one before it stays, for reads and for what is asked, and
/// that is said.
#[tokio::test]
async fn a_changed_policy_counts_at_once_and_an_unsound_one_not_at_all() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("notes", &[]);
    let stage = stage.config(&server);
    let mut gateway = stage.start();
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
    let before = stage.calls("notes").len();
    confirm_token(&host.call("delete_note", json!({"id": "a"})).await);
    assert_eq!(stage.calls("notes").len(), before);

    stage.set_config(&server);
    eventually("the first policy is in force again", async || (!is_refused().await).then_some(())).await;
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &["read_note"]).gated, 0);
}
