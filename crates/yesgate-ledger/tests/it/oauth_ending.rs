//! Connections that end: what goes with them, and what does not.

use yesgate_core::caller::Caller;
use yesgate_core::id::KeyId;
use yesgate_core::intent::State;
use yesgate_core::key::{BearerKey, KeyRecord};
use yesgate_core::oauth::{ClientKind, End, OAuthClient, OAuthEvent};
use yesgate_core::person::{Link, LinkSecret, LinkWay, SessionSecret};
use yesgate_ledger::{EndedAll, Ledger, Refreshed};

use crate::oauth_stage::{
    access, allow, ask_as, browser, caller, client, code, connect, connection_id, ends, exchange, is_in,
    new_tokens, refresh, refreshed, register, request, sign_in, somebody, steps, ticket, yes,
};
use crate::support::{Place, TestClock, approve, assert_sound, entropy, in_memory, redeem, state, t};

/// O-V1: a refresh token that is given back ends its connection, an access token only itself, and what is somebody else's or
/// nobody's is left alone.
#[tokio::test]
async fn tokens_are_given_back() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (robot, other) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    connect(&ledger, &ada, &other, 2).await;
    for token in [access(1), refresh(1), access(99), code(1)] {
        ledger.give_back(token, &other).await.unwrap();
    }
    assert!(is_in(&ledger, 1).await && is_in(&ledger, 2).await);
    ledger.give_back(access(1), &robot).await.unwrap();
    assert!(!is_in(&ledger, 1).await);
    assert!(matches!(refreshed(&ledger, &robot, 1, 3).await, Refreshed::Rotated(_)));
    ledger.give_back(refresh(3), &robot).await.unwrap();
    assert!(!is_in(&ledger, 3).await && is_in(&ledger, 2).await);
    assert_eq!(refreshed(&ledger, &robot, 3, 4).await, Refreshed::Unknown);
    ledger.give_back(refresh(3), &robot).await.unwrap();
    assert_eq!(ends(&ledger).await, ["given_back"]);
    assert!(steps(&ledger).await.contains(&OAuthEvent::AccessGivenBack { connection: connection_id(1) }));
    assert_sound(&ledger).await;
}

/// O-V2: a connection that ends counts nowhere from that moment on, in another process too, and withdraws what its client
/// asked: what waits and what has a yes. Questions of other callers stay.
#[tokio::test]
async fn a_connection_that_ends_withdraws_its_questions() {
    let place = Place::new();
    let (ledger, other) = (place.open(1).await, place.open(2).await);
    let (ada, bob) = (somebody(&ledger, "ada", 1).await, somebody(&ledger, "bob", 2).await);
    let (robot, second) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    connect(&ledger, &ada, &second, 2).await;
    connect(&ledger, &bob, &robot, 3).await;
    let waiting = ask_as(&ledger, &caller(&ada.0, &robot), 1).await;
    let agreed = ask_as(&ledger, &caller(&ada.0, &robot), 2).await;
    approve(&ledger, &agreed).await.unwrap();
    let others = [
        ask_as(&ledger, &caller(&ada.0, &second), 3).await,
        ask_as(&ledger, &caller(&bob.0, &robot), 4).await,
    ];
    let mut changes = other.changes();
    assert!(ledger.end_connection(&connection_id(1), End::Revoked, "ada").await.unwrap());
    assert!(!is_in(&other, 1).await, "at once, not within a minute");
    changes.changed().await;
    assert!(!ledger.end_connection(&connection_id(1), End::Revoked, "ada").await.unwrap());
    assert!(!ledger.end_connection(&connection_id(9), End::Revoked, "ada").await.unwrap());
    for id in [&waiting, &agreed] {
        assert_eq!(state(&other, id).await, State::Cancelled);
        assert!(redeem(&other, id).await.unwrap().is_err());
    }
    for id in &others {
        assert_eq!(state(&other, id).await, State::Pending);
    }
    assert!(is_in(&other, 2).await && is_in(&other, 3).await);
    assert_eq!(ends(&ledger).await, ["revoked"]);
    assert_sound(&other).await;
}

/// O-V6: where another connection has the same caller, its questions are still somebody's.
#[tokio::test]
async fn questions_stay_while_another_connection_has_the_caller() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    let asked = ask_as(&ledger, &caller(&ada.0, &robot), 1).await;
    // Allowed again, at the same place: the old one ends, and its client goes on.
    connect(&ledger, &ada, &robot, 2).await;
    assert_eq!(ends(&ledger).await, ["replaced"]);
    assert_eq!(state(&ledger, &asked).await, State::Pending);
    ledger.end_connection(&connection_id(2), End::Revoked, "ada").await.unwrap();
    assert_eq!(state(&ledger, &asked).await, State::Cancelled);
    assert_sound(&ledger).await;
}

/// O-F3, O-T4: a copy that was noticed withdraws what was asked, too.
#[tokio::test]
async fn a_family_that_dies_withdraws_its_questions() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (robot, second) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    connect(&ledger, &ada, &second, 2).await;
    let first = ask_as(&ledger, &caller(&ada.0, &robot), 1).await;
    let other = ask_as(&ledger, &caller(&ada.0, &second), 2).await;
    drop(refreshed(&ledger, &robot, 1, 3).await);
    clock.set(61);
    assert_eq!(refreshed(&ledger, &robot, 1, 4).await, Refreshed::Reused(connection_id(1)));
    assert_eq!(state(&ledger, &first).await, State::Cancelled);
    assert_eq!(state(&ledger, &other).await, State::Pending);
    drop(ledger.exchange(code(2), exchange(&second), new_tokens(5)).await.unwrap());
    assert_eq!(state(&ledger, &other).await, State::Cancelled);
    assert_eq!(ends(&ledger).await, ["refresh_reused", "code_replayed"]);
    assert_sound(&ledger).await;
}

