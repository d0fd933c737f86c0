//! Real primaries that die and real standbys that take over: what was spent stays spent, or is void.

use serde_json::json;
use yesgate_core::audit::AuditEvent;
use yesgate_core::grant::{Limits, Wish, WishedScope};
use yesgate_core::id::{GrantId, IntentId};
use yesgate_core::intent::{Asked, DoneKind, Intent, State};
use yesgate_core::refusal::Why;
use yesgate_ledger::{Ledger, LedgerError, Readiness};
use yesgate_testkit::eventually;
use yesgate_testkit::postgres::Cluster;

use crate::standby::open_ha;
use crate::support::{
    At, Keeping, Place, approve, ask, assert_sound, binding, entropy, human, id, keeping, open_at, present,
    question, redeem, state, t, token, word,
};

/// A primary and a standby.
struct Pair {
    place: Place,
    standby: Cluster,
    name: String,
}

impl Pair {
    fn new() -> Option<Self> {
        if keeping() != Keeping::Postgres {
            return None;
        }
        let place = Place::in_cluster(Cluster::own(&[]));
        let (standby, name) =
            place.database(|database| (database.cluster().standby("spare"), database.name().to_owned()));
        Some(Self { place, standby, name })
    }

    /// Both, as `host1,host2`.
    fn address(&self) -> String {
        self.place.database(|database| database.address_at(&[database.cluster(), &self.standby]))
    }

    async fn open(&self, seed: u8) -> Ledger {
        open_at(&At::Database(self.address()), &self.place.clock, seed).await.unwrap()
    }

    fn primary<T>(&self, act: impl FnOnce(&Cluster) -> T) -> T {
        self.place.database(|database| act(database.cluster()))
    }

    /// The primary dies, and the standby takes over.
    fn fail_over(&self) {
        self.primary(Cluster::kill9);
        self.standby.promote();
    }

    /// What the standby has of a question.
    fn copy(&self, id: &IntentId) -> String {
        self.standby.psql(&self.name, &format!("SELECT state FROM intent WHERE id = '{id}'"))
    }
}

/// A yes to a tool that was not called before.
async fn approved(ledger: &Ledger, seed: u32) {
    asked(ledger, seed).await;
    approve(ledger, &id(seed)).await.unwrap();
}

async fn asked(ledger: &Ledger, seed: u32) {
    let asked = ask(ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap();
    assert!(matches!(asked, Asked::Open(_)), "{asked:?}");
}

async fn finish(ledger: &Ledger, seed: u32) -> bool {
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now).is_ok();
    ledger.update(&id(seed), finish).await.unwrap().unwrap()
}

async fn back(ledger: &Ledger) {
    eventually("the ledger is back", async || {
        (ledger.readiness().await == Readiness::Writable).then_some(())
    })
    .await;
}

/// The failovers that the audit trail tells of, and whether they were complete.
async fn told(ledger: &Ledger) -> Vec<bool> {
    let rows = ledger.audit(1, 1000).await.unwrap().into_iter();
    rows.filter_map(|row| {
        let AuditEvent::FailedOver { complete, .. } = row.entry().unwrap().event else { return None };
        Some(complete)
    })
    .collect()
}

/// INV2, FC-4: with a synchronous standby nothing is lost: what was spent is spent, what was not can be.
#[tokio::test]
async fn a_synchronous_standby_has_what_was_spent_and_what_was_not() {
    let Some(pair) = Pair::new() else { return };
    pair.primary(|primary| primary.wait_for("*"));
    let ledger = open_ha(&pair.address(), &pair.place.clock, 1).await.unwrap();
    for seed in 1..=3 {
        approved(&ledger, seed).await;
    }
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    assert!(finish(&ledger, 1).await);
    drop(redeem(&ledger, &id(2)).await.unwrap().unwrap());

    pair.fail_over();
    let away = redeem(&ledger, &id(3)).await.unwrap_err();
    assert!(
        matches!(away, LedgerError::Unreachable(_) | LedgerError::InDoubt(_) | LedgerError::Unreplicated(_)),
        "{away}"
    );
    // One that takes over has no standby itself, and is not believed before it has.
    let alone = eventually("the new primary answers", async || match redeem(&ledger, &id(3)).await {
        Err(LedgerError::Unreplicated(problem)) => Some(problem),
        Err(_) => None,
        Ok(_) => panic!("redeemed without a copy"),
    });
    assert_eq!(alone.await, "`synchronous_standby_names` is empty");
    let _third = pair.standby.standby("third");
    pair.standby.wait_for("*");
    back(&ledger).await;

    assert_eq!(redeem(&ledger, &id(1)).await.unwrap().unwrap_err().why.code(), "already_decided");
    assert!(finish(&ledger, 2).await, "what ran goes on");
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    assert_eq!(told(&ledger).await, [true]);
    assert_sound(&ledger).await;
}

