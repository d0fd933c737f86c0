//! How long documents are kept, and how many.

use jiff::{SignedDuration, Timestamp};

use super::{Kept, Known, LONGEST, MOST};
use crate::documents::budget::Budget;
use crate::documents::document;
use crate::documents::fault::DocumentFault;
use crate::redirect::RedirectPolicy;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
}

fn known(number: usize, good_for: i64, now: Timestamp) -> Known {
    let url = format!("https://example.com/{number}");
    let text =
        serde_json::json!({"client_id": url, "client_name": "C", "redirect_uris": ["https://c.example/"]});
    let client = document::read(&url, text.to_string().as_bytes(), &RedirectPolicy::default(), now).unwrap();
    Known::new(client, SignedDuration::from_secs(good_for), now)
}

/// O-C4: no longer than its server says, and never longer than a day.
#[test]
fn a_document_is_good_for_a_day_at_most() {
    assert_eq!(known(1, 60, at(0)).good_until, at(60));
    assert_eq!(known(1, i64::from(u32::MAX), at(0)).good_until, at(24 * 3600));
    assert_eq!(known(1, 0, at(0)).good_until, at(0));
    assert_eq!(known(1, 0, at(0)).kept_until, at(LONGEST.as_secs()));
}

/// O-C4: strangers with many documents make those go that nobody used for long, and no more are kept.
#[test]
fn only_so_many_are_kept_and_the_least_used_go_first() {
    let mut kept = Kept::default();
    for number in 0..MOST {
        kept.keep(known(number, 0, at(0)), at(i64::try_from(number).unwrap()));
    }
    let id = |number: usize| format!("https://example.com/{number}").parse().unwrap();
    assert!(kept.find(&id(0), at(5000)).is_some());
    kept.keep(known(MOST, 0, at(0)), at(5001));
    assert_eq!(kept.0.len(), MOST);
    assert!(kept.find(&id(0), at(5002)).is_some(), "it was used");
    assert!(kept.find(&id(1), at(5002)).is_none(), "it was not");
    assert!(kept.find(&id(MOST), at(5002)).is_some());
}

/// O-C4: so much for each and so much for all, anew each minute.
#[test]
fn what_is_fetched_in_a_minute_is_bounded() {
    let mut budget = Budget::new(2, 3);
    assert_eq!(budget.take("a", at(100)), Ok(()));
    assert_eq!(budget.take("a", at(101)), Ok(()));
    assert_eq!(budget.take("a", at(102)), Err(DocumentFault::TooOften), "its own is spent");
    assert_eq!(budget.take("b", at(102)), Ok(()));
    assert_eq!(budget.take("c", at(159)), Err(DocumentFault::TooOften), "everybody's is spent");
    assert_eq!(budget.take("a", at(160)), Ok(()));
    assert_eq!(budget.take("a", at(50)), Ok(()), "a clock that was set back locks nobody out");
}
