//! Whatever is taken comes back, and nobody gets more than the caps.

use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;
use yesgate_core::caller::Caller;

use super::{Caps, Full, Hold, Kind, Quotas};

const CAPS: Caps = Caps {
    streams: 3,
    streams_per_caller: 2,
    sessions: 4,
    sessions_per_caller: 3,
    bytes: 100,
    bytes_per_caller: 60,
};
const NONE: Caps = Caps {
    streams: 0,
    streams_per_caller: 0,
    sessions: 0,
    sessions_per_caller: 0,
    bytes: 0,
    bytes_per_caller: 0,
};
const KINDS: [Kind; 3] = [Kind::Streams, Kind::Sessions, Kind::Bytes];

fn caller(org: &str, principal: &str, client: &str) -> Caller {
    Caller {
        org: org.parse().unwrap(),
        principal: principal.parse().unwrap(),
        client: client.parse().unwrap(),
    }
}

/// F2: one caller's share is its own, and there is an end for all together.
#[test]
fn a_caller_has_a_share_and_all_together_have_an_end() {
    let quotas = Quotas::new(CAPS);
    let (ada, bob) = (caller("acme", "ada", "claude"), caller("acme", "bob", "claude"));
    let take = |who| quotas.take(Kind::Streams, who, 1);
    let held = [take(&ada).unwrap(), take(&ada).unwrap()];
    assert_eq!(take(&ada).unwrap_err(), Full::Caller(Kind::Streams));
    let of_bob = take(&bob).unwrap();
    assert_eq!(take(&bob).unwrap_err(), Full::Everyone(Kind::Streams));
    assert_eq!(quotas.held(Kind::Streams), 3);
    drop(held);
    assert_eq!(quotas.held(Kind::Streams), 1);
    drop((take(&bob).unwrap(), of_bob));
    assert_eq!(quotas.held(Kind::Streams), 0);
}

#[test]
fn another_client_of_the_same_user_is_the_same_caller_and_another_organisation_is_not() {
    let quotas = Quotas::new(CAPS);
    let _held = quotas.take(Kind::Bytes, &caller("acme", "ada", "claude"), 60).unwrap();
    let more = |who: &Caller| quotas.take(Kind::Bytes, who, 1).err();
    assert_eq!(more(&caller("acme", "ada", "cursor")), Some(Full::Caller(Kind::Bytes)));
    assert_eq!(more(&caller("other", "ada", "claude")), None);
}

#[test]
fn a_cap_of_zero_allows_nothing_and_a_sum_beyond_all_numbers_is_too_much() {
    let ada = caller("acme", "ada", "claude");
    for kind in KINDS {
        assert_eq!(Quotas::new(NONE).take(kind, &ada, 1).unwrap_err(), Full::Caller(kind));
    }
    let quotas = Quotas::new(Caps { bytes: u64::MAX, bytes_per_caller: u64::MAX, ..NONE });
    let _held = quotas.take(Kind::Bytes, &ada, u64::MAX).unwrap();
    assert_eq!(quotas.take(Kind::Bytes, &ada, 1).unwrap_err(), Full::Caller(Kind::Bytes));
}

#[test]
fn a_full_book_says_whose_fault_it_is() {
    insta::assert_snapshot!(Full::Caller(Kind::Streams), @"the caller holds too many streams");
    insta::assert_snapshot!(Full::Everyone(Kind::Bytes), @"there are too many bytes");
    assert_eq!(Full::Caller(Kind::Streams).status().as_u16(), 429);
    assert_eq!(Full::Everyone(Kind::Streams).status().as_u16(), 503);
}

#[derive(Clone, Debug)]
enum Step {
    Take { kind: Kind, who: usize, amount: u64 },
    Drop(Index),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let take = (0..KINDS.len(), 0..4_usize, 0..50_u64).prop_map(|(kind, who, amount)| Step::Take {
        kind: KINDS[kind],
        who,
        amount,
    });
    proptest::collection::vec(prop_oneof![take, any::<Index>().prop_map(Step::Drop)], 0..200)
}

proptest! {
    #[test]
    fn counts_stay_within_the_caps_and_return_to_zero_in_any_order(steps in steps()) {
        let callers = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")].map(|(org, who)| caller(org, who, "c"));
        let quotas = Quotas::new(CAPS);
        let mut holds: Vec<(usize, Hold)> = Vec::new();
        for step in steps {
            match step {
                Step::Take { kind, who, amount } => {
                    if let Ok(hold) = quotas.take(kind, &callers[who], amount) {
                        holds.push((who, hold));
                    }
                }
                Step::Drop(_) if holds.is_empty() => {}
                Step::Drop(index) => drop(holds.swap_remove(index.index(holds.len()))),
            }
            for kind in KINDS {
                let of = |who| -> u64 {
                    let of_kind = |hold: &Hold| if hold.kind == kind { hold.amount } else { 0 };
                    holds.iter().filter(|(holder, _)| *holder == who).map(|(_, hold)| of_kind(hold)).sum()
                };
                let shares = [of(0), of(1), of(2), of(3)];
                prop_assert_eq!(quotas.held(kind), shares.iter().sum::<u64>());
                prop_assert!(quotas.held(kind) <= *CAPS.all().of(kind));
                prop_assert!(shares.iter().all(|share| *share <= *CAPS.per_caller().of(kind)));
            }
        }
        drop(holds);
        for kind in KINDS {
            prop_assert_eq!(quotas.held(kind), 0);
        }
        prop_assert!(quotas.shared.lock().by_caller.is_empty());
    }
}
