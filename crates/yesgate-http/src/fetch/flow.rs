//! The body of an answer, together with the connection that it comes over.
//!
//! INVARIANT: a connection goes back to its pool only when the answer has been read to its end. One that is dropped
//! before is closed, which is how a server learns that nobody listens any more.
//! INVARIANT: a server that never pauses cannot keep a task from looking at what else it waits for, such as a clock.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::line::Line;
use super::pool::{Host, Pool};

/// What is still to come of an answer.
pub(super) struct Flow {
    body: Incoming,
    /// None once it was given back.
    line: Option<Line>,
    pool: Pool,
    host: Host,
    /// How many pieces came since there was none.
    in_a_row: usize,
}

impl Flow {
    pub(super) const fn new(body: Incoming, line: Line, pool: Pool, host: Host) -> Self {
        Self { body, line: Some(line), pool, host, in_a_row: 0 }
    }

    /// How many bytes there are at least.
    pub(super) fn least(&self) -> usize {
        usize::try_from(self.body.size_hint().lower()).unwrap_or(usize::MAX)
    }

    /// The next piece; none at the end. Trailers are passed over. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<hyper::Result<Bytes>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
        loop {
            if self.body.is_end_stream() {
                self.give_back();
                return Poll::Ready(None);
            }
            let Some(line) = &mut self.line else { return Poll::Ready(None) };
            // Others on this thread wait too; and once a task has used up its budget, no clock rings in it.
            if self.in_a_row == MOST_IN_A_ROW {
                self.in_a_row += 1;
                line.give_way(cx);
                return Poll::Pending;
            }
            if self.in_a_row > MOST_IN_A_ROW {
                // Whoever drives this may ask again at once: that is not yet another turn.
                if line.still_gives_way(cx) {
                    return Poll::Pending;
                }
                self.in_a_row = 0;
            }
            let body = &mut self.body;
            let Poll::Ready(frame) = line.poll_with(cx, |cx| Pin::new(&mut *body).poll_frame(cx)) else {
                self.in_a_row = 0;
                return Poll::Pending;
            };
            self.in_a_row += 1;
            match frame {
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Poll::Ready(Some(Ok(piece)));
                    }
                }
                Some(Err(error)) => {
                    self.line = None;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.give_back();
                    return Poll::Ready(None);
                }
            }
        }
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
        let mut is_over = move |next: Option<hyper::Result<Bytes>>| {
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

/// How many pieces are taken before others get their turn: enough for a short answer and its end.
const MOST_IN_A_ROW: usize = 2;

/// How long the end of an answer is waited for that nobody wants any more.
const LAST_TIME: Duration = Duration::from_secs(1);
const LAST_BYTES: usize = 64 * 1024;
