//! The clock that counts, turned under a running gate.

use serde_json::json;
use yesgate_testkit::postgres::{Cluster, Database};
use yesgate_testkit::{Gateway, ServeStage, eventually, refusal, text};

use super::{KEY, end, held, probe, ran};

/// A node whose database has a clock that can be turned.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    database: Database,
}

impl Play {
    fn new() -> Self {
        let database = Cluster::shared().database();
        database.psql(
            "CREATE SCHEMA turned;
             CREATE TABLE turned.ahead (by interval);
             INSERT INTO turned.ahead VALUES ('0');
             CREATE FUNCTION turned.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
                 AS 'SELECT pg_catalog.clock_timestamp() + by FROM turned.ahead';
             DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, turned, pg_catalog',
                 current_database()); END $$;",
        );
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("YESGATE_SECRET_KEY", KEY);
        let server = stage.child("mock", &[]);
        let stage = stage.config(&format!("ledger = \"{}\"\n{server}", database.address()));
        let gateway = stage.start();
        Self { stage, gateway, database }
    }

    /// Sets the clock so far ahead of the right time.
    fn turn(&self, ahead: &str) {
        self.database.psql(&format!("UPDATE turned.ahead SET by = '{ahead}'"));
    }
}

/// FC-10: through the door: while the clock is behind what was written down, nothing is asked, decided or run; reads pass,
/// and balancers hear of it. Set right, it goes on where it was.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_clock_is_behind_nothing_that_needs_a_yes_runs() {
    let play = Play::new();
    let host = play.gateway.server("mock");
    let (intent, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    play.turn("-1 hour");
    for arguments in [yes.clone(), json!({"id": "b"})] {
        let told = host.call("delete_note", arguments).await;
        assert_eq!(refusal(&told), "consent_unavailable", "{told:#}");
    }
    assert_ne!(play.stage.approve(&intent).code(), 0);
    let unready = probe(play.gateway.url(), "/readyz", 503).await;
    assert_eq!(unready["why"], "the clock of the gateway went back");
    assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");
    assert!(play.stage.calls("mock").iter().all(|call| call["params"]["name"] == "read_note"));
    play.turn("0");
    probe(play.gateway.url(), "/readyz", 200).await;
    eventually("the yes is used", async || ran(&host.call("delete_note", yes.clone()).await).then_some(()))
        .await;
    end(play.gateway);
    assert_eq!(play.stage.check_history("mock", &["read_note"]).gated, 1);
}

/// FC-11, FC-12: a clock that goes forward ends questions early and lets nothing live late. That it is far from the node's
/// own stops nothing, for it is the database's that counts; doctor says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_goes_forward_ends_questions_early() {
    let play = Play::new();
    let host = play.gateway.server("mock");
    let (intent, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    play.turn("1 hour");
    eventually("the token is too old", async || {
        let told = host.call("delete_note", yes.clone()).await;
        assert!(!ran(&told), "{told:#}");
        told.to_string().contains("consent_token_expired").then_some(())
    })
    .await;
    assert_eq!(play.stage.shown(&intent)["state"], "expired");
    assert_ne!(play.stage.approve(&intent).code(), 0);
    held(&host, "delete_note", json!({"id": "b"})).await;
    let doctor = play.stage.stage().yesgate(&["doctor"]).stdout;
    let line = doctor.lines().find(|line| line.contains("  clock  ")).unwrap_or_default();
    assert!(line.starts_with("know") && line.contains("set one right"), "{doctor}");
    end(play.gateway);
    assert_eq!(play.stage.check_history("mock", &[]).gated, 0);
}
