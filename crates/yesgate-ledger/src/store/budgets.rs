//! What was spent in budgets: the rows that sums are made of.
//!
//! INVARIANT: a row stands here from the audit row that counts it to the audit row that gives it back,
//! and comes and goes only with those. Sums are added up here, exactly, and never by the database.

use jiff::Timestamp;
use yesgate_core::amount::Amount;
use yesgate_core::budget::{Counted, RecipientDigest, Share, Sum, Sums, Window};
use yesgate_core::digest::{CallDigest, Digest};
use yesgate_core::id::{BudgetName, IntentId};
use yesgate_core::intent::State;

use super::queries::parse;
use super::rows::Loaded;
use crate::change::Target;
use crate::engine::Sql;
use crate::engine::value::{Row, Value, values};
use crate::error::LedgerError;
use crate::head::nanoseconds;
use crate::spending::Spending;

/// Tells each question that may get a yes in this change what was spent in its budgets.
pub(super) fn fill(
    connection: &dyn Sql,
    target: &Target,
    loaded: &mut [Loaded],
    now: Timestamp,
) -> Result<(), LedgerError> {
    match target {
        Target::Intent(_) | Target::Token(_) | Target::Slot(..) | Target::Asking(..) => {}
        // These only end questions, or touch none.
        Target::Nothing
        | Target::Due
        | Target::Over(_)
        | Target::Unsettled
        | Target::RunningOf(_)
        | Target::Open
        | Target::Grants
        | Target::People
        | Target::Link(_)
        | Target::OAuth(_)
        | Target::Server(..)
        | Target::Keys => {
            return Ok(());
        }
    }
    for Loaded { intent, .. } in loaded.iter_mut().filter(|loaded| loaded.intent.state() == State::Pending) {
        if let Some(spend) = &intent.question().spend
            && !spend.charges.is_empty()
        {
            let sums = sums(connection, &spend.windows(), now, None)?;
            *intent = intent.clone().with_sums(sums);
        }
    }
    Ok(())
}

/// What was spent in some windows. A yes that ran out of time does not count, whether somebody noticed or not.
///
/// `but_for` is a call that is judged again: what is counted for it and is still to come to its caller is
/// what it is judged for, and does not stand in its own way.
pub(super) fn sums(
    connection: &dyn Sql,
    windows: &[Window],
    now: Timestamp,
    but_for: Option<&CallDigest>,
) -> Result<Sums, LedgerError> {
    windows
        .iter()
        .map(|window| sum(connection, window, now, but_for))
        .collect::<Result<_, _>>()
        .map(Sums::new)
}

fn sum(
    connection: &dyn Sql,
    window: &Window,
    now: Timestamp,
    but_for: Option<&CallDigest>,
) -> Result<Sum, LedgerError> {
    let account = &window.account;
    let (recipient, principal) = match &account.share {
        Share::Everyone => (None, None),
        Share::Recipient(recipient) => (Some(recipient.0.as_bytes()), None),
        Share::Caller(principal) => (None, Some(principal.as_str())),
    };
    // What cannot be told of a spend (a NULL) leaves it counted.
    let counted: Vec<(String, i64)> = connection.map(
        "SELECT spend.amount, spend.at FROM spend LEFT JOIN intent ON intent.id = spend.intent
         WHERE budget = ?1 AND spend.org = ?2 AND currency IS NOT DISTINCT FROM ?3 AND at > ?4
               AND (recipient = ?5 OR ?5 IS NULL) AND (principal = ?6 OR ?6 IS NULL)
               AND NOT coalesce(intent.state = 'approved' AND intent.run_by <= ?7, false)
               AND NOT coalesce(intent.digest = ?8 AND intent.matters_until > ?7
                                AND (intent.state <> 'running' OR intent.is_awaited = 0), false)
         ORDER BY at",
        values![
            account.budget.as_str(),
            account.org.as_str(),
            account.currency.as_deref(),
            nanoseconds(window.opens_after(now)),
            recipient,
            principal,
            nanoseconds(now),
            but_for.map(|call| call.0.as_bytes()),
        ],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let (mut spent, mut oldest) = (Amount::ZERO, None);
    for (text, at) in counted {
        let amount = amount(&text)?;
        let too_large = || LedgerError::Damaged("a budget holds more than any sum of money".to_owned());
        spent = spent.checked_add(amount).ok_or_else(too_large)?;
        if oldest.is_none() {
            oldest = Some(time(at)?);
        }
    }
    Ok(Sum { window: window.clone(), spent, oldest })
}

/// Counts a yes, together with the row that says so.
pub(super) fn count(
    connection: &dyn Sql,
    id: &IntentId,
    counted: &Counted,
    at: Timestamp,
) -> Result<(), LedgerError> {
    for budget in &counted.budgets {
        connection.put(
            "INSERT INTO spend (intent, budget, org, principal, currency, recipient, amount, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            values![
                id.as_str(),
                budget.as_str(),
                counted.org.as_str(),
                counted.principal.as_str(),
                counted.currency.as_deref(),
                counted.recipient.as_ref().map(|recipient| recipient.0.as_bytes()),
                counted.amount.to_string(),
                nanoseconds(at),
            ],
        )?;
    }
    Ok(())
}

/// Gives back what did not run, together with the row that says so.
pub(super) fn give_back(connection: &dyn Sql, id: &IntentId) -> Result<(), LedgerError> {
    connection.put(GIVE_BACK, values![id.as_str()])
}

pub(super) const GIVE_BACK: &str = "DELETE FROM spend WHERE intent = ?1";

/// What counts in a budget after a moment, the oldest first.
pub(super) fn since(
    connection: &dyn Sql,
    budget: &BudgetName,
    after: Timestamp,
) -> Result<Vec<Spending>, LedgerError> {
    select(connection, "budget = ?1 AND at > ?2 ORDER BY at", values![budget.as_str(), nanoseconds(after)])
}

fn select(
    connection: &dyn Sql,
    condition: &str,
    parameters: &[Value<'_>],
) -> Result<Vec<Spending>, LedgerError> {
    connection.map(&format!("{SELECT} WHERE {condition}"), parameters, read)
}

/// What [`read`] reads.
pub(super) const SELECT: &str =
    "SELECT intent, budget, org, principal, currency, recipient, amount, at FROM spend";

pub(super) fn read(row: &Row) -> Result<Spending, LedgerError> {
    let text = |column: usize| row.get::<String>(column);
    let recipient: Option<[u8; 32]> = row.get(5)?;
    Ok(Spending {
        intent: parse(&text(0)?)?,
        budget: parse(&text(1)?)?,
        org: parse(&text(2)?)?,
        principal: parse(&text(3)?)?,
        currency: row.get(4)?,
        recipient: recipient.map(|recipient| RecipientDigest(Digest::rehydrate(recipient))),
        amount: amount(&text(6)?)?,
        at: time(row.get(7)?)?,
    })
}

fn amount(text: &str) -> Result<Amount, LedgerError> {
    text.parse().map_err(|_| LedgerError::Damaged("a counted amount cannot be read".to_owned()))
}

fn time(nanoseconds: i64) -> Result<Timestamp, LedgerError> {
    Timestamp::from_nanosecond(i128::from(nanoseconds))
        .map_err(|_| LedgerError::Damaged("a counted amount has no time".to_owned()))
}
