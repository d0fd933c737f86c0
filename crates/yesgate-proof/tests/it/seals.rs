//! The gateway's seal under credentials: what somebody wrote into the database by hand is no key.

use serde_json::{Value, json};
use yesgate_proof::credential::{Credential, Key};
use yesgate_proof::registry::Registry;
use yesgate_proof::seal::{SealError, SealKey, SealedCredential};

use crate::support::{Browser, ada, bob, credential, seal};

fn of_ada() -> Credential {
    credential(ada(), "ada", Key::Passkey(Box::new(Browser::new().enrol(&ada()))))
}

fn edited(sealed: &SealedCredential, edit: impl FnOnce(&mut Value)) -> SealedCredential {
    let mut stored = serde_json::to_value(sealed).unwrap();
    edit(&mut stored);
    serde_json::from_value(stored).unwrap()
}

#[test]
fn what_was_sealed_is_read_again() {
    let credential = of_ada();
    let sealed = seal().seal(&credential).unwrap();
    let stored = serde_json::to_string(&sealed).unwrap();
    let read = seal().open(&serde_json::from_str(&stored).unwrap()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), serde_json::to_value(credential).unwrap());
    assert_eq!(format!("{:?}", seal()), "SealKey(…)");
}

/// THREATS 4.3, issue 5: a key that somebody writes into the database, or changes there, is none.
#[test]
fn a_key_without_the_gateways_seal_is_none() {
    let own = seal().seal(&of_ada()).unwrap();
    let foreign = SealKey::derive(&[7; 32]).seal(&of_ada()).unwrap();
    assert_eq!(seal().open(&foreign).unwrap_err(), SealError::Broken, "sealed by another gateway");
    let body = |stored: &Value| -> Value { serde_json::from_str(stored["body"].as_str().unwrap()).unwrap() };
    let members = [
        ("person", json!(bob())),
        ("identity", json!("bob")),
        ("id", json!("cred_0000000000000000")),
        ("label", json!("mine")),
        (
            "key",
            json!({"ssh": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ"}),
        ),
    ];
    for (member, value) in members {
        let changed = edited(&own, |stored| {
            let mut inner = body(stored);
            inner[member] = value;
            stored["body"] = json!(inner.to_string());
        });
        assert_eq!(seal().open(&changed).unwrap_err(), SealError::Broken, "{member}");
    }
    let spaced =
        edited(&own, |stored| stored["body"] = json!(format!("{} ", stored["body"].as_str().unwrap())));
    assert_eq!(seal().open(&spaced).unwrap_err(), SealError::Broken, "one space more");
    let unsealed = edited(&own, |stored| stored["seal"] = json!("0".repeat(64)));
    assert_eq!(seal().open(&unsealed).unwrap_err(), SealError::Broken, "no seal");
}

#[test]
fn a_registry_takes_only_what_is_sealed_and_forgets_what_it_had() {
    let registry = Registry::new(seal(), None);
    let own = seal().seal(&of_ada()).unwrap();
    let foreign = SealKey::derive(&[7; 32]).seal(&of_ada()).unwrap();
    assert_eq!(registry.replace(&[own, foreign]), [SealError::Broken]);
    assert_eq!((registry.of(&ada()).len(), registry.of(&bob()).len()), (1, 0));
    assert_eq!(registry.replace(&[]), []);
    assert!(registry.of(&ada()).is_empty());
}
