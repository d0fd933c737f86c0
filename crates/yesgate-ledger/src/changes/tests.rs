//! Who is woken, and when.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Bell, Changes};

fn is_woken(changes: &mut Changes) -> bool {
    let changed = pin!(changes.changed());
    changed.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
}

#[test]
fn a_row_wakes_once() {
    let bell = Bell::new();
    let mut changes = bell.listen();
    bell.ring_for(10);
    assert!(is_woken(&mut changes));
    for row in [10, 9] {
        bell.ring_for(row);
        assert!(!is_woken(&mut changes), "{row}");
    }
}

/// After a failover the trail may be shorter than it was. Those who wait are woken by its rows all the same.
#[test]
fn rows_wake_again_after_the_line_was_lost() {
    let bell = Bell::new();
    let mut changes = bell.listen();
    bell.ring_for(10);
    bell.ring();
    assert!(is_woken(&mut changes));
    bell.ring_for(8);
    assert!(is_woken(&mut changes));
}
