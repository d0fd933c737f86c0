//! A standby that is to take over: what must hold before anything is written, and for as long as something is.

use serde_json::json;
use yesgate_core::intent::{DoneKind, Intent, State};
use yesgate_core::policy::Standby;
use yesgate_ledger::{Ledger, LedgerError, Readiness};
use yesgate_testkit::eventually;
use yesgate_testkit::postgres::Cluster;

use crate::support::{
    At, Keeping, Place, TestClock, approve, assert_sound, boot, id, keeping, key, open_question, redeem,
    runner, state,
};

/// Connects as `ha = true` has it.
pub(crate) async fn open_ha(address: &str, clock: &TestClock, seed: u8) -> Result<Ledger, LedgerError> {
    let address: yesgate_ledger::DatabaseAddress = address.parse().unwrap();
    let address = address.with_standby(Standby::TakesOver);
    Ledger::connect(&address, &key(7), clock.shared(), boot(seed)).await
}

fn address(place: &Place) -> String {
    match &place.at {
        At::Database(address) => address.clone(),
        At::File(path) => panic!("{} is no database", path.display()),
    }
}

/// A database whose commits wait for a standby that is there.
fn with_standby() -> (Place, Cluster) {
    let place = Place::in_cluster(Cluster::own(&[]));
    let standby = place.database(|database| {
        let standby = database.cluster().standby("spare");
        database.cluster().wait_for("*");
        standby
    });
    (place, standby)
}

/// What is wrong with a set-up; `None`: nothing.
async fn problem(place: &Place, seed: u8) -> Option<String> {
    match open_ha(&address(place), &place.clock, seed).await {
        Ok(_) => None,
        Err(LedgerError::Unreplicated(problem)) => Some(problem),
        Err(error) => panic!("{error}"),
    }
}

/// Where a standby is to take over, nobody starts unless commits wait for one that is there.
#[tokio::test]
async fn a_node_starts_only_where_a_standby_has_every_commit() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let place = Place::in_cluster(Cluster::own(&[]));
    let empty = "`synchronous_standby_names` is empty";
    assert_eq!(problem(&place, 1).await.as_deref(), Some(empty));
    let standby = place.database(|database| database.cluster().standby("spare"));
    assert_eq!(problem(&place, 1).await.as_deref(), Some(empty), "one that nobody waits for is none");
    let set = |setting: &str, value: &str| place.database(|database| database.cluster().set(setting, value));
    set("synchronous_standby_names", "another");
    assert_eq!(problem(&place, 1).await.as_deref(), Some("no standby that is connected is synchronous"));
    place.database(|database| database.cluster().wait_for("spare"));
    for setting in ["fsync", "full_page_writes"] {
        set(setting, "off");
        assert_eq!(problem(&place, 1).await, Some(format!("`{setting}` is off")));
        set(setting, "on");
    }
    assert_eq!(problem(&place, 1).await, None);
    place.database(|database| database.cluster().wait_for("ANY 1 (spare, another)"));
    assert_eq!(problem(&place, 2).await, None, "a quorum will do");
    standby.stop("immediate");
    assert_eq!(problem(&place, 3).await.as_deref(), Some("no standby is connected"));
}

/// An account that may not see who follows is told what it needs.
#[tokio::test]
async fn an_account_that_sees_no_standby_is_told_what_it_needs() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let place = Place::in_cluster(Cluster::own(&[]));
    let _standby = place.database(|database| {
        database.psql(&format!(
            "CREATE ROLE plain LOGIN; ALTER DATABASE {} OWNER TO plain;
             GRANT USAGE ON SCHEMA turned TO plain; GRANT SELECT ON turned.now TO plain;",
            database.name()
        ));
        let standby = database.cluster().standby("spare");
        database.cluster().wait_for("*");
        standby
    });
    let plain = address(&place).replace("yesgate@", "plain@");
    let refused = open_ha(&plain, &place.clock, 1).await.unwrap_err();
    assert!(refused.to_string().ends_with("grant it the role `pg_read_all_stats`"), "{refused}");
    drop(place.database(|database| database.psql("GRANT pg_read_all_stats TO plain")));
    let ledger = open_ha(&plain, &place.clock, 1).await.unwrap();
    open_question(&ledger, 1, &json!({})).await;
    assert_sound(&ledger).await;
}

