//! Who comes in by the door of `serve`, and where it may stand.

use std::process::Command;

use serde_json::json;
use yesgate_testkit::{ServeStage, eventually, intent_id, text};

const YESGATE: &str = env!("CARGO_BIN_EXE_yesgate");

/// What `serve` says when it refuses to begin.
fn refused(config: &str, keys: usize, listen: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("yesgate.toml");
    std::fs::write(&path, config).unwrap();
    let yesgate = |args: &[&str]| {
        let mut command = Command::new(YESGATE);
        command.arg("--home").arg(home.path()).arg("--config").arg(&path).args(args);
        command.output().unwrap()
    };
    for _ in 0..keys {
        assert!(yesgate(&["keys", "add", "--user", "alice"]).status.success());
    }
    let output = yesgate(&["serve", "--listen", listen]);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// C1: nobody can be reached by strangers without keys, and under no name that was not given.
#[test]
fn only_this_machine_is_served_without_keys_or_names() {
    let config = "[servers.a]\ncommand = [\"true\"]\n";
    insta::assert_snapshot!(refused(config, 0, "0.0.0.0:0"), @r"
    Error: without keys everybody could call, so `serve` does not listen at 0.0.0.0:0
    Hint: make one with `yesgate keys add --user NAME`, have clients connect (`public_url` in [serve]), or listen at a loopback address
    ");
    insta::assert_snapshot!(refused(config, 1, "0.0.0.0:0"), @r"
    Error: nobody could call at 0.0.0.0:0: no name of this gateway is known
    Hint: say what clients write in `Host`: `public_url` or `hosts` in [serve]
    ");
}

/// Whoever starts a gateway that could trust nobody hears it at once; where nobody has to be trusted, nothing is missing.
#[tokio::test]
async fn a_machine_without_certificates_serves_what_needs_none() {
    let nowhere = [("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")];
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("yesgate.toml");
    std::fs::write(&path, "[servers.a]\nurl = \"https://localhost:1/mcp\"\n").unwrap();
    let mut command = Command::new(YESGATE);
    command.arg("--home").arg(home.path()).arg("--config").arg(&path).args([
        "serve",
        "--listen",
        "127.0.0.1:0",
    ]);
    let output = command.envs(nowhere).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stderr).unwrap(), @r"
    Error: the server `a` cannot be set up: the system's certificates cannot be used: unexpected error: No CA certificates were loaded from the system
    ");

    let stage =
        nowhere.into_iter().fold(ServeStage::new(YESGATE), |stage, (name, value)| stage.env(name, value));
    let config = stage.child("notes", &[]);
    let stage = stage.config(&config);
    let gateway = stage.start();
    let note = json!({"id": "a"});
    assert_eq!(text(&gateway.server("notes").call("read_note", note).await), "the first note");
}

/// The first key closes the door for everybody without one, and a key that was taken back opens nothing: the
/// door does not open again when the last one goes.
#[tokio::test]
async fn keys_open_and_close_the_door_of_a_running_gateway() {
    let stage = ServeStage::new(YESGATE);
    let config = stage.child("notes", &[]);
    let stage = stage.config(&config);
    let gateway = stage.start();
    let note = json!({"id": "a"});
    let host = gateway.server("notes");
    assert_eq!(text(&host.call("read_note", note.clone()).await), "the first note");

    let key = stage.key("alice");
    let status = async || host.draft_call("read_note", note.clone()).send().await.status();
    eventually("the door closes", async || (status().await == 401).then_some(())).await;
    let alice = gateway.server("notes").bearer(&key);
    assert_eq!(text(&alice.call("read_note", note.clone()).await), "the first note");
    let stranger = gateway.server("notes").bearer("ygk_made-up");
    assert_eq!(stranger.draft_call("read_note", note.clone()).send().await.status(), 401);
}

/// A key opens the door from the moment at which it is shown, though another process made it.
#[tokio::test]
async fn a_key_counts_as_soon_as_it_is_made() {
    let stage = ServeStage::new(YESGATE);
    let config = stage.child("notes", &[]);
    let stage = stage.config(&config);
    let gateway = stage.start();
    for number in 0..20 {
        let key = stage.key(&format!("user-{number}"));
        let asked = gateway.server("notes").bearer(&key).call("read_note", json!({"id": "a"})).await;
        assert_eq!(text(&asked), "the first note", "key {number}");
    }
}

/// FC-34: what was asked with a key that is revoked does not run by a later yes.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_key_takes_along_what_was_asked_with_it() {
    let stage = ServeStage::new(YESGATE);
    let config = stage.child("notes", &[]);
    let stage = stage.config(&config);
    let made = stage.stage().yesgate(&["keys", "add", "--user", "alice", "--json"]).ok().json();
    let mut gateway = stage.start();
    let alice = gateway.server("notes").bearer(made["key"].as_str().unwrap());
    let asked = intent_id(&alice.call("delete_note", json!({"id": "a"})).await).to_owned();
    stage.stage().yesgate(&["keys", "revoke", made["id"].as_str().unwrap()]).ok();
    assert_eq!(stage.shown(&asked)["state"], "cancelled");
    assert_ne!(stage.approve(&asked).code(), 0);
    assert!(gateway.close().success());
    assert!(stage.calls("notes").is_empty());
}
