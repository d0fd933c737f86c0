//! Whether the ledger can be written, for whoever sends calls.

use serde_json::json;
use yesgate_ledger::{Ledger, LedgerError, Readiness};
use yesgate_testkit::eventually;
use yesgate_testkit::postgres::Cluster;

use crate::support::{Keeping, Place, ask, assert_sound, keeping, open_question, question};

async fn becomes_writable(ledger: &Ledger) {
    eventually("it can be written", async || (ledger.readiness().await == Readiness::Writable).then_some(()))
        .await;
}

async fn becomes_unwritable(ledger: &Ledger) -> LedgerError {
    eventually("it cannot be written", async || match ledger.readiness().await {
        Readiness::Unwritable(error) => Some(error),
        Readiness::Writable => None,
    })
    .await
}

/// A look writes nothing.
#[tokio::test]
async fn to_ask_whether_it_can_be_written_writes_nothing() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    let head = |place: &Place| place.value("SELECT sequence || '/' || time FROM head");
    let before = head(&place);
    place.clock.set(10);
    becomes_writable(&ledger).await;
    assert_eq!(head(&place), before);
}

/// FC-10: after a failure it is ready when something was written again, without anybody having to call.
#[tokio::test]
async fn a_ledger_that_failed_is_ready_when_it_can_be_written_again() {
    let place = Place::new();
    let ledger = place.open(1).await;
    place.clock.set(100);
    open_question(&ledger, 1, &json!({})).await;
    becomes_writable(&ledger).await;
    place.clock.set(0);
    let failed = ask(&ledger, 2, question("other", &json!({}))).await.unwrap_err();
    assert!(matches!(failed, LedgerError::ClockWentBack { .. }), "{failed}");
    assert!(matches!(becomes_unwritable(&ledger).await, LedgerError::ClockWentBack { .. }));
    place.clock.set(101);
    becomes_writable(&ledger).await;
    drop(ask(&ledger, 2, question("other", &json!({}))).await.unwrap());
    assert_sound(&ledger).await;
}

/// FC-1: not while the server is away, nor while it may only be read.
#[tokio::test]
async fn a_database_that_is_away_or_read_only_is_not_ready() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let place = Place::in_cluster(Cluster::own(&[]));
    let ledger = place.open(1).await;
    becomes_writable(&ledger).await;
    let cluster = |act: &dyn Fn(&Cluster)| place.database(|database| act(database.cluster()));
    cluster(&|cluster| cluster.set("default_transaction_read_only", "on"));
    assert_eq!(becomes_unwritable(&ledger).await, LedgerError::ReadOnly);
    cluster(&|cluster| cluster.set("default_transaction_read_only", "off"));
    becomes_writable(&ledger).await;
    cluster(&|cluster| cluster.stop("immediate"));
    assert!(matches!(becomes_unwritable(&ledger).await, LedgerError::Unreachable(_) | LedgerError::Unseen));
    cluster(&|cluster| cluster.go(&[]));
    becomes_writable(&ledger).await;
    open_question(&ledger, 1, &json!({})).await;
}
