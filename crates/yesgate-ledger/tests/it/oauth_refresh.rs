//! Refresh tokens: each has one successor, whoever asks and however often.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use proptest::prelude::{ProptestConfig, Strategy, proptest};
use proptest::{collection, prop_assert, prop_assert_eq};
use tokio::task::JoinSet;
use yesgate_core::oauth::{End, Scopes};
use yesgate_ledger::{Ledger, NewTokens, Refreshed, Refreshing};

use crate::oauth_stage::{
    DAY, access, connect, connection_id, ends, is_in, new_tokens, refresh, refreshed, refreshing, register,
    resources, somebody,
};
use crate::support::{
    Other, Place, TestClock, assert_sound, in_memory, my_part, open_at, say, wait_for_word,
};

fn word(refreshed: &Refreshed) -> &'static str {
    match refreshed {
        Refreshed::Rotated(_) => "rotated",
        Refreshed::Again(..) => "again",
        Refreshed::Reused(_) => "reused",
        Refreshed::OtherResource => "other resource",
        Refreshed::Unknown => "unknown",
    }
}

/// O-F1: a refresh token counts thirty days after its last use, and each use begins them anew.
#[tokio::test]
async fn thirty_days_slide() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    for turn in 1..4_u32 {
        clock.set(i64::from(turn) * 29 * DAY);
        assert_eq!(word(&refreshed(&ledger, &robot, turn, turn + 1).await), "rotated");
    }
    clock.set(3 * 29 * DAY + 30 * DAY);
    assert_eq!(word(&refreshed(&ledger, &robot, 4, 5).await), "unknown");
    assert!(!is_in(&ledger, 5).await);
    assert_eq!(ledger.refresh_token(refresh(4)).await.unwrap(), None);
}

/// O-F3: for a minute the same token brings the same successor and another access token; then somebody has a copy, and
/// nothing of the family counts.
#[tokio::test]
async fn a_lost_answer_can_be_asked_for_again() {
    for (second, said) in [(59, "again"), (60, "reused")] {
        let clock = TestClock::new();
        let ledger = in_memory(&clock).await;
        let ada = somebody(&ledger, "ada", 1).await;
        let robot = register(&ledger, 1).await;
        connect(&ledger, &ada, &robot, 1).await;
        assert_eq!(word(&refreshed(&ledger, &robot, 1, 2).await), "rotated");
        clock.set(second);
        let again = refreshed(&ledger, &robot, 1, 3).await;
        assert_eq!(word(&again), said);
        match again {
            Refreshed::Again(_, sealed) => {
                assert_eq!(sealed, 2_u32.to_be_bytes());
                assert!(is_in(&ledger, 2).await && is_in(&ledger, 3).await);
                assert_eq!(ledger.refresh_token(refresh(3)).await.unwrap(), None, "there is one successor");
                assert_eq!(word(&refreshed(&ledger, &robot, 2, 4).await), "rotated");
                assert!(ends(&ledger).await.is_empty());
            }
            Refreshed::Reused(id) => {
                assert_eq!(id, connection_id(1));
                for seed in 1..=3 {
                    assert!(!is_in(&ledger, seed).await);
                }
                assert_eq!(word(&refreshed(&ledger, &robot, 2, 4).await), "unknown");
                assert_eq!(ends(&ledger).await, ["refresh_reused"]);
            }
            other @ (Refreshed::Rotated(_) | Refreshed::OtherResource | Refreshed::Unknown) => {
                panic!("{other:?}")
            }
        }
        assert_sound(&ledger).await;
    }
}

/// O-F3: whoever has used the successor has not lost it: the token before it ends the family at once.
#[tokio::test]
async fn the_token_before_the_last_ends_the_family() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    assert_eq!(word(&refreshed(&ledger, &robot, 1, 2).await), "rotated");
    assert_eq!(word(&refreshed(&ledger, &robot, 2, 3).await), "rotated");
    assert_eq!(word(&refreshed(&ledger, &robot, 1, 4).await), "reused");
    assert!(ledger.connections().await.unwrap().is_empty());
    assert_sound(&ledger).await;
}

/// O-F5: another client and another resource change nothing, whatever they present.
#[tokio::test]
async fn nothing_rotates_for_the_wrong_client_or_resource() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let (robot, thief) = (register(&ledger, 1).await, register(&ledger, 2).await);
    connect(&ledger, &ada, &robot, 1).await;
    assert_eq!(word(&refreshed(&ledger, &thief, 1, 2).await), "unknown");
    let elsewhere = resources(&["https://gate.example.org/mcp/files"]);
    let wrong = Refreshing { resources: elsewhere.clone(), ..refreshing(&robot, 1, 2) };
    assert_eq!(word(&ledger.refresh(wrong).await.unwrap()), "other resource");
    assert_eq!(word(&refreshed(&ledger, &robot, 1, 2).await), "rotated");
    clock.set(100);
    assert_eq!(word(&refreshed(&ledger, &thief, 1, 3).await), "unknown", "no thief has anything revoked");
    let wrong = Refreshing { resources: elsewhere, ..refreshing(&robot, 1, 3) };
    assert_eq!(word(&ledger.refresh(wrong).await.unwrap()), "other resource");
    assert!(is_in(&ledger, 2).await && !is_in(&ledger, 3).await);
}

