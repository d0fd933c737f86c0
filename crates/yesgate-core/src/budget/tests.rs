//! Sums are exact, and there is room only where that is known.

use jiff::SignedDuration;
use proptest::prelude::*;

use super::{Account, Charge, Over, RecipientDigest, Room, Share, Sum, Sums, Window, currency};
use crate::amount::Amount;
use crate::fixture::{caller, t};

fn window(share: Share) -> Window {
    let account =
        Account { budget: "daily".parse().unwrap(), org: caller().org, currency: Some("USDC".into()), share };
    Window { account, per: SignedDuration::from_hours(24) }
}

fn charge(most: Amount) -> Charge {
    Charge { window: window(Share::Everyone), most, over: Over::Reject }
}

fn spent(amount: Amount) -> Sums {
    Sums::new(vec![Sum { window: window(Share::Everyone), spent: amount, oldest: Some(t(0)) }])
}

/// The amount of so many of the smallest unit that is kept, by way of its text.
fn units(units: u128) -> Amount {
    let one = 1_000_000_000_000_000_000;
    format!("{}.{:018}", units / one, units % one).parse().unwrap()
}

/// I6: a sum that is not known has no room, and another account's sum is not this one's.
#[test]
fn where_the_sum_is_not_known_there_is_no_room() {
    let one = "1".parse().unwrap();
    assert_eq!(charge(one).room(Sums::UNKNOWN, Amount::ZERO), Room::Unknown);
    let other = Sums::new(vec![Sum {
        window: window(Share::Caller(caller().principal)),
        spent: Amount::ZERO,
        oldest: None,
    }]);
    assert_eq!(charge(one).room(&other, Amount::ZERO), Room::Unknown);
    assert!(other.exceed(&spent(one)), "what is not known any more may be more");
}

/// The window is open at its beginning: what was spent exactly so long ago is free again.
#[test]
fn a_window_looks_back_so_long_and_no_longer() {
    let window = window(Share::Everyone);
    assert_eq!(window.opens_after(t(24 * 3600)), t(0));
    let sum = Sum { window, spent: Amount::ZERO, oldest: Some(t(0)) };
    assert_eq!(sum.frees_at(), Some(t(24 * 3600)));
}

#[test]
fn spaces_and_capitals_make_no_other_recipient_or_currency() {
    assert_eq!(RecipientDigest::of("Ann "), RecipientDigest::of("ann"));
    assert_ne!(RecipientDigest::of("ann"), RecipientDigest::of("anna"));
    assert_eq!(currency(" usdc"), "USDC");
}

proptest! {
    /// I6: sums are those of integers in the smallest unit, however the amounts are written.
    #[test]
    fn sums_are_exact(amounts in prop::collection::vec(0..1_000_000_000_000_000_000_000_000_u128, 0..50)) {
        let sum = amounts.iter().try_fold(Amount::ZERO, |sum, one| sum.checked_add(units(*one)));
        let exact: u128 = amounts.iter().sum();
        prop_assert_eq!(sum, Some(units(exact)));
        prop_assert_eq!(sum.unwrap().to_string().parse::<Amount>(), Ok(units(exact)));
    }

    /// I6: there is room exactly where the integers say so, to the last unit.
    #[test]
    fn room_is_exact(
        most in 0..1_000_000_000_000_000_000_000_u128,
        before in 0..1_000_000_000_000_000_000_000_u128,
        off in 0..3_u128,
    ) {
        let amount = (most.saturating_sub(before) + off).saturating_sub(1);
        let room = charge(units(most)).room(&spent(units(before)), units(amount));
        if before + amount <= most {
            prop_assert_eq!(room, Room::Enough);
        } else {
            let Room::Short(exceeded) = room else { panic!("{room:?}") };
            prop_assert_eq!(exceeded.left, units(most.saturating_sub(before)));
        }
    }

    /// I6: a sum that no number holds is no room, and never a small number.
    #[test]
    fn an_overflow_is_no_room(doublings in 118..140_u32) {
        let largest = units(999_999_999_999_999_999_999_999_999_999_999_999);
        let mut sum = Some(largest);
        for _ in 0..doublings {
            sum = sum.and_then(|sum| sum.checked_add(sum));
        }
        prop_assert_eq!(sum, None);
        let room = charge(largest).room(&spent(largest), largest);
        let is_short = if let Room::Short(_) = room { true } else { false };
        prop_assert!(is_short);
    }
}
