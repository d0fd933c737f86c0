//! Codes that become tokens, and tokens that let somebody in.

use tokio::task::JoinSet;
use yesgate_core::oauth::{CodeFault, Exchange, OAuthEvent, Scopes};
use yesgate_core::person::Person;
use yesgate_ledger::{Exchanged, NewTokens};

use crate::oauth_stage::{
    MINUTE, access, allow, caller, challenge, code, connect, connection_id, ends, everywhere, exchange,
    is_in, new_tokens, refresh, register, resources, somebody, steps,
};
use crate::support::{Place, TestClock, assert_sound, in_memory, t};

/// O-T3: a code brings tokens for what was allowed, and they let in whoever was allowed.
#[tokio::test]
async fn a_code_becomes_tokens() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    let issued = connect(&ledger, &ada, &robot, 1).await;
    assert_eq!((issued.connection.clone(), issued.resources), (connection_id(1), everywhere()));
    let who = ledger.admitted(access(1)).await.unwrap().unwrap();
    assert_eq!(who.kept.connection.caller, caller(&ada.0, &robot));
    assert_eq!((who.person, who.access.scopes), (ada.0, Scopes::read("mcp:call mcp:read")));
    assert!(ledger.refresh_token(refresh(1)).await.unwrap().is_some());
    assert_eq!(ledger.admitted(access(2)).await.unwrap(), None);
    // What is one kind of secret is no other kind.
    assert_eq!(ledger.admitted(refresh(1)).await.unwrap(), None);
    assert_eq!(ledger.refresh_token(access(1)).await.unwrap(), None);
    clock.set(3_599);
    assert!(is_in(&ledger, 1).await);
    clock.set(3_600);
    assert!(!is_in(&ledger, 1).await);
    let told: Vec<_> = steps(&ledger).await;
    assert_eq!(told.last(), Some(&OAuthEvent::Issued { connection: connection_id(1) }));
}

/// O-T3: what does not fit is refused, and a code that only came to the wrong place still counts.
#[tokio::test]
async fn what_does_not_fit_leaves_the_code_alone() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (robot, thief) = (register(&ledger, 1).await, register(&ledger, 2).await);
    allow(&ledger, &ada, &robot, 1).await;
    let good = exchange(&robot);
    let tries = [
        (CodeFault::OtherClient, exchange(&thief)),
        (CodeFault::Redirect, Exchange { redirect_uri: Some("http://127.0.0.1/".into()), ..good.clone() }),
        (
            CodeFault::Resource,
            Exchange { resources: resources(&["https://gate.example.org"]), ..good.clone() },
        ),
    ];
    for (fault, wrong) in tries {
        let said = ledger.exchange(code(1), wrong, new_tokens(1)).await.unwrap();
        assert_eq!(said, Exchanged::Fault(fault));
    }
    assert_eq!(ledger.exchange(code(2), good.clone(), new_tokens(1)).await.unwrap(), Exchanged::Unknown);
    assert!(!is_in(&ledger, 1).await);
    let narrowed = resources(&["https://gate.example.org/api/mcp/one"]);
    let wants = Exchange { resources: narrowed.clone(), redirect_uri: None, ..good };
    match ledger.exchange(code(1), wants, new_tokens(1)).await.unwrap() {
        Exchanged::Tokens(issued) => assert_eq!(issued.resources, narrowed),
        other @ (Exchanged::Fault(_) | Exchanged::Unknown) => panic!("{other:?}"),
    }
    assert_eq!(ledger.admitted(access(1)).await.unwrap().unwrap().access.resources, narrowed);
    assert_sound(&ledger).await;
}

/// O-T3: a code counts for as long as it should, and not a second longer.
#[tokio::test]
async fn a_code_is_too_old_after_its_time() {
    for (second, counts) in [(59, true), (60, false)] {
        let clock = TestClock::new();
        let ledger = in_memory(&clock).await;
        let ada = somebody(&ledger, "ada", 1).await;
        let robot = register(&ledger, 1).await;
        allow(&ledger, &ada, &robot, 1).await;
        clock.set(second);
        let said = ledger.exchange(code(1), exchange(&robot), new_tokens(1)).await.unwrap();
        assert_eq!(matches!(said, Exchanged::Tokens(_)), counts, "{said:?}");
        assert_eq!(is_in(&ledger, 1).await, counts);
    }
}

/// O-T3, O-T5: whoever cannot prove that they began uses the code up.
#[tokio::test]
async fn a_wrong_verifier_uses_the_code_up() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    allow(&ledger, &ada, &robot, 1).await;
    let wrong = Exchange { challenge: challenge('b'), ..exchange(&robot) };
    let said = ledger.exchange(code(1), wrong, new_tokens(1)).await.unwrap();
    assert_eq!(said, Exchanged::Fault(CodeFault::Verifier));
    let said = ledger.exchange(code(1), exchange(&robot), new_tokens(1)).await.unwrap();
    assert_eq!(said, Exchanged::Fault(CodeFault::Replayed));
    assert!(!is_in(&ledger, 1).await);
}

/// O-T4: a code that its client brings again ends all that came of it, and that is written down; one that somebody else
/// brings does nothing.
#[tokio::test]
async fn a_code_that_comes_back_ends_what_came_of_it() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (robot, thief) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    let said = ledger.exchange(code(1), exchange(&thief), new_tokens(2)).await.unwrap();
    assert_eq!(said, Exchanged::Fault(CodeFault::OtherClient));
    assert!(is_in(&ledger, 1).await);
    let said = ledger.exchange(code(1), exchange(&robot), new_tokens(2)).await.unwrap();
    assert_eq!(said, Exchanged::Fault(CodeFault::Replayed));
    assert!(!is_in(&ledger, 1).await && !is_in(&ledger, 2).await);
    assert_eq!(ledger.refresh_token(refresh(1)).await.unwrap(), None);
    assert_eq!(ends(&ledger).await, ["code_replayed"]);
    let said = ledger.exchange(code(1), exchange(&robot), new_tokens(3)).await.unwrap();
    assert_eq!(said, Exchanged::Unknown, "there is nothing left to end");
    assert_sound(&ledger).await;
}