/// O-T7: fewer scopes are given where fewer are wanted, and never more than were allowed; the next time all are there again.
#[tokio::test]
async fn scopes_are_narrowed_and_never_widened() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    let tries = [
        ("mcp:read", "mcp:read"),
        ("mcp:read offline_access admin", "mcp:read"),
        ("offline_access", "mcp:call mcp:read"),
        ("mcp:read mcp:call", "mcp:call mcp:read"),
    ];
    for (turn, (wanted, given)) in (1..).zip(tries) {
        let wants = Refreshing { scopes: Some(Scopes::read(wanted)), ..refreshing(&robot, turn, turn + 1) };
        match ledger.refresh(wants).await.unwrap() {
            Refreshed::Rotated(issued) => assert_eq!(issued.scopes, Scopes::read(given), "{wanted}"),
            other @ (Refreshed::Again(..)
            | Refreshed::Reused(_)
            | Refreshed::OtherResource
            | Refreshed::Unknown) => panic!("{other:?}"),
        }
        let who = ledger.admitted(access(turn + 1)).await.unwrap().unwrap();
        assert_eq!(who.access.scopes, Scopes::read(given));
    }
}

/// §1: where connections last so long at most, nothing under them lasts longer.
#[tokio::test]
async fn a_connection_ends_at_last() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = somebody(&ledger, "ada", 1).await;
    let robot = register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    let longest = Some(SignedDuration::from_mins(90));
    let bounded = |token, new| Refreshing {
        new: NewTokens { longest, ..new_tokens(new) },
        ..refreshing(&robot, token, new)
    };
    clock.set(60 * 60);
    assert_eq!(word(&ledger.refresh(bounded(1, 2)).await.unwrap()), "rotated");
    clock.set(90 * 60 - 1);
    assert!(is_in(&ledger, 2).await);
    clock.set(90 * 60);
    assert!(!is_in(&ledger, 2).await);
    assert_eq!(word(&ledger.refresh(bounded(2, 3)).await.unwrap()), "unknown");
    assert!(ends(&ledger).await.is_empty());
}

/// Has many ask with one token at the same time; says what each heard and which successors were sealed.
async fn storm(ledgers: &[Ledger], count: u32) -> (Vec<Refreshed>, BTreeSet<u32>) {
    let robot = crate::oauth_stage::client_id(1);
    let mut racers = JoinSet::new();
    for (seed, ledger) in (100..100 + count).zip(ledgers.iter().cycle()) {
        let (ledger, asks) = (ledger.clone(), refreshing(&robot, 1, seed));
        racers.spawn(async move { (seed, ledger.refresh(asks).await.unwrap()) });
    }
    let mut successors = BTreeSet::new();
    let mut heard = Vec::new();
    for (seed, said) in racers.join_all().await {
        match &said {
            Refreshed::Rotated(_) => {
                successors.insert(seed);
            }
            Refreshed::Again(_, sealed) => {
                successors.insert(u32::from_be_bytes(sealed[..].try_into().unwrap()));
            }
            Refreshed::Reused(_) | Refreshed::OtherResource | Refreshed::Unknown => {}
        }
        heard.push(said);
    }
    (heard, successors)
}

/// O-F2: of fifty that refresh with one token, on two connections to the file, all get tokens and there is one successor.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn fifty_refreshes_have_one_successor() {
    let place = Place::new();
    let ledgers = [place.open(1).await, place.open(2).await];
    let ada = somebody(&ledgers[0], "ada", 1).await;
    let robot = register(&ledgers[0], 1).await;
    connect(&ledgers[0], &ada, &robot, 1).await;
    let (heard, successors) = storm(&ledgers, 50).await;
    assert_eq!(successors.len(), 1);
    assert_eq!(heard.iter().filter(|said| word(said) == "rotated").count(), 1);
    assert_eq!(heard.iter().filter(|said| word(said) == "again").count(), 49);
    for seed in 100..150 {
        assert!(is_in(&ledgers[0], seed).await, "nobody is logged out");
    }
    let next = successors.first().copied().unwrap();
    assert_eq!(word(&refreshed(&ledgers[1], &robot, next, 500).await), "rotated");
    assert_sound(&ledgers[0]).await;
}

