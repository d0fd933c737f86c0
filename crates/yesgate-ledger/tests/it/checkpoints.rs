//! Marks of the trail that were kept elsewhere find what the trail alone does not tell.

use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::audit::{GENESIS, chain};
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::digest::Digest;
use yesgate_core::intent::{DoneKind, Intent};
use yesgate_ledger::{AuditRow, Inspection, Ledger};

use crate::support::{
    At, Keeping, Place, TestClock, approve, ask, assert_sound, deny, id, in_memory, keeping, open_question,
    question, redeem,
};

async fn run_one(ledger: &Ledger, seed: u32) {
    open_question(ledger, seed, &json!({"n": seed})).await;
    approve(ledger, &id(seed)).await.unwrap();
    drop(redeem(ledger, &id(seed)).await.unwrap().unwrap());
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now);
    ledger.update(&id(seed), finish).await.unwrap().unwrap().unwrap();
}

async fn found_with(ledger: &Ledger, checkpoints: Vec<Checkpoint>) -> String {
    let report = ledger.inspect(Inspection { checkpoints, ..Inspection::default() }).await.unwrap();
    report.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// X7, THREATS G1: what goes on from where it was marked is sound.
#[tokio::test]
async fn a_trail_that_only_grew_holds_its_checkpoints() {
    let place = Place::new();
    let ledger = place.open(1).await;
    assert_eq!(ledger.checkpoint().await.unwrap(), None);
    let mut marks = Vec::new();
    for seed in 1..4 {
        run_one(&ledger, seed).await;
        marks.push(ledger.checkpoint().await.unwrap().unwrap());
    }
    assert_eq!(marks.iter().map(|mark| mark.sequence).collect::<Vec<_>>(), [5, 10, 15]);
    // Out of order, and twice, as two nodes may write them.
    marks.rotate_left(1);
    marks.push(marks[0]);
    let report = ledger.inspect(Inspection { checkpoints: marks, ..Inspection::default() }).await.unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!(report.checkpoints, 4);
}

/// THREATS G1: a trail that was written anew from the first row on, with everything that follows from it, is sound in
/// itself. A checkpoint finds it, and nothing else does.
#[tokio::test]
async fn a_trail_that_was_written_anew_is_found_by_its_checkpoint() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({"to": "scale"})).await;
    deny(&ledger, &id(1)).await.unwrap();
    let mark = ledger.checkpoint().await.unwrap().unwrap();
    assert_eq!(found_with(&ledger, vec![mark]).await, "");

    let mut rows = ledger.audit(1, 100).await.unwrap();
    rows[2].body = rows[2].body.replace("ada at the command line", "eve at the command line");
    rewrite(&place, &rows);
    assert_sound(&ledger).await;
    assert_eq!(
        found_with(&ledger, vec![mark]).await,
        "audit row 3 is not the one that was marked: the trail was written anew"
    );
}

/// THREATS G1: the same where another ledger was put into the place of this one, made by the ledger's own code.
#[tokio::test]
async fn another_ledger_in_its_place_is_found_by_its_checkpoint() {
    let (mine, other) = (Place::new(), Place::new());
    let ledger = mine.open(1).await;
    run_one(&ledger, 1).await;
    let mark = ledger.checkpoint().await.unwrap().unwrap();
    let put_in_place = other.open(1).await;
    run_one(&put_in_place, 2).await;
    assert_sound(&put_in_place).await;
    let found = found_with(&put_in_place, vec![mark]).await;
    assert_eq!(found, "audit row 5 is not the one that was marked: the trail was written anew");
}

/// THREATS G1: an end that was cut off together with all that it made is found by what was marked of it.
#[tokio::test]
async fn a_trail_that_was_cut_off_is_found_by_its_checkpoint() {
    let place = Place::new();
    let ledger = place.open(1).await;
    run_one(&ledger, 1).await;
    open_question(&ledger, 2, &json!({"to": "galaxy"})).await;
    let mark = ledger.checkpoint().await.unwrap().unwrap();
    place.tamper(
        "DELETE FROM audit WHERE sequence > 5;
         UPDATE head SET sequence = 5, hash = (SELECT hash FROM audit WHERE sequence = 5);
         DELETE FROM intent WHERE number = 2;",
    );
    assert_sound(&ledger).await;
    let found = found_with(&ledger, vec![mark]).await;
    assert_eq!(found, "audit row 7 was marked, but is not there: the trail was cut off");
}