/// O-T3: of many that bring one code at the same time, on two connections to the file, one gets tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_that_bring_a_code_one_gets_tokens() {
    let place = Place::new();
    let ledgers = [place.open(1).await, place.open(2).await];
    let ada = somebody(&ledgers[0], "ada", 1).await;
    let robot = register(&ledgers[0], 1).await;
    allow(&ledgers[0], &ada, &robot, 1).await;
    let mut racers = JoinSet::new();
    for (seed, ledger) in (1..=20).zip(ledgers.iter().cycle()) {
        let (ledger, wants) = (ledger.clone(), exchange(&robot));
        racers.spawn(async move { ledger.exchange(code(1), wants, new_tokens(seed)).await.unwrap() });
    }
    let said = racers.join_all().await;
    let tokens = said.iter().filter(|said| matches!(said, Exchanged::Tokens(_))).count();
    assert_eq!(tokens, 1, "{said:?}");
    for seed in 1..=20 {
        assert!(!is_in(&ledgers[1], seed).await, "it came back, so nothing of it counts");
    }
    assert_sound(&ledgers[0]).await;
}

/// O-F6, O-V2: a revocation while codes are brought wins, whoever came first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_revocation_among_codes_wins() {
    for _ in 0..4 {
        let place = Place::new();
        let (ledger, other) = (place.open(1).await, place.open(2).await);
        let ada = somebody(&ledger, "ada", 1).await;
        let mut racers = JoinSet::new();
        for seed in 1..=8 {
            let robot = register(&ledger, seed).await;
            allow(&ledger, &ada, &robot, seed).await;
            let ledger = ledger.clone();
            racers
                .spawn(async move { ledger.exchange(code(seed), exchange(&robot), new_tokens(seed)).await });
        }
        let ended = other.end_everything_of(&ada.0.id, "ada").await.unwrap();
        assert_eq!(ended.connections, 8);
        for said in racers.join_all().await {
            assert!(matches!(said.unwrap(), Exchanged::Tokens(_) | Exchanged::Unknown));
        }
        for seed in 1..=8 {
            assert!(!is_in(&ledger, seed).await);
        }
        assert_sound(&ledger).await;
    }
}

/// O-F1: a client that gets no refresh token has none.
#[tokio::test]
async fn a_client_may_get_an_access_token_only() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    allow(&ledger, &ada, &robot, 1).await;
    let new = NewTokens { access: access(1), access_for: MINUTE, refresh: None, longest: None };
    assert!(matches!(ledger.exchange(code(1), exchange(&robot), new).await.unwrap(), Exchanged::Tokens(_)));
    assert!(is_in(&ledger, 1).await);
    assert_eq!(ledger.refresh_token(refresh(1)).await.unwrap(), None);
}

/// O-V2: nobody who was removed, and nobody under another name, is let in by what they had.
#[tokio::test]
async fn tokens_end_with_their_person_and_with_their_name() {
    type Change = fn(&mut Person);
    let changes: [(Change, bool); 4] = [
        (|person| person.removed_at = Some(t(0)), false),
        (|person| person.name = "eve".parse().unwrap(), false),
        (|person| person.org = "other".parse().unwrap(), false),
        (|person| person.mail = Some("ada@example.org".parse().unwrap()), true),
    ];
    for (change, stays) in changes {
        let ledger = in_memory(&TestClock::new()).await;
        let (ada, bob) = (somebody(&ledger, "ada", 1).await, somebody(&ledger, "bob", 2).await);
        let robot = register(&ledger, 1).await;
        connect(&ledger, &ada, &robot, 1).await;
        connect(&ledger, &bob, &robot, 2).await;
        allow(&ledger, &ada, &register(&ledger, 3).await, 3).await;
        let mut changed = ada.0.clone();
        change(&mut changed);
        ledger.set_person(changed, "bob").await.unwrap().unwrap();
        assert_eq!(is_in(&ledger, 1).await, stays);
        assert!(is_in(&ledger, 2).await);
        let third = crate::oauth_stage::client_id(3);
        let said = ledger.exchange(code(3), exchange(&third), new_tokens(3)).await.unwrap();
        assert_eq!(matches!(said, Exchanged::Tokens(_)), stays);
        assert_eq!(ends(&ledger).await.len(), if stays { 0 } else { 2 });
        assert_sound(&ledger).await;
    }
}

/// O-V7: the last use is known to the minute, and from where.
#[tokio::test]
async fn a_connection_knows_its_last_use() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    let see = |at: i64, from: &'static str| {
        clock.set(at);
        let ledger = ledger.clone();
        async move {
            ledger.see_connection(&connection_id(1), Some(from.to_owned())).await.unwrap();
            let kept = ledger.connections().await.unwrap().remove(0);
            (kept.used_at, kept.used_from.unwrap())
        }
    };
    assert_eq!(see(100, "10.0.0.1").await, (t(100), "10.0.0.1".to_owned()));
    assert_eq!(see(159, "10.0.0.1").await, (t(100), "10.0.0.1".to_owned()));
    assert_eq!(see(160, "10.0.0.1").await, (t(160), "10.0.0.1".to_owned()));
    assert_eq!(see(161, "10.0.0.2").await, (t(161), "10.0.0.2".to_owned()));
    assert!(ledger.see_connection(&connection_id(9), None).await.is_ok());
    assert_sound(&ledger).await;
}
