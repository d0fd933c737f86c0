//! Only what lies there unchanged is recalled, and never much.

use super::{LONGEST, MOST, MOST_BYTES, Recall};

#[test]
fn what_was_kept_is_found_once_by_the_very_same_bytes() {
    let mut recall = Recall::new();
    recall.keep("a", vec![1, 2], "first");
    assert_eq!(recall.take("b", &[1, 2]), None, "another row");
    assert_eq!(recall.take("a", &[1, 2]), Some("first"));
    assert_eq!(recall.take("a", &[1, 2]), None, "it was taken out");

    recall.keep("a", vec![1, 2], "first");
    recall.keep("a", vec![3], "second");
    assert_eq!(recall.take("a", &[1, 2]), None, "what was written over, or changed by somebody");
    recall.keep("a", vec![3], "second");
    assert_eq!(recall.take("a", &[3]), Some("second"));
}

#[test]
fn the_oldest_goes_when_there_are_many_or_much() {
    let mut recall = Recall::new();
    for number in 0..=MOST {
        recall.keep(&number.to_string(), vec![0], number);
    }
    assert_eq!(recall.take("0", &[0]), None);
    assert_eq!(recall.take("1", &[0]), Some(1));

    let mut recall = Recall::new();
    let long = vec![0; LONGEST];
    for number in 0..=MOST_BYTES / LONGEST {
        recall.keep(&number.to_string(), long.clone(), number);
    }
    assert_eq!(recall.take("0", &long), None);
    assert_eq!(recall.take("1", &long), Some(1));
}

#[test]
fn what_is_too_long_is_not_kept_and_nor_is_what_it_follows() {
    let mut recall = Recall::new();
    recall.keep("a", vec![0], "short");
    recall.keep("a", vec![0; LONGEST + 1], "long");
    assert_eq!(recall.take("a", &[0]), None);
}

#[test]
fn what_is_forgotten_is_gone() {
    let mut recall = Recall::new();
    recall.keep("a", vec![0], "words");
    recall.forget();
    assert_eq!(recall.take("a", &[0]), None);
}
