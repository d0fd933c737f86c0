//! The audit trail, and those who tamper with it.

use serde_json::json;
use yesgate_core::class::Class;
use yesgate_core::intent::{DoneKind, Intent};
use yesgate_core::policy::Pin;
use yesgate_ledger::Ledger;

use crate::support::{
    Keeping, Place, approve, assert_sound, binding, deny, id, keeping, open_question, redeem,
};

/// Two stories: one that ran, one that was refused, and a pin.
async fn lived_in(place: &Place) -> Ledger {
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({"to": "scale"})).await;
    approve(&ledger, &id(1)).await.unwrap();
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    let finish = |intent: &mut Intent, now| intent.finish(DoneKind::Ok, None, now);
    ledger.update(&id(1), finish).await.unwrap().unwrap().unwrap();
    open_question(&ledger, 2, &json!({"to": "enterprise"})).await;
    deny(&ledger, &id(2)).await.unwrap();
    let pin = Pin { definition: binding("get_plan", &json!({})).definition, class: Some(Class::Dangerous) };
    ledger.pin(&"billing".parse().unwrap(), &"get_plan".parse().unwrap(), pin, "ada").await.unwrap();
    ledger
}

/// Tampers, and lists what is found out.
async fn found_after(sql: &str) -> String {
    found(|place| place.tamper(sql)).await
}

/// Tampers with the key in hand, and lists what is found out.
async fn found_after_forging(sql: &str, this: &str, that: &str) -> String {
    found(|place| {
        place.forge("intent", |body| body.replace(this, that));
        place.tamper(sql);
    })
    .await
}

