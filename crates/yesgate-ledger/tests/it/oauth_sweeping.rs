//! What the sweep removes, and what it leaves.

use jiff::SignedDuration;
use yesgate_core::oauth::{ClientKind, End, OAuthClient};
use yesgate_ledger::{Ledger, Refreshed};

use crate::oauth_stage::{
    DAY, allow, client, client_id, connect, connection_id, device, device_request, ends, is_in, refreshed,
    register, request, somebody, ticket, typed,
};
use crate::support::{Place, TestClock, assert_sound, in_memory, t};

async fn sweep(ledger: &Ledger) -> u64 {
    let days = |days: i64| SignedDuration::from_hours(24 * days);
    ledger.sweep_oauth(days(7), days(90)).await.unwrap()
}

/// O-R6, O-R7: a client that nobody allowed anything is forgotten after a week; another one stays ninety days after its last
/// use, and for as long as it is connected; one that was ended is known as long. An operator's stays.
#[tokio::test]
async fn clients_outlive_their_tokens() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let [unbound, once, connected, ended] = [1, 2, 3, 4];
    for seed in [unbound, once, connected, ended] {
        register(&ledger, seed).await;
    }
    let operators = OAuthClient { kind: ClientKind::Operator, ..client(9, t(0)) };
    ledger.store_client(operators, 0).await.unwrap().unwrap();
    for seed in [once, connected, ended] {
        connect(&ledger, &ada, &client_id(seed), seed).await;
    }
    ledger.end_connection(&connection_id(once), End::Revoked, "ada").await.unwrap();
    ledger.end_client(&client_id(ended), "ada").await.unwrap();
    let known = async |seed| ledger.client(&client_id(seed)).await.unwrap().is_some();
    clock.set(7 * DAY - 1);
    sweep(&ledger).await;
    assert!(known(unbound).await);
    clock.set(7 * DAY);
    sweep(&ledger).await;
    assert!(!known(unbound).await && known(once).await && known(connected).await && known(ended).await);
    for (turn, token) in (1..=3).zip([connected, 1001, 1002]) {
        clock.set(turn * 29 * DAY);
        let new = 1000 + u32::try_from(turn).unwrap();
        assert!(matches!(refreshed(&ledger, &client_id(connected), token, new).await, Refreshed::Rotated(_)));
        sweep(&ledger).await;
    }
    clock.set(90 * DAY - 1);
    sweep(&ledger).await;
    assert!(known(once).await && known(ended).await);
    clock.set(90 * DAY);
    sweep(&ledger).await;
    assert!(!known(once).await && !known(ended).await);
    assert!(known(connected).await && known(9).await);
    assert_sound(&ledger).await;
}

/// O-S9: nothing that is too old stays in any table, and nothing goes that still counts.
#[tokio::test]
async fn tables_do_not_grow_for_ever() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    let mut token = 1;
    for turn in 2..20_u32 {
        place.clock.set(i64::from(turn) * 2 * DAY);
        assert!(matches!(refreshed(&ledger, &robot, token, turn).await, Refreshed::Rotated(_)));
        token = turn;
        let now = ledger.now();
        ledger.park(ticket(turn), request(&robot, now), 100).await.unwrap().unwrap();
        ledger
            .store_device(device(turn), typed(turn), device_request(&robot, now), 100)
            .await
            .unwrap()
            .unwrap();
        sweep(&ledger).await;
    }
    let rows =
        |table: &str| -> i64 { place.value(&format!("SELECT count(*) FROM {table}")).parse().unwrap() };
    assert_eq!(rows("access_token"), 1);
    assert!(rows("refresh_token") <= 16, "those of a month, so that a copy is noticed");
    assert_eq!(["code", "parked", "device", "client"].map(rows), [0, 1, 1, 1]);
    assert!(is_in(&ledger, token).await);
    place.clock.set(19 * 2 * DAY + DAY);
    assert!(sweep(&ledger).await > 0);
    assert_eq!(sweep(&ledger).await, 0);
    assert_eq!(["access_token", "parked", "device", "client"].map(rows), [0, 0, 0, 1]);
    assert!(matches!(refreshed(&ledger, &robot, token, 99).await, Refreshed::Rotated(_)));
    assert_sound(&ledger).await;
}

/// O-F1: a connection that nobody can use any more ends by itself; one that can be used, or was just made, does not.
#[tokio::test]
async fn idle_connections_end() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (robot, other) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    allow(&ledger, &ada, &other, 2).await;
    clock.set(DAY - 1);
    sweep(&ledger).await;
    assert_eq!(ledger.connections().await.unwrap().len(), 2);
    clock.set(DAY);
    sweep(&ledger).await;
    assert_eq!(ends(&ledger).await, ["idle"], "its code was never brought");
    clock.set(30 * DAY - 1);
    sweep(&ledger).await;
    assert_eq!(ledger.connections().await.unwrap().len(), 1);
    clock.set(30 * DAY);
    sweep(&ledger).await;
    assert_eq!(ends(&ledger).await, ["idle", "idle"]);
    assert_eq!(sweep(&ledger).await, 0);
    assert_sound(&ledger).await;
}
