//! The held answers, field by field.

use serde_json::{Value, json};

use super::{Links, held_payload};
use crate::fixture::{fresh, question, t, token};
use crate::intent::Intent;
use crate::policy::OwnNames;
use crate::verdict::{Channel, Spend};

/// H2: a chat answer has the fields of both published vocabularies.
#[test]
fn a_chat_answer_carries_token_summary_and_both_vocabularies() {
    let mut intent = Intent::open(fresh(1).id, question(&json!({"to": "scale"})), fresh(1).asked_by, t(0));
    intent.issue_token(token(1).hash(), t(0)).unwrap();
    let payload = Value::Object(held_payload(&intent, Some(&token(1)), &OwnNames::default(), t(0)));
    insta::assert_snapshot!(serde_json::to_string_pretty(&payload).unwrap());
}

/// I2: asking about money says so in its own words, and is not an error.
#[test]
fn a_payment_answer_names_amount_currency_and_recipient() {
    let mut asked = question(&json!({"amount": "0.01"}));
    asked.spend = Some(Spend {
        amount: "0.01".into(),
        currency: Some("USDC".into()),
        recipient: Some("https://shop.example".into()),
        ..Spend::default()
    });
    let mut intent = Intent::open(fresh(1).id, asked, fresh(1).asked_by, t(0));
    intent.issue_token(token(1).hash(), t(0)).unwrap();
    let payload = held_payload(&intent, Some(&token(1)), &OwnNames::default(), t(0));
    for (key, value) in [
        ("ok", json!(false)),
        ("status", json!("approval_required")),
        ("amount", json!(0.01)),
        ("currency", json!("USDC")),
        ("recipient", json!("https://shop.example")),
        ("intent_id", json!("intent_040g2081040g2081")),
        ("confirm_required", json!(true)),
    ] {
        assert_eq!(payload.get(key), Some(&value), "{key}");
    }
    assert!(payload.contains_key("reason") && payload.contains_key("expires_at"));
}

/// I5: asked away from the agent, the answer holds nothing that could run the call.
#[test]
fn an_out_of_band_answer_holds_no_token() {
    let mut asked = question(&json!({}));
    asked.channel = Channel::OutOfBand;
    let intent = Intent::open(fresh(1).id, asked, fresh(1).asked_by, t(0));
    let payload = held_payload(&intent, None, &OwnNames::default(), t(0));
    assert_eq!(payload["status"], json!("approval_required"));
    assert!(!payload.contains_key("confirm_token"));
    assert_eq!(payload["expires_in"], json!(1800));
}

/// H3: whoever waits for a decision elsewhere gets both addresses; whoever has a token needs no page.
#[test]
fn the_page_is_named_only_where_there_is_no_token() {
    let intent = Intent::open(fresh(1).id, question(&json!({})), fresh(1).asked_by, t(0));
    let links = Links { approval: Some("https://gate/a".into()), polling: Some("https://gate/p".into()) };
    let mut away = held_payload(&intent, None, &OwnNames::default(), t(0));
    links.add_to(&mut away);
    assert_eq!(
        (&away["approval_url"], &away["polling_url"]),
        (&json!("https://gate/a"), &json!("https://gate/p"))
    );
    let mut chat = held_payload(&intent, Some(&token(1)), &OwnNames::default(), t(0));
    links.add_to(&mut chat);
    assert_eq!((chat.get("approval_url"), &chat["polling_url"]), (None, &json!("https://gate/p")));
}
