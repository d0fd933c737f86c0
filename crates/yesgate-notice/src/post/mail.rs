//! Notices by mail: to everybody who may decide the question and has an address.
//!
//! INVARIANT: a letter goes to people who may decide, and to nobody else; each gets their own. Nobody gets more than a
//! few in an hour, however much is asked.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::PersonId;
use yesgate_core::intent::{Intent, State};
use yesgate_core::person::{Person, Role};
use yesgate_ledger::{Ledger, LedgerError};

use crate::mail::{Letter, Mailer};
use crate::notice::{Link, Notice, Occasion};

/// Tells people by mail.
#[derive(Debug)]
pub struct MailNotices {
    mailer: Arc<Mailer>,
    link: Link,
    /// When each person was told, in the last hour.
    told: Mutex<HashMap<PersonId, VecDeque<Timestamp>>>,
}

impl MailNotices {
    /// With links that lead there.
    pub fn new(mailer: Arc<Mailer>, link: Link) -> Self {
        Self { mailer, link, told: Mutex::default() }
    }

    /// Tells everybody whom it concerns, or gives up. What was decided meanwhile is not told any more.
    pub(crate) async fn deliver(&self, notice: &Notice, ledger: &Ledger) {
        if notice.heading().is_none() {
            return;
        }
        let now = ledger.now();
        let deciders = match deciders(notice, ledger, now).await {
            Ok(deciders) => deciders,
            Err(error) => {
                tracing::error!(intent.id = %notice.intent, %error, "nobody is told by mail: {error}");
                return;
            }
        };
        let letters = deciders.iter().filter_map(|person| self.letter(person, notice, now)).collect();
        self.mailer.deliver(letters, || is_news(notice, ledger)).await;
    }

    fn letter(&self, person: &Person, notice: &Notice, now: Timestamp) -> Option<Letter> {
        let letter = Letter::with_notice(person.mail.clone()?, person, notice, &self.link)?;
        if self.is_time(&person.id, now) {
            return Some(letter);
        }
        self.mailer.leave_out();
        tracing::warn!(
            intent.id = %notice.intent, person.id = %person.id, most = MOST,
            "somebody had as many mails as they get in an hour, and is not told of a question"
        );
        None
    }

    /// Whether somebody may be told once more.
    fn is_time(&self, person: &PersonId, now: Timestamp) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let times = told.entry(person.clone()).or_default();
        while times.front().is_some_and(|time| now.duration_since(*time) >= HOUR) {
            times.pop_front();
        }
        if times.len() >= MOST {
            return false;
        }
        times.push_back(now);
        true
    }
}

/// Those whom a notice concerns: whose yes counts at this moment where somebody's yes is wanted, and whoever may settle it
/// where an answer was lost.
async fn deciders(notice: &Notice, ledger: &Ledger, now: Timestamp) -> Result<Vec<Person>, LedgerError> {
    let mut people = ledger.people().await?;
    people.retain(|person| may_decide(person, notice));
    match notice.occasion {
        Occasion::Asked | Occasion::Fallback | Occasion::Reminder => {
            let intent = ledger.intent(&notice.intent).await?;
            // Who was asked from the start is not told that others are asked too.
            let was_asked = |intent: &Intent, person: &Person| {
                notice.occasion == Occasion::Fallback
                    && intent.may_be_approved_by(&person.groups, intent.opened_at())
            };
            let counts = |intent: &Intent, person: &Person| {
                intent.may_be_approved_by(&person.groups, now) && !was_asked(intent, person)
            };
            people.retain(|person| intent.as_ref().is_some_and(|intent| counts(intent, person)));
        }
        Occasion::Decided(_) | Occasion::Expired | Occasion::Unknown => {}
    }
    Ok(people)
}

/// Whether somebody has a say in such questions at all.
fn may_decide(person: &Person, notice: &Notice) -> bool {
    person.may(Role::Approver) && person.org == notice.caller.org
}

/// Whether a question still is what people are told. A ledger that cannot be read stops no notice.
async fn is_news(notice: &Notice, ledger: &Ledger) -> bool {
    let state = ledger.intent(&notice.intent).await.map(|intent| intent.map(|intent| intent.state()));
    match (notice.occasion, state) {
        (Occasion::Asked | Occasion::Fallback | Occasion::Reminder, Ok(state)) => {
            state == Some(State::Pending)
        }
        (Occasion::Unknown, Ok(state)) => state == Some(State::Unknown),
        (Occasion::Decided(_) | Occasion::Expired, Ok(_)) | (_, Err(_)) => true,
    }
}

const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// How many letters with notices one person gets in an hour.
const MOST: usize = 60;

#[cfg(test)]
mod tests;
