//! Receipts: whatever is changed in one is found, and nobody else's pass for ours.

use serde_json::{Value, json};
use yesgate_core::assurance::Assurance;
use yesgate_core::intent::{Approver, Receipt, Surface};
use yesgate_proof::receipt::{ReceiptError, ReceiptKey, ReceiptPublicKey, SignedReceipt};

use crate::support::{asked, t};

fn key() -> ReceiptKey {
    ReceiptKey::derive(&[7; 32]).unwrap()
}

fn receipt() -> Receipt {
    let mut intent = asked(1, &json!({"to": "scale"}));
    let by = Approver {
        name: "ada on a page".to_owned(),
        identity: Some("ada".to_owned()),
        groups: std::collections::BTreeSet::new(),
        surface: Surface::Human,
        assurance: Assurance::SignedIn,
        typed: None,
        proof: None,
    };
    intent.deny(&by, Some("not today".to_owned()), t(9)).unwrap();
    intent.receipt().unwrap()
}

fn text() -> String {
    key().sign(receipt()).unwrap().text().unwrap()
}

fn verify(text: &str) -> Result<Receipt, ReceiptError> {
    SignedReceipt::verify(text, &key().public())
}

#[test]
fn a_signed_receipt_verifies_with_its_key_alone() {
    assert_eq!(verify(&text()), Ok(receipt()));
    assert_eq!(verify(&format!("{}\n", text())), Ok(receipt()), "a file may end with a line end");
    assert_eq!(SignedReceipt::claimed_key(&text()), Ok(key().public()));
    let again: ReceiptPublicKey = key().public().to_string().parse().unwrap();
    assert_eq!(again, key().public());
    // The same question has the same receipt, to the byte, however often it is made.
    assert_eq!(text(), text());
}

#[test]
fn another_key_is_refused_whatever_the_receipt_says() {
    let other = ReceiptKey::derive(&[8; 32]).unwrap();
    assert_eq!(SignedReceipt::verify(&text(), &other.public()), Err(ReceiptError::OtherKey));
    let forged = other.sign(receipt()).unwrap().text().unwrap();
    assert_eq!(verify(&forged), Err(ReceiptError::OtherKey));
    // The name of our key over the signature of another.
    let mut renamed: Value = serde_json::from_str(&forged).unwrap();
    renamed["key"] = json!(key().public());
    assert_eq!(verify(&renamed.to_string()), Err(ReceiptError::Changed));
    for nonsense in
        ["", "ed25519:", "ed25519:00", "0".repeat(64).as_str(), &key().public().to_string().to_uppercase()]
    {
        assert!(nonsense.parse::<ReceiptPublicKey>().is_err(), "{nonsense}");
    }
}

#[test]
fn a_change_of_any_byte_is_found() {
    let text = text();
    for position in 0..text.len() {
        let mut bytes = text.clone().into_bytes();
        bytes[position] ^= 1;
        let changed = String::from_utf8(bytes).unwrap();
        assert!(verify(&changed).is_err(), "{position}: {changed}");
    }
    for position in (0..text.len()).step_by(9) {
        let (before, after) = text.split_at(position);
        assert!(verify(&format!("{before} {after}")).is_err(), "a space at {position}");
        assert!(verify(before).is_err(), "cut at {position}");
    }
}

#[test]
fn a_change_of_any_field_is_found() {
    let value: Value = serde_json::from_str(&text()).unwrap();
    let names: Vec<String> = value["receipt"].as_object().unwrap().keys().cloned().collect();
    for name in names {
        for put in [json!("x"), json!(null), json!(1), json!({}), json!([])] {
            let mut changed = value.clone();
            if changed["receipt"][&name] == put {
                continue;
            }
            changed["receipt"][&name] = put;
            assert!(verify(&changed.to_string()).is_err(), "{name}: {changed}");
        }
    }
    let better = [("outcome", json!("ran")), ("class", json!("read-only")), ("people_needed", json!(2))];
    for (name, put) in better {
        let mut changed = value.clone();
        changed["receipt"][name] = put;
        assert_eq!(verify(&changed.to_string()), Err(ReceiptError::Changed), "{name}");
    }
    let mut changed = value.clone();
    changed["receipt"]["decision"]["assurance"] = json!("verified");
    assert_eq!(verify(&changed.to_string()), Err(ReceiptError::Changed));
    let mut changed = value;
    changed["receipt"]["caller"]["note"] = json!("x");
    assert_eq!(verify(&changed.to_string()), Err(ReceiptError::Respelled));
}

#[test]
fn a_key_prints_nothing() {
    assert_eq!(format!("{:?}", key()), "ReceiptKey(…)");
}
