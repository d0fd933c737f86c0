//! Who took over from whom, and what that leaves.

use super::{Continuity, Inheritance, Origin, Trail};

fn origin(text: &str) -> Origin {
    text.parse().unwrap()
}

/// What `now` makes of `last`.
fn check(last: &str, now: &str, trail: Trail) -> Option<Inheritance> {
    match origin(now).after(Some(&origin(last)), trail) {
        Continuity::Same | Continuity::Note(_) => None,
        Continuity::Broken(succession) => Some(succession.inheritance),
    }
}

#[test]
fn the_first_one_only_writes_down_who_it_is() {
    let now = origin("7/1/0");
    assert_eq!(now.after(None, Trail::Whole), Continuity::Note(now.clone()));
    assert_eq!(now.after(Some(&now), Trail::Whole), Continuity::Same);
    assert_eq!(now.after(Some(&origin("7/1/1")), Trail::Whole), Continuity::Note(now.clone()));
}

#[test]
fn an_heir_has_all_only_where_both_were_certain_of_their_copies() {
    assert_eq!(check("7/1/1", "7/2/1", Trail::Whole), Some(Inheritance::Whole));
    assert_eq!(check("7/1/1", "7/4/1", Trail::Whole), Some(Inheritance::Whole));
    for (last, now) in [("7/1/0", "7/2/1"), ("7/1/1", "7/2/0"), ("7/1/0", "7/2/0")] {
        assert_eq!(check(last, now, Trail::Whole), Some(Inheritance::Doubtful), "{last} {now}");
    }
}

#[test]
fn another_system_or_an_older_timeline_is_no_heir() {
    assert_eq!(check("7/1/1", "8/2/1", Trail::Whole), Some(Inheritance::Doubtful));
    assert_eq!(check("7/2/1", "7/1/1", Trail::Whole), Some(Inheritance::Doubtful));
}

#[test]
fn rows_that_are_gone_are_believed_more_than_any_promise() {
    assert_eq!(check("7/1/1", "7/2/1", Trail::Shortened), Some(Inheritance::Doubtful));
    assert_eq!(check("7/1/1", "7/1/1", Trail::Shortened), Some(Inheritance::Doubtful));
}

#[test]
fn what_nobody_wrote_is_not_read() {
    for text in ["", "7", "7/1", "7/x/1", "7/1/1/1"] {
        assert!(text.parse::<Origin>().is_err(), "{text}");
    }
}
