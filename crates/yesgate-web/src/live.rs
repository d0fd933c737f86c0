//! Tells open pages that something has changed, so that they look again.
//!
//! INVARIANT: nothing but that leaves here: what has changed is read from a page, by whoever may read it.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use crate::answer::{self, Answer};
use crate::site::{Site, Telling};

impl Site {
    /// A stream of signs that something has changed. It ends by itself after a while, and the browser comes back:
    /// by then signed in, or not.
    pub(crate) fn live(&self) -> Answer {
        let (sender, pieces) = mpsc::channel(4);
        let mut changes = self.ledger.changes();
        let mut telling = self.telling.subscribe();
        tokio::spawn(async move {
            let end = Instant::now() + LONGEST;
            if sender.send(Bytes::from_static(b"retry: 1000\n\n")).await.is_err() {
                return;
            }
            loop {
                let sign = tokio::select! {
                    () = changes.changed() => CHANGED,
                    () = sleep(QUIET) => STILL_HERE,
                    () = sender.closed() => return,
                    _ = telling.wait_for(|telling| *telling == Telling::Ended) => return,
                    () = sleep_until(end) => return,
                };
                if sender.send(Bytes::from_static(sign)).await.is_err() {
                    return;
                }
                // What changes often is looked at a few times a second, not each time.
                tokio::select! {
                    () = sleep(PAUSE) => {}
                    () = sender.closed() => return,
                    _ = telling.wait_for(|telling| *telling == Telling::Ended) => return,
                }
            }
        });
        answer::stream(pieces)
    }
}

const CHANGED: &[u8] = b"event: changed\ndata: look again\n\n";
const STILL_HERE: &[u8] = b": still here\n\n";
/// How long a stream lasts.
const LONGEST: Duration = Duration::from_secs(600);
/// How long a stream may say nothing before a proxy takes it for dead.
const QUIET: Duration = Duration::from_secs(20);
/// How long a stream waits after each sign.
const PAUSE: Duration = Duration::from_millis(250);
