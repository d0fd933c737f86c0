//! What callers have asked lately, as rows. They hold up questions and nothing else, so they are not part of what
//! the audit trail proves; each follows from a step that is.

use jiff::{SignedDuration, Timestamp};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::intent::{Answer, Intent, State};
use yesgate_core::pace::{Pace, Recent};

use crate::engine::Sql;
use crate::engine::value::values;
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
            connection.put(
                "UPDATE asked SET is_open = 0, denied_at = ?2 WHERE intent = ?1",
                values![intent.id().as_str(), denied_at],
            )?;
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
    connection.put(
        "INSERT INTO lifted (caller, at) VALUES (?1, ?2) ON CONFLICT (caller) DO UPDATE SET at = excluded.at",
        values![caller.key().as_bytes(), nanoseconds(now)],
    )?;
    Ok(())
}

fn opened(connection: &dyn Sql, caller: &Caller, intent: &Intent, now: Timestamp) -> Result<(), LedgerError> {
    let key = caller.key();
    // What no bound looks at any more goes.
    connection.put("DELETE FROM asked WHERE caller = ?1 AND is_open = 0 AND asked_at < ?2 AND coalesce(denied_at, 0) < ?3", values![
            key.as_bytes(),
            nanoseconds(earlier(now, Pace::MINUTE)),
            nanoseconds(earlier(now, LONGEST_WINDOW))
        ])?;
    connection.put(
        "INSERT INTO asked (intent, caller, asked_at, is_open) VALUES (?1, ?2, ?3, 1)",
        values![intent.id().as_str(), key.as_bytes(), nanoseconds(now)],
    )?;
    Ok(())
}

/// What a caller has asked lately, as far as its bounds look.
pub(super) fn recent(
    connection: &dyn Sql,
    caller: &Caller,
    pace: &Pace,
    now: Timestamp,
) -> Result<Recent, LedgerError> {
    let key = caller.key();
    let lifted = connection.first("SELECT at FROM lifted WHERE caller = ?1", values![key.as_bytes()])?;
    let lifted: i64 = lifted.map(|row| row.get(0)).transpose()?.unwrap_or_default();
    let nth = |column: &str, after: i64, most: u32| -> Result<Option<Timestamp>, LedgerError> {
        let sql = format!(
            "SELECT {column} FROM asked WHERE caller = ?1 AND {column} > ?2 ORDER BY {column} DESC LIMIT 1 OFFSET ?3"
        );
        let row = connection.first(&sql, values![key.as_bytes(), after, most.saturating_sub(1)])?;
        let at: Option<i64> = row.map(|row| row.get(0)).transpose()?;
        Ok(at.and_then(|at| Timestamp::from_nanosecond(i128::from(at)).ok()))
    };
    let open = connection.number(
        "SELECT count(*) FROM asked JOIN intent ON intent.id = asked.intent
         WHERE asked.caller = ?1 AND asked.is_open = 1 AND intent.decide_by > ?2",
        values![key.as_bytes(), nanoseconds(now)],
    )?;
    Ok(Recent {
        denied: nth("denied_at", lifted.max(nanoseconds(earlier(now, pace.window))), pace.breaker)?,
        asked: nth("asked_at", nanoseconds(earlier(now, Pace::MINUTE)), pace.per_minute)?,
        open: u32::try_from(open).unwrap_or(u32::MAX),
    })
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.checked_sub(by).unwrap_or(Timestamp::MIN)
}

/// No window is longer.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(24 * 30);
