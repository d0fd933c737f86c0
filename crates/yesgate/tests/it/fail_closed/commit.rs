//! A database that does not say whether it committed.

use serde_json::json;
use yesgate_testkit::line::{Cut, Line};
use yesgate_testkit::postgres::Cluster;
use yesgate_testkit::{MockEras, MockHttp, ServeStage, eventually, refusal};

use super::{KEY, end, held, ran};

/// FC-2: through the door: the line to the database breaks while a yes is being spent. Nothing is sent, whether the commit
/// arrived or not. If it did, the yes is spent and shown as not sent; if not, it can still be used, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_yes_whose_commit_nobody_confirms_sends_nothing() {
    let database = Cluster::shared().database();
    let line = Line::to(database.cluster().socket());
    let server = MockHttp::start(MockEras::Modern);
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("YESGATE_SECRET_KEY", KEY);
    let web = stage.web("web", &server);
    let stage = stage.config(&format!("ledger = \"{}\"\n{web}", database.address_by(line.socket())));
    let gateway = stage.start();
    let host = gateway.server("web");

    let (intent, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    line.cut(Cut::AfterCommit);
    let told = host.call("delete_note", yes.clone()).await;
    assert_eq!(refusal(&told), "consent_unavailable", "{told:#}");
    eventually("it is known that nothing was sent", async || {
        let shown = stage.shown(&intent);
        (shown["state"] == "done" && shown["outcome"] == "not_sent").then_some(())
    })
    .await;
    assert_eq!(refusal(&host.call("delete_note", yes).await), "consent_token_invalid");
    assert!(server.calls().is_empty());

    let (intent, yes) = held(&host, "delete_note", json!({"id": "b"})).await;
    line.cut(Cut::BeforeCommit);
    let told = host.call("delete_note", yes.clone()).await;
    assert_eq!(refusal(&told), "consent_unavailable", "{told:#}");
    assert!(server.calls().is_empty());
    assert_eq!(stage.shown(&intent)["state"], "pending");
    eventually("the yes is used", async || ran(&host.call("delete_note", yes.clone()).await).then_some(()))
        .await;
    assert_eq!(line.cuts(), 2);
    end(gateway);
    let history = stage.check_web_history("web", &server, &[]);
    assert_eq!((history.gated, history.redeemed), (1, 2));
}
