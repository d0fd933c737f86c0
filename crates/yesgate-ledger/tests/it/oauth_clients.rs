//! Clients: how many there can be, which ones go, and what stays of them.

use std::net::IpAddr;

use yesgate_core::oauth::{ClientKind, OAuthClient, OAuthClientId};
use yesgate_ledger::{Ledger, NoRoom, Room};

use crate::oauth_stage::{
    DAY, allow, client, client_id, connect, is_in, refreshed, register, request, somebody, steps, ticket,
};
use crate::support::{Place, TestClock, assert_sound, in_memory, t};

/// O-R6: a client is stored as it came, and one that changed takes its place; what the ledger knows of it stays.
#[tokio::test]
async fn a_client_is_kept_as_it_came() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let made = client(1, t(0));
    assert_eq!(ledger.client(&made.id).await.unwrap(), None);
    ledger.store_client(made.clone(), 1).await.unwrap().unwrap();
    assert_eq!(ledger.client(&made.id).await.unwrap(), Some(made.clone()));
    clock.set(60);
    let ada = somebody(&ledger, "ada", 1).await;
    allow(&ledger, &ada, &made.id, 1).await;
    let changed = OAuthClient { redirect_uris: vec!["https://a.example/b".into()], ..made.clone() };
    // There is room for one that is known, whatever the bound.
    ledger.store_client(changed.clone(), 0).await.unwrap().unwrap();
    let kept = ledger.client(&made.id).await.unwrap().unwrap();
    assert_eq!(kept, OAuthClient { is_bound: true, used_at: t(60), ..changed });
    assert_eq!(ledger.oauth_clients().await.unwrap(), [kept]);
}

/// O-R6: however many register, there are never more than the bound of those that nobody allowed anything; the oldest that
/// was never used goes first, and what somebody connected is not touched.
#[tokio::test]
async fn a_flood_of_registrations_stays_within_its_bound() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    for seed in 100..2_100 {
        clock.set(i64::from(seed));
        ledger.store_client(client(seed, ledger.now()), 50).await.unwrap().unwrap();
    }
    let known = ledger.oauth_clients().await.unwrap();
    assert_eq!(known.len(), 51);
    assert!(ledger.client(&client_id(2_049)).await.unwrap().is_none());
    assert!(ledger.client(&client_id(2_050)).await.unwrap().is_some());
    assert!(is_in(&ledger, 1).await);
    assert!(matches!(refreshed(&ledger, &robot, 1, 2).await, yesgate_ledger::Refreshed::Rotated(_)));
    let told = ledger.audit(1, 10_000).await.unwrap().len();
    assert!(told < 10, "strangers leave no audit rows: {told}");
    assert_sound(&ledger).await;
}

/// O-R6: one about which somebody may be deciding right now does not make room, and later it does.
#[tokio::test]
async fn a_client_that_is_being_decided_about_does_not_make_room() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    clock.set(1);
    ledger.store_client(client(1, t(0)), 1).await.unwrap().unwrap();
    ledger.park(ticket(1), request(&client_id(1), t(1)), 10).await.unwrap().unwrap();
    assert_eq!(ledger.store_client(client(2, t(1)), 1).await.unwrap(), Err(NoRoom));
    assert!(ledger.client(&client_id(1)).await.unwrap().is_some());
    clock.set(601);
    ledger.store_client(client(2, t(601)), 1).await.unwrap().unwrap();
    assert!(ledger.client(&client_id(1)).await.unwrap().is_none());
    assert_eq!(ledger.store_client(client(3, t(601)), 0).await.unwrap(), Err(NoRoom));
}

/// O-R6: never used goes before used, and an operator's client is not counted.
#[tokio::test]
async fn those_that_were_never_used_go_first() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let known = OAuthClient { kind: ClientKind::Operator, ..client(9, t(0)) };
    ledger.store_client(known, 0).await.unwrap().unwrap();
    ledger.store_client(client(1, t(0)), 2).await.unwrap().unwrap();
    ledger.store_client(client(2, t(5)), 2).await.unwrap().unwrap();
    clock.set(2);
    ledger.park(ticket(1), request(&client_id(1), t(2)), 10).await.unwrap().unwrap();
    clock.set(2_000);
    ledger.store_client(client(3, t(2_000)), 2).await.unwrap().unwrap();
    assert!(ledger.client(&client_id(1)).await.unwrap().is_some(), "it was used");
    assert!(ledger.client(&client_id(2)).await.unwrap().is_none(), "it never was");
}

