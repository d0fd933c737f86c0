//! From the key to the run: a yes that is signed, stored, read again and spent.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use yesgate_core::assurance::Assurance;
use yesgate_core::id::{BootId, PersonId};
use yesgate_core::intent::{Answer, Approver, Awaited, Ground, Intent, Runner, Surface};
use yesgate_core::proof::{Evidence, NotProven, Statement, Witness};
use yesgate_proof::credential::{Credential, Key};
use yesgate_proof::registry::Registry;
use yesgate_proof::ssh::{NAMESPACE, SshKey};

use crate::support::{
    Browser, Home, ada, asked, bob, ceremonies, credential, other_statements, seal, statement, t,
};

fn registry(credentials: &[&Credential]) -> Registry {
    let registry = Registry::new(seal(), Some(ceremonies()));
    let sealed: Vec<_> = credentials.iter().map(|credential| seal().seal(credential).unwrap()).collect();
    assert_eq!(registry.replace(&sealed), []);
    registry
}

fn approver(registry: &Registry, person: &PersonId, statement: &Statement, evidence: &Evidence) -> Approver {
    let proven = registry.prove(person, statement, evidence).unwrap();
    Approver {
        name: "somebody with a key".into(),
        identity: Some(proven.proof().identity.clone()),
        groups: BTreeSet::new(),
        surface: Surface::Human,
        assurance: Assurance::Verified,
        typed: None,
        proof: Some(proven),
    }
}

/// Stores it and reads it again, as the ledger does; `edit` is what somebody does to it meanwhile.
fn stored(intent: &Intent, edit: impl FnOnce(&mut Value)) -> Intent {
    let mut value = serde_json::to_value(intent).unwrap();
    edit(&mut value);
    serde_json::from_str(&value.to_string()).unwrap()
}

fn redeem(intent: &mut Intent, witness: &dyn Witness, second: i64) -> &'static str {
    let boot = BootId::from_entropy([9; 32]);
    let runner = Runner { boot: &boot, ground: Ground::Holds, awaited: Awaited::No, witness };
    intent.redeem(&runner, t(second)).map_or_else(|refusal| refusal.why.code(), |_| "run")
}

fn signed(person: PersonId, identity: &str, home: &Home) -> (Credential, Evidence) {
    let key = home.key("ed25519", identity);
    let public: SshKey = Home::public(&key).parse().unwrap();
    let armored = home.sign(&key, NAMESPACE, &SshKey::message(&statement())).try_into().unwrap();
    (credential(person, identity, Key::Ssh(public)), Evidence::Signature { armored })
}

#[track_caller]
fn check_whole_way(credential: &Credential, evidence: &Evidence) {
    let registry = registry(&[credential]);
    let mut intent = asked(1, &json!({"to": "scale"}));
    let by = approver(&registry, &credential.person, &statement(), evidence);
    intent.approve(&by, intent.digest(), t(1)).unwrap();

    let emptied = self::registry(&[]);
    assert_eq!(redeem(&mut stored(&intent, |_| ()), &emptied, 2), "assurance_too_low", "the key was revoked");
    let other = |intent: &mut Value| {
        let call = serde_json::to_value(asked(1, &json!({"to": "enterprise"}))).unwrap();
        intent["question"] = call["question"].clone();
    };
    assert_eq!(redeem(&mut stored(&intent, other), &registry, 2), "assurance_too_low", "another call");
    let moved = |intent: &mut Value| intent["id"] = json!("intent_0000000000000000");
    assert_eq!(redeem(&mut stored(&intent, moved), &registry, 2), "assurance_too_low", "another question");
    let longer = |intent: &mut Value| intent["run_by"] = json!(t(90_000));
    assert_eq!(redeem(&mut stored(&intent, longer), &registry, 31 * 60), "assurance_too_low", "expired");
    assert_eq!(redeem(&mut stored(&intent, |_| ()), &registry, 2), "run");
}

/// X1, issue 5: a passkey's yes is stored whole, verified again and runs; an edited ledger yields none.
#[test]
fn a_passkeys_yes_is_stored_verified_again_and_runs() {
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let evidence = browser.sign(&statement(), &passkey);
    check_whole_way(&credential(ada(), "ada", Key::Passkey(Box::new(passkey))), &evidence);
}

/// X1, issue 5: so does a signature.
#[test]
fn a_signatures_yes_is_stored_verified_again_and_runs() {
    let (credential, evidence) = signed(ada(), "ada", &Home::new());
    check_whole_way(&credential, &evidence);
}

/// X1: a signature is its owner's, under what it was made for, and of the kind that the key makes.
#[test]
fn nobody_has_anothers_signature() {
    let home = Home::new();
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let assertion = browser.sign(&statement(), &passkey);
    let passkey = credential(ada(), "ada", Key::Passkey(Box::new(passkey)));
    let (ssh, signature) = signed(bob(), "bob", &home);
    let registry = registry(&[&passkey, &ssh]);
    assert!(registry.prove(&ada(), &statement(), &assertion).is_ok());
    assert!(registry.prove(&bob(), &statement(), &signature).is_ok());
    assert_eq!(registry.prove(&bob(), &statement(), &assertion), Err(NotProven));
    assert_eq!(registry.prove(&ada(), &statement(), &signature), Err(NotProven));
    for (what, other) in other_statements() {
        assert_eq!(registry.prove(&ada(), &other, &assertion), Err(NotProven), "{what}");
        assert_eq!(registry.prove(&bob(), &other, &signature), Err(NotProven), "{what}");
    }
    let mut proof = ssh.proof(&statement(), signature);
    assert!(registry.holds(&proof, &statement()));
    proof.identity = "ada".into();
    assert!(!registry.holds(&proof, &statement()), "another name");
    proof.person = ada();
    assert!(!registry.holds(&proof, &statement()), "another person");
    proof.credential = passkey.id;
    assert!(!registry.holds(&proof, &statement()), "another person's key");
}

/// X1: where there is no origin there are no ceremonies, and a passkey proves nothing.
#[test]
fn without_an_origin_only_signatures_count() {
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let assertion = browser.sign(&statement(), &passkey);
    let passkey = credential(ada(), "ada", Key::Passkey(Box::new(passkey)));
    let (ssh, signature) = signed(bob(), "bob", &Home::new());
    let registry = Registry::new(seal(), None);
    let sealed = [&passkey, &ssh].map(|credential| seal().seal(credential).unwrap());
    assert_eq!(registry.replace(&sealed), []);
    assert_eq!(registry.prove(&ada(), &statement(), &assertion), Err(NotProven));
    assert!(registry.prove(&bob(), &statement(), &signature).is_ok());
}

/// X1: a signed no is a no, and cannot be turned into a yes.
#[test]
fn a_signed_no_is_no_yes() {
    let no = asked(1, &json!({"to": "scale"})).statement(Answer::Deny);
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let evidence = browser.sign(&no, &passkey);
    let registry = registry(&[&credential(ada(), "ada", Key::Passkey(Box::new(passkey)))]);
    assert!(registry.prove(&ada(), &no, &evidence).is_ok());
    assert_eq!(registry.prove(&ada(), &statement(), &evidence), Err(NotProven));
}
