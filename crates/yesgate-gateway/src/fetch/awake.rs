//! Staying awake for an answer that may come at once.
//!
//! To wake a sleeping thread can take longer than all the work on a call (decision 0012). So a thread that has
//! nothing else to wait for looks for the answer for a moment before it sleeps.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::time::{Duration, Instant};

use crate::edge::crew;

/// Waits for an answer. As long as it is the only one that this thread waits for, the thread stays awake a while.
pub(super) async fn stay<T>(answer: impl Future<Output = T>) -> T {
    let _waiting = Waiting::begin();
    let mut answer = pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => return answer,
        () = look_around() => {}
    }
    answer.await
}

/// Ends when it is no use any longer.
async fn look_around() {
    // Other threads have more to do than to wait; and on a single core it is the server that has to run.
    if crew::place() == 0 || crew::most() == 1 {
        return;
    }
    let until = Instant::now() + AWAKE;
    while WAITING.get() == 1 && Instant::now() < until {
        // Lets the runtime look at its sockets, without waiting for them.
        tokio::task::yield_now().await;
    }
}

/// One answer that is waited for. It is dropped on the thread that began it: nothing of a crew moves.
struct Waiting;

impl Waiting {
    fn begin() -> Self {
        WAITING.set(WAITING.get() + 1);
        Self
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.set(WAITING.get().saturating_sub(1));
    }
}

thread_local! {
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// How long: a server that has to be woken itself, on a virtual machine, takes about as long for a small answer.
const AWAKE: Duration = Duration::from_micros(150);

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn what_is_waited_for_is_counted_until_it_comes_or_is_given_up() {
        assert_eq!(stay(ready("here")).await, "here");
        assert_eq!(WAITING.get(), 0);
        let waiting = tokio::time::timeout(Duration::from_millis(1), stay(pending::<()>()));
        let (given_up, seen) = tokio::join!(waiting, async { WAITING.get() });
        assert!(given_up.is_err());
        assert_eq!((seen, WAITING.get()), (1, 0));
    }
}
