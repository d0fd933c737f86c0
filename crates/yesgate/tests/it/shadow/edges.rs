//! Where a trial begins and ends: a ledger that cannot be written, a gateway that is killed, a file that changes.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::clock::Clock;
use yesgate_core::id::BootId;
use yesgate_ledger::{Ledger, SecretKey};
use yesgate_testkit::{Lane, ServeStage, eventually, refusal, structured, until};

use super::{TRIED, delete, plain};
use crate::support::{legacy, stage, upstream_count};

/// A clock that is an hour ahead: what is written down by it stops every clock that is not.
#[derive(Debug)]
struct Ahead;

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_hours(1)
    }
}

/// X8, FC-7: what cannot be written down does not pass, whatever the trial says.
#[test]
fn nothing_passes_in_a_trial_that_cannot_be_written_down() {
    for lane in Lane::ALL {
        let mut player = plain(lane, TRIED);
        assert_eq!(structured(&delete(&mut player, "a"))["deleted"], "a");
        let path = player.home().join("ledger.db");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let key = SecretKey::load(&player.home(), None, &yesgate::SystemEntropy).unwrap();
            let boot = BootId::from_entropy([7; 32]);
            let ledger = Ledger::open(&path, &key, Arc::new(Ahead), boot).await.unwrap();
            let caller = Caller {
                org: "local".parse().unwrap(),
                principal: "ann".parse().unwrap(),
                client: "clock".parse().unwrap(),
            };
            let server = "mock".parse().unwrap();
            let event = AuditEvent::Refused { caller, server, tool: None, code: "unreadable_call".into() };
            ledger.record(event).await.unwrap();
        });
        assert_eq!(refusal(&delete(&mut player, "b")), "consent_unavailable");
        // Nobody can look into this ledger any more, until the hour is over.
        player.leave();
        assert_eq!(player.runs("delete_note"), [json!({"id": "a"})]);
    }
}

/// X3, X8: wherever a gateway is killed, no call has passed without the row that says so, and none is sent again.
#[test]
fn no_call_passes_a_killed_gateway_without_its_row() {
    let stage = stage().config(TRIED);
    for round in 0..6 {
        let mut host = legacy(&stage);
        host.call_async("delete_note", json!({"id": format!("note {round}")}));
        if round % 2 == 0 {
            // Half of the time the call is known to be out; else the kill comes wherever it comes.
            until("the call is out", || (upstream_count(&stage, "delete_note") > round / 2).then_some(()));
        }
        host.kill9();
        let rows = stage.audit();
        let told = rows.iter().filter(|row| row["entry"]["event"] == "would_ask").count();
        assert!(upstream_count(&stage, "delete_note") <= told, "round {round}");
    }
    stage.yesgate(&["audit", "verify"]).ok();
    let history = stage.check_history();
    assert!((3..=6).contains(&history.gated) && history.gated <= history.redeemed, "{history:?}");
}

/// X8: a message that two readers read differently, or of a method that nobody knows, is refused in a trial too.
#[test]
fn a_trial_does_not_make_messages_readable() {
    let stage = stage().config(TRIED);
    let mut host = legacy(&stage);
    host.send_raw(
        r#"{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{"name":"delete_note","arguments":{"id":"a","id":"b"}}}"#,
    );
    assert_eq!(host.answer_to(91)["error"]["code"], -32600);
    let unknown = host.request("tools/call ", json!({"name": "delete_note", "arguments": {"id": "a"}}));
    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(upstream_count(&stage, "delete_note"), 0);
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X8: a trial that the operator ends while the gateway runs is over for the next call, and one that begins is said.
#[tokio::test]
async fn a_trial_begins_and_ends_with_the_file() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("notes", &[]);
    let stage = stage.config(&server);
    let mut gateway = stage.start();
    let host = gateway.server("notes");
    let call = async |note: &str| -> Value { host.call("delete_note", json!({ "id": note })).await };
    assert_eq!(structured(&call("a").await)["confirm_required"], true);

    stage.set_config(&format!("shadow = true\n{server}"));
    gateway.signal("HUP");
    let is_said = || gateway.stderr().contains("SHADOW MODE at every server");
    eventually("the trial is said", async || is_said().then_some(())).await;
    assert_eq!(structured(&call("b").await)["deleted"], "b");

    stage.set_config(&server);
    gateway.signal("HUP");
    let ended = async |note: String| {
        let answer = call(&note).await;
        structured(&answer).get("confirm_required").is_some().then_some(())
    };
    let mut round = 0;
    eventually("the trial is over", async || {
        round += 1;
        ended(format!("c{round}")).await
    })
    .await;
    assert_eq!(structured(&call("d").await)["confirm_required"], true);
    assert!(gateway.close().success());
    let runs = stage.calls("notes").len();
    assert_eq!(stage.check_history("notes", &["read_note"]).gated, runs);
}
