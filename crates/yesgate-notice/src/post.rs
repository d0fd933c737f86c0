//! Tells a webhook everything, or people by mail, and remembers in the ledger how far it has got.
//!
//! INVARIANT: the mark that is kept is never ahead of what was taken or given up. What a restart finds behind it is told
//! again under the same id: each notice at least once.

mod mail;

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::{Id, JoinSet};
use yesgate_core::policy::Remind;
use yesgate_ledger::{Ledger, LedgerError};

pub use self::mail::MailNotices;
use crate::notice::{Notice, Occasion};
use crate::watcher::{Mark, Watcher};
use crate::webhook::Webhook;

/// How notices travel that everybody is to get.
#[derive(Debug)]
pub enum Means {
    /// To one address, which is told all of them.
    Webhook(Box<Webhook>),
    /// To the people whom they concern.
    Mail(MailNotices),
}

impl Means {
    /// Under which the mark is kept.
    const fn mark(&self) -> &'static str {
        match self {
            Self::Webhook(_) => "notices/webhook",
            Self::Mail(_) => "notices/mail",
        }
    }

    async fn deliver(&self, notice: &Notice, ledger: &Ledger) {
        match self {
            Self::Webhook(webhook) => webhook.deliver(notice, ledger).await,
            Self::Mail(mail) => mail.deliver(notice, ledger).await,
        }
    }
}

/// Tells what happens to questions, all of them.
#[derive(Debug)]
pub struct Teller {
    ledger: Ledger,
    means: Arc<Means>,
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

impl Teller {
    /// Goes on where an earlier one ended. The first one begins with what happens from now on.
    ///
    /// # Errors
    /// When the ledger cannot be read or written.
    pub async fn begin(ledger: Ledger, means: Means, remind: Remind) -> Result<Self, LedgerError> {
        let kept = ledger.kept(means.mark()).await?;
        let kept = match kept.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(mark) => mark,
            None => {
                let mark = Mark::now(&ledger).await?;
                ledger.keep(means.mark(), written(mark)).await?;
                mark
            }
        };
        let watcher = Watcher::from(kept, ledger.clone(), remind).await?;
        Ok(Self {
            ledger,
            means: Arc::new(means),
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
            Occasion::Fallback | Occasion::Reminder => Before::Reminder,
            Occasion::Asked | Occasion::Decided(_) | Occasion::Expired | Occasion::Unknown => {
                Before::Row(self.watcher.told().row.saturating_sub(1))
            }
        };
        let (means, ledger) = (Arc::clone(&self.means), self.ledger.clone());
        let task = self.deliveries.spawn(async move { means.deliver(&notice, &ledger).await });
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
        match self.ledger.keep(self.means.mark(), written(mark)).await {
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

/// How many notices may be under way at once.
const MOST: usize = 16;
