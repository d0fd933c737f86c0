//! At most once, however many try.

use std::collections::HashSet;

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::intent::State;
use yesgate_ledger::Ledger;

use crate::support::{
    Other, Place, TestClock, approve, assert_sound, id, my_part, open_at, open_question, redeem, say, state,
    wait_for_word,
};

/// Lets many tasks redeem the same intent at the same time, and counts who may run it.
async fn race(ledgers: &[Ledger], tasks: usize) -> usize {
    let mut racers = JoinSet::new();
    for ledger in ledgers.iter().cycle().take(tasks) {
        let ledger = ledger.clone();
        racers.spawn(async move { redeem(&ledger, &id(1)).await.unwrap().is_ok() });
    }
    racers.join_all().await.into_iter().filter(|won| *won).count()
}

/// X3: of sixty-four tasks that redeem one yes, one may run it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_tasks_one_runs_it() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    assert_eq!(race(std::slice::from_ref(&ledger), 64).await, 1);
    assert_eq!(state(&ledger, &id(1)).await, State::Running);
    assert_sound(&ledger).await;
}

/// X3: the same with several writers on one file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_tasks_on_eight_connections_one_runs_it() {
    let place = Place::new();
    let mut ledgers = Vec::new();
    for seed in 1..=8 {
        ledgers.push(place.open(seed).await);
    }
    open_question(&ledgers[0], 1, &json!({})).await;
    approve(&ledgers[1], &id(1)).await.unwrap();
    assert_eq!(race(&ledgers, 64).await, 1);
    assert_sound(&ledgers[2]).await;
}

/// X3: the same with four processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_four_processes_one_runs_it() {
    if let Some(path) = my_part() {
        let seed = u8::try_from(std::process::id() % 200).unwrap() + 10;
        let ledger = open_at(&path, &TestClock::new(), seed).await.unwrap();
        say("ready");
        wait_for_word();
        say(&race(&[ledger], 16).await.to_string());
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let mut others: Vec<_> =
        (0..4).map(|_| Other::start("once::of_four_processes_one_runs_it", &place.at)).collect();
    for other in &mut others {
        assert_eq!(other.hear(), "ready");
    }
    others.iter_mut().for_each(Other::tell);
    let won: usize = others.iter_mut().map(|other| other.hear().parse::<usize>().unwrap()).sum();
    assert_eq!(won, 1);
    others.into_iter().for_each(Other::wait);
    assert_sound(&ledger).await;
}

/// X3: an intent that somebody set back to `approved` by hand is not run again.
#[tokio::test]
async fn a_spent_yes_that_was_set_back_by_hand_stays_spent() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let approved = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap().unwrap()).unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());

    place.forge("intent", |_| approved.clone());
    place.tamper("UPDATE intent SET state = 'approved', boot = NULL");
    assert_eq!(state(&ledger, &id(1)).await, State::Approved);
    redeem(&ledger, &id(1)).await.unwrap_err();
}

/// X3: two hundred changes at once leave a gapless chain, and each has its own answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_changes_at_once_keep_the_chain_whole() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let mut tasks = JoinSet::new();
    for seed in 1..=200_u32 {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            let question = crate::support::question(&format!("tool_{seed}"), &json!({"n": seed}));
            drop(crate::support::ask(&ledger, seed, question).await.unwrap());
            approve(&ledger, &id(seed)).await.unwrap();
            let permitted = redeem(&ledger, &id(seed)).await.unwrap().unwrap();
            permitted.call().binding.arguments.to_string()
        });
    }
    let ran: HashSet<String> = tasks.join_all().await.into_iter().collect();
    assert_eq!(ran.len(), 200);
    let report = ledger.verify().await.unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    // Opened, token issued, approved, redeemed.
    assert_eq!((report.rows, report.intents), (800, 200));
}
