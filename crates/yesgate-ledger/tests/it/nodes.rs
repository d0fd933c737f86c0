//! Several nodes on one database: what holds when they race, when the line breaks, and when the server does.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::intent::{Asked, DoneKind, Intent, State};
use yesgate_ledger::{Ledger, LedgerError, Swept};
use yesgate_testkit::line::{Cut, Line};
use yesgate_testkit::postgres::Cluster;

use crate::support::{
    At, Keeping, Place, TestClock, approve, ask, assert_sound, binding, id, keeping, open_at, open_question,
    present, question, redeem, state, t, token, word,
};

/// A database, in the run that is about databases.
fn shared_place() -> Option<Place> {
    (keeping() == Keeping::Postgres).then(Place::new)
}

/// Opens a ledger over a line that can fail.
async fn open_by_a_line(place: &Place) -> (Line, Ledger) {
    let line = place.database(|database| Line::to(database.cluster().socket()));
    let at = At::Database(place.database(|database| database.address_by(line.socket())));
    let ledger = open_at(&at, &place.clock, 1).await.unwrap();
    (line, ledger)
}

/// A question with a yes.
async fn approved(ledger: &Ledger) {
    open_question(ledger, 1, &json!({})).await;
    approve(ledger, &id(1)).await.unwrap();
}

