//! What callers have asked lately, as rows. They hold up questions and nothing else, so they are not part of what
//! the audit trail proves; each follows from a step that is.

use jiff::{SignedDuration, Timestamp};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::intent::{Answer, Intent, State};
use yesgate_core::pace::{Pace, Recent};

use crate::engine::Sql;
use crate::engine::value::{Value, misshapen, values};
use crate::error::LedgerError;
use crate::head::nanoseconds;

/// Keeps what a change of an intent says about its caller.
pub(super) fn note(
    connection: &dyn Sql,
    before: Option<&Intent>,
    intent: &Intent,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let caller = &intent.question().binding.caller;
    match (before.map(Intent::state), intent.state()) {
        (None, State::Pending) => opened(connection, caller, intent, now),
        // A human changed a question and said yes to it; what runs from the start had its yes before.
        (None, State::Approved) => lift(connection, caller, now),
        (Some(State::Pending), State::Pending) | (None, _) => Ok(()),
        (Some(State::Pending), state) => {
            // Words in place of a run are help, not a no.
            let is_no = intent.decision().is_some_and(|decision| decision.answer == Answer::Deny);
            let denied_at = (state == State::Denied && is_no).then(|| nanoseconds(now));
            connection.put(CLOSE, values![intent.id().as_str(), denied_at])?;
            // The agent's own word for it lifts nothing.
            let yes = intent.decision().filter(|decision| {
                decision.answer == Answer::Approve && decision.assurance >= Assurance::Client
            });
            if yes.is_some() { lift(connection, caller, now) } else { Ok(()) }
        }
        (Some(_), _) => Ok(()),
    }
}

/// Forgets the noes of a caller.
pub(super) fn lift(connection: &dyn Sql, caller: &Caller, now: Timestamp) -> Result<(), LedgerError> {
    connection.put(LIFT, values![caller.key().as_bytes(), nanoseconds(now)])
}

fn opened(connection: &dyn Sql, caller: &Caller, intent: &Intent, now: Timestamp) -> Result<(), LedgerError> {
    let key = caller.key();
    // What no bound looks at any more goes.
    let (minute, window) = (earlier(now, Pace::MINUTE), earlier(now, LONGEST_WINDOW));
    connection.put(FORGET, values![key.as_bytes(), nanoseconds(minute), nanoseconds(window)])?;
    connection.put(OPEN, values![intent.id().as_str(), key.as_bytes(), nanoseconds(now)])
}

/// What a caller has asked lately, as far as its bounds look.
pub(super) fn recent(
    connection: &dyn Sql,
    caller: &Caller,
    pace: &Pace,
    now: Timestamp,
) -> Result<Recent, LedgerError> {
    let row = connection.first(RECENT, &bounds(caller, pace, now))?.ok_or_else(misshapen)?;
    let time = |column| -> Result<Option<Timestamp>, LedgerError> {
        let at: Option<i64> = row.get(column)?;
        Ok(at.and_then(|at| Timestamp::from_nanosecond(i128::from(at)).ok()))
    };
    let open: i64 = row.get(2)?;
    Ok(Recent { denied: time(0)?, asked: time(1)?, open: u32::try_from(open).unwrap_or(u32::MAX) })
}

/// Says that [`recent`] is about to come.
pub(super) fn ahead(
    connection: &dyn Sql,
    caller: &Caller,
    pace: &Pace,
    now: Timestamp,
) -> Result<(), LedgerError> {
    connection.ahead(RECENT, &bounds(caller, pace, now))
}

fn bounds(caller: &Caller, pace: &Pace, now: Timestamp) -> [Value<'static>; 6] {
    [
        caller.key().as_bytes().to_vec().into(),
        nanoseconds(earlier(now, pace.window)).into(),
        pace.breaker.saturating_sub(1).into(),
        nanoseconds(earlier(now, Pace::MINUTE)).into(),
        pace.per_minute.saturating_sub(1).into(),
        nanoseconds(now).into(),
    ]
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_sub(by).unwrap_or(Timestamp::MIN)
}

/// No window is longer.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(24 * 30);

pub(super) const OPEN: &str = "INSERT INTO asked (intent, caller, asked_at, is_open) VALUES (?1, ?2, ?3, 1)";
pub(super) const CLOSE: &str = "UPDATE asked SET is_open = 0, denied_at = ?2 WHERE intent = ?1";
pub(super) const FORGET: &str =
    "DELETE FROM asked WHERE caller = ?1 AND is_open = 0 AND asked_at < ?2 AND coalesce(denied_at, 0) < ?3";
pub(super) const LIFT: &str =
    "INSERT INTO lifted (caller, at) VALUES (?1, ?2) ON CONFLICT (caller) DO UPDATE SET at = excluded.at";

/// The last denial and the last question that a bound looks at, and how many are open.
const RECENT: &str = "SELECT
    (SELECT denied_at FROM asked
     WHERE caller = ?1 AND denied_at > ?2
           AND denied_at > coalesce((SELECT lifted.at FROM lifted WHERE lifted.caller = ?1), 0)
     ORDER BY denied_at DESC LIMIT 1 OFFSET ?3) AS denied,
    (SELECT asked_at FROM asked WHERE caller = ?1 AND asked_at > ?4
     ORDER BY asked_at DESC LIMIT 1 OFFSET ?5) AS asked,
    (SELECT count(*) FROM asked JOIN intent ON intent.id = asked.intent
     WHERE asked.caller = ?1 AND asked.is_open = 1 AND intent.decide_by > ?6) AS open";
