//! Bearer keys: found by their hash, revoked for everybody at once, never stored in clear.

use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use yesgate_core::caller::Caller;
use yesgate_core::id::KeyId;
use yesgate_core::intent::State;
use yesgate_core::key::{BearerKey, KeyRecord};
use yesgate_ledger::Ledger;

use crate::support::{
    Other, Place, TestClock, approve, ask, assert_sound, binding, entropy, id, in_memory, my_part, open_at,
    question, redeem, say, state, t, wait_for_word,
};

/// The dice of a key, which are not those of its id.
fn dice(seed: u32) -> [u8; 32] {
    entropy(seed ^ 0xa5c3_5a3c)
}

fn key(seed: u32) -> BearerKey {
    BearerKey::from_entropy(dice(seed))
}

fn key_id(seed: u32) -> KeyId {
    KeyId::from_entropy(entropy(seed))
}

fn record(seed: u32) -> KeyRecord {
    KeyRecord {
        id: key_id(seed),
        name: format!("laptop {seed}").parse().unwrap(),
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "ada".parse().unwrap(),
            client: "key".parse().unwrap(),
        },
        created_at: t(i64::from(seed)),
        revoked_at: None,
    }
}

async fn add(ledger: &Ledger, seed: u32) {
    ledger.add_key(record(seed), key(seed).hash(), "ada at the command line").await.unwrap();
}

/// A key is found by its hash alone; one that nobody made is not.
#[tokio::test]
async fn a_key_is_found_until_it_is_revoked() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    for seed in [2, 1] {
        add(&ledger, seed).await;
    }
    assert_eq!(ledger.keys().await.unwrap(), [record(1), record(2)]);
    assert_eq!(ledger.key(&key(1).hash()).await.unwrap(), Some(record(1)));
    assert_eq!(ledger.key(&key(3).hash()).await.unwrap(), None);
    assert_eq!(ledger.live_keys().await.unwrap().get(&key(2).hash()), Some(&record(2).caller));

    clock.set(60);
    assert!(ledger.revoke_key(&key_id(1), "ada").await.unwrap());
    assert!(!ledger.revoke_key(&key_id(1), "ada").await.unwrap(), "only once");
    assert!(!ledger.revoke_key(&key_id(9), "ada").await.unwrap(), "there is none");
    assert_eq!(ledger.key(&key(1).hash()).await.unwrap(), None);
    assert_eq!(ledger.live_keys().await.unwrap().into_keys().collect::<Vec<_>>(), [key(2).hash()]);
    let revoked = KeyRecord { revoked_at: Some(t(60)), ..record(1) };
    assert_eq!(ledger.keys().await.unwrap(), [revoked, record(2)]);
    assert_eq!(ledger.audit(1, 10).await.unwrap().len(), 3);
    assert_sound(&ledger).await;
}

/// FC-34: what was asked with a key goes with it, with a yes or without, unless the same caller has another key.
#[tokio::test]
async fn what_was_asked_with_a_key_is_withdrawn_with_it() {
    let ledger = Place::new().open(1).await;
    let caller = binding("any", &json!({})).caller;
    for seed in [1, 2] {
        let record = KeyRecord { caller: caller.clone(), ..record(seed) };
        ledger.add_key(record, key(seed).hash(), "ada").await.unwrap();
    }
    drop(ask(&ledger, 1, question("one", &json!({}))).await.unwrap());
    drop(ask(&ledger, 2, question("two", &json!({}))).await.unwrap());
    approve(&ledger, &id(2)).await.unwrap();
    let states = async || (state(&ledger, &id(1)).await, state(&ledger, &id(2)).await);
    assert!(ledger.revoke_key(&key_id(1), "ada").await.unwrap());
    assert_eq!(states().await, (State::Pending, State::Approved), "the caller has another key");
    assert!(ledger.revoke_key(&key_id(2), "ada").await.unwrap());
    assert_eq!(states().await, (State::Cancelled, State::Cancelled));
    redeem(&ledger, &id(2)).await.unwrap().unwrap_err();
    assert_sound(&ledger).await;
}