/// Far longer than anything takes, so that a slow machine fails nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tries until it works: far longer than it ever takes, so that a slow machine fails nothing.
async fn eventually<T>(mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let patience = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(Instant::now() < patience, "it never came to be");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// INV2: of four nodes with 64 clients that bring one token, one client runs the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_four_nodes_with_64_clients_one_runs_it() {
    let Some(place) = shared_place() else { return };
    let mut nodes = Vec::new();
    for seed in 1..=4 {
        nodes.push(place.open(seed).await);
    }
    open_question(&nodes[0], 1, &json!({})).await;
    let mut tasks = JoinSet::new();
    for client in 0..64 {
        let node = nodes[client % 4].clone();
        tasks.spawn(async move {
            let claim = present(&node, &token(1), binding("upgrade_plan", &json!({}))).await;
            claim.is_some_and(|claim| word(&claim) == "run")
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().filter(|ran| *ran).count(), 1);
    for node in &nodes {
        assert_eq!(state(node, &id(1)).await, State::Running);
    }
    assert_sound(&nodes[3]).await;
}

/// INV10: what four nodes write at the same time is one chain without a gap.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_nodes_write_one_chain() {
    let Some(place) = shared_place() else { return };
    let mut tasks = JoinSet::new();
    for seed in 1..=4_u8 {
        let node = place.open(seed).await;
        for number in 1..=25_u32 {
            let (node, seed) = (node.clone(), u32::from(seed) * 100 + number);
            tasks.spawn(async move {
                drop(ask(&node, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
                approve(&node, &id(seed)).await.unwrap();
                drop(redeem(&node, &id(seed)).await.unwrap().unwrap());
            });
        }
    }
    tasks.join_all().await;
    let report = place.open(9).await.verify().await.unwrap();
    // What the nodes were running is lost, for they are closed.
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!((report.rows, report.intents), (500, 100));
}

/// A decision on one node is heard on another one within 200 ms.
#[tokio::test]
async fn a_commit_is_heard_on_another_node_within_200_ms() {
    let Some(place) = shared_place() else { return };
    let (here, there) = (place.open(1).await, place.open(2).await);
    open_question(&here, 1, &json!({})).await;
    let mut changes = there.changes();
    // What was before it listened.
    while tokio::time::timeout(Duration::from_millis(300), changes.changed()).await.is_ok() {}
    let mut took = Vec::new();
    for seed in 2..=6 {
        drop(ask(&here, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
        let committed = Instant::now();
        tokio::time::timeout(Duration::from_secs(20), changes.changed()).await.unwrap();
        took.push(committed.elapsed());
    }
    took.sort();
    // The middle one: a machine that is busy with something else may be late once.
    assert!(took[2] < Duration::from_millis(200), "{took:?}");
}

/// FC-2: a commit whose answer was lost: nobody hears "done", the yes is spent, and it is admitted that nothing ran.
#[tokio::test]
async fn a_line_that_is_cut_after_the_commit_spends_the_yes_and_runs_nothing() {
    let Some(place) = shared_place() else { return };
    let (line, ledger) = open_by_a_line(&place).await;
    approved(&ledger).await;
    line.cut(Cut::AfterCommit);
    let doubt = redeem(&ledger, &id(1)).await.unwrap_err();
    assert!(matches!(doubt, LedgerError::InDoubt(_)), "{doubt}");
    assert_eq!(doubt.public_reason(), "the consent ledger did not say whether it was written down");
    // It was. Whoever tries again learns that the yes is spent, and finds out that nothing was sent.
    let refusal = eventually(async || redeem(&ledger, &id(1)).await.ok()).await.unwrap_err();
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::NotSent), "{refusal:?}");
    assert_sound(&ledger).await;
}

/// Nobody need try again for that: whoever looks for what is over finds out.
#[tokio::test]
async fn a_commit_in_doubt_is_found_out_about_though_nobody_tries_again() {
    let Some(place) = shared_place() else { return };
    let (line, ledger) = open_by_a_line(&place).await;
    approved(&ledger).await;
    assert!(!ledger.is_any_over().await.unwrap());
    line.cut(Cut::AfterCommit);
    redeem(&ledger, &id(1)).await.unwrap_err();
    assert!(ledger.is_any_over().await.unwrap());
    eventually(async || ledger.sweep().await.ok()).await;
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::NotSent));
    assert!(!ledger.is_any_over().await.unwrap());
    assert_sound(&ledger).await;
}

/// FC-2: a commit that never arrived: nobody hears "done", and the yes can still be used, once.
#[tokio::test]
async fn a_line_that_is_cut_before_the_commit_spends_nothing() {
    let Some(place) = shared_place() else { return };
    let (line, ledger) = open_by_a_line(&place).await;
    approved(&ledger).await;
    line.cut(Cut::BeforeCommit);
    let doubt = redeem(&ledger, &id(1)).await.unwrap_err();
    assert!(matches!(doubt, LedgerError::InDoubt(_)), "{doubt}");
    drop(eventually(async || redeem(&ledger, &id(1)).await.ok()).await.unwrap());
    assert_eq!(state(&ledger, &id(1)).await, State::Running);
    assert_sound(&ledger).await;
}

/// However small the pieces are in which answers come, all of them are taken: nobody waits for an answer behind one that
/// nobody takes.
#[tokio::test]
async fn answers_that_come_byte_by_byte_hold_nobody_up() {
    let Some(place) = shared_place() else { return };
    let (line, ledger) = open_by_a_line(&place).await;
    line.drip();
    for number in 1..4 {
        let tool = format!("tool_{number}");
        let asked = tokio::time::timeout(PATIENCE, ask(&ledger, number, question(&tool, &json!({})))).await;
        assert!(matches!(asked.expect("it ends").unwrap(), Asked::Open(_)));
        let answered = tokio::time::timeout(PATIENCE, approve(&ledger, &id(number))).await;
        answered.expect("it ends").unwrap();
        let redeemed = tokio::time::timeout(PATIENCE, redeem(&ledger, &id(number))).await;
        drop(redeemed.expect("it ends").unwrap().unwrap());
    }
    line.mend();
    assert_sound(&ledger).await;
}

/// Somebody who takes calls and says nothing is no database: nobody waits for it for ever, and a ledger that knows no other
/// can still be closed.
#[tokio::test]
async fn a_database_that_says_nothing_is_out_of_reach() {
    let Some(place) = shared_place() else { return };
    let silent = tempfile::tempdir().unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(silent.path().join(".s.PGSQL.5432")).unwrap();
    let at = At::Database(place.database(|database| database.address_by(silent.path())));
    let opened = tokio::time::timeout(PATIENCE, open_at(&at, &place.clock, 1)).await.expect("it ends");
    assert!(matches!(opened, Err(LedgerError::Unreachable(_))), "{opened:?}");
}

/// THREATS §0.6: a commit with a word of warning is none, although the database says that it went well.
#[tokio::test]
async fn a_warning_with_the_commit_means_that_nothing_runs() {
    let Some(place) = shared_place() else { return };
    let ledger = place.open(1).await;
    approved(&ledger).await;
    place.tamper(
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION warn();",
    );
    let doubt = redeem(&ledger, &id(1)).await.unwrap_err();
    let said = "nobody knows whether it was written down \
                (the database warned: canceling wait for synchronous replication)";
    assert_eq!(doubt.to_string(), said);
    place.tamper("DROP TRIGGER warn ON audit");
    redeem(&ledger, &id(1)).await.unwrap().unwrap_err();
    assert_eq!(state(&ledger, &id(1)).await, State::Done(DoneKind::NotSent));
    assert_sound(&ledger).await;
}

/// A statement that fails spoils its own change, and no other one of the same commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_statement_that_fails_spoils_no_other_change() {
    let Some(place) = shared_place() else { return };
    let ledger = place.open(1).await;
    place.tamper(
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
         CREATE TRIGGER spoil BEFORE INSERT ON asked FOR EACH ROW
             WHEN (hashtext(new.intent) % 3 = 0) EXECUTE FUNCTION spoil();",
    );
    let mut tasks = JoinSet::new();
    for seed in 1..=60_u32 {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            match ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await {
                Ok(Asked::Open(_)) => true,
                Ok(other) => panic!("not asked: {other:?}"),
                Err(error) => {
                    assert_eq!(error.to_string(), "the ledger's store refused: not this one");
                    false
                }
            }
        });
    }
    let asked = tasks.join_all().await.into_iter().filter(|asked| *asked).count();
    assert!(asked > 0 && asked < 60, "{asked}");
    assert_eq!(place.value("SELECT count(*) FROM intent"), asked.to_string());
    assert_sound(&ledger).await;
}