/// INV2, FC-4: a spent yes that an asynchronous standby brings back is void before anybody can spend it again, and so is
/// all that may have been.
#[tokio::test]
async fn a_spent_yes_that_comes_back_with_an_asynchronous_standby_is_void() {
    let Some(pair) = Pair::new() else { return };
    let (ledger, other) = (pair.open(1).await, pair.open(2).await);
    approved(&ledger, 1).await;
    asked(&ledger, 2).await;
    approved(&ledger, 3).await;
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    asked(&ledger, 4).await;
    let limits = Limits::new(Some(1), None, t(0)).unwrap();
    let wish = Wish { id: GrantId::from_entropy(entropy(7)), scope: WishedScope::Tool, limits };
    let remembered = ledger.intent(&id(4)).await.unwrap().unwrap();
    let made = ledger.approve_and_remember(remembered.id(), human(), remembered.digest(), wish).await;
    made.unwrap().unwrap().unwrap();
    pair.primary(|primary| pair.standby.catch_up(primary));
    pair.standby.stop_receiving();

    // All of this happens, and the standby never hears of it.
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    assert!(finish(&ledger, 1).await);
    let ran = present(&ledger, &token(2), binding("tool_2", &json!({}))).await.unwrap();
    assert_eq!(word(&ran), "run");
    drop(ran);
    let used = ask(&ledger, 5, question("tool_4", &json!({"again": 1}))).await.unwrap();
    assert!(matches!(used, Asked::Claimed(..)), "{used:?}");
    drop(used);

    pair.fail_over();
    let copies = [1, 2, 3, 4].map(|seed| pair.copy(&id(seed)));
    assert_eq!(copies, ["approved", "pending", "running", "approved"], "the danger is real");
    assert_eq!(pair.copy(&id(5)), "");

    // Another node comes first: it knows nothing of what was lost.
    back(&other).await;
    let spent = redeem(&other, &id(1)).await.unwrap().unwrap_err();
    assert_eq!(spent.why.code(), "execution_unknown");
    assert_eq!(spent.why, Why::FailedOver);
    back(&ledger).await;
    assert!(redeem(&ledger, &id(1)).await.unwrap().is_err());
    let presented = present(&ledger, &token(2), binding("tool_2", &json!({}))).await;
    assert_ne!(presented.as_ref().map(word), Some("run"));
    let again = ask(&ledger, 6, question("tool_4", &json!({"again": 1}))).await.unwrap();
    assert!(matches!(again, Asked::Open(_)), "a remembered yes was used again: {again:?}");
    for (seed, expected) in [(1, State::Voided), (2, State::Voided), (3, State::Unknown), (4, State::Voided)]
    {
        assert_eq!(state(&ledger, &id(seed)).await, expected, "{seed}");
    }
    assert!(!finish(&ledger, 3).await, "what ran stays unknown");
    let told = told(&ledger).await;
    assert!(!told.is_empty() && told.iter().all(|complete| !complete), "{told:?}");
    // Life goes on under the new one, and nothing is voided for the same reason again.
    approved(&ledger, 7).await;
    drop(redeem(&other, &id(7)).await.unwrap().unwrap());
    assert_sound(&ledger).await;
}

/// FC-4: a promise of copies is not believed against the evidence: here one took over that nobody had waited for.
#[tokio::test]
async fn a_node_that_knows_of_lost_rows_believes_no_promise() {
    let Some(pair) = Pair::new() else { return };
    let laggard = pair.primary(|primary| primary.standby("laggard"));
    pair.primary(|primary| primary.wait_for("spare"));
    let address = pair.place.database(|database| database.address_at(&[database.cluster(), &laggard]));
    let ledger = open_ha(&address, &pair.place.clock, 1).await.unwrap();
    approved(&ledger, 1).await;
    pair.primary(|primary| laggard.catch_up(primary));
    laggard.stop_receiving();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    pair.primary(Cluster::kill9);
    laggard.promote();
    let _next = laggard.standby("next");
    laggard.wait_for("*");
    back(&ledger).await;
    let spent = redeem(&ledger, &id(1)).await.unwrap().unwrap_err();
    assert_eq!(spent.why.code(), "execution_unknown");
    assert_eq!(state(&ledger, &id(1)).await, State::Voided);
    assert_eq!(told(&ledger).await, [false]);
    assert_sound(&ledger).await;
}

/// FC-4: a node that starts only after the failover notices it as well.
#[tokio::test]
async fn a_node_that_starts_later_notices_the_failover_too() {
    let Some(pair) = Pair::new() else { return };
    let ledger = pair.open(1).await;
    approved(&ledger, 1).await;
    pair.primary(|primary| pair.standby.catch_up(primary));
    pair.fail_over();
    drop(ledger);
    let later = pair.open(2).await;
    assert_eq!(state(&later, &id(1)).await, State::Voided);
    assert_eq!(told(&later).await, [false]);
    drop(later);
    assert_eq!(told(&pair.open(3).await).await, [false], "once is enough");
}

/// An old primary that comes back beside the new one is not written to by whoever knows the new one.
#[tokio::test]
async fn nobody_goes_back_to_a_primary_that_was_replaced() {
    let Some(pair) = Pair::new() else { return };
    let ledger = pair.open(1).await;
    approved(&ledger, 1).await;
    pair.primary(|primary| pair.standby.catch_up(primary));
    pair.fail_over();
    back(&ledger).await;
    approved(&ledger, 2).await;
    pair.standby.stop("immediate");
    pair.primary(|primary| primary.go(&[]));
    let refused = eventually("the old one answers", async || match redeem(&ledger, &id(1)).await {
        Err(LedgerError::Unreachable(why)) if why.contains("replaced") => Some(why),
        Err(_) => None,
        Ok(_) => panic!("written to the old one"),
    })
    .await;
    assert_eq!(refused, "one that was replaced by its standby answers");
    pair.primary(|primary| primary.stop("immediate"));
    pair.standby.go(&["-c max_connections=200"]);
    back(&ledger).await;
    drop(redeem(&ledger, &id(2)).await.unwrap().unwrap());
    assert_sound(&ledger).await;
}
