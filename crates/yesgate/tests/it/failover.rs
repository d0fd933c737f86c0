//! Nodes whose database dies: what they say meanwhile, and what another database in its place may do.

use serde_json::json;
use yesgate_testkit::postgres::{Cluster, Database};
use yesgate_testkit::{ServeStage, eventually, refusal};

use crate::fail_closed::{held, probe};

/// A node on a database.
fn node(address: &str, ledger: &str) -> ServeStage {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let server = stage.child("mock", &[]);
    stage
        .config(&format!("[times]\ntoken = \"20m\"\n[ledger]\nat = \"{address}\"\n{ledger}\n{server}"))
        .env("YESGATE_SECRET_KEY", "07".repeat(32))
}

/// A primary with a database, and a standby.
fn pair() -> (Database, Cluster) {
    let database = Cluster::own(&[]).database();
    let standby = database.cluster().standby("spare");
    (database, standby)
}

/// FC-1: while the ledger cannot be written a node tells balancers so, and tells whoever watches it that it lives.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_database_is_away_lives_and_is_not_ready() {
    let database = Cluster::own(&[]).database();
    let stage = node(&database.address(), "");
    let mut gateway = stage.start();
    let host = gateway.server("mock");
    assert_eq!(probe(gateway.url(), "/readyz", 200).await["status"], "ready");
    database.cluster().stop("immediate");
    let unready = probe(gateway.url(), "/readyz", 503).await;
    assert_eq!(
        (&unready["status"], &unready["why"]),
        (&json!("unready"), &json!("the consent ledger cannot be reached"))
    );
    assert!(unready["servers"]["mock"].is_object(), "{unready}");
    probe(gateway.url(), "/healthz", 200).await;
    let refused = host.call("delete_note", json!({"id": "a"})).await;
    assert_eq!(refusal(&refused), "consent_unavailable");
    database.cluster().go(&[]);
    probe(gateway.url(), "/readyz", 200).await;
    let (_, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    let ran = host.call("delete_note", yes).await;
    assert_eq!(ran["result"]["structuredContent"]["deleted"], "a", "{ran}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &[]).gated, 1);
}

/// FC-1, X6: while a node cannot read the ledger it cannot hear that somebody stopped everything. So nothing leaves it, not
/// even what needs no yes; nobody can decide; and when the ledger is back, so are the calls.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaves_a_node_that_cannot_hear_of_a_stop() {
    let database = Cluster::own(&[]).database();
    let rule = "[[rules]]\ntool = \"mock/write_note\"\nthen = \"run\"";
    let stage = node(&database.address(), rule);
    let mut gateway = stage.start();
    let host = gateway.server("mock");
    let (read, write) = (("read_note", json!({"id": "a"})), ("write_note", json!({"id": "b", "text": "x"})));
    for (tool, arguments) in [&read, &write] {
        assert_ne!(host.call(tool, arguments.clone()).await["result"]["isError"], true, "{tool}");
    }
    let (intent, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    database.cluster().stop("immediate");
    // What was heard counts for a second.
    eventually("reads are refused", async || {
        let told = host.call(read.0, read.1.clone()).await;
        (told["result"]["isError"] == true).then(|| assert_eq!(refusal(&told), "consent_unavailable"))
    })
    .await;
    let before = stage.calls("mock").len();
    for (tool, arguments) in
        [&read, &write, &("delete_note", json!({"id": "b"})), &("delete_note", yes.clone())]
    {
        assert_eq!(refusal(&host.call(tool, arguments.clone()).await), "consent_unavailable", "{tool}");
    }
    assert_ne!(stage.approve(&intent).code(), 0);
    assert_eq!(stage.calls("mock").len(), before);
    database.cluster().go(&[]);
    probe(gateway.url(), "/readyz", 200).await;
    eventually("calls pass again", async || {
        let told = host.call(read.0, read.1.clone()).await;
        (told["result"]["isError"] != true).then_some(())
    })
    .await;
    assert_eq!(host.call("delete_note", yes).await["result"]["structuredContent"]["deleted"], "a");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &["read_note", "write_note"]).gated, 1);
}

