//! The keys of callers, as fresh as the ledger.
//!
//! - INVARIANT: one task reads them and hands them to the door, so what was read last is what counts.
//! - INVARIANT: where they cannot be read, nobody comes in.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use yesgate_gateway::door::Doorkeeper;
use yesgate_ledger::Ledger;

/// Has the keys read again, now.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Keyring(mpsc::Sender<oneshot::Sender<()>>);

/// Who asked for that, and waits.
pub(super) type Asked = mpsc::Receiver<oneshot::Sender<()>>;

impl Keyring {
    pub(super) fn new() -> (Self, Asked) {
        let (sender, asked) = mpsc::channel(8);
        (Self(sender), asked)
    }

    /// Waits until the door knows what the ledger knows at this moment.
    pub(in crate::commands) async fn renew(&self) {
        let (done, renewed) = oneshot::channel();
        // Where the task has ended the gateway ends, and nobody comes in any more.
        if self.0.send(done).await.is_ok() {
            let _ended = renewed.await;
        }
    }
}

/// Keeps the keys of callers fresh: at once for whoever asks, soon for changes of this process, within 200 ms for others'.
pub(super) async fn keep(ledger: Ledger, keeper: Arc<Doorkeeper>, mut asked: Asked) {
    let mut changes = ledger.changes();
    loop {
        let waits = tokio::select! {
            () = changes.changed() => None,
            Some(waits) = asked.recv() => Some(waits),
        };
        match ledger.live_keys().await {
            Ok(keys) => keeper.renew(keys),
            Err(error) => {
                // Whoever was revoked must not come in because we cannot read who was.
                tracing::error!(%error, "the keys cannot be read, so nobody comes in: {error}");
                keeper.renew(HashMap::new());
            }
        }
        if let Some(waits) = waits {
            // Whoever asked may have gone away.
            let _gone = waits.send(());
        }
    }
}