async fn found(tamper: impl FnOnce(&Place)) -> String {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    let before = ledger.verify().await.unwrap();
    assert!(before.is_sound(), "{:?}", before.faults);
    tamper(&place);
    let report = ledger.verify().await.unwrap();
    report.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// X7: the trail tells the whole story, without arguments, tokens or results.
#[tokio::test]
async fn the_trail_tells_the_story() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    let rows = ledger.audit(1, 100).await.unwrap();
    let story: Vec<String> = rows
        .iter()
        .map(|row| {
            let entry = serde_json::to_value(row.entry().unwrap()).unwrap();
            format!("{} {}", row.sequence, entry["event"].as_str().unwrap())
        })
        .collect();
    insta::assert_snapshot!(story.join("\n"), @r"
    1 opened
    2 token_issued
    3 approved
    4 redeemed
    5 finished
    6 opened
    7 token_issued
    8 denied
    9 pinned
    ");
    assert!(rows.iter().all(|row| !row.body.contains("scale")));
    assert_eq!(ledger.audit(9, 100).await.unwrap(), rows[8..]);
    assert_eq!(ledger.audit_last(2).await.unwrap(), rows[7..]);
    assert_eq!(ledger.audit_last(100).await.unwrap(), rows);
    assert_eq!(ledger.verify().await.unwrap().head, rows.last().unwrap().hash);
}

/// X7: a changed letter is found.
#[tokio::test]
async fn a_changed_letter_is_found() {
    insta::assert_snapshot!(
        found_after("UPDATE audit SET body = replace(body, 'ada at', 'eve at') WHERE sequence = 3").await, @r"
    audit row 3 does not follow from the one before it
    `intent_0000008000002000` is done, but its call, its yes or its gateway are not those of the audit trail
    ");
    let no_text = match keeping() {
        // A database that checks its texts holds none that is no text.
        Keeping::Postgres => "UPDATE audit SET body = 'x' || body WHERE sequence = 3",
        Keeping::Mixed | Keeping::File => {
            "UPDATE audit SET body = CAST(x'ff' || body AS TEXT) WHERE sequence = 3"
        }
    };
    insta::assert_snapshot!(
        found_after(no_text).await, @r"
    audit row 3 does not follow from the one before it
    audit row 3 cannot be read
    audit row 4 tells of a step that was not possible then
    audit row 5 tells of a step that was not possible then
    `intent_0000008000002000` is stored as done, the audit trail makes it pending
    ");
    insta::assert_snapshot!(
        found_after("UPDATE audit SET event = 'expired' WHERE sequence = 4").await, @r"
    audit row 4 cannot be read
    audit row 5 tells of a step that was not possible then
    `intent_0000008000002000` is stored as done, the audit trail makes it approved
    ");
}

/// X7: a row that was taken out is found.
#[tokio::test]
async fn a_missing_row_is_found() {
    insta::assert_snapshot!(found_after("DELETE FROM audit WHERE sequence = 2").await, @r"
    audit row 2 should come next, but 3 does
    audit row 3 does not follow from the one before it
    ");
    insta::assert_snapshot!(found_after("DELETE FROM audit WHERE sequence = 1").await, @r"
    audit row 1 should come next, but 2 does
    audit row 2 does not follow from the one before it
    audit row 2 tells of a step that was not possible then
    audit row 3 tells of a step that was not possible then
    audit row 4 tells of a step that was not possible then
    audit row 5 tells of a step that was not possible then
    `intent_0000008000002000` is stored as done, the audit trail makes it nothing
    ");
}

/// X7: rows in another order are found.
#[tokio::test]
async fn rows_in_another_order_are_found() {
    let swap = "UPDATE audit SET sequence = 100 WHERE sequence = 2;
                UPDATE audit SET sequence = 2 WHERE sequence = 3;
                UPDATE audit SET sequence = 3 WHERE sequence = 100;";
    insta::assert_snapshot!(found_after(swap).await, @r"
    audit row 2 does not follow from the one before it
    audit row 3 does not follow from the one before it
    audit row 4 does not follow from the one before it
    ");
}

/// X7: an end that was cut off is found by what the intents have become since, even if the ledger's
/// own memory of the end was cut to fit.
#[tokio::test]
async fn a_trail_that_was_cut_off_is_found() {
    insta::assert_snapshot!(found_after("DELETE FROM audit WHERE sequence = 9").await, @r"
    the audit trail does not end where the ledger says it does
    the pin of `billing/get_plan` is not the one in the audit trail
    ");
    let cut = "DELETE FROM audit WHERE sequence > 3;
               UPDATE head SET sequence = 3, hash = (SELECT hash FROM audit WHERE sequence = 3);";
    insta::assert_snapshot!(found_after(cut).await, @r"
    `intent_0000008000002000` is stored as done, the audit trail makes it approved
    `intent_000000g000004000` is stored as denied, the audit trail makes it nothing
    the pin of `billing/get_plan` is not the one in the audit trail
    ");
}

/// X7: an intent that was changed behind the ledger's back is found.
#[tokio::test]
async fn a_changed_intent_is_found() {
    insta::assert_snapshot!(found_after("UPDATE intent SET state = 'approved' WHERE number = 2").await, @"the stored intent `intent_000000g000004000` is damaged");
    let set_back = "UPDATE intent SET state = 'approved' WHERE number = 1";
    let done = r#""state":{"done":"ok"}"#;
    insta::assert_snapshot!(found_after_forging(set_back, done, r#""state":"approved""#).await, @"`intent_0000008000002000` is stored as approved, the audit trail makes it done");
    let (local, verified) = (r#""assurance":"local""#, r#""assurance":"verified""#);
    insta::assert_snapshot!(found_after_forging("", local, verified).await, @"`intent_0000008000002000` is done, but its call, its yes or its gateway are not those of the audit trail");
    insta::assert_snapshot!(found_after_forging("", "scale", "galaxy").await, @"the stored intent `intent_0000008000002000` is damaged");
    insta::assert_snapshot!(
        found_after("PRAGMA foreign_keys = OFF; DELETE FROM intent WHERE number = 2").await, @"`intent_000000g000004000` is in the audit trail, but not stored");
}

/// X5: a pin that nobody gave is found.
#[tokio::test]
async fn a_changed_pin_is_found() {
    insta::assert_snapshot!(found_after("UPDATE pin SET class = 'read-only'").await, @"the pin of `billing/get_plan` is not the one in the audit trail");
    insta::assert_snapshot!(
        found_after("INSERT INTO pin VALUES ('billing', 'delete_plan', zeroblob(32), 'read-only')").await, @"the pin of `billing/delete_plan` is not the one in the audit trail");
    insta::assert_snapshot!(found_after("DELETE FROM pin").await, @"the pin of `billing/get_plan` is not the one in the audit trail");
}

/// FC-8: what does not fit together is not acted upon either.
#[tokio::test]
async fn a_damaged_intent_is_not_run() {
    let place = Place::new();
    let ledger = place.open(1).await;
    open_question(&ledger, 1, &json!({"to": "scale"})).await;
    approve(&ledger, &id(1)).await.unwrap();
    place.forge("intent", |body| body.replace("scale", "galaxy"));
    let error = redeem(&ledger, &id(1)).await.unwrap_err();
    insta::assert_snapshot!(error, @"the ledger is damaged: the intent `intent_0000008000002000` cannot be what was stored; `yesgate audit verify` tells more");
    assert_eq!(error.public_reason(), "the consent ledger is damaged");
    assert_eq!(ledger.intent(&id(1)).await.unwrap_err(), error);
}

/// X7: the trail can only grow: even a slip of the hand does not shorten it.
#[tokio::test]
async fn the_trail_cannot_be_shortened_by_a_slip() {
    let place = Place::new();
    let _ledger = lived_in(&place).await;
    for sql in ["DELETE FROM audit", "UPDATE audit SET body = ''"] {
        let said = place.try_alone(sql).unwrap_err();
        assert!(said.contains("the audit trail is"), "{said}");
    }
}

/// X7: nor does it lose a question that rows tell of.
#[tokio::test]
async fn a_question_that_rows_tell_of_cannot_be_removed_by_a_slip() {
    let place = Place::new();
    let ledger = lived_in(&place).await;
    let said = place.try_alone("DELETE FROM intent").unwrap_err();
    assert!(said.contains(place.dialect("FOREIGN KEY", "questions are not removed")), "{said}");
    assert_sound(&ledger).await;
}
