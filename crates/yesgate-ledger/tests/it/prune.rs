//! Rows that are taken out: what is still proven, and what never comes back.

use serde_json::json;
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::class::Class;
use yesgate_core::intent::{DoneKind, Intent, State};
use yesgate_core::policy::Pin;
use yesgate_ledger::{AuditRow, Inspection, Ledger, VerifyReport};

use crate::support::{
    Place, approve, ask, assert_sound, binding, deny, id, open_question, question, redeem, state, t,
};

/// What people set up, a question that ran, one that was refused, one that is running and one that is open.
async fn lived_in(place: &Place) -> Ledger {
    let ledger = place.open(1).await;
    let pin = Pin { definition: binding("get_plan", &json!({})).definition, class: Some(Class::Dangerous) };
    ledger.pin(&"billing".parse().unwrap(), &"get_plan".parse().unwrap(), pin, "ada").await.unwrap();
    open_question(&ledger, 1, &json!({"to": "scale"})).await;
    approve(&ledger, &id(1)).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    finish(&ledger, 1).await;
    for (seed, tool) in [(2, "refused"), (3, "running"), (4, "open")] {
        drop(ask(&ledger, seed, question(tool, &json!({}))).await.unwrap());
    }
    deny(&ledger, &id(2)).await.unwrap();
    approve(&ledger, &id(3)).await.unwrap();
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    ledger
}

async fn finish(ledger: &Ledger, seed: u32) {
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now);
    ledger.update(&id(seed), finish).await.unwrap().unwrap().unwrap();
}

/// Takes out the rows up to one, and gives back what the ledger had before.
async fn prune(ledger: &Ledger, up_to: u64) -> Vec<AuditRow> {
    let rows = ledger.audit(1, 10_000).await.unwrap();
    let rows = rows.into_iter().filter(|row| row.sequence <= up_to).collect();
    let pruning = ledger.plan_prune(up_to).await.unwrap().unwrap();
    assert_eq!(pruning.checkpoint().sequence, up_to);
    ledger.prune(pruning, "signed".to_owned(), "ada").await.unwrap();
    rows
}

async fn end(ledger: &Ledger) -> u64 {
    ledger.checkpoint().await.unwrap().unwrap().sequence
}

async fn verify(ledger: &Ledger, checkpoints: &[Checkpoint], rows: Option<Vec<AuditRow>>) -> VerifyReport {
    let rows = rows.map(|rows| Box::new(rows.into_iter().map(Ok)) as _);
    let inspection = Inspection { checkpoints: checkpoints.to_vec(), rows, progress: None };
    ledger.inspect(inspection).await.unwrap()
}