/// `ha = true` is a promise: no command starts where it does not hold, and doctor says what to do.
#[tokio::test(flavor = "multi_thread")]
async fn where_a_standby_is_to_take_over_nothing_starts_without_one() {
    let (database, _standby) = pair();
    let stage = node(&database.address(), "ha = true");
    for command in [vec!["pending"], vec!["serve", "--listen", "127.0.0.1:0"], vec!["audit", "verify"]] {
        let refused = stage.stage().yesgate(&command);
        assert_ne!(refused.code(), 0, "{command:?}");
        assert!(
            refused.stderr.contains(
                "a standby that takes over could lack what was committed: `synchronous_standby_names` is empty"
            ),
            "{command:?}: {}",
            refused.stderr
        );
        assert!(refused.stderr.contains("Hint: `ha = true` in [ledger] says"), "{}", refused.stderr);
    }
    let doctor = stage.stage().yesgate(&["doctor"]);
    assert_eq!(doctor.code(), 5);
    assert!(
        doctor.stdout.contains(
            "MEND  failover      `ha = true` says that a standby takes over, but commits do not wait for one \
             (synchronous: none; asynchronous: spare): nothing starts."
        ),
        "{}",
        doctor.stdout
    );
    database.cluster().wait_for("*");
    stage.stage().yesgate(&["pending"]).ok();
    let doctor = stage.stage().yesgate(&["doctor"]).stdout;
    for line in [
        ": PostgreSQL ",
        ", the primary, system and timeline ",
        "ok    line          the line to the database does not leave this machine",
        "ok    clock         the database's clock, which counts, is ",
        "ok    failover      a failover cannot bring a spent yes back: every commit waits for a standby \
         (synchronous: spare; asynchronous: none)",
    ] {
        assert!(doctor.contains(line), "{line}\n{doctor}");
    }
}

/// Doctor says in plain words what a failover can do where nobody asked for a standby.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_whether_a_failover_can_revive_a_spent_yes() {
    let database = Cluster::own(&[]).database();
    let doctor = |address: &str| node(address, "").stage().yesgate(&["doctor"]).stdout;
    let alone = doctor(&database.address());
    assert!(alone.contains("know  failover      no standby follows the database"), "{alone}");
    let standby = database.cluster().standby("spare");
    let behind = doctor(&database.address());
    assert!(behind.contains("know  failover      a failover CAN lose the last commits"), "{behind}");
    database.cluster().wait_for("*");
    let waits = doctor(&database.address());
    assert!(waits.contains("Say `ha = true` in [ledger] where that is to stay so"), "{waits}");
    let other = doctor(&database.address_by(standby.socket()));
    assert!(other.contains("a standby, which cannot be written; name the primary, or both"), "{other}");
}

/// INV2, FC-4: through the door, with an asynchronous standby: the yes that was spent is not spent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ran_does_not_run_again_after_an_asynchronous_failover() {
    let (database, standby) = pair();
    let stage = node(&database.address_at(&[database.cluster(), &standby]), "");
    let mut gateway = stage.start();
    let host = gateway.server("mock");
    let relayed = held(&host, "delete_note", json!({"id": "a"})).await;
    let local = held(&host, "write_note", json!({"id": "b", "text": "c"})).await;
    standby.catch_up(database.cluster());
    standby.stop_receiving();
    // One runs by the agent's word, one by a human's. The standby never hears of either.
    let ran = host.call("delete_note", relayed.1.clone()).await;
    assert_eq!(ran["result"]["structuredContent"]["deleted"], "a", "{ran}");
    stage.approve(&local.0).ok();
    eventually("the call runs", async || (stage.calls("mock").len() == 2).then_some(())).await;

    database.cluster().kill9();
    standby.promote();
    probe(gateway.url(), "/readyz", 200).await;
    for (tool, (intent, yes)) in [("delete_note", &relayed), ("write_note", &local)] {
        let refused = eventually("the new primary answers", async || {
            let answer = host.call(tool, yes.clone()).await;
            (refusal(&answer) != "consent_unavailable").then(|| refusal(&answer).to_owned())
        })
        .await;
        assert_eq!(refused, "execution_unknown");
        assert_eq!(stage.shown(intent)["state"], "voided");
        stage.approve(intent);
    }
    // Somebody who wants it again is asked again.
    let (anew, _) = held(&host, "delete_note", json!({"id": "a"})).await;
    assert_ne!(anew, relayed.0);
    assert!(gateway.close().success());
    assert_eq!(stage.calls("mock").len(), 2, "something ran twice");
    assert!(stage.stage().yesgate(&["audit", "verify"]).ok().stdout.contains("whole"));
}

/// INV2, FC-4: through the door, with a synchronous standby: what was spent is known to be, and what was not can be.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_in_a_synchronous_failover() {
    let (database, standby) = pair();
    database.cluster().wait_for("*");
    let stage = node(&database.address_at(&[database.cluster(), &standby]), "ha = true");
    let mut gateway = stage.start();
    let host = gateway.server("mock");
    let (_, spent) = held(&host, "delete_note", json!({"id": "a"})).await;
    let ran = host.call("delete_note", spent.clone()).await;
    assert_eq!(ran["result"]["structuredContent"]["deleted"], "a", "{ran}");
    let (_, open) = held(&host, "delete_note", json!({"id": "b"})).await;

    database.cluster().kill9();
    standby.promote();
    let unready = probe(gateway.url(), "/readyz", 503).await;
    assert_eq!(unready["status"], "unready");
    let _third = standby.standby("third");
    standby.wait_for("*");
    probe(gateway.url(), "/readyz", 200).await;
    host.call("delete_note", spent).await;
    assert_eq!(stage.calls("mock").len(), 1, "it ran twice");
    let ran = host.call("delete_note", open).await;
    assert_eq!(ran["result"]["structuredContent"]["deleted"], "b", "{ran}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &[]).gated, 2);
}
