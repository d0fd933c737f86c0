//! Gates in several homes that share one ledger in a database.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use yesgate_testkit::postgres::{Cluster, Database};
use yesgate_testkit::{Stage, confirm_token, intent_id, until};

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

/// B12: whichever command starts a server, what opens the database and the ledger is not in its environment.
#[test]
fn no_command_shows_a_server_what_opens_the_ledger() {
    let database = Cluster::shared().database();
    let stage = Stage::new(env!("CARGO_BIN_EXE_yesgate"))
        .env("YESGATE_SECRET_KEY", key("07"))
        .env("DATABASE_URL", database.address())
        .env("OF_THE_HOST", "here");
    let script = |seen: &Path| format!("env > {}", seen.display());
    let seen = ["wrap", "tools", "serve"].map(|name| stage.file(name));
    let [wrapped, asked, served] = seen.each_ref().map(|seen| script(seen));
    let stage = stage.config(&format!(
        "ledger = \"${{DATABASE_URL}}\"\n[servers.c]\ncommand = [\"sh\", \"-c\", \"{served}\"]\n\
         pass_env = [\"OF_THE_HOST\"]\n"
    ));
    stage.yesgate(&["wrap", "--name", "a", "--", "sh", "-c", &wrapped]);
    stage.yesgate(&["tools", "b", "--", "sh", "-c", &asked]);
    let mut serve = stage.command(&["serve", "--stdio"]);
    let mut serve = serve.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "testkit", "version": "1.0.0"},
    }}});
    writeln!(serve.stdin.as_mut().unwrap(), "{list}").unwrap();
    for seen in &seen {
        let whole = until("a server looked at its environment", || {
            std::fs::read_to_string(seen).ok().filter(|text| text.contains("OF_THE_HOST=here"))
        });
        assert!(!whole.contains("DATABASE_URL") && !whole.contains(database.name()), "{seen:?}: {whole}");
        assert!(!whole.contains("YESGATE_SECRET_KEY") && !whole.contains(&key("07")), "{seen:?}: {whole}");
    }
    serve.kill().unwrap();
    serve.wait().unwrap();
}
