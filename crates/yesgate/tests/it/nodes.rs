//! Gates in several homes that share one ledger in a database.

use serde_json::json;
use yesgate_testkit::postgres::{Cluster, Database};
use yesgate_testkit::{Stage, confirm_token, intent_id};

fn node(database: &Database, key: &str) -> Stage {
    Stage::new(env!("CARGO_BIN_EXE_yesgate"))
        .config(&format!("ledger = \"{}\"\n", database.address()))
        .env("YESGATE_SECRET_KEY", key)
}

fn key(digits: &str) -> String {
    digits.repeat(32)
}

/// What is asked on one node is seen and decided from another one, and runs once.
#[test]
fn two_homes_share_a_ledger_in_a_database() {
    let database = Cluster::shared().database();
    let (here, there) = (node(&database, &key("07")), node(&database, &key("07")));
    let mut host = here.host();
    host.initialize_legacy();
    let held = host.call("delete_note", json!({"id": "a"}));
    let pending = there.pending();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0]["intent_id"], intent_id(&held));
    let ran = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
    assert_eq!(ran["result"]["structuredContent"]["deleted"], "a");
    assert!(there.pending().is_empty());

    let second = host.call("delete_note", json!({"id": "b"}));
    there.yesgate(&["deny", &intent_id(&second)]).ok();
    let refused = host.call("delete_note", json!({"id": "b", "confirm_token": confirm_token(&second)}));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(host.close().success());
    assert_eq!(here.upstream_calls().len(), 1);
    assert_eq!(here.check_history().gated, 1);
    assert!(there.yesgate(&["audit", "verify"]).ok().stdout.contains("whole"));
    assert!(!here.home().join("ledger.db").exists(), "there is no second ledger");
}

/// All nodes need the same key, and a password is told to nobody.
#[test]
fn a_node_without_the_key_does_not_start_and_nobody_is_told_the_password() {
    let database = Cluster::shared().database();
    node(&database, &key("07")).yesgate(&["pending"]).ok();
    let other = node(&database, &key("08")).yesgate(&["pending"]);
    assert!(other.stderr.contains("sealed under the key"), "{}", other.stderr);
    let keyless = Stage::new(env!("CARGO_BIN_EXE_yesgate"))
        .config(&format!("ledger = \"{}\"\n", database.address()))
        .yesgate(&["pending"]);
    assert!(keyless.stderr.contains("all nodes of one database need the same key"), "{}", keyless.stderr);
    let elsewhere = Stage::new(env!("CARGO_BIN_EXE_yesgate"))
        .config("ledger = \"postgres://ada:${DATABASE_PASSWORD}@127.0.0.1:1/none\"\n")
        .env("YESGATE_SECRET_KEY", key("07"))
        .env("DATABASE_PASSWORD", "s3cret")
        .yesgate(&["pending"]);
    assert!(elsewhere.stderr.contains("postgres://ada@127.0.0.1:1/none"), "{}", elsewhere.stderr);
    for output in [&other, &keyless, &elsewhere] {
        assert_ne!(output.code(), 0);
        assert!(!format!("{}{}", output.stdout, output.stderr).contains("s3cret"));
    }
}