/// When commits stop to wait for the standby, nothing is redeemed any more, until they wait again.
#[tokio::test]
async fn nothing_is_redeemed_once_commits_do_not_wait_any_more() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let (place, _standby) = with_standby();
    let ledger = open_ha(&address(&place), &place.clock, 1).await.unwrap();
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    for (setting, off, on) in
        [("synchronous_standby_names", "", "*"), ("fsync", "off", "on"), ("full_page_writes", "off", "on")]
    {
        place.database(|database| database.cluster().set(setting, off));
        let refused = eventually("it is refused", async || match redeem(&ledger, &id(1)).await {
            Err(error) => Some(error),
            Ok(_) => panic!("redeemed while {setting} was {off}"),
        })
        .await;
        assert!(matches!(refused, LedgerError::Unreplicated(_)), "{refused}");
        let unready = eventually("it is not ready", async || match ledger.readiness().await {
            Readiness::Unwritable(error) => Some(error),
            Readiness::Writable => None,
        });
        assert!(matches!(unready.await, LedgerError::Unreplicated(_)));
        place.database(|database| database.cluster().set(setting, on));
        eventually("it is ready again", async || {
            (ledger.readiness().await == Readiness::Writable).then_some(())
        })
        .await;
        assert_eq!(state(&ledger, &id(1)).await, State::Approved);
    }
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    assert_sound(&ledger).await;
}

/// FC-3: while no standby answers a commit waits and nobody hears "done"; balancers hear that the node is not ready.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_waits_for_its_copy_and_the_node_is_not_ready_meanwhile() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let (place, standby) = with_standby();
    let ledger = open_ha(&address(&place), &place.clock, 1).await.unwrap();
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    standby.stop("immediate");
    let waits = ledger.clone();
    let waiting =
        tokio::spawn(async move { redeem(&waits, &id(1)).await.map(|permitted| permitted.is_ok()) });
    eventually("it is not ready", async || (ledger.readiness().await != Readiness::Writable).then_some(()))
        .await;
    assert!(!waiting.is_finished());
    standby.go(&["-c max_connections=200"]);
    assert_eq!(waiting.await.unwrap(), Ok(true));
    eventually("it is ready again", async || (ledger.readiness().await == Readiness::Writable).then_some(()))
        .await;
    assert_sound(&ledger).await;
}

/// FC-3: a commit that waits for a standby which is gone is not cut short, and nobody waits for it for ever: whoever would
/// spend a yes is refused. When the commit comes through after all, the yes is spent, and nothing has run.
#[tokio::test]
async fn nobody_waits_for_ever_for_a_standby_that_is_gone() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let (place, standby) = with_standby();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    standby.stop("immediate");
    let (begin, begun) = std::sync::mpsc::channel();
    let spending = {
        let (spender, boot) = (ledger.clone(), ledger.boot().clone());
        let spend = move |intent: &mut Intent, now| {
            begin.send(()).unwrap();
            intent.redeem(&runner(&boot), now)
        };
        tokio::spawn(async move { spender.update(&id(1), spend).await })
    };
    tokio::task::yield_now().await;
    begun.recv().unwrap();
    // Whoever waits has nothing else to do, so time flies.
    tokio::time::pause();
    let refused = spending.await.unwrap().unwrap_err();
    assert!(matches!(refused, LedgerError::InDoubt(_)), "{refused}");
    tokio::time::resume();
    assert_eq!(state(&ledger, &id(1)).await, State::Approved, "nobody sees what is not committed");

    place.database(|database| database.cluster().set("synchronous_standby_names", ""));
    eventually("the commit comes through", async || ledger.is_any_over().await.unwrap().then_some(())).await;
    ledger.sweep().await.unwrap();
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::NotSent));
    redeem(&ledger, &id(1)).await.unwrap().unwrap_err();
    assert_sound(&ledger).await;
}
