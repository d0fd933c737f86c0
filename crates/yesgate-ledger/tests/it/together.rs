//! Changes that come at the same moment share statements and a commit; what comes of each is its own.

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::intent::{Asked, State};

use crate::support::{
    Place, approve, ask, assert_sound, id, open_question, question, redeem, state, token, word,
};

/// X3: a redemption that the store refuses spoils none of those that come with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_that_fails_spoils_no_neighbour() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let approved = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap().unwrap()).unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    place.forge("intent", |_| approved.clone());
    place.tamper("UPDATE intent SET state = 'approved', boot = NULL");
    for seed in 2..=40 {
        drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
        approve(&ledger, &id(seed)).await.unwrap();
    }

    let mut tasks = JoinSet::new();
    for seed in 1..=40 {
        let ledger = ledger.clone();
        tasks.spawn(async move { (seed, redeem(&ledger, &id(seed)).await.is_ok_and(|yes| yes.is_ok())) });
    }
    let mut ran = tasks.join_all().await;
    ran.sort_unstable();
    assert_eq!(ran, (1..=40).map(|seed| (seed, seed != 1)).collect::<Vec<_>>());
    assert_eq!(state(&ledger, &id(1)).await, State::Approved);
    assert_eq!(state(&ledger, &id(40)).await, State::Running);
    let count = "SELECT count(*) FROM audit WHERE event = 'redeemed'";
    assert_eq!(place.value(count).trim(), "40");
}

/// H5: of questions about one operation that come at once, each other than the last is superseded, whatever else comes
/// with them.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_one_operation_one_question_stays_open() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let mut tasks = JoinSet::new();
    for seed in 1..=60_u32 {
        let ledger = ledger.clone();
        let tool = if seed % 2 == 0 { "the_same".to_owned() } else { format!("tool_{seed}") };
        tasks.spawn(async move { ask(&ledger, seed, question(&tool, &json!({"n": seed}))).await.unwrap() });
    }
    for asked in tasks.join_all().await {
        let Asked::Open(_) = asked else { panic!("not open: {asked:?}") };
    }
    let (mut open, mut superseded) = (0, 0);
    for seed in (2..=60).step_by(2) {
        let state = state(&ledger, &id(seed)).await;
        open += u32::from(state == State::Pending);
        superseded += u32::from(state == State::Superseded);
    }
    assert_eq!((open, superseded), (1, 29));
    assert_eq!(state(&ledger, &id(59)).await, State::Pending);
    assert_sound(&ledger).await;
}

/// X3: a token that comes forty times at once, among forty others, runs once; each of the others runs once, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_token_that_comes_often_among_others_runs_once() {
    let place = Place::new();
    let ledger = place.open(1).await;
    for seed in 1..=41 {
        drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
    }
    let mut tasks = JoinSet::new();
    for turn in 0..80_u32 {
        let (ledger, seed) = (ledger.clone(), if turn % 2 == 0 { 1 } else { turn / 2 + 2 });
        tasks.spawn(async move {
            let call = crate::support::binding(&format!("tool_{seed}"), &json!({}));
            let claim = crate::support::present(&ledger, &token(seed), call).await;
            claim.map_or("gone", |claim| word(&claim))
        });
    }
    let said = tasks.join_all().await;
    assert_eq!(said.iter().filter(|said| **said == "run").count(), 41, "{said:?}");
    assert_sound(&ledger).await;
}
