//! A caller's "never mind", seen by everything that works for one call.

use tokio::sync::watch;

/// One call's withdrawal. Cloning gives another view of the same.
#[derive(Clone, Debug)]
pub struct Cancel {
    sender: watch::Sender<bool>,
}

impl Cancel {
    /// A call that nobody has withdrawn.
    pub fn new() -> Self {
        Self { sender: watch::Sender::new(false) }
    }

    /// Withdraws the call.
    pub fn fire(&self) {
        self.sender.send_replace(true);
    }

    /// Whether the call was withdrawn.
    pub fn is_fired(&self) -> bool {
        *self.sender.borrow()
    }

    /// Waits until the call is withdrawn.
    pub async fn fired(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives as long as `self`, so this ends only by the withdrawal.
        if receiver.wait_for(|fired| *fired).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
