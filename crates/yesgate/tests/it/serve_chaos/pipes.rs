//! Servers on stdio.

use serde_json::json;
use yesgate_testkit::{ServeStage, refusal, text};

use super::Fate::{Ok, Unknown};
use super::{MOST_MEMORY, UNGATED, fate, hold, is_ok, wait_for_server};

/// X3: whatever a server on stdio does with a gated call, the call reaches it once, the ledger says what is
/// known about it, and the caller is told.
#[tokio::test]
async fn a_gated_call_on_stdio_is_sent_once_whatever_the_server_answers() {
    let cases: [(&str, &[&str], _); 6] = [
        ("dies", &["--die-on", "delete_note"], Unknown),
        ("hangs", &["--hang-on", "delete_note"], Unknown),
        ("babbles", &["--huge", "delete_note"], Unknown),
        ("doubles", &["--answer-twice"], Ok),
        ("strays", &["--answer-wrong-id"], Ok),
        ("mutters", &["--garbage"], Ok),
    ];
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let mut toml = String::new();
    for (name, flags, _) in &cases {
        toml.push_str(&stage.child(name, flags));
    }
    let stage = stage.config(&format!("{toml}[serve.times]\ncall = \"2s\"\noutcome = \"3s\"\n"));
    let mut gateway = stage.start();
    for (name, _, expected) in &cases {
        let host = gateway.server(name);
        let held = hold(&host, "a").await;
        let answer = host.call("delete_note", held.arguments.clone()).await;
        assert_eq!(is_ok(&answer), *expected == Ok, "{name}: {answer:#}");
        fate(&stage, &held.intent, *expected).await;
        wait_for_server(&host).await;
        let again = host.call("delete_note", held.arguments).await;
        assert!(!is_ok(&again), "{name}: {again:#}");
        if *expected == Unknown {
            assert_eq!(refusal(&again), "execution_unknown", "{name}");
        }
        let sent = stage.calls(name).into_iter().filter(|call| call["params"]["name"] == "delete_note");
        assert_eq!(sent.count(), 1, "{name}");
        assert_eq!(text(&host.call("read_note", json!({"id": "b"})).await), "", "{name}");
    }
    let peak = gateway.peak_memory();
    assert!(peak <= MOST_MEMORY, "the gateway had {} MiB at its peak", peak >> 20);
    assert!(gateway.close().success(), "{}", gateway.stderr());
    for (name, _, _) in &cases {
        assert_eq!(stage.check_history(name, &UNGATED).gated, 1, "{name}");
    }
}

/// A server that stops reading holds nobody else up, and what was meant for it does not pile up without end.
#[tokio::test]
async fn a_server_that_stops_reading_holds_nobody_up() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let toml = format!(
        "{}{}[serve.times]\ncall = \"2s\"\n",
        stage.child("deaf", &["--stop-reading-after", "8"]),
        stage.child("notes", &[])
    );
    let stage = stage.config(&toml);
    let gateway = stage.start();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..32 {
        let host = gateway.server("deaf");
        calls.spawn(async move { host.call("read_note", json!({"id": "x".repeat(512 << 10)})).await });
    }
    let notes = gateway.server("notes");
    for _ in 0..20 {
        assert_eq!(text(&notes.call("read_note", json!({"id": "a"})).await), "the first note");
    }
    let unanswered = calls.join_all().await.iter().filter(|answer| !is_ok(answer)).count();
    assert!(unanswered >= 24, "only {unanswered} were left unanswered");
    let peak = gateway.peak_memory();
    assert!(peak <= MOST_MEMORY, "the gateway had {} MiB at its peak", peak >> 20);
}