/// O-S10: what a crash left between the end of a connection and its questions, the sweep withdraws.
#[tokio::test]
async fn a_sweep_withdraws_what_a_crash_left() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    ledger.give_back(refresh(1), &robot).await.unwrap();
    let late = ask_as(&ledger, &caller(&ada.0, &robot), 1).await;
    // As if the process had gone right after the token was given back.
    place.tamper("UPDATE connection SET is_settled = 0");
    ledger.sweep_oauth(crate::oauth_stage::MONTH, crate::oauth_stage::MONTH).await.unwrap();
    assert_eq!(state(&ledger, &late).await, State::Cancelled);
    assert_sound(&ledger).await;
}

async fn key(ledger: &Ledger, caller: Caller, seed: u32) -> BearerKey {
    let key = BearerKey::from_entropy(entropy(seed));
    let record = KeyRecord {
        id: KeyId::from_entropy(entropy(seed)),
        name: "a machine".parse().unwrap(),
        caller,
        created_at: t(0),
        revoked_at: None,
    };
    ledger.add_key(record, key.hash(), "the console").await.unwrap();
    key
}

/// O-V3: everything of one person ends in one step: sessions, links, keys, connections, codes, clients that are theirs
/// alone, and all that was asked for them. Others keep everything, the clients that they share too.
#[tokio::test]
async fn everything_of_one_person_ends_at_once() {
    let place = Place::new();
    let (ledger, other) = (place.open(1).await, place.open(2).await);
    let (ada, bob) = (somebody(&ledger, "ada", 1).await, somebody(&ledger, "bob", 2).await);
    sign_in(&ledger, &ada.0, 3).await;
    let (alone, shared, unfetched) =
        (register(&ledger, 1).await, register(&ledger, 2).await, register(&ledger, 3).await);
    let document = OAuthClient {
        id: "https://app.example/client".parse().unwrap(),
        kind: ClientKind::Document,
        ..client(4, t(0))
    };
    ledger.store_client(document.clone(), 10).await.unwrap().unwrap();
    connect(&ledger, &ada, &alone, 1).await;
    connect(&ledger, &ada, &shared, 2).await;
    connect(&ledger, &bob, &shared, 3).await;
    connect(&ledger, &ada, &document.id, 4).await;
    connect(&ledger, &bob, &document.id, 5).await;
    allow(&ledger, &ada, &unfetched, 6).await;
    ledger.park(ticket(7), request(&shared, t(0)), 10).await.unwrap().unwrap();
    let link = Link::new(&ada.0.id, LinkWay::Console, t(0));
    let to_sign_in = LinkSecret::from_entropy(entropy(1));
    ledger.make_link(link, to_sign_in.hash(), "the console").await.unwrap();
    let machine = Caller { client: "machine".parse().unwrap(), ..caller(&ada.0, &alone) };
    let mine = key(&ledger, machine.clone(), 1).await;
    let theirs = key(&ledger, Caller { principal: bob.0.name.clone(), ..machine.clone() }, 2).await;
    let asked = [
        ask_as(&ledger, &caller(&ada.0, &alone), 1).await,
        ask_as(&ledger, &machine, 2).await,
        ask_as(&ledger, &caller(&ada.0, &shared), 3).await,
    ];
    let stays = ask_as(&ledger, &caller(&bob.0, &shared), 4).await;

    let ended = ledger.end_everything_of(&ada.0.id, "ada").await.unwrap();
    let expected = EndedAll { sessions: 2, connections: 4, keys: 1, clients: 2, intents: 3 };
    assert_eq!(ended, expected);
    for seed in [1, 2, 4] {
        assert!(!is_in(&other, seed).await);
    }
    for seed in [3, 5] {
        assert!(is_in(&other, seed).await);
    }
    assert!(matches!(refreshed(&other, &shared, 3, 33).await, Refreshed::Rotated(_)));
    let late = other.exchange(code(6), exchange(&unfetched), new_tokens(6)).await.unwrap();
    assert_eq!(late, yesgate_ledger::Exchanged::Unknown);
    assert!(other.client(&alone).await.unwrap().unwrap().ended_at.is_some());
    assert_eq!(other.client(&shared).await.unwrap().unwrap().ended_at, None);
    assert_eq!(other.client(&document.id).await.unwrap().unwrap().ended_at, None);
    assert_eq!(other.key(&mine.hash()).await.unwrap(), None);
    assert!(other.key(&theirs.hash()).await.unwrap().is_some());
    assert_eq!(other.link(to_sign_in.hash()).await.unwrap(), None);
    let browser_of_bob = SessionSecret::from_entropy(entropy(2)).hash();
    assert!(other.session(browser_of_bob).await.unwrap().is_some());
    let browser_of_ada = SessionSecret::from_entropy(entropy(1)).hash();
    assert_eq!(other.session(browser_of_ada).await.unwrap(), None);
    for id in &asked {
        assert_eq!(state(&other, id).await, State::Cancelled);
    }
    assert_eq!(state(&other, &stays).await, State::Pending);
    let said = other.answer_parked(ticket(7), browser(1), yes(&other, &ada, &shared, 7)).await.unwrap();
    assert_eq!(said, yesgate_ledger::ParkedAnswer::Gone);
    assert_eq!(ledger.end_everything_of(&ada.0.id, "ada").await.unwrap(), EndedAll::default());
    assert_sound(&other).await;
}
