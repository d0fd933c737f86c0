//! What the audit trail knows of connections, what it finds, and what stands nowhere.

use yesgate_core::oauth::{AccessToken, AuthorizationCode, End, RefreshToken, Ticket};
use yesgate_ledger::{Fault, Ledger, Refreshed};

use crate::forger::holds;
use crate::oauth_stage::{connect, connection_id, is_in, refreshed, register, somebody, steps};
use crate::support::{Place, assert_sound, entropy};

async fn staged(place: &Place) -> Ledger {
    let ledger = place.open(1).await;
    let ada = somebody(&ledger, "ada", 1).await;
    connect(&ledger, &ada, &register(&ledger, 1).await, 1).await;
    connect(&ledger, &ada, &register(&ledger, 2).await, 2).await;
    ledger.end_connection(&connection_id(2), End::Revoked, "ada").await.unwrap();
    assert_sound(&ledger).await;
    ledger
}

/// O-S11: a connection that was changed, made, removed, ended or brought back by hand is found.
#[tokio::test]
async fn a_connection_that_was_changed_by_hand_is_found() {
    let tampering = [
        ("UPDATE connection SET body = replace(body, 'mcp:call', 'admin') WHERE ended_at IS NULL", 1),
        ("UPDATE connection SET body = replace(body, '/api/mcp', '') WHERE ended_at IS NULL", 1),
        ("UPDATE connection SET body = replace(body, '\"ada\"', '\"eve\"') WHERE ended_at IS NULL", 1),
        ("UPDATE connection SET ended_at = NULL, why = NULL", 2),
        ("UPDATE connection SET why = 'idle' WHERE ended_at IS NOT NULL", 2),
        ("UPDATE connection SET ended_at = 5, why = 'idle' WHERE ended_at IS NULL", 1),
        ("DELETE FROM connection WHERE ended_at IS NOT NULL", 2),
    ];
    for (sql, seed) in tampering {
        let place = Place::new();
        let ledger = staged(&place).await;
        place.tamper(sql);
        let faults = ledger.verify().await.unwrap().faults;
        assert_eq!(faults, [Fault::ConnectionDiffers { id: connection_id(seed) }], "{sql}");
    }
}

/// O-D8: a token that was widened by hand allows no more than its connection does.
#[tokio::test]
async fn a_token_allows_no_more_than_its_connection() {
    let place = Place::new();
    let ledger = staged(&place).await;
    place.tamper(
        "UPDATE access_token SET scopes = 'admin mcp:read', resources = '[\"https://gate.example.org\"]'",
    );
    let who = ledger.admitted(AccessToken::from_entropy(entropy(1)).hash()).await.unwrap().unwrap();
    assert_eq!(who.access.scopes.to_string(), "mcp:read");
    assert!(who.access.resources.0.is_empty());
}

/// O-S5: no secret that was given out stands in any file, and none in the audit trail; neither does its hash.
#[tokio::test]
async fn no_secret_is_at_rest() {
    let place = Place::new();
    let ledger = staged(&place).await;
    let robot = crate::oauth_stage::client_id(1);
    assert!(matches!(refreshed(&ledger, &robot, 1, 3).await, Refreshed::Rotated(_)));
    assert!(is_in(&ledger, 3).await);
    let trail: String = ledger.audit(1, 1000).await.unwrap().into_iter().map(|row| row.body).collect();
    let bytes = place.bytes();
    for seed in 1..=3 {
        let dice = entropy(seed);
        let secrets = [
            AccessToken::from_entropy(dice).expose().to_owned(),
            RefreshToken::from_entropy(dice).expose().to_owned(),
            AuthorizationCode::from_entropy(dice).expose().to_owned(),
            Ticket::from_entropy(dice).expose().to_owned(),
        ];
        for secret in secrets {
            assert!(!holds(&bytes, secret.as_bytes()));
            assert!(!trail.contains(&secret));
        }
        let hash = RefreshToken::from_entropy(dice).hash().0;
        assert!(!trail.contains(&hash.to_string()));
    }
    assert!(holds(&bytes, connection_id(1).as_str().as_bytes()), "the files were read");
}

/// O-S11: each step is told, in the order in which it happened.
#[tokio::test]
async fn each_step_is_told() {
    let place = Place::new();
    let ledger = staged(&place).await;
    let robot = crate::oauth_stage::client_id(1);
    drop(refreshed(&ledger, &robot, 1, 3).await);
    drop(refreshed(&ledger, &robot, 1, 4).await);
    ledger.end_client(&robot, "ada").await.unwrap();
    let told = steps(&ledger).await;
    let words: Vec<String> = told
        .iter()
        .map(|step| serde_json::to_value(step).unwrap()["step"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "connected",
        "issued",
        "connected",
        "issued",
        "ended",
        "refreshed",
        "refreshed",
        "ended",
        "client_ended",
    ];
    assert_eq!(words, expected);
}
