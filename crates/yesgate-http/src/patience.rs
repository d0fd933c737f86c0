//! Waiting no longer than is allowed, without a look at the clock for what is there already.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Sleep, sleep};

/// It took longer than allowed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooLong;

/// Waits for a future, as `tokio::time::timeout` does. The time begins when there is something to wait for.
pub(crate) async fn within<F: Future>(limit: Duration, future: F) -> Result<F::Output, TooLong> {
    let mut future = pin!(future);
    let mut clock = pin!(None::<Sleep>);
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        if clock.is_none() {
            clock.set(Some(sleep(limit)));
        }
        match clock.as_mut().as_pin_mut() {
            Some(clock) => clock.poll(cx).map(|()| Err(TooLong)),
            None => Poll::Pending,
        }
    })
    .await
}