/// Room for ten, three of them from one address.
const ROOM: Room = Room { all: 10, each: 3 };

async fn register_from(ledger: &Ledger, seed: u32, address: &str) -> Result<(), NoRoom> {
    let from: IpAddr = address.parse().unwrap();
    ledger.register_client(client(seed, ledger.now()), from, ROOM).await.unwrap()
}

/// O-R6: one address cannot fill the table. What it makes too many drives out its own, the oldest that was never used first,
/// and it is not locked out by that; others notice nothing.
#[tokio::test]
async fn an_address_that_has_many_drives_out_its_own() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let known = async |seed| ledger.client(&client_id(seed)).await.unwrap().is_some();
    register_from(&ledger, 1, "192.0.2.1").await.unwrap();
    register_from(&ledger, 2, "2001:db8::").await.unwrap();
    for seed in 10..30 {
        clock.set(i64::from(seed));
        assert_eq!(register_from(&ledger, seed, "192.0.2.9").await, Ok(()));
    }
    assert_eq!(ledger.oauth_clients().await.unwrap().len(), 5);
    assert!(known(1).await && known(2).await, "those of others stay, though they are older");
    assert!(!known(26).await && known(27).await && known(28).await && known(29).await);
    // One that was used goes after those that were not, and nobody's turn is it while somebody may be deciding.
    ledger.park(ticket(1), request(&client_id(27), ledger.now()), 10).await.unwrap().unwrap();
    register_from(&ledger, 30, "192.0.2.9").await.unwrap();
    assert!(known(27).await && !known(28).await);
    clock.set(40);
    for (seed, ticket_of) in [(29, 2), (30, 3)] {
        ledger.park(ticket(ticket_of), request(&client_id(seed), ledger.now()), 10).await.unwrap().unwrap();
    }
    assert_eq!(register_from(&ledger, 31, "192.0.2.9").await, Err(NoRoom));
    assert_eq!(register_from(&ledger, 32, "192.0.2.1").await, Ok(()), "others have room");
    clock.set(29 + 600);
    register_from(&ledger, 31, "192.0.2.9").await.unwrap();
    assert!(!known(27).await && known(29).await && known(30).await);
    assert_sound(&ledger).await;
}

/// O-R6: what somebody allowed something does not count for its address, and is never driven out: a platform whose people
/// connect from one address can connect as many as they like.
#[tokio::test]
async fn a_platform_at_one_address_is_not_locked_out() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    for seed in 1..=20 {
        clock.set(i64::from(seed));
        assert_eq!(register_from(&ledger, seed, "192.0.2.9").await, Ok(()));
        connect(&ledger, &ada, &client_id(seed), seed).await;
    }
    for seed in 100..120 {
        clock.set(i64::from(seed));
        assert_eq!(register_from(&ledger, seed, "192.0.2.9").await, Ok(()));
    }
    assert_eq!(ledger.oauth_clients().await.unwrap().len(), 20 + 3);
    for seed in 1..=20 {
        assert!(is_in(&ledger, seed).await);
    }
    assert_sound(&ledger).await;
}

/// O-R6: addresses together have no more than there is room for: below the share of each, the oldest of all goes.
#[tokio::test]
async fn all_addresses_together_stay_within_the_bound() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    for seed in 0..40 {
        clock.set(i64::from(seed));
        assert_eq!(register_from(&ledger, seed, &format!("192.0.2.{}", seed % 20)).await, Ok(()));
    }
    assert_eq!(ledger.oauth_clients().await.unwrap().len(), 10);
    assert!(ledger.client(&client_id(29)).await.unwrap().is_none());
    assert!(ledger.client(&client_id(30)).await.unwrap().is_some());
    // The counts are those of what is there, after a sweep too.
    clock.set(8 * DAY);
    let days = |days: i64| jiff::SignedDuration::from_hours(24 * days);
    assert!(ledger.sweep_oauth(days(7), days(90)).await.unwrap() >= 10);
    for seed in 50..60 {
        assert_eq!(register_from(&ledger, seed, &format!("192.0.2.{seed}")).await, Ok(()));
    }
    assert_eq!(ledger.oauth_clients().await.unwrap().len(), 10);
}

