//! How much memory a look at a long trail takes. A measurement, for people: nothing is asserted about the machine.

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::intent::{DoneKind, Intent};
use yesgate_ledger::Ledger;

use crate::support::{Place, approve, ask, id, question, redeem};

/// THREATS §9. Run it with `YESGATE_ROWS=1000000 cargo nextest run --run-ignored only -p yesgate-ledger measure`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement that takes minutes"]
async fn memory_of_a_look_at_a_long_trail() {
    let wanted: u32 = std::env::var("YESGATE_ROWS").map_or(100_000, |rows| rows.parse().unwrap());
    let place = Place::new();
    let ledger = place.open(1).await;
    for part in 1..=4 {
        fill(&ledger, wanted / 20 * (part - 1)..wanted / 20 * part).await;
        let before = resident();
        let began = std::time::Instant::now();
        let report = ledger.verify().await.unwrap();
        assert!(report.is_sound(), "{:?}", report.faults);
        let (took, after) = (began.elapsed(), peak());
        eprintln!(
            "{} rows, {} questions: {took:.1?}, {before} KiB before, {after} KiB at most",
            report.rows, report.intents
        );
    }
}

/// Has questions asked, approved, run and finished: five rows each.
async fn fill(ledger: &Ledger, seeds: std::ops::Range<u32>) {
    let mut under_way = JoinSet::new();
    for seed in seeds {
        let ledger = ledger.clone();
        under_way.spawn(async move {
            drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({"n": seed}))).await.unwrap());
            approve(&ledger, &id(seed)).await.unwrap();
            drop(redeem(&ledger, &id(seed)).await.unwrap().unwrap());
            let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now);
            ledger.update(&id(seed), finish).await.unwrap().unwrap().unwrap();
        });
        if under_way.len() > 200 {
            under_way.join_next().await.unwrap().unwrap();
        }
    }
    under_way.join_all().await;
}

fn resident() -> u64 {
    status("VmRSS:")
}

fn peak() -> u64 {
    status("VmHWM:")
}

fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}
