//! Requests that wait for a person, in a browser or under a typed code.

use yesgate_core::id::SessionId;
use yesgate_core::oauth::{ClientKind, Connection, OAuthClient, OAuthEvent, Poll, Scopes};
use yesgate_core::person::Person;
use yesgate_ledger::{Consent, DeviceAnswered, Ledger, LedgerError, NoRoom, ParkedAnswer};

use crate::oauth_stage::{
    CALLBACK, allow, browser, client, code, code_for, connect, connection, device, device_request, ends,
    exchange, is_in, new_tokens, register, request, resources, somebody, steps, ticket, typed, yes,
};
use crate::support::{Place, TestClock, assert_sound, in_memory, t};

/// O-A7: a request waits ten minutes under its ticket and nowhere else.
#[tokio::test]
async fn a_request_waits_for_ten_minutes() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let robot = register(&ledger, 1).await;
    let parked = request(&robot, t(0));
    ledger.park(ticket(1), parked.clone(), 10).await.unwrap().unwrap();
    assert_eq!(ledger.parked(ticket(1)).await.unwrap(), Some(parked));
    assert_eq!(ledger.parked(ticket(2)).await.unwrap(), None);
    clock.set(599);
    assert!(ledger.parked(ticket(1)).await.unwrap().is_some());
    clock.set(600);
    assert_eq!(ledger.parked(ticket(1)).await.unwrap(), None);
    let ada = somebody(&ledger, "ada", 1).await;
    let late = ledger.answer_parked(ticket(1), browser(1), yes(&ledger, &ada, &robot, 1)).await.unwrap();
    assert_eq!(late, ParkedAnswer::Gone);
    assert!(ledger.connections().await.unwrap().is_empty());
}

/// O-S9: strangers can park so many requests and no more, and those that are too old make room.
#[tokio::test]
async fn requests_have_a_bound() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let robot = register(&ledger, 1).await;
    for seed in 0..20 {
        let parked = ledger.park(ticket(seed), request(&robot, t(0)), 10).await.unwrap();
        assert_eq!(parked.is_ok(), seed < 10);
        let waits = ledger.store_device(device(seed), typed(seed), device_request(&robot, t(0)), 5).await;
        assert_eq!(waits.unwrap().is_ok(), seed < 5);
    }
    clock.set(600);
    ledger.park(ticket(99), request(&robot, t(600)), 10).await.unwrap().unwrap();
    ledger.store_device(device(99), typed(99), device_request(&robot, t(600)), 5).await.unwrap().unwrap();
    assert!(steps(&ledger).await.is_empty());
}

/// O-K7, O-K4: of two answers one holds, and only from the browser that was asked.
#[tokio::test]
async fn a_request_is_answered_once_and_in_its_browser() {
    let place = Place::new();
    let (ledger, other) = (place.open(1).await, place.open(2).await);
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    ledger.park(ticket(1), request(&robot, t(0)), 10).await.unwrap().unwrap();
    let elsewhere = ledger.answer_parked(ticket(1), browser(2), yes(&ledger, &ada, &robot, 1)).await;
    assert_eq!(elsewhere.unwrap(), ParkedAnswer::Gone);
    let (one, two) = tokio::join!(
        ledger.answer_parked(ticket(1), browser(1), yes(&ledger, &ada, &robot, 1)),
        other.answer_parked(ticket(1), browser(1), yes(&other, &ada, &robot, 2)),
    );
    let mut answers = [one.unwrap(), two.unwrap()];
    answers.sort_by_key(|answer| *answer != ParkedAnswer::Done);
    assert_eq!(answers, [ParkedAnswer::Done, ParkedAnswer::Already]);
    assert_eq!(ledger.connections().await.unwrap().len(), 1);
    let no = ledger.answer_parked(ticket(1), browser(1), Consent::No(ada.0.id.clone())).await.unwrap();
    assert_eq!(no, ParkedAnswer::Already);
    assert_eq!(ledger.connections().await.unwrap().len(), 1);
    assert_sound(&other).await;
}

