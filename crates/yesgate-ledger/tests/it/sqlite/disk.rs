//! A disk without room.

use serde_json::json;
use yesgate_core::intent::{Asked, Intent};
use yesgate_ledger::Filter;

use crate::support::{
    Other, Place, TestClock, ask, assert_sound, human, id, my_part, open_at, question, redeem, say,
};

/// FC-5, FC-6: with no room left, what was handed out is exactly what was written down.
#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_lets_nothing_leave_that_is_not_written_down() {
    if let Some(path) = my_part() {
        let ledger = open_at(&path, &TestClock::new(), 77).await.unwrap();
        let mut ran = 0;
        for seed in 1.. {
            let large = json!({"text": "x".repeat(20_000)});
            let Ok(Asked::Open(_)) = ask(&ledger, seed, question(&format!("tool_{seed}"), &large)).await
            else {
                break;
            };
            let yes = |intent: &mut Intent, now| intent.approve(&human(), intent.digest(), now);
            let Ok(Some(Ok(()))) = ledger.update(&id(seed), yes).await else { break };
            let Ok(Ok(permitted)) = redeem(&ledger, &id(seed)).await else { break };
            drop(permitted);
            ran += 1;
        }
        say(&ran.to_string());
        // The disk is not asked again.
        let refused = ask(&ledger, 9999, question("another", &json!({}))).await.unwrap_err();
        say(&refused.to_string());
        return;
    }
    let place = Place::in_file();
    let mut other = Other::start_short_of_disk(
        "sqlite::disk::a_full_disk_lets_nothing_leave_that_is_not_written_down",
        &place.at,
    );
    let ran: usize = other.hear().parse().unwrap();
    let refused = other.hear();
    assert!(refused.starts_with("the disk failed under the ledger"), "{refused}");
    other.wait();
    assert!(ran > 0);
    let ledger = place.open(1).await;
    assert_sound(&ledger).await;
    assert_eq!(ledger.intents(Filter::Unknown).await.unwrap().len(), ran);
}
