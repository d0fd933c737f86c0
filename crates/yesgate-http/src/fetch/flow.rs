//! The body of an answer, together with the connection that it comes over.
//!
//! INVARIANT: a connection goes back to its pool only when the answer has been read to its end. One that is dropped
//! before is closed, which is how a server learns that nobody listens any more.
//! INVARIANT: a server that never pauses cannot keep a task from looking at what else it waits for, such as a clock.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::error::Broken;
use super::line::Line;
use super::pool::{Host, Pool};

/// What is still to come of an answer.
pub(super) struct Flow {
    /// None once it was given back.
    line: Option<Line>,
    pool: Pool,
    host: Host,
    /// How many pieces came since there was none.
    in_a_row: usize,
    /// The others on this thread have their turn, where they have.
    turn: Option<Arc<Turn>>,
}

impl Flow {
    pub(super) const fn new(line: Line, pool: Pool, host: Host) -> Self {
        Self { line: Some(line), pool, host, in_a_row: 0, turn: None }
    }

    /// How many bytes there are at least.
    pub(super) fn least(&self) -> usize {
        let least = self.line.as_ref().map_or(0, Line::least);
        usize::try_from(least).unwrap_or(usize::MAX)
    }

    /// The next piece; none at the end. Trailers are passed over. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let Some(line) = &mut self.line else { return Poll::Ready(None) };
        if line.is_over() {
            self.give_back();
            return Poll::Ready(None);
        }
        if let Some(turn) = &self.turn {
            // Whoever drives this may ask again at once: that is not yet another turn.
            if turn.still_goes_on(cx) {
                return Poll::Pending;
            }
            self.turn = None;
            self.in_a_row = 0;
        }
        // Others on this thread wait too; and once a task has used up its budget, no clock rings in it.
        if self.in_a_row == MOST_IN_A_ROW {
            self.turn = Some(Turn::of_the_others(cx));
            return Poll::Pending;
        }
        let Poll::Ready(piece) = line.poll_piece(cx) else {
            self.in_a_row = 0;
            return Poll::Pending;
        };
        self.in_a_row += 1;
        match &piece {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.line = None,
            None => self.give_back(),
        }
        Poll::Ready(piece)
    }

    fn give_back(&mut self) {
        if let Some(line) = self.line.take() {
            self.pool.keep(&self.host, line);
        }
    }

    /// Nothing of the rest is wanted, and its sender is about to end it. It is not closed on for that: the connection
    /// can be used again.
    pub(super) fn see_off(mut self) {
        let mut left = LAST_BYTES;
        let mut is_over = move |next: Option<Result<Bytes, Broken>>| {
            let length = next.and_then(Result::ok).map_or(left, |piece| piece.len());
            left = left.saturating_sub(length);
            left == 0
        };
        // Mostly it is all there already.
        let mut now = Context::from_waker(Waker::noop());
        while let Poll::Ready(next) = self.poll_next(&mut now) {
            if is_over(next) {
                return;
            }
        }
        if let Ok(runtime) = Handle::try_current() {
            let ending = async move { while !is_over(self.next().await) {} };
            drop(runtime.spawn(timeout(LAST_TIME, ending)));
        }
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow").field("line", &self.line).finish_non_exhaustive()
    }
}

/// The turn of everything else that waits on this thread, sockets and clocks included.
#[derive(Debug)]
struct Turn(Mutex<Option<Waker>>);

impl Turn {
    /// Begins. Whoever asks is woken when it is over.
    fn of_the_others(cx: &Context<'_>) -> Arc<Self> {
        let turn = Arc::new(Self(Mutex::new(Some(cx.waker().clone()))));
        let waker = Waker::from(Arc::clone(&turn));
        let _later: Poll<()> = pin!(yield_now()).poll(&mut Context::from_waker(&waker));
        turn
    }

    /// Whether it is not over; then whoever asks now is woken.
    fn still_goes_on(&self, cx: &Context<'_>) -> bool {
        let mut waits = self.lock();
        if let Some(waker) = &mut *waits {
            waker.clone_from(cx.waker());
        }
        waits.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Turn {
    fn wake(self: Arc<Self>) {
        // Not under the lock: it may be the last of a task.
        let waits = self.lock().take();
        if let Some(waker) = waits {
            waker.wake();
        }
    }
}

/// How many pieces are taken before others get their turn: enough for a short answer and its end.
const MOST_IN_A_ROW: usize = 2;

/// How long the end of an answer is waited for that nobody wants any more.
const LAST_TIME: Duration = Duration::from_secs(1);
const LAST_BYTES: usize = 64 * 1024;