/// O-K6, O-S11: a no makes no connection, and is written down.
#[tokio::test]
async fn a_no_is_written_down() {
    let ledger = in_memory(&TestClock::new()).await;
    let (ada, _) = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    ledger.park(ticket(1), request(&robot, t(0)), 10).await.unwrap().unwrap();
    let said = ledger.answer_parked(ticket(1), browser(1), Consent::No(ada.id.clone())).await.unwrap();
    assert_eq!(said, ParkedAnswer::Done);
    assert_eq!(steps(&ledger).await, [OAuthEvent::ConsentDenied { person: ada.id, client: robot.clone() }]);
    assert!(!ledger.client(&robot).await.unwrap().unwrap().is_bound);
}

/// A yes with which something is not right, in each way.
async fn refuse(ledger: &Ledger, by: &(Person, SessionId), change: impl Fn(&mut Connection)) -> bool {
    let robot = register(ledger, 1).await;
    ledger.park(ticket(7), request(&robot, t(0)), 10).await.unwrap().unwrap();
    let mut made = connection(&by.0, &robot, 7, t(0));
    let its_code = code_for(&made, t(0));
    change(&mut made);
    let yes = Consent::Yes(Box::new(made), Some((code(7), its_code)), by.1.clone());
    let refused = match ledger.answer_parked(ticket(7), browser(1), yes).await {
        Ok(ParkedAnswer::Gone) | Err(LedgerError::Store(_)) => true,
        Ok(ParkedAnswer::Done | ParkedAnswer::Already) | Err(_) => false,
    };
    refused && ledger.connections().await.unwrap().is_empty() && steps(ledger).await.is_empty()
}

/// O-K1: nothing is allowed beyond what was asked, nor for anybody but who says it.
#[tokio::test]
async fn a_yes_is_to_what_was_asked() {
    type Change = fn(&mut Connection);
    let changes: [Change; 6] = [
        |made| made.scopes = Scopes::read("mcp:call admin"),
        |made| made.resources = resources(&["https://gate.example.org"]),
        |made| made.redirect_uri = Some("https://evil.example/".into()),
        |made| made.client = "https://evil.example/client".parse().unwrap(),
        |made| made.caller.principal = "bob".parse().unwrap(),
        |made| made.caller.org = "evil".parse().unwrap(),
    ];
    for change in changes {
        let ledger = in_memory(&TestClock::new()).await;
        let ada = somebody(&ledger, "ada", 1).await;
        assert!(refuse(&ledger, &ada, change).await);
    }
    // Less than was asked is fine.
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    assert!(!refuse(&ledger, &ada, |made| made.scopes = Scopes::read("mcp:read")).await);
}

/// O-V3: whoever was signed out while they read the page allows nothing, and neither does somebody else's session.
#[tokio::test]
async fn only_somebody_who_is_signed_in_says_yes() {
    let ledger = in_memory(&TestClock::new()).await;
    let (ada, bob) = (somebody(&ledger, "ada", 1).await, somebody(&ledger, "bob", 2).await);
    let robot = register(&ledger, 1).await;
    for seed in 1..=3 {
        ledger.park(ticket(seed), request(&robot, t(0)), 10).await.unwrap().unwrap();
    }
    let borrowed = (ada.0.clone(), bob.1.clone());
    let said = ledger.answer_parked(ticket(1), browser(1), yes(&ledger, &borrowed, &robot, 1)).await;
    assert_eq!(said.unwrap(), ParkedAnswer::Gone);
    ledger.end_everything_of(&ada.0.id, "ada").await.unwrap();
    let said = ledger.answer_parked(ticket(2), browser(1), yes(&ledger, &ada, &robot, 2)).await;
    assert_eq!(said.unwrap(), ParkedAnswer::Gone);
    assert!(ledger.connections().await.unwrap().is_empty());
    let said = ledger.answer_parked(ticket(3), browser(1), yes(&ledger, &bob, &robot, 3)).await;
    assert_eq!(said.unwrap(), ParkedAnswer::Done);
}

