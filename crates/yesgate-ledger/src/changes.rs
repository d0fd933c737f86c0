//! Waking those who wait for a change.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

/// Resolves after commits, whoever made them: this process or another one on the same ledger.
///
/// It may resolve once too often, never once too seldom: look at the ledger after each time. It
/// does not keep the ledger open.
pub struct Changes {
    receiver: watch::Receiver<u64>,
    bell: Arc<Bell>,
}

impl Changes {
    /// Waits for a change since the last time, or since it was made.
    pub async fn changed(&mut self) {
        // The bell holds the sender, and we hold the bell: it cannot be gone.
        if self.receiver.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut listeners = self.bell.lock();
        listeners.count = listeners.count.saturating_sub(1);
        self.bell.moved.notify_all();
    }
}

/// Rings for commits. Shared by who commits, who listens, and who looks for commits of others.
#[derive(Debug)]
pub(crate) struct Bell {
    last_row: watch::Sender<u64>,
    listeners: Mutex<Listeners>,
    moved: Condvar,
    closing: Notify,
}

#[derive(Debug, Default)]
struct Listeners {
    count: usize,
    closed: bool,
}

/// Whether the one who looks for commits of others should go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Watching {
    /// Somebody listens.
    Needed,
    /// Nobody listens now.
    Idle,
    /// The ledger is closed.
    Over,
}

impl Bell {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            last_row: watch::Sender::new(0),
            listeners: Mutex::default(),
            moved: Condvar::new(),
            closing: Notify::new(),
        })
    }

    /// Begins to listen.
    pub(crate) fn listen(self: &Arc<Self>) -> Changes {
        // First the receiver: what is rung from here on is heard.
        let receiver = self.last_row.subscribe();
        self.lock().count += 1;
        self.moved.notify_all();
        Changes { receiver, bell: Arc::clone(self) }
    }

    /// Rings, unless that row was rung for already.
    pub(crate) fn ring_for(&self, row: u64) {
        self.last_row.send_if_modified(|last| {
            let newer = row > *last;
            if newer {
                *last = row;
            }
            newer
        });
    }

    /// Rings although nothing is known to have changed: somebody had better look. Whatever row is rung for next rings too: a
    /// database that took over may have fewer of them.
    pub(crate) fn ring(&self) {
        self.last_row.send_modify(|last| *last = 0);
    }

    /// Ends the watch for commits of others.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.moved.notify_all();
        self.closing.notify_one();
    }

    /// Waits until the watch ends.
    pub(crate) async fn closing(&self) {
        if !self.is_closed() {
            self.closing.notified().await;
        }
    }

    /// Whether the watch has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Whether anybody listens.
    pub(crate) fn has_listeners(&self) -> bool {
        self.lock().count > 0
    }

    /// Sleeps until somebody listens, without waking up in between.
    pub(crate) fn wait_for_listener(&self) -> Watching {
        let idle = self
            .moved
            .wait_while(self.lock(), |listeners| !listeners.closed && listeners.count == 0)
            .unwrap_or_else(PoisonError::into_inner);
        watching(&idle)
    }

    /// Sleeps for the given time while somebody listens.
    pub(crate) fn pause(&self, time: Duration) -> Watching {
        let (listeners, _) = self
            .moved
            .wait_timeout_while(self.lock(), time, |listeners| !listeners.closed && listeners.count > 0)
            .unwrap_or_else(PoisonError::into_inner);
        watching(&listeners)
    }

    fn lock(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn watching(listeners: &Listeners) -> Watching {
    if listeners.closed {
        Watching::Over
    } else if listeners.count > 0 {
        Watching::Needed
    } else {
        Watching::Idle
    }
}

#[cfg(test)]
mod tests;
