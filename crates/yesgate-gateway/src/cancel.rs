//! A caller's "never mind", seen by everything that works for one call.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// One call's withdrawal. Cloning gives another view of the same.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Withdrawal>);

#[derive(Debug, Default)]
struct Withdrawal {
    fired: AtomicBool,
    waiting: Notify,
}

impl Cancel {
    /// A call that nobody has withdrawn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Withdraws the call.
    pub fn fire(&self) {
        self.0.fired.store(true, Ordering::SeqCst);
        self.0.waiting.notify_waiters();
    }

    /// Whether the call was withdrawn.
    pub fn is_fired(&self) -> bool {
        self.0.fired.load(Ordering::SeqCst)
    }

    /// Waits until the call is withdrawn.
    pub async fn fired(&self) {
        let mut withdrawn = pin!(self.0.waiting.notified());
        // Listened for before it is looked at, so that a withdrawal in between is not missed.
        withdrawn.as_mut().enable();
        if !self.is_fired() {
            withdrawn.await;
        }
    }
}
