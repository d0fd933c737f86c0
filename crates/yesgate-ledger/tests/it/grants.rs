//! Remembered yeses: counted in the transaction of the run, taken back for good.

use jiff::Timestamp;
use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::grant::{Grant, Limits, Wish, WishedScope};
use yesgate_core::id::GrantId;
use yesgate_core::intent::{Asked, Claim};
use yesgate_ledger::{Fault, Ledger, LedgerError};

use crate::support::{
    Other, Place, TestClock, ask, assert_sound, binding, entropy, human, id, identity, my_part, open_at,
    open_question, question, say, t, wait_for_word,
};

fn wish(uses: Option<u32>, until: Option<Timestamp>) -> Wish {
    let limits = Limits::new(uses, until, t(0)).unwrap();
    Wish { id: GrantId::from_entropy(entropy(7)), scope: WishedScope::Tool, limits }
}

/// Says yes to a first call of `upgrade_plan`, and has it remembered for the tool.
async fn remember(ledger: &Ledger, wish: Wish) -> Grant {
    let first = open_question(ledger, 1, &json!({"n": 0})).await;
    ledger.approve_and_remember(first.id(), human(), first.digest(), wish).await.unwrap().unwrap().unwrap()
}

/// Calls `upgrade_plan`; whether it ran without asking.
async fn runs(ledger: &Ledger, seed: u32) -> Result<bool, LedgerError> {
    Ok(match ask(ledger, seed, question("upgrade_plan", &json!({ "n": seed }))).await? {
        Asked::Claimed(_, claim) => matches!(*claim, Claim::Run(_)),
        Asked::Open(_) | Asked::Refused(_) => false,
    })
}

async fn used(ledger: &Ledger) -> u32 {
    ledger.grants().await.unwrap()[0].used
}

/// X4: a remembered yes is counted use by use, and the call after the last one is asked about.
#[tokio::test]
async fn every_use_is_counted_and_the_last_one_is_the_last() {
    let place = Place::new();
    let ledger = place.open(1).await;
    remember(&ledger, wish(Some(3), None)).await;
    for seed in 2..=4 {
        assert!(runs(&ledger, seed).await.unwrap());
    }
    assert!(!runs(&ledger, 5).await.unwrap());
    assert_eq!(used(&ledger).await, 3);
    assert_sound(&ledger).await;
}

/// X4: it ends with its time, and when it is taken back; nothing brings it back.
#[tokio::test]
async fn a_remembered_yes_ends_with_its_time_or_when_it_is_revoked() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let grant = remember(&ledger, wish(None, Some(t(60)))).await;
    place.clock.set(59);
    assert!(runs(&ledger, 2).await.unwrap());
    place.clock.set(60);
    assert!(!runs(&ledger, 3).await.unwrap());
    place.clock.set(58);
    assert!(!runs(&ledger, 4).await.unwrap(), "a clock that went back does not bring it back");
    assert!(ledger.revoke_grant(&grant.id, "ada").await.unwrap());
    assert!(!ledger.revoke_grant(&grant.id, "ada").await.unwrap());
    place.clock.set(61);
    assert!(!runs(&ledger, 5).await.unwrap());
    assert_sound(&ledger).await;
}

async fn race(ledger: &Ledger, first: u32, tasks: u32) -> usize {
    let mut racers = JoinSet::new();
    for seed in first..first + tasks {
        let ledger = ledger.clone();
        racers.spawn(async move { runs(&ledger, seed).await.unwrap_or(false) });
    }
    racers.join_all().await.into_iter().filter(|ran| *ran).count()
}

/// X4, X3: several processes race for the last uses; as many calls run as there are uses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_calls_in_several_processes_as_many_run_as_there_are_uses() {
    if let Some(path) = my_part() {
        let seed = u8::try_from(std::process::id() % 200).unwrap() + 10;
        let ledger = open_at(&path, &TestClock::new(), seed).await.unwrap();
        say("ready");
        wait_for_word();
        say(&race(&ledger, std::process::id().wrapping_mul(100), 12).await.to_string());
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    remember(&ledger, wish(Some(5), None)).await;
    let test = "grants::of_many_calls_in_several_processes_as_many_run_as_there_are_uses";
    let mut others: Vec<_> = (0..3).map(|_| Other::start(test, &place.at)).collect();
    for other in &mut others {
        assert_eq!(other.hear(), "ready");
    }
    others.iter_mut().for_each(Other::tell);
    let ran: usize = others.iter_mut().map(|other| other.hear().parse::<usize>().unwrap()).sum();
    others.into_iter().for_each(Other::wait);
    assert_eq!((ran, used(&ledger).await), (5, 5));
    assert_sound(&ledger).await;
}

/// X4: a yes and its grant are stored together or not at all.
#[tokio::test]
async fn a_yes_that_cannot_be_remembered_leaves_the_question_open() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let first = open_question(&ledger, 1, &json!({"n": 0})).await;
    let scope = WishedScope::Pattern(yesgate_core::policy::Pattern::parse("args.n > 5").unwrap());
    let wish = Wish { scope, ..wish(Some(1), None) };
    let refused = ledger.approve_and_remember(&id(1), human(), first.digest(), wish).await.unwrap().unwrap();
    assert_eq!(refused.unwrap_err().why.code(), "policy_denied");
    assert!(ledger.grants().await.unwrap().is_empty());
    assert_sound(&ledger).await;
}

/// X5, X4: a tool that is defined differently ends what was remembered of it, for good.
#[tokio::test]
async fn a_changed_tool_ends_what_was_remembered() {
    let place = Place::new();
    let ledger = place.open(1).await;
    remember(&ledger, wish(Some(9), None)).await;
    let server = "billing".parse().unwrap();
    for defined_as in ["another", "upgrade_plan"] {
        let tools = vec![("upgrade_plan".parse().unwrap(), binding(defined_as, &json!({})).definition)];
        ledger.sight(&server, &identity(), tools).await.unwrap();
    }
    assert!(!runs(&ledger, 2).await.unwrap());
    assert!(ledger.grants().await.unwrap()[0].revoked_at.is_some());
    assert_sound(&ledger).await;
}

/// X7: a grant that was made longer, used less or invented behind the ledger's back is found.
#[tokio::test]
async fn a_remembered_yes_that_was_tampered_with_is_found() {
    for (sql, uses) in [
        ("UPDATE remembered SET used = 0", 3),
        ("UPDATE remembered SET uses = 9", 9),
        ("UPDATE remembered SET revoked_at = 1800000000000000000", 3),
        ("DELETE FROM remembered", 3),
    ] {
        let place = Place::new();
        let ledger = place.open(1).await;
        let grant = remember(&ledger, wish(Some(3), None)).await;
        assert!(runs(&ledger, 2).await.unwrap());
        assert_sound(&ledger).await;
        place.forge("remembered", |body| body.replace("\"uses\":3", &format!("\"uses\":{uses}")));
        place.tamper(sql);
        assert_eq!(ledger.verify().await.unwrap().faults, [Fault::GrantDiffers { id: grant.id }], "{sql}");
    }
}