fn faults(report: &VerifyReport) -> String {
    report.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// X7: wherever the trail is made to begin, in the middle of questions or between them, the rest is proven by itself, and
/// with the rows that went all of it is.
#[tokio::test]
async fn what_is_left_is_proven_wherever_the_trail_begins() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    let whole = ledger.audit(1, 100).await.unwrap();
    let last = end(&ledger).await;
    for up_to in 1..=last {
        let gone = prune(&ledger, up_to).await;
        assert_eq!(gone.last().unwrap().sequence, up_to);
        let report = verify(&ledger, &[], None).await;
        assert_eq!(faults(&report), "", "after row {up_to}");
        let beginning = report.beginning.unwrap();
        assert_eq!(
            (beginning.sequence, beginning.hash),
            (up_to, whole[usize::try_from(up_to).unwrap() - 1].hash)
        );
        assert_eq!(beginning.signed, "signed");
        let left = ledger.audit(1, 1).await.unwrap();
        assert_eq!(left[0].sequence, up_to + 1);
    }
    let report = verify(&ledger, &[], Some(whole.clone())).await;
    assert_eq!(faults(&report), "");
    assert_eq!(report.rows, end(&ledger).await);
    // What was not settled goes on.
    finish(&ledger, 3).await;
    deny(&ledger, &id(4)).await.unwrap();
    assert_sound(&ledger).await;
    let before = end(&ledger).await;
    prune(&ledger, before).await;
    assert_sound(&ledger).await;
    let texts: Vec<String> = ledger.audit(1, 1).await.unwrap().into_iter().map(|row| row.body).collect();
    assert!(texts[0].contains(r#""event":"pruned""#), "it is itself a row: {texts:?}");
}

/// X3: a yes that was spent stays spent, also where the row that says so was taken out and the question was set back by
/// hand; and that it was is found.
#[tokio::test]
async fn a_spent_yes_stays_spent_when_its_row_is_gone() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    approve(&ledger, &id(1)).await.unwrap();
    let approved = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap().unwrap()).unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    // While it runs, and when it is over.
    for part in ["running", "over"] {
        let running = serde_json::to_string(&ledger.intent(&id(1)).await.unwrap().unwrap()).unwrap();
        let was = state(&ledger, &id(1)).await;
        prune(&ledger, end(&ledger).await).await;
        assert_sound(&ledger).await;
        place.forge("intent", |_| approved.clone());
        place.tamper("UPDATE intent SET state = 'approved', boot = NULL");
        assert_eq!(state(&ledger, &id(1)).await, State::Approved);
        redeem(&ledger, &id(1)).await.unwrap_err();
        assert!(!ledger.verify().await.unwrap().is_sound(), "{part}");
        place.forge("intent", |_| running.clone());
        place.tamper(&format!(
            "UPDATE intent SET state = '{}', boot = (SELECT '{}')",
            was.as_str(),
            ledger.boot().as_str()
        ));
        assert_sound(&ledger).await;
        if part == "running" {
            finish(&ledger, 1).await;
        }
    }
}

/// X7: what stands in the place of rows cannot be changed, added to or shortened unseen, and not by a slip at all.
#[tokio::test]
async fn what_stands_in_the_place_of_rows_cannot_be_changed() {
    let check = async |sql: &str, expected: &str| {
        let place = Place::new();
        let ledger = lived_in(&place).await;
        prune(&ledger, end(&ledger).await).await;
        place.tamper(&drop_triggers(&place));
        place.tamper(sql);
        let found = faults(&ledger.verify().await.unwrap());
        assert!(found.contains(expected), "{sql}: {found}");
    };
    let changed = "the beginning of the audit trail, or what stands before it, was changed";
    check("DELETE FROM past WHERE redeemed = 1", changed).await;
    check("UPDATE past SET redeemed = 0", changed).await;
    check("UPDATE past SET told = zeroblob(32)", changed).await;
    check("INSERT INTO past VALUES ('intent_zzz', 0, zeroblob(32))", changed).await;
    check("DELETE FROM carried WHERE sequence = 1", changed).await;
    check("UPDATE carried SET body = replace(body, 'ada', 'eve') WHERE sequence = 1", changed).await;
    check("UPDATE carried SET whole = 1 - whole WHERE sequence = 1", changed).await;
    check("UPDATE beginning SET sequence = 5", changed).await;
    check("DELETE FROM beginning", "audit row 1 should come next").await;
    check("UPDATE pin SET class = 'read-only'", "the pin of `billing/get_plan` is not the one").await;
    check("DELETE FROM intent WHERE number = 2", "is in the audit trail, but not stored").await;

    let place = Place::new();
    let ledger = lived_in(&place).await;
    prune(&ledger, end(&ledger).await).await;
    for sql in [
        "DELETE FROM past",
        "UPDATE past SET redeemed = 0",
        "DELETE FROM beginning",
        "UPDATE beginning SET sequence = 1",
        "DELETE FROM audit",
        "UPDATE audit SET body = ''",
    ] {
        let said = place.try_alone(sql).unwrap_err();
        assert!(said.contains("audit trail") || said.contains("redeemed"), "{sql}: {said}");
    }
}