/// Neither an id nor a key can be given twice, and a change that fails leaves no row behind.
#[tokio::test]
async fn a_key_is_added_whole_or_not_at_all() {
    let ledger = in_memory(&TestClock::new()).await;
    add(&ledger, 1).await;
    ledger.add_key(record(1), key(2).hash(), "eve").await.unwrap_err();
    ledger.add_key(record(2), key(1).hash(), "eve").await.unwrap_err();
    assert_eq!(ledger.keys().await.unwrap(), [record(1)]);
    assert_eq!(ledger.audit(1, 10).await.unwrap().len(), 1);
    assert_sound(&ledger).await;
}

/// A revoked key is gone for the next look-up of every process, and whoever keeps a cache is woken.
#[tokio::test]
async fn a_key_that_another_process_revoked_is_gone() {
    if let Some(path) = my_part() {
        let ledger = open_at(&path, &TestClock::new(), 77).await.unwrap();
        say(&ledger.key(&key(1).hash()).await.unwrap().is_some().to_string());
        wait_for_word();
        say(&ledger.revoke_key(&key_id(1), "the other process").await.unwrap().to_string());
        wait_for_word();
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    add(&ledger, 1).await;
    let mut changes = ledger.changes();
    let mut other = Other::start("keys::a_key_that_another_process_revoked_is_gone", &place.at);
    assert_eq!(other.hear(), "true");
    other.tell();
    assert_eq!(other.hear(), "true");
    assert_eq!(ledger.key(&key(1).hash()).await.unwrap(), None);
    assert!(ledger.live_keys().await.unwrap().is_empty());
    timeout(Duration::from_secs(20), changes.changed()).await.unwrap();
    other.wait();
    assert_sound(&ledger).await;
}

/// Whoever reads the files finds no key, and whoever reads the audit trail finds no hash either.
#[tokio::test]
async fn a_key_stands_nowhere_in_clear() {
    let place = Place::new();
    let ledger = place.open(1).await;
    add(&ledger, 1).await;
    let key = key(1);
    let holds = |haystack: &[u8], needle: &[u8]| haystack.windows(needle.len()).any(|part| part == needle);
    let secret = key.expose().strip_prefix(BearerKey::PREFIX).unwrap().as_bytes();
    let files = place.bytes();
    assert!(holds(&files, key.hash().0.as_bytes()), "the hash is there, so this is the right place to look");
    for part in [secret, &secret[..16], &dice(1)] {
        assert!(!holds(&files, part), "a key or a part of it is in the file");
    }
    let rows = ledger.audit(1, 10).await.unwrap();
    let told = rows.iter().map(|row| row.body.as_str()).collect::<String>();
    assert!(told.contains(key_id(1).as_str()) && told.contains(&key.hash().fingerprint().to_string()));
    assert!(!told.contains(&key.hash().0.to_string()));
}

/// X7: a key that nobody added, one that was exchanged, one that came back, and one that is gone are all found.
#[tokio::test]
async fn a_changed_key_is_found() {
    for sql in [
        "UPDATE bearer_key SET hash = randomblob(32)",
        "UPDATE bearer_key SET principal = 'eve'",
        "UPDATE bearer_key SET revoked_at = NULL",
        "UPDATE bearer_key SET revoked_at = 1",
        "DELETE FROM bearer_key",
    ] {
        assert_eq!(
            found_after(sql).await,
            format!("the key `{}` is not the one in the audit trail", key_id(1))
        );
    }
    let forged = format!(
        "INSERT INTO bearer_key SELECT '{}', randomblob(32), name, org, principal, client, 0, NULL FROM bearer_key",
        key_id(2)
    );
    assert_eq!(
        found_after(&forged).await,
        format!("the key `{}` is not the one in the audit trail", key_id(2))
    );
}

async fn found_after(sql: &str) -> String {
    let place = Place::new();
    let ledger = place.open(1).await;
    add(&ledger, 1).await;
    assert!(ledger.revoke_key(&key_id(1), "ada").await.unwrap());
    assert_sound(&ledger).await;
    place.tamper(sql);
    let report = ledger.verify().await.unwrap();
    report.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