/// O-R7: a client that ended while somebody read the page is allowed nothing.
#[tokio::test]
async fn a_client_that_has_ended_is_allowed_nothing() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    ledger.park(ticket(2), request(&robot, t(0)), 10).await.unwrap().unwrap();
    ledger.end_client(&robot, "ada").await.unwrap();
    let said = ledger.answer_parked(ticket(2), browser(1), yes(&ledger, &ada, &robot, 2)).await.unwrap();
    assert_eq!(said, ParkedAnswer::Gone);
}

/// O-V6: the same person, the same client and the same address: the new connection takes the place of the old one. At
/// another address, or for another person, the old one stays.
#[tokio::test]
async fn allowing_again_replaces_what_was_allowed_there() {
    let ledger = in_memory(&TestClock::new()).await;
    let (ada, bob) = (somebody(&ledger, "ada", 1).await, somebody(&ledger, "bob", 2).await);
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    connect(&ledger, &bob, &robot, 2).await;
    let elsewhere = "http://127.0.0.1:9999/callback";
    let mut asked = request(&robot, t(0));
    asked.redirect_uri = elsewhere.into();
    ledger.park(ticket(3), asked, 10).await.unwrap().unwrap();
    let made = Connection { redirect_uri: Some(elsewhere.into()), ..connection(&ada.0, &robot, 3, t(0)) };
    let its_code = code_for(&made, t(0));
    let yes = Consent::Yes(Box::new(made), Some((code(3), its_code)), ada.1.clone());
    assert_eq!(ledger.answer_parked(ticket(3), browser(1), yes).await.unwrap(), ParkedAnswer::Done);
    assert!(is_in(&ledger, 1).await && is_in(&ledger, 2).await);
    assert!(ends(&ledger).await.is_empty());

    allow(&ledger, &ada, &robot, 4).await;
    assert!(!is_in(&ledger, 1).await, "it was allowed anew");
    assert!(is_in(&ledger, 2).await);
    assert_eq!(ends(&ledger).await, ["replaced"]);
    assert_eq!(ledger.connections().await.unwrap().len(), 3);
    assert!(ledger.connections().await.unwrap().iter().all(|kept| kept.connection.redirect_uri.is_some()));
    assert_eq!(CALLBACK, ledger.connections().await.unwrap()[0].connection.redirect_uri.as_ref().unwrap());
    assert_sound(&ledger).await;
}

fn device_yes(
    ledger: &Ledger,
    by: &(Person, SessionId),
    seed: u32,
    kind: ClientKind,
) -> (OAuthClient, Consent) {
    let client = OAuthClient { kind, ..client(seed, ledger.now()) };
    let made = Connection { redirect_uri: None, ..connection(&by.0, &client.id, seed, ledger.now()) };
    (client, Consent::Yes(Box::new(made), None, by.1.clone()))
}

/// O-S4: a client without a browser waits, is allowed, and fetches its tokens once.
#[tokio::test]
async fn a_device_fetches_its_tokens_once() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (made, yes) = device_yes(&ledger, &ada, 1, ClientKind::Registered);
    let robot = made.id.clone();
    ledger.store_client(made, 10).await.unwrap().unwrap();
    ledger.store_device(device(1), typed(1), device_request(&robot, t(0)), 10).await.unwrap().unwrap();
    // The same letters are not given to two clients at a time.
    let same = ledger.store_device(device(2), typed(1), device_request(&robot, t(0)), 10).await.unwrap();
    assert_eq!(same, Err(NoRoom));

    let poll = |at: i64, seed: u32| {
        clock.set(at);
        let (ledger, robot) = (ledger.clone(), robot.clone());
        async move { ledger.poll_device(device(1), &robot, new_tokens(seed)).await.unwrap().unwrap() }
    };
    assert_eq!(poll(1, 1).await, (Poll::Pending, None));
    assert_eq!(poll(5, 1).await, (Poll::SlowDown, None));
    assert!(!is_in(&ledger, 1).await);
    let other = register(&ledger, 50).await;
    assert_eq!(ledger.poll_device(device(1), &other, new_tokens(1)).await.unwrap(), None);
    assert_eq!(ledger.poll_device(device(9), &robot, new_tokens(1)).await.unwrap(), None);

    assert!(ledger.device_by_user_code(typed(1)).await.unwrap().is_some());
    assert_eq!(ledger.device_by_user_code(typed(2)).await.unwrap(), None);
    assert_eq!(ledger.answer_device(typed(1), yes.clone()).await.unwrap(), DeviceAnswered::Done);
    assert_eq!(ledger.answer_device(typed(1), yes).await.unwrap(), DeviceAnswered::Gone);
    assert_eq!(ledger.device_by_user_code(typed(1)).await.unwrap(), None);
    let (said, issued) = poll(20, 1).await;
    assert!(matches!(said, Poll::Allowed(_)), "{said:?}");
    assert_eq!(issued.unwrap().scopes, Scopes::read("mcp:call mcp:read"));
    assert!(is_in(&ledger, 1).await);
    assert_eq!(poll(40, 2).await, (Poll::Spent, None));
    assert!(!is_in(&ledger, 2).await);
    assert_sound(&ledger).await;
}

