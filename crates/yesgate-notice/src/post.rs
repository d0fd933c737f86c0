//! Tells a webhook everything, and remembers in the ledger how far it has got.
//!
//! INVARIANT: the mark that is kept is never ahead of what was taken or given up. What a restart finds behind it is told
//! again under the same id: each notice at least once.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::{Id, JoinSet};
use yesgate_core::policy::Remind;
use yesgate_ledger::{Ledger, LedgerError};

use crate::notice::{Notice, Occasion};
use crate::watcher::{Mark, Watcher};
use crate::webhook::Webhook;

/// Tells a webhook what happens to questions, all of them.
#[derive(Debug)]
pub struct WebhookTeller {
    ledger: Ledger,
    webhook: Arc<Webhook>,
    watcher: Watcher,
    deliveries: JoinSet<()>,
    /// What is being delivered: what the mark was before each.
    under_way: HashMap<Id, Before>,
    kept: Mark,
}

/// Up to where all had been told before a notice.
#[derive(Clone, Copy, Debug)]
enum Before {
    /// A notice of the row after this one.
    Row(u64),
    /// A reminder.
    Reminder,
}

impl WebhookTeller {
    /// Goes on where an earlier one ended. The first one begins with what happens from now on.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub async fn begin(ledger: Ledger, webhook: Webhook, remind: Remind) -> Result<Self, LedgerError> {
        let kept = ledger.kept(NAME).await?;
        let kept = match kept.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(mark) => mark,
            None => {
                let mark = Mark::now(&ledger).await?;
                ledger.keep(NAME, written(mark)).await?;
                mark
            }
        };
        let watcher = Watcher::from(kept, ledger.clone(), remind).await?;
        Ok(Self {
            ledger,
            webhook: Arc::new(webhook),
            watcher,
            deliveries: JoinSet::new(),
            under_way: HashMap::new(),
            kept,
        })
    }

    /// Tells for as long as it is polled.
    pub async fn run(mut self) {
        loop {
            let has_room = self.deliveries.len() < MOST;
            tokio::select! {
                notice = self.watcher.next(), if has_room => self.deliver(notice),
                Some(done) = self.deliveries.join_next_with_id() => {
                    let id = done.map_or_else(|error| error.id(), |(id, ())| id);
                    self.under_way.remove(&id);
                    self.keep().await;
                }
            }
        }
    }

    fn deliver(&mut self, notice: Notice) {
        let before = match notice.occasion {
            Occasion::Reminder => Before::Reminder,
            Occasion::Asked | Occasion::Decided(_) | Occasion::Expired | Occasion::Unknown => {
                Before::Row(self.watcher.told().row.saturating_sub(1))
            }
        };
        let (webhook, ledger) = (Arc::clone(&self.webhook), self.ledger.clone());
        let task = self.deliveries.spawn(async move { webhook.deliver(&notice, &ledger).await });
        self.under_way.insert(task.id(), before);
    }

    /// Keeps how far all is told.
    async fn keep(&mut self) {
        let mut mark = self.watcher.told();
        for before in self.under_way.values() {
            match before {
                Before::Row(row) => mark.row = mark.row.min(*row),
                Before::Reminder => mark.at = self.kept.at,
            }
        }
        match self.ledger.keep(NAME, written(mark)).await {
            Ok(()) => self.kept = mark,
            Err(error) => {
                tracing::warn!(%error, "how far notices have got cannot be kept, so some may come twice: {error}");
            }
        }
    }
}

fn written(mark: Mark) -> Vec<u8> {
    serde_json::to_vec(&mark).unwrap_or_default()
}

/// Under which the mark is kept.
const NAME: &str = "notices/webhook";
/// How many notices may be under way at once.
const MOST: usize = 16;
