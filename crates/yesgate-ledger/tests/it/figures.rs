//! Figures: what is counted, for whom, and on which day.

use jiff::SignedDuration;
use serde_json::json;
use yesgate_core::id::OrgId;
use yesgate_core::intent::Intent;
use yesgate_ledger::{Figures, Ledger};

use crate::support::{
    TestClock, approve, ask, assert_sound, deny, human, id, in_memory, open_question, question, relayed, t,
};

const DAY: i64 = 86_400;

pub(crate) async fn figures(ledger: &Ledger) -> Figures {
    ledger.figures(&"acme".parse().unwrap()).await.unwrap()
}

/// Asks about another tool, so that no question takes the place of another.
async fn put(ledger: &Ledger, seed: u32, tool: &str) {
    drop(ask(ledger, seed, question(tool, &json!({}))).await.unwrap());
}

pub(crate) fn today(figures: &Figures) -> [u64; 4] {
    let day = figures.days.last().unwrap();
    [day.asked, day.approved, day.denied, day.expired]
}

/// Each question counts once where it is asked and once where it is decided, on the day of either.
#[tokio::test]
async fn questions_and_decisions_are_counted_by_day() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    open_question(&ledger, 1, &json!({"n": 1})).await;
    clock.set(1);
    approve(&ledger, &id(1)).await.unwrap();
    put(&ledger, 2, "other").await;
    clock.set(61);
    deny(&ledger, &id(2)).await.unwrap();
    put(&ledger, 3, "third").await;
    clock.set(61 + 1800);
    ledger.sweep().await.unwrap();
    let one = figures(&ledger).await;
    assert_eq!((one.days.len(), today(&one)), (30, [3, 1, 1, 1]));
    assert_eq!(one.days[29].date, t(0).to_zoned(jiff::tz::TimeZone::UTC).date());
    assert_eq!((one.together.decided, one.together.hasty), (2, 1));
    assert_eq!(one.together.median, Some(SignedDuration::from_secs(1)));
    assert_eq!(one.people.len(), 1);
    assert_eq!(one.people[0].who, human().name);

    clock.set(DAY);
    open_question(&ledger, 4, &json!({"n": 4})).await;
    let two = figures(&ledger).await;
    assert_eq!((today(&two), two.days[28].asked), ([1, 0, 0, 0], 3));
    clock.set(31 * DAY);
    assert_eq!(figures(&ledger).await.days.iter().map(|day| day.asked).sum::<u64>(), 0, "that is long ago");
    let elsewhere: OrgId = "elsewhere".parse().unwrap();
    assert_eq!(ledger.figures(&elsewhere).await.unwrap().days.iter().map(|day| day.asked).max(), Some(0));
    assert_sound(&ledger).await;
}

/// What the agent brings is no person's decision, and nobody is measured by it.
#[tokio::test]
async fn nobody_is_measured_by_what_an_agent_brings() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    open_question(&ledger, 1, &json!({})).await;
    let yes = |intent: &mut Intent, now| intent.approve(&relayed(), intent.digest(), now);
    ledger.update(&id(1), yes).await.unwrap().unwrap().unwrap();
    let figures = figures(&ledger).await;
    assert_eq!((today(&figures), figures.together.decided), ([1, 1, 0, 0], 0));
    assert_eq!(figures.people, []);
}

/// A yes that keeps coming before anybody can have read the question is called a habit, once there are enough of them.
#[tokio::test]
async fn many_hasty_decisions_are_called_a_habit() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    for seed in 1..=12 {
        let start = i64::from(seed) * 100;
        clock.set(start);
        open_question(&ledger, seed, &json!({"n": seed})).await;
        // Four of twelve are read: the rest is a habit.
        clock.set(start + if seed <= 4 { 30 } else { 1 });
        deny(&ledger, &id(seed)).await.unwrap();
        let together = figures(&ledger).await.together;
        assert_eq!(together.is_habit(), seed >= 10, "{together:?}");
    }
    let together = figures(&ledger).await.together;
    assert_eq!((together.decided, together.hasty, together.percent_hasty()), (12, 8, 66));
}