/// O-F6: a revocation in the middle of many refreshes wins: whatever they heard, nothing counts afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_revocation_among_refreshes_wins() {
    for turn in 0..4 {
        let place = Place::new();
        let ledgers = [place.open(1).await, place.open(2).await];
        let ada = somebody(&ledgers[0], "ada", 1).await;
        let robot = register(&ledgers[0], 1).await;
        connect(&ledgers[0], &ada, &robot, 1).await;
        let revoking = async {
            match turn % 3 {
                0 => {
                    assert!(ledgers[1].end_connection(&connection_id(1), End::Revoked, "ada").await.unwrap())
                }
                1 => assert_eq!(ledgers[1].end_client(&robot, "ada").await.unwrap(), Some(1)),
                _ => assert_eq!(ledgers[1].end_everything_of(&ada.0.id, "ada").await.unwrap().connections, 1),
            }
        };
        let ((_, successors), ()) = tokio::join!(storm(&ledgers, 20), revoking);
        assert!(successors.len() <= 1);
        for seed in (1..=1).chain(100..120) {
            assert!(!is_in(&ledgers[0], seed).await);
            assert_eq!(word(&refreshed(&ledgers[0], &robot, seed, 900 + seed).await), "unknown");
        }
        assert_sound(&ledgers[0]).await;
    }
}

/// O-S10: a gateway that dies between the rotation and its answer has lost nothing: the same token brings the same successor.
#[tokio::test]
async fn a_kill_between_rotation_and_answer_loses_nothing() {
    let robot = crate::oauth_stage::client_id(1);
    if let Some(path) = my_part() {
        let ledger = open_at(&path, &TestClock::new(), 77).await.unwrap();
        assert_eq!(word(&refreshed(&ledger, &robot, 1, 2).await), "rotated");
        say("rotated");
        wait_for_word();
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = somebody(&ledger, "ada", 1).await;
    register(&ledger, 1).await;
    connect(&ledger, &ada, &robot, 1).await;
    drop(ledger);
    let test = "oauth_refresh::a_kill_between_rotation_and_answer_loses_nothing";
    let mut other = Other::start(test, &place.at);
    assert_eq!(other.hear(), "rotated");
    other.kill();
    place.clock.set(30);
    let again = place.open(2).await;
    match refreshed(&again, &robot, 1, 3).await {
        Refreshed::Again(_, sealed) => assert_eq!(sealed, 2_u32.to_be_bytes()),
        other @ (Refreshed::Rotated(_)
        | Refreshed::Reused(_)
        | Refreshed::OtherResource
        | Refreshed::Unknown) => panic!("{other:?}"),
    }
    assert_eq!(word(&refreshed(&again, &robot, 2, 4).await), "rotated");
    assert_sound(&again).await;
}

/// What somebody does with one of the last refresh tokens.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Refresh { back: usize },
    Wait { seconds: i64 },
    Revoke,
}

fn doing() -> impl Strategy<Value = Doing> {
    proptest::prop_oneof![
        6 => (0..4_usize).prop_map(|back| Doing::Refresh { back }),
        3 => (0..90_i64).prop_map(|seconds| Doing::Wait { seconds }),
        1 => proptest::strategy::Just(Doing::Revoke),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::fewer(48)))]

    /// O-F2, O-F3, O-F6: whatever is done in whatever order, there is one chain; a successor is always the same one; once
    /// the connection has ended, nothing of it ever counts again.
    #[test]
    fn a_chain_is_one_and_what_ended_stays_ended(doings in collection::vec(doing(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let clock = TestClock::new();
            let ledger = in_memory(&clock).await;
            let ada = somebody(&ledger, "ada", 1).await;
            let robot = register(&ledger, 1).await;
            connect(&ledger, &ada, &robot, 1).await;
            let (mut chain, mut now, mut over, mut given) = (vec![1_u32], 0, false, vec![1_u32]);
            for (seed, doing) in (100..).zip(doings) {
                match doing {
                    Doing::Wait { seconds } => {
                        now += seconds;
                        clock.set(now);
                    }
                    Doing::Revoke => {
                        let ended = ledger.end_connection(&connection_id(1), End::Revoked, "ada").await.unwrap();
                        prop_assert_eq!(ended, !over);
                        over = true;
                    }
                    Doing::Refresh { back } => {
                        let place = chain.len().saturating_sub(1 + back);
                        given.push(seed);
                        match refreshed(&ledger, &robot, chain[place], seed).await {
                            Refreshed::Rotated(_) => {
                                prop_assert!(!over && place + 1 == chain.len());
                                chain.push(seed);
                            }
                            Refreshed::Again(_, sealed) => {
                                prop_assert!(!over && place + 2 == chain.len());
                                prop_assert_eq!(sealed, chain[place + 1].to_be_bytes().to_vec());
                            }
                            Refreshed::Reused(_) => {
                                prop_assert!(!over && place + 1 < chain.len());
                                over = true;
                            }
                            Refreshed::Unknown => prop_assert!(over),
                            Refreshed::OtherResource => prop_assert!(false),
                        }
                    }
                }
                if over {
                    for seed in &given {
                        prop_assert!(!is_in(&ledger, *seed).await);
                    }
                }
            }
            prop_assert!(ledger.verify().await.unwrap().is_sound());
            Ok(())
        })?;
    }
}