/// FC-1: while the server is away nothing is written and nothing runs; when it is back, nothing is lost and nothing
/// comes twice.
#[tokio::test]
async fn a_server_that_is_killed_loses_nothing_and_nothing_runs_meanwhile() {
    if keeping() != Keeping::Postgres {
        return;
    }
    let place = Place::in_cluster(Cluster::own(&[]));
    let ledger = place.open(1).await;
    approved(&ledger).await;
    place.database(|database| database.cluster().stop("immediate"));
    let away = redeem(&ledger, &id(1)).await.unwrap_err();
    assert!(matches!(away, LedgerError::Unreachable(_) | LedgerError::InDoubt(_)), "{away}");
    assert!(matches!(ledger.intent(&id(1)).await.unwrap_err(), LedgerError::Unreachable(_)));
    place.database(|database| database.cluster().go(&[]));
    drop(eventually(async || redeem(&ledger, &id(1)).await.ok()).await.unwrap());
    assert_eq!(redeem(&ledger, &id(1)).await.unwrap().unwrap_err().why.code(), "execution_in_progress");
    assert_sound(&ledger).await;
}

/// INV5, FC-12: the database's clock counts; that of a node does not.
#[tokio::test]
async fn the_clock_of_the_database_is_the_one_that_counts() {
    let Some(place) = shared_place() else { return };
    let (ahead, behind) = (TestClock::new(), TestClock::new());
    ahead.set(100_000);
    behind.set(-100_000);
    let (first, second) =
        (open_at(&place.at, &ahead, 1).await.unwrap(), open_at(&place.at, &behind, 2).await.unwrap());
    approved(&first).await;
    assert_eq!((first.now(), second.now()), (t(0), t(0)));
    place.clock.set(59);
    drop(redeem(&second, &id(1)).await.unwrap().unwrap());
    assert_sound(&first).await;
}

/// Of nodes that all find an empty database one makes the tables, and the others find them made.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_migrate_at_once_find_one_schema() {
    let Some(place) = shared_place() else { return };
    let mut tasks = JoinSet::new();
    for seed in 1..=6 {
        let (at, clock) = (place.at.clone(), place.clock.clone());
        tasks.spawn(async move { open_at(&at, &clock, seed).await });
    }
    let nodes: Vec<_> = tasks.join_all().await.into_iter().map(Result::unwrap).collect();
    approved(&nodes[5]).await;
    assert_sound(&nodes[0]).await;
    assert_eq!(place.value("SELECT count(*) FROM yesgate_schema"), "1");
}

/// Of nodes that all find an older ledger one brings it up to date, and nothing in it is lost: a yes that was given before is
/// spent after, once, and what the newer tables forbid is forbidden.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_find_an_older_ledger_bring_it_up_to_date_once() {
    let Some(place) = shared_place() else { return };
    let old = place.open(1).await;
    approved(&old).await;
    drop(old);
    place.database(|database| database.psql(BACK_TO_SCHEMA_3));
    let mut tasks = JoinSet::new();
    for seed in 2..=7 {
        let (at, clock) = (place.at.clone(), place.clock.clone());
        tasks.spawn(async move { open_at(&at, &clock, seed).await });
    }
    let nodes: Vec<_> = tasks.join_all().await.into_iter().map(Result::unwrap).collect();
    assert_eq!(place.value("SELECT version FROM yesgate_schema"), "6");
    drop(redeem(&nodes[0], &id(1)).await.unwrap().unwrap());
    redeem(&nodes[5], &id(1)).await.unwrap().unwrap_err();
    assert_sound(&nodes[3]).await;
    let triggers = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal AND tgname IN
        ('intent_stays', 'past_stays', 'beginning_stays', 'audit_redeems_once', 'audit_is_not_shortened')";
    assert_eq!(place.value(triggers), "5");
}

