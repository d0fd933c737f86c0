//! A ledger that a newer Yesgate has changed.

use serde_json::json;
use yesgate_testkit::postgres::Cluster;
use yesgate_testkit::{MockEras, MockHttp, ServeStage, refusal};

use super::{KEY, end, held};

/// FC-32: through the door: a node that runs while a newer Yesgate changes the ledger spends nothing more, and none of its
/// age starts.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_older_than_its_ledger_runs_nothing() {
    let database = Cluster::shared().database();
    let server = MockHttp::start(MockEras::Modern);
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("YESGATE_SECRET_KEY", KEY);
    let web = stage.web("web", &server);
    let stage = stage.config(&format!("ledger = \"{}\"\n{web}", database.address()));
    let gateway = stage.start();
    let host = gateway.server("web");
    let (_, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    let known = database.psql("SELECT version FROM yesgate_schema");
    database.psql("UPDATE yesgate_schema SET version = 99");
    for arguments in [yes, json!({"id": "b"})] {
        assert_eq!(refusal(&host.call("delete_note", arguments).await), "consent_unavailable");
    }
    for words in [["serve", "--listen=127.0.0.1:0"].as_slice(), &["pending"]] {
        let refused = stage.stage().yesgate(words);
        assert_eq!(refused.code(), 1, "{refused:#?}");
        assert!(refused.stderr.contains("use the newer Yesgate"), "{}", refused.stderr);
    }
    assert!(server.calls().is_empty());
    database.psql(&format!("UPDATE yesgate_schema SET version = {known}"));
    end(gateway);
    assert_eq!(stage.check_web_history("web", &server, &[]).gated, 0);
}
