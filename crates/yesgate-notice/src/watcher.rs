//! Reads the audit trail as it grows, and the clocks of open questions, and makes notices of them.
//!
//! INVARIANT: [`Watcher::next`] may be given up at any moment, and nothing is passed over: what it was about to say is
//! said by the next call.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::sleep;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Intent, State};
use yesgate_core::policy::Remind;
use yesgate_ledger::{AuditRow, Changes, Filter, Ledger, LedgerError};

use crate::notice::{Closing, Notice, Occasion};

/// How far somebody has been told.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Mark {
    /// All rows of the audit trail up to this one.
    pub(crate) row: u64,
    /// All reminders that were due by then.
    pub(crate) at: Timestamp,
}

impl Mark {
    /// Up to this moment: nothing of what happened before is told.
    pub(crate) async fn now(ledger: &Ledger) -> Result<Self, LedgerError> {
        let last = ledger.audit_last(1).await?;
        Ok(Self { row: last.first().map_or(0, |row| row.sequence), at: ledger.now() })
    }
}

/// What has a moment of its own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Due {
    Fallback,
    Reminder,
    End,
}

/// Makes notices, one after the other.
#[derive(Debug)]
pub(crate) struct Watcher {
    ledger: Ledger,
    changes: Changes,
    remind: Remind,
    rows: VecDeque<AuditRow>,
    /// The moments of open questions. One may have moved on since, or mean nothing any more: who comes to it looks.
    clocks: BTreeSet<(Timestamp, IntentId, Due)>,
    told: Mark,
}

impl Watcher {
    /// Goes on from a mark.
    pub(crate) async fn from(mark: Mark, ledger: Ledger, remind: Remind) -> Result<Self, LedgerError> {
        // Listened before looked: what happens in between is heard.
        let changes = ledger.changes();
        let open = ledger.intents(Filter::Pending).await?;
        let mut watcher =
            Self { ledger, changes, remind, rows: VecDeque::new(), clocks: BTreeSet::new(), told: mark };
        for intent in &open {
            watcher.wind(intent);
        }
        watcher.clocks.retain(|(time, _, due)| match due {
            Due::Fallback | Due::Reminder => *time > mark.at,
            Due::End => true,
        });
        Ok(watcher)
    }

    /// How far all notices have been given out.
    pub(crate) const fn told(&self) -> Mark {
        self.told
    }

    /// The next notice, as soon as there is one.
    pub(crate) async fn next(&mut self) -> Notice {
        loop {
            match self.look().await {
                Ok(Some(notice)) => return notice,
                Ok(None) => self.rest().await,
                Err(error) => {
                    tracing::warn!(%error, "the ledger cannot be read, so notices wait: {error}");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// What there is to tell at this moment.
    async fn look(&mut self) -> Result<Option<Notice>, LedgerError> {
        loop {
            while let Some(row) = self.rows.front() {
                let sequence = row.sequence;
                let notice = self.read(row).await?;
                self.rows.pop_front();
                self.told.row = sequence;
                if let Some((notice, intent)) = notice {
                    if notice.occasion == Occasion::Asked {
                        self.wind(&intent);
                    }
                    return Ok(Some(notice));
                }
            }
            self.rows.extend(self.ledger.audit(self.told.row + 1, ROWS).await?);
            if self.rows.is_empty() {
                return self.strike().await;
            }
        }
    }

    /// What a row has for people, with its question.
    async fn read(&self, row: &AuditRow) -> Result<Option<(Notice, Intent)>, LedgerError> {
        // A row that cannot be read is for `yesgate audit verify` to report.
        let Ok(entry) = row.entry() else { return Ok(None) };
        let (Some(id), Some(occasion)) = (entry.intent, Occasion::of(&entry.event)) else { return Ok(None) };
        if self.ledger.now().duration_since(entry.at) > OLDEST {
            return Ok(None);
        }
        let Some(intent) = self.ledger.intent(&id).await? else { return Ok(None) };
        let is_news = match occasion {
            // Who is asked to decide must be able to.
            Occasion::Asked => is_open(&intent),
            // Opened and closed in one step: a remembered yes, and nobody was asked.
            Occasion::Decided(Closing::Approved) => {
                intent.opened_at() != entry.at || intent.edited().is_some()
            }
            Occasion::Decided(_)
            | Occasion::Fallback
            | Occasion::Reminder
            | Occasion::Expired
            | Occasion::Unknown => true,
        };
        // Where a rule or nobody says yes, there is no question; a lost answer has to be settled all the same.
        let concerns_people = intent.question().standing.is_none() || occasion == Occasion::Unknown;
        Ok((is_news && concerns_people)
            .then(|| (Notice::of_row(occasion, &intent, row.sequence, entry.at), intent)))
    }

    /// Sets the clocks of an open question.
    fn wind(&mut self, intent: &Intent) {
        for due in [Due::Fallback, Due::Reminder, Due::End] {
            if let Some(time) = self.moment(intent, due) {
                self.clocks.insert((time, intent.id().clone(), due));
            }
        }
    }

    fn moment(&self, intent: &Intent, due: Due) -> Option<Timestamp> {
        match due {
            Due::Fallback => intent.fallback_at(),
            Due::Reminder => {
                let ahead = self.remind.ahead(intent.question().times.decide)?;
                intent.decide_by().checked_sub(ahead).ok()
            }
            Due::End => Some(intent.decide_by()),
        }
    }

    /// Comes to the clocks that are due.
    async fn strike(&mut self) -> Result<Option<Notice>, LedgerError> {
        let now = self.ledger.now();
        while let Some(first) = self.clocks.first().filter(|(time, _, _)| *time <= now).cloned() {
            let (_, id, due) = &first;
            let intent = self.ledger.intent(id).await?.filter(is_open);
            // Whoever asks again is given new time.
            let moment = intent.as_ref().and_then(|intent| self.moment(intent, *due));
            let is_due = moment.is_some_and(|moment| moment <= now);
            if is_due && *due == Due::End {
                // Nobody else need be looking. The row that this writes is the notice.
                self.ledger.update(id, |intent, now| intent.notice_expiry(now)).await?;
            }
            self.clocks.remove(&first);
            match (intent, moment) {
                (Some(intent), Some(_)) if is_due => match due {
                    Due::Fallback => return Ok(Some(Notice::fallback(&intent, now))),
                    Due::Reminder => return Ok(Some(Notice::reminder(&intent, now))),
                    Due::End => {}
                },
                (Some(intent), Some(moment)) if !is_due => {
                    self.clocks.insert((moment, intent.id().clone(), *due));
                }
                (_, _) => {}
            }
        }
        self.told.at = now;
        Ok(None)
    }

    /// Waits until there may be something to tell.
    async fn rest(&mut self) {
        let Some((time, _, _)) = self.clocks.first() else { return self.changes.changed().await };
        let left = time.duration_since(self.ledger.now()).max(SignedDuration::ZERO).unsigned_abs();
        tokio::select! {
            () = self.changes.changed() => {}
            // Not all of it at once: while a machine sleeps, only one of its clocks goes on.
            () = sleep(left.min(LONGEST_SLEEP)) => {}
        }
    }
}

/// Whether somebody can still decide it.
fn is_open(intent: &Intent) -> bool {
    intent.state() == State::Pending
}

/// How many rows are read at once.
const ROWS: u32 = 100;
/// What is older is not told any more.
const OLDEST: SignedDuration = SignedDuration::from_hours(24);
/// After a ledger that could not be read.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