/// Rows where none may be are found.
#[tokio::test]
async fn a_row_before_the_first_is_found() {
    let place = Place::new();
    let ledger = place.open(1).await;
    run_one(&ledger, 1).await;
    place.tamper("INSERT INTO audit SELECT -1, NULL, event, body, hash FROM audit WHERE sequence = 2");
    assert_eq!(found_with(&ledger, Vec::new()).await, "audit row 1 should come next, but 0 does");
}

/// THREATS §9: more rows than are looked at together are one trail all the same, with questions that begin in one part and
/// end in another, and words that come long after the end.
#[tokio::test]
async fn a_long_trail_is_read_in_parts() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    drop(ask(&ledger, 1, question("another_tool", &json!({}))).await.unwrap());
    let many = match keeping() {
        Keeping::Mixed | Keeping::File => 500,
        Keeping::Postgres => 210,
    };
    for seed in 2..many {
        run_one(&ledger, seed).await;
    }
    deny(&ledger, &id(1)).await.unwrap();
    for seed in 2..5 {
        // Too late: it is only written down.
        approve(&ledger, &id(seed)).await.unwrap_err();
    }
    let rows = ledger.audit_last(1).await.unwrap();
    assert!(rows[0].sequence > 1000, "{}", rows[0].sequence);
    assert_eq!(rows[0].entry().unwrap().intent, Some(id(4)));
    let (told, heard) = std::sync::mpsc::channel();
    let progress = Box::new(move |progress| told.send(progress).unwrap());
    let report =
        ledger.inspect(Inspection { progress: Some(progress), ..Inspection::default() }).await.unwrap();
    assert!(report.is_sound(), "{:?}", report.faults);
    assert_eq!((report.rows, report.intents), (rows[0].sequence, u64::from(many) - 1));
    let heard: Vec<_> = heard.iter().collect();
    assert!(heard.len() > 1 && heard.iter().all(|progress| progress.of == report.rows), "{heard:?}");
    assert_eq!(heard.last().unwrap().rows, report.rows);
}

/// A question that was settled in an early part of a long trail cannot begin again in a later one.
#[tokio::test]
async fn a_question_cannot_begin_again_in_a_later_part() {
    let place = Place::new();
    let ledger = place.open(1).await;
    run_one(&ledger, 1).await;
    let mut late = JoinSet::new();
    for _ in 0..1000 {
        let ledger = ledger.clone();
        late.spawn(async move { approve(&ledger, &id(1)).await.unwrap_err() });
    }
    late.join_all().await;
    let mut rows = ledger.audit(1, 2000).await.unwrap();
    let again = AuditRow { sequence: rows.last().unwrap().sequence + 1, ..rows[0].clone() };
    rows.push(again);
    rewrite(&place, &rows);
    let found = found_with(&ledger, Vec::new()).await;
    assert_eq!(found, "audit row 1006 tells of a step that was not possible then");
}

/// Writes a whole trail of these texts, with hashes that follow from each other, in place of the one that is there.
fn rewrite(place: &Place, rows: &[AuditRow]) {
    place.tamper("DELETE FROM audit");
    let mut hash: Digest = GENESIS;
    for some in rows.chunks(100) {
        let mut statements = String::new();
        for AuditRow { sequence, body, .. } in some {
            hash = chain(&hash, *sequence, body);
            let body = body.replace('\'', "''");
            let bytes = match place.at {
                At::File(_) => format!("x'{hash}'"),
                At::Database(_) => format!("decode('{hash}', 'hex')"),
            };
            let field = |name: &str| match place.at {
                At::File(_) => format!("json_extract('{body}', '$.{name}')"),
                At::Database(_) => format!("('{body}'::json ->> '{name}')"),
            };
            let (intent, event) = (field("intent"), field("event"));
            statements += &format!(
                "INSERT INTO audit VALUES ({sequence}, {intent}, {event}, '{body}', {bytes});
                 UPDATE head SET sequence = {sequence}, hash = {bytes};"
            );
        }
        place.tamper(&statements);
    }
}
