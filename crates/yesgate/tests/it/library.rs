//! The library face: an application gates its own operation.

use serde_json::json;
use yesgate::{Consent, ConsentError, Operation};
use yesgate_ledger::Filter;

fn upgrade(to: &str) -> Operation {
    Operation::new("acme", "ada", "assistant", "upgrade_plan")
        .params(&json!({ "to": to }))
        .unwrap()
        .summary("Upgrade acme from Pro to Scale")
}

fn code(error: &ConsentError) -> &'static str {
    let ConsentError::Refused(refusal) = error else { panic!("{error:?}") };
    refusal.why.code()
}

/// H10: any custom operation is gated through the same engine, with the same token rules.
#[tokio::test]
async fn an_operation_runs_once_and_only_with_its_own_token() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let minted = consent.mint(upgrade("scale")).await.unwrap();
    assert!(minted.token().starts_with("pbc_"));
    assert_eq!(minted.payload()["summary"], "Upgrade acme from Pro to Scale");
    assert_eq!(minted.payload()["ttl_seconds"], 60);

    let other = consent.consume(minted.token(), &upgrade("enterprise")).await.unwrap_err();
    assert_eq!(code(&other), "consent_token_mismatch");
    let permit = consent.consume(minted.token(), &upgrade("scale")).await.unwrap();
    assert_eq!(permit.params(), json!({"to": "scale"}));
    permit.done(&json!({"ok": true})).await.unwrap();
    let replayed = consent.consume(minted.token(), &upgrade("scale")).await.unwrap_err();
    assert_eq!(code(&replayed), "consent_token_invalid");
    assert_eq!(
        code(&consent.consume("pbc_guess", &upgrade("scale")).await.unwrap_err()),
        "consent_token_invalid"
    );
}

/// H5, H10: other parameters supersede, the same ones get a fresh token.
#[tokio::test]
async fn minting_again_kills_the_earlier_token() {
    let consent = Consent::in_memory("billing").await.unwrap();
    let first = consent.mint(upgrade("scale")).await.unwrap();
    let again = consent.mint(upgrade("scale")).await.unwrap();
    assert_eq!(first.intent(), again.intent());
    assert_eq!(
        code(&consent.consume(first.token(), &upgrade("scale")).await.unwrap_err()),
        "consent_token_invalid"
    );
    let other = consent.mint(upgrade("pro")).await.unwrap();
    assert_ne!(other.intent(), again.intent());
    assert_eq!(code(&consent.consume(again.token(), &upgrade("scale")).await.unwrap_err()), "superseded");
}

/// X3, H10: an application that says nothing leaves `unknown`, and the yes stays spent.
#[tokio::test]
async fn a_permit_that_is_dropped_is_an_unknown_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.db");
    let consent = Consent::open("billing", &path).await.unwrap();
    let minted = consent.mint(upgrade("scale")).await.unwrap();
    let mut changes = consent.ledger().changes();
    drop(consent.consume(minted.token(), &upgrade("scale")).await.unwrap());
    while consent.ledger().intents(Filter::Unknown).await.unwrap().is_empty() {
        changes.changed().await;
    }
    let refused = consent.mint(upgrade("scale")).await.unwrap_err();
    assert_eq!(code(&refused), "execution_unknown");
}