/// X7: questions whose rows went are still what those rows made of them.
#[tokio::test]
async fn a_question_without_rows_cannot_be_changed_unseen() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    prune(&ledger, end(&ledger).await).await;
    place.forge("intent", |body| body.replace(r#""assurance":"local""#, r#""assurance":"verified""#));
    let found = faults(&ledger.verify().await.unwrap());
    assert!(found.contains("is done, but its call, its yes or its gateway are not those"), "{found}");
}

/// THREATS G1: checkpoints that are older than the beginning need the rows that went; with them, each is checked.
#[tokio::test]
async fn checkpoints_outlive_the_rows_that_they_mark() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({})).await;
    let old = ledger.checkpoint().await.unwrap().unwrap();
    deny(&ledger, &id(1)).await.unwrap();
    let last = ledger.checkpoint().await.unwrap().unwrap();
    let rows = prune(&ledger, last.sequence).await;
    let report = verify(&ledger, &[old, last], None).await;
    assert_eq!((faults(&report).as_str(), report.checkpoints, report.unchecked), ("", 1, 1));
    let report = verify(&ledger, &[old, last], Some(rows.clone())).await;
    assert_eq!((faults(&report).as_str(), report.checkpoints, report.unchecked), ("", 2, 0));
    let other = Checkpoint { hash: old.hash, ..last };
    assert_eq!(
        faults(&verify(&ledger, &[other], None).await),
        "audit row 3 is not the one that was marked: the trail was written anew"
    );

    // A file that was changed, or that lacks its end, is found.
    let mut changed = rows.clone();
    changed[2].body = changed[2].body.replace("ada", "eve");
    let found = faults(&verify(&ledger, &[], Some(changed)).await);
    assert_eq!(found, "audit row 3 does not follow from the one before it");
    let found = faults(&verify(&ledger, &[], Some(rows[..2].to_vec())).await);
    assert!(found.contains("audit row 3 should come next, but 4 does"), "{found}");
    assert!(found.contains("the beginning of the audit trail"), "{found}");
}

/// Which rows are older than a moment is found without reading all of them.
#[tokio::test]
async fn rows_from_before_a_moment_are_found() {
    let place = Place::new();
    let ledger = place.open(1).await;
    assert_eq!(ledger.last_row_before(t(0)).await.unwrap(), 0);
    for (seed, second) in [(1, 10), (2, 20), (3, 30)] {
        place.clock.set(second);
        drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
    }
    let check = async |second: i64, expected: u64| {
        assert_eq!(ledger.last_row_before(t(second)).await.unwrap(), expected, "{second}");
    };
    check(10, 0).await;
    check(11, 2).await;
    check(20, 2).await;
    check(30, 4).await;
    check(31, 6).await;
    prune(&ledger, 4).await;
    check(15, 4).await;
    // The last one says that rows went.
    check(31, 7).await;
    assert!(ledger.plan_prune(4).await.unwrap().is_none());
}

/// Two who take rows out at once do it once.
#[tokio::test]
async fn what_was_planned_before_somebody_else_did_it_is_not_done() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    let (one, other) =
        (ledger.plan_prune(5).await.unwrap().unwrap(), ledger.plan_prune(6).await.unwrap().unwrap());
    ledger.prune(one, "signed".to_owned(), "ada").await.unwrap();
    let rows = end(&ledger).await;
    ledger.prune(other, "signed".to_owned(), "eve").await.unwrap_err();
    assert_eq!(end(&ledger).await, rows);
    assert_sound(&ledger).await;
}

/// Takes away what keeps a hand from slipping.
fn drop_triggers(place: &Place) -> String {
    let triggers = [
        ("past_stays", "past"),
        ("past_is_not_undone", "past"),
        ("beginning_stays", "beginning"),
        ("beginning_goes_on", "beginning"),
    ];
    let drop = |(name, table): (&str, &str)| {
        let on = place.dialect("", " ON ").to_owned();
        let table = if on.is_empty() { "" } else { table };
        format!("DROP TRIGGER {name}{on}{table};")
    };
    triggers.into_iter().map(drop).collect()
}
