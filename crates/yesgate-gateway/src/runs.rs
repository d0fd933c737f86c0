//! What is under way now: whoever ends the gateway waits for it, or gives it up.
//!
//! INVARIANT: a run is counted from before it leaves until how it ended is written down. So is a form that a client
//! shows, until what came of it is.

use std::sync::Arc;

use tokio::sync::watch;

/// The runs of one gate. Clones count the same.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    under_way: Arc<watch::Sender<usize>>,
    given_up: Arc<watch::Sender<bool>>,
}

/// One run. Dropped, it is over.
#[derive(Debug)]
pub(crate) struct Running(Arc<watch::Sender<usize>>);

impl Runs {
    pub(crate) fn none() -> Self {
        Self { under_way: Arc::new(watch::Sender::new(0)), given_up: Arc::new(watch::Sender::new(false)) }
    }

    /// A run begins.
    pub(crate) fn begin(&self) -> Running {
        self.under_way.send_modify(|runs| *runs += 1);
        Running(Arc::clone(&self.under_way))
    }

    /// Waits until nothing runs.
    pub(crate) async fn ended(&self) {
        reach(&self.under_way, |runs| *runs == 0).await;
    }

    /// Nobody can wait for any answer any longer.
    pub(crate) fn give_up(&self) {
        self.given_up.send_replace(true);
    }

    /// Waits until that is so.
    pub(crate) async fn are_given_up(&self) {
        reach(&self.given_up, |given_up| *given_up).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|runs| *runs = runs.saturating_sub(1));
    }
}

async fn reach<T>(sender: &watch::Sender<T>, is_it: impl FnMut(&T) -> bool) {
    if sender.subscribe().wait_for(is_it).await.is_err() {
        // The sender lives as long as we do.
        std::future::pending::<()>().await;
    }
}
