//! One heartbeat for all streams: ten thousand silent streams need no timer of their own.

use std::sync::Once;

use tokio::sync::watch;

/// The heartbeat of a front, and the news of its end.
#[derive(Debug)]
pub(crate) struct Pulse {
    sender: watch::Sender<Beat>,
    begun: Once,
}

/// What a stream is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Beat {
    /// The front lives, and this many beats have passed.
    Alive(u64),
    /// The front shuts down.
    Closing,
}

impl Pulse {
    pub(crate) fn new() -> Self {
        Self { sender: watch::Sender::new(Beat::Alive(0)), begun: Once::new() }
    }

    /// Runs `begin` the first time, and only then.
    pub(crate) fn once(&self, begin: impl FnOnce()) {
        self.begun.call_once(begin);
    }

    /// Beats.
    pub(crate) fn beat(&self) {
        self.sender.send_if_modified(|beat| match beat {
            Beat::Alive(count) => {
                *count = count.wrapping_add(1);
                true
            }
            Beat::Closing => true,
        });
    }

    /// Says that the end is near.
    pub(crate) fn close(&self) {
        self.sender.send_replace(Beat::Closing);
    }

    /// What is the case now.
    pub(crate) fn now(&self) -> Beat {
        *self.sender.borrow()
    }

    /// Hears every beat from now on.
    pub(crate) fn hear(&self) -> Hearing {
        Hearing(self.sender.subscribe())
    }
}

/// One who hears the heartbeat.
#[derive(Debug)]
pub(crate) struct Hearing(watch::Receiver<Beat>);

impl Hearing {
    /// Waits for the next beat. A front that is gone is closing for good, and beats no more.
    pub(crate) async fn next(&mut self) -> Beat {
        match self.0.changed().await {
            Ok(()) => *self.0.borrow_and_update(),
            Err(_) => std::future::pending().await,
        }
    }

    /// What is the case now.
    pub(crate) fn now(&self) -> Beat {
        *self.0.borrow()
    }
}
