//! `yesgate keys`: a key is shown once, to whoever made it, and can be taken back.

use std::fs;

use serde_json::{Value, json};
use yesgate_core::key::BearerKey;
use yesgate_testkit::Stage;

use crate::support::stage;

/// Every byte of every file in the home.
fn home_bytes(stage: &Stage) -> Vec<u8> {
    let files = fs::read_dir(stage.home()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).flat_map(|path| fs::read(path).unwrap()).collect()
}

fn holds(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|part| part == needle.as_bytes())
}

#[track_caller]
fn list(stage: &Stage) -> Vec<Value> {
    stage.yesgate(&["keys", "list", "--json"]).ok().json().as_array().unwrap().clone()
}

/// The key stands alone on stdout, so that it can be piped; how to use it and how to take it back is said beside it.
#[test]
fn a_key_is_shown_once_and_apart_from_the_words() {
    let stage = stage();
    let made = stage.yesgate(&["keys", "add", "--user", "alice"]).ok();
    let key = made.stdout.strip_suffix('\n').unwrap();
    assert!(key.starts_with(BearerKey::PREFIX) && key.len() == 56 && !key.contains(char::is_whitespace));
    for words in ["shown this once", "Authorization: Bearer", "alice of local", "yesgate keys revoke key_"] {
        assert!(made.stderr.contains(words), "{words}: {}", made.stderr);
    }
    let again = stage.yesgate(&["keys", "add", "--user", "alice"]).ok();
    assert_ne!(again.stdout, made.stdout);
    for words in [
        ["keys", "list"].as_slice(),
        &["keys", "list", "--json"],
        &["audit", "list"],
        &["audit", "list", "--json"],
    ] {
        let said = stage.yesgate(words).ok();
        assert!(!said.stdout.contains(key) && !said.stderr.contains(key), "{words:?}");
        assert!(said.stdout.contains("alice"), "{words:?}");
    }
    assert!(!holds(&home_bytes(&stage), key.strip_prefix(BearerKey::PREFIX).unwrap()));
    stage.yesgate(&["audit", "verify"]).ok();
}

/// Who is calling with a key is what the operator said, with defaults that say so.
#[test]
fn a_key_stands_for_the_caller_that_was_named() {
    let stage = stage();
    let plain = stage.yesgate(&["keys", "add", "--user", "alice", "--json"]).ok().json();
    let named = stage
        .yesgate(&[
            "keys",
            "add",
            "--user",
            "bob",
            "--org",
            "acme",
            "--client",
            "editor",
            "--name",
            "bob's laptop",
        ])
        .ok();
    assert!(named.stderr.contains("bob of acme, by the client `editor`"), "{}", named.stderr);
    assert!(plain["key"].as_str().unwrap().starts_with("ygk_"));
    assert_eq!(plain["revoked_at"], Value::Null);
    let caller =
        |key: &Value| ["user", "org", "client", "name"].map(|field| key[field].as_str().unwrap().to_owned());
    let keys = list(&stage);
    assert_eq!(caller(&keys[0]), ["alice", "local", "key", "alice"]);
    assert_eq!(caller(&keys[1]), ["bob", "acme", "editor", "bob's laptop"]);
    assert_eq!((&keys[0]["id"], keys[0].get("key")), (&plain["id"], None));
    for wrong in [
        ["keys", "add"].as_slice(),
        &["keys", "add", "--user", ""],
        &["keys", "add", "--user", "al ice"],
        &["keys", "add", "--user", "alice", "--org", "\u{1b}[31m"],
        &["keys", "add", "--user", "alice", "--name", "a\nb"],
    ] {
        assert_eq!(stage.yesgate(wrong).code(), 2, "{wrong:?}");
    }
    assert_eq!(list(&stage).len(), 2);
}

/// A key that was taken back stays in the list, and taking it back twice is no error.
#[test]
fn a_key_can_be_taken_back() {
    let stage = stage();
    assert_eq!(list(&stage), Vec::<Value>::new());
    let made = stage.yesgate(&["keys", "add", "--user", "alice", "--json"]).ok().json();
    let id = made["id"].as_str().unwrap();
    let revoked = stage.yesgate(&["keys", "revoke", id, "--json"]).ok().json();
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
    let said = stage.yesgate(&["keys", "revoke", id]).ok().stdout;
    assert_eq!(said, format!("{id} (alice) is revoked and counts no more.\n"));
    assert_eq!(list(&stage)[0]["revoked_at"], revoked["revoked_at"]);
    for unknown in ["key_0000000000000000", "alice", "' OR 1=1"] {
        let output = stage.yesgate(&["keys", "revoke", unknown]);
        assert_eq!(output.code(), 4, "{output:#?}");
        assert!(output.stderr.contains("\nHint: "), "{output:#?}");
    }
    let told: Vec<Value> = stage.audit().iter().map(|row| row["entry"]["event"].clone()).collect();
    assert_eq!(told, [json!("key_added"), json!("key_revoked")]);
    stage.yesgate(&["audit", "verify"]).ok();
}