/// O-S4, O-V2: a no is a no, a code that is too old is too old, and what was revoked before it was fetched is not fetched.
#[tokio::test]
async fn a_device_hears_no() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    for seed in 1..=3 {
        let robot = register(&ledger, seed).await;
        let asked = device_request(&robot, t(0));
        ledger.store_device(device(seed), typed(seed), asked, 10).await.unwrap().unwrap();
    }
    let no = Consent::No(ada.0.id.clone());
    assert_eq!(ledger.answer_device(typed(1), no.clone()).await.unwrap(), DeviceAnswered::Done);
    let (made, yes) = device_yes(&ledger, &ada, 2, ClientKind::Registered);
    assert_eq!(ledger.answer_device(typed(2), yes).await.unwrap(), DeviceAnswered::Done);
    ledger.end_everything_of(&ada.0.id, "ada").await.unwrap();
    for (seed, client) in [(1, crate::oauth_stage::client_id(1)), (2, made.id)] {
        let heard = ledger.poll_device(device(seed), &client, new_tokens(seed)).await.unwrap();
        assert_eq!(heard, Some((Poll::Denied, None)), "{seed}");
        assert!(!is_in(&ledger, seed).await);
    }
    clock.set(600);
    let third = crate::oauth_stage::client_id(3);
    let heard = ledger.poll_device(device(3), &third, new_tokens(3)).await.unwrap();
    assert_eq!(heard, Some((Poll::Expired, None)));
    assert_eq!(ledger.answer_device(typed(3), no).await.unwrap(), DeviceAnswered::Gone);
    assert_sound(&ledger).await;
}

/// O-V6: a registered client is one installation, and its second typed code takes the place of the first; a client with a
/// document is many.
#[tokio::test]
async fn a_second_typed_code_replaces_only_what_is_the_same_installation() {
    for (kind, left) in [(ClientKind::Registered, 1), (ClientKind::Document, 2)] {
        let ledger = in_memory(&TestClock::new()).await;
        let ada = somebody(&ledger, "ada", 1).await;
        let (made, first) = device_yes(&ledger, &ada, 1, kind);
        let robot = made.id.clone();
        ledger.store_client(made, 10).await.unwrap().unwrap();
        let again = Connection { redirect_uri: None, ..connection(&ada.0, &robot, 2, t(0)) };
        let second = Consent::Yes(Box::new(again), None, ada.1.clone());
        for (seed, yes) in [(1, first), (2, second)] {
            let asked = device_request(&robot, t(0));
            ledger.store_device(device(seed), typed(seed), asked, 10).await.unwrap().unwrap();
            assert_eq!(ledger.answer_device(typed(seed), yes).await.unwrap(), DeviceAnswered::Done);
        }
        assert_eq!(ledger.connections().await.unwrap().len(), left, "{kind:?}");
        assert_eq!(
            ledger.exchange(code(1), exchange(&robot), new_tokens(1)).await.unwrap(),
            yesgate_ledger::Exchanged::Unknown
        );
    }
}
