//! Several people must agree: each counts once, and whoever the call is made for never does.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use yesgate::{SystemClock, SystemEntropy};
use yesgate_core::assurance::Assurance;
use yesgate_core::clock::Entropy as _;
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::{Approver, Surface};
use yesgate_ledger::{Ledger, SecretKey};
use yesgate_testkit::{Gateway, ServeStage, intent_id, refusal, structured};

use crate::support::{legacy, stage, state};

const TWO: &str = "[times]\nhold = \"1s\"\nwait = \"0s\"\n[[rules]]\ntool = \"*/delete_note\"\nthen = \"ask\"\nquorum = 2\n";

fn serve() -> (ServeStage, Gateway, String) {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let config = format!("{TWO}{}", stage.child("notes", &[]));
    let stage = stage.config(&config);
    let key = stage.key("alice");
    let gateway = stage.start();
    (stage, gateway, key)
}

/// Says yes on another surface than the command line, as somebody who is known there.
async fn yes_elsewhere(stage: &ServeStage, intent: &str, identity: &str) -> String {
    let boot = BootId::from_entropy(SystemEntropy.draw().unwrap());
    let home = stage.stage().home();
    let key = SecretKey::load(&home, None, &SystemEntropy).unwrap();
    let ledger = Ledger::open(&home.join("ledger.db"), &key, Arc::new(SystemClock), boot).await.unwrap();
    let by = Approver {
        name: format!("{identity} on a page"),
        identity: Some(identity.to_owned()),
        groups: BTreeSet::new(),
        surface: Surface::Human,
        assurance: Assurance::SignedIn,
        typed: None,
        proof: None,
    };
    let id: IntentId = intent.parse().unwrap();
    let said = ledger.update(&id, move |intent, now| intent.approve(&by, intent.digest(), now)).await;
    said.unwrap().unwrap().map_or_else(|refusal| refusal.why.code().to_owned(), |()| "approved".to_owned())
}

/// X6: one yes is counted and runs nothing, the same person and the requester do not count again, and the second
/// person's yes runs it once.
#[tokio::test]
async fn a_call_runs_when_enough_different_people_said_yes() {
    let (stage, mut gateway, key) = serve();
    let alice = gateway.server("notes").bearer(&key);
    let held = alice.call("delete_note", json!({"id": "a"})).await;
    let intent = intent_id(&held);
    let fields = structured(&held);
    assert!(fields.get("confirm_token").is_none(), "the agent has no handle");
    assert_eq!(fields["quorum"], json!({"have": 0, "need": 2}));

    let cli = |args: &[&str]| stage.stage().yesgate(args);
    let first = cli(&["approve", &intent, "--yes"]).ok();
    assert!(first.stdout.contains("Your yes is counted: 1 of 2."), "{}", first.stdout);
    let twice = cli(&["approve", &intent, "--yes"]);
    assert_eq!(twice.code(), 3);
    assert!(twice.stderr.contains("(quorum_pending)"), "{}", twice.stderr);
    assert_eq!(yes_elsewhere(&stage, &intent, "alice").await, "quorum_pending", "the call is made for alice");
    let status = alice.call("yesgate_status", json!({"intent_id": intent})).await;
    assert_eq!(structured(&status)["status"], "quorum_pending");
    assert_eq!(structured(&status)["quorum"], json!({"have": 1, "need": 2}));
    let relayed = alice.call("yesgate_approve", json!({"intent_id": intent})).await;
    assert_eq!(refusal(&relayed), "assurance_too_low");
    assert!(stage.calls("notes").is_empty());

    assert_eq!(yes_elsewhere(&stage, &intent, "bob").await, "approved");
    let result = alice.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(structured(&result)["deleted"], "a", "{result:#}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &["read_note"]).gated, 1);
}

/// X6: a no by anybody denies, however many said yes.
#[tokio::test]
async fn one_no_is_enough() {
    let (stage, mut gateway, key) = serve();
    let alice = gateway.server("notes").bearer(&key);
    let intent = intent_id(&alice.call("delete_note", json!({"id": "a"})).await);
    assert_eq!(yes_elsewhere(&stage, &intent, "bob").await, "quorum_pending");
    stage.deny(&intent).ok();
    assert_eq!(yes_elsewhere(&stage, &intent, "carol").await, "denied");
    assert_eq!(refusal(&alice.call("delete_note", json!({"id": "a"})).await), "denied");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("notes", &["read_note"]).gated, 0);
}

/// X6: over stdio the account that the agent runs under is whom the call is made for: its yes is no second opinion.
#[test]
fn the_agents_own_account_is_no_second_person() {
    let stage = stage().config(TWO);
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    let own = stage.yesgate(&["approve", &intent, "--yes"]);
    assert_eq!(own.code(), 3);
    assert!(own.stderr.contains("0 have said yes"), "{}", own.stderr);
    let remembered = stage.yesgate(&["approve", &intent, "--yes", "--remember", "exact", "--uses", "1"]);
    assert_eq!(remembered.code(), 3);
    assert_eq!(state(&stage, &intent), "pending");
    let doctor = stage.yesgate(&["doctor"]).stdout;
    assert!(doctor.contains("wants the yes of 2 different people"), "{doctor}");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}