/// Undoes what came after the third schema, so that a ledger is as a program of then left it.
const BACK_TO_SCHEMA_3: &str = "DROP TRIGGER intent_stays ON intent;
     DROP TRIGGER intent_is_not_emptied ON intent;
     DROP FUNCTION intent_is_kept();
     ALTER TABLE audit ADD CONSTRAINT audit_intent_fkey FOREIGN KEY (intent) REFERENCES intent (id);
     DROP TABLE beginning, carried, past;
     DROP FUNCTION past_is_kept(), beginning_is_kept();
     DROP TRIGGER audit_redeems_once ON audit;
     DROP FUNCTION audit_was_redeemed();
     DROP TRIGGER audit_is_not_shortened ON audit;
     DROP FUNCTION audit_is_kept();
     CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_stays();
     DROP TABLE origin;
     UPDATE yesgate_schema SET version = 3;";

/// A yes is spent however little time the database usually gives a statement: one that is cut short would leave in doubt
/// whether it was.
#[tokio::test]
async fn no_statement_of_a_redemption_is_cut_short() {
    let Some(place) = shared_place() else { return };
    place.database(|database| {
        database.psql(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 20', current_database()); END $$",
        )
    });
    let ledger = place.open(1).await;
    approved(&ledger).await;
    place.database(|database| {
        database.psql(
            "CREATE FUNCTION takes_long() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$;
             CREATE TRIGGER is_slow BEFORE UPDATE ON intent FOR EACH ROW EXECUTE FUNCTION takes_long();",
        )
    });
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    assert_sound(&ledger).await;
}

/// FC-32: an old node does not touch a newer ledger, and nobody's tables become one.
#[tokio::test]
async fn a_newer_schema_and_other_tables_are_refused() {
    let Some(place) = shared_place() else { return };
    let running = place.open(1).await;
    approved(&running).await;
    place.tamper("UPDATE yesgate_schema SET version = 99");
    let refused = redeem(&running, &id(1)).await.unwrap_err();
    assert!(matches!(refused, LedgerError::NewerSchema { found: 99, .. }), "{refused}");
    let refused = place.try_open(2).await.unwrap_err();
    assert!(matches!(refused, LedgerError::NewerSchema { found: 99, .. }), "{refused}");
    let Some(other) = shared_place() else { return };
    other.database(|database| database.psql("CREATE TABLE intent (what TEXT)"));
    assert_eq!(other.try_open(1).await.unwrap_err(), LedgerError::NotALedger);
}

/// A node that others cannot see runs nothing, until they see it again.
#[tokio::test]
async fn a_node_that_is_not_seen_runs_nothing() {
    let Some(place) = shared_place() else { return };
    let ledger = place.open(1).await;
    approved(&ledger).await;
    hide(&place);
    assert_eq!(redeem(&ledger, &id(1)).await.unwrap_err(), LedgerError::Unseen);
    assert_eq!(state(&ledger, &id(1)).await, State::Approved);
    place.tamper("DROP TRIGGER hide ON node");
    drop(eventually(async || redeem(&ledger, &id(1)).await.ok()).await.unwrap());
    assert_sound(&ledger).await;
}

/// X3: what a node was running that lost its line for too long is unknown; that it lives changes nothing.
#[tokio::test]
async fn what_a_node_ran_that_nobody_saw_any_more_is_unknown() {
    let Some(place) = shared_place() else { return };
    let (lost, other) = (place.open(1).await, place.open(2).await);
    approved(&lost).await;
    drop(redeem(&lost, &id(1)).await.unwrap().unwrap());
    place.tamper(
        "CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RAISE EXCEPTION 'hidden'; END $$;
         CREATE TRIGGER hide BEFORE INSERT ON node FOR EACH ROW EXECUTE FUNCTION hide();
         SELECT pg_terminate_backend(pid) FROM pg_locks
             WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database
                                                        WHERE datname = current_database());",
    );
    assert_eq!(other.sweep().await.unwrap(), Swept::default(), "not before a while has passed");
    place.clock.set(6);
    assert_eq!(other.sweep().await.unwrap(), Swept { expired: 0, lost: 1 });
    place.tamper("DROP TRIGGER hide ON node");
    let late = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now).is_ok();
    lost.update(&id(1), late).await.unwrap();
    assert_eq!(state(&other, &id(1)).await, State::Unknown);
    assert_sound(&other).await;
}

/// Takes a node's row away, and lets it not come back.
fn hide(place: &Place) {
    place.tamper(
        "CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RAISE EXCEPTION 'hidden'; END $$;
         CREATE TRIGGER hide BEFORE INSERT ON node FOR EACH ROW EXECUTE FUNCTION hide();
         DELETE FROM node;",
    );
}
