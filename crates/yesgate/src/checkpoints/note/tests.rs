//! When a checkpoint is due.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::checkpoint::Checkpoint;
use yesgate_core::digest::Digest;
use yesgate_core::policy::CheckpointsConfig;

use super::super::Due;
use super::Note;

fn end(sequence: u64, second: i64) -> Checkpoint {
    let at = Timestamp::from_second(1_800_000_000 + second).unwrap();
    Checkpoint { sequence, hash: Digest::rehydrate([1; 32]), at, carried: None }
}

#[test]
fn a_checkpoint_is_due_after_so_many_rows_or_so_much_time_with_a_new_row() {
    let config = CheckpointsConfig {
        file: None,
        webhook: None,
        rows: 10,
        every: SignedDuration::from_secs(60),
        refuse_after: None,
    };
    let check = |now: Checkpoint, expected| {
        assert_eq!(Note::of(&end(100, 0)).left(&now, &config), expected, "{now:?}");
    };
    check(end(100, 500), Due::In(Duration::from_secs(60)));
    check(end(101, 59), Due::In(Duration::from_secs(1)));
    check(end(101, 60), Due::Now);
    check(end(109, 1), Due::In(Duration::from_secs(59)));
    check(end(110, 1), Due::Now);
    check(end(99, 1), Due::Now);
    assert_eq!(Note::default().left(&end(1, 0), &config), Due::Now);
}

#[test]
fn a_problem_is_noted_with_the_time_since_when_it_is_there() {
    let at = |second| end(1, second).at;
    let note = Note::of(&end(7, 0)).with_problem("no route", at(1)).unwrap();
    assert_eq!(note.clone().with_problem("no route", at(2)), None);
    let other = note.with_problem("refused", at(3)).unwrap();
    assert_eq!((other.sequence, other.problem), (7, Some((at(1), "refused".to_owned()))));
}