/// O-R6: from where a client came is not kept once somebody allowed it something.
#[tokio::test]
async fn an_address_is_not_kept_longer_than_it_matters() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = somebody(&ledger, "ada", 1).await;
    register_from(&ledger, 1, "192.0.2.9").await.unwrap();
    let kept = || place.value("SELECT count(*) FROM client WHERE origin = '192.0.2.9'");
    assert_eq!(kept(), "1");
    connect(&ledger, &ada, &client_id(1), 1).await;
    assert_eq!(kept(), "0");
    assert_eq!(place.value("SELECT count(*) FROM unbound WHERE origin = '192.0.2.9'"), "0");
}

/// O-V2: a client that ends takes its connections with it, and stays known as ended; one that nobody ever allowed anything
/// leaves nothing behind, whoever ends it.
#[tokio::test]
async fn an_ended_client_is_known_as_ended() {
    let ledger = in_memory(&TestClock::new()).await;
    let (ada, bob) = (somebody(&ledger, "ada", 1).await, somebody(&ledger, "bob", 2).await);
    let (robot, other) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    connect(&ledger, &bob, &robot, 2).await;
    connect(&ledger, &bob, &other, 3).await;
    assert_eq!(ledger.end_client(&robot, "ada").await.unwrap(), Some(2));
    assert!(!is_in(&ledger, 1).await && !is_in(&ledger, 2).await && is_in(&ledger, 3).await);
    assert!(ledger.client(&robot).await.unwrap().unwrap().ended_at.is_some());
    assert_eq!(ledger.oauth_clients().await.unwrap().len(), 1);
    assert_eq!(ledger.end_client(&robot, "ada").await.unwrap(), None);
    // A change that was under way does not bring it back.
    ledger.store_client(client(1, t(0)), 10).await.unwrap().unwrap();
    assert!(ledger.client(&robot).await.unwrap().unwrap().ended_at.is_some());

    let told = steps(&ledger).await.len();
    let stranger = register(&ledger, 5).await;
    assert_eq!(ledger.end_client(&stranger, "itself").await.unwrap(), Some(0));
    assert_eq!(ledger.client(&stranger).await.unwrap(), None);
    assert_eq!(steps(&ledger).await.len(), told);
    assert_sound(&ledger).await;
}

/// O-C4: a client with a document that was ended can be asked about anew.
#[tokio::test]
async fn a_client_with_a_document_begins_anew() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let id: OAuthClientId = "https://app.example/client.json".parse().unwrap();
    let described = OAuthClient { id: id.clone(), kind: ClientKind::Document, ..client(1, t(0)) };
    ledger.store_client(described.clone(), 10).await.unwrap().unwrap();
    connect(&ledger, &ada, &id, 1).await;
    assert_eq!(ledger.end_client(&id, "ada").await.unwrap(), Some(1));
    ledger.store_client(described, 10).await.unwrap().unwrap();
    assert_eq!(ledger.client(&id).await.unwrap().unwrap().ended_at, None);
    assert!(!is_in(&ledger, 1).await, "what was revoked stays revoked");
    connect(&ledger, &ada, &id, 2).await;
    assert!(is_in(&ledger, 2).await);
}

/// O-S10: clients, connections and tokens are there after a restart.
#[tokio::test]
async fn a_restart_forgets_nothing() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    allow(&ledger, &ada, &register(&ledger, 2).await, 2).await;
    let known = ledger.connections().await.unwrap();
    drop(ledger);
    place.clock.set(DAY * 29);
    let again = place.open(2).await;
    assert_eq!(again.connections().await.unwrap(), known);
    assert!(matches!(refreshed(&again, &robot, 1, 5).await, yesgate_ledger::Refreshed::Rotated(_)));
    assert!(is_in(&again, 5).await);
    assert_sound(&again).await;
}
