//! The sums behind the figures, as rows: one for each day, ending, person and length of time, however many questions
//! there are. They follow from steps that the audit trail has, and nothing follows from them.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::id::OrgId;
use yesgate_core::intent::{Answer, Decision, Intent, State, Surface};

use crate::engine::Sql;
use crate::engine::value::{Value, values};
use crate::error::LedgerError;
use crate::figures::{DayFigures, Figures, PersonFigures, Pondered, date_of, day_of};

/// Adds what a change of an intent counts for.
pub(super) fn note(
    connection: &dyn Sql,
    before: Option<&Intent>,
    intent: &Intent,
    now: Timestamp,
) -> Result<(), LedgerError> {
    let org = &intent.question().binding.caller.org;
    let add = |what: &str, who: &str, took: i64| -> Result<(), LedgerError> {
        connection.put(ADD, values![org.as_str(), day_of(now), what, who, took, 1_i64])
    };
    let said = |decision: &Decision, took: i64| {
        let what = match decision.answer {
            Answer::Approve => "approved",
            Answer::Deny | Answer::Respond => "denied",
        };
        match decision.surface {
            Surface::Human => add(what, &decision.by, took),
            // The agent brings it, so nobody knows who took how long.
            Surface::Agent => add(what, "", UNKNOWN),
            Surface::Rule => Ok(()),
        }
    };
    match (before, intent.state(), intent.decision()) {
        (None, State::Pending, _) if intent.question().standing.is_none() => add("asked", "", UNKNOWN),
        // A human changed another question and said yes to this one at once; how long they took is not in it.
        (None, _, Some(decision)) if intent.edited().is_some() => said(decision, UNKNOWN),
        (Some(before), _, Some(decision))
            if before.state() == State::Pending && before.decision().is_none() =>
        {
            said(decision, two_digits(decision.at.duration_since(intent.opened_at())))
        }
        (Some(before), State::Expired, None) if before.state() == State::Pending => {
            add("expired", "", UNKNOWN)
        }
        (_, _, _) => Ok(()),
    }
}

/// Adds what several have counted, so that each sum is touched once.
pub(super) fn add_up(all: &[&[Value<'static>]]) -> Vec<Vec<Value<'static>>> {
    let mut sums: Vec<(&[Value<'static>], i64)> = Vec::new();
    for values in all {
        let Some((Value::Int(count), key)) = values.split_last() else { continue };
        match sums.iter_mut().find(|(known, _)| *known == key) {
            Some((_, sum)) => *sum = sum.saturating_add(*count),
            None => sums.push((key, *count)),
        }
    }
    let row = |(key, sum): (&[Value<'static>], i64)| [key, &[Value::Int(sum)]].concat();
    sums.into_iter().map(row).collect()
}

/// Adds to one sum; the last parameter is how much.
pub(super) const ADD: &str =
    "INSERT INTO tally (org, day, what, who, took, count) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
     ON CONFLICT (org, day, what, who, took) DO UPDATE SET count = tally.count + excluded.count";

/// Adds the sums of the last days up.
pub(super) fn figures(connection: &dyn Sql, org: &OrgId, today: i64) -> Result<Figures, LedgerError> {
    let first = today.saturating_sub(Figures::DAYS).saturating_add(1);
    let mut days: BTreeMap<i64, DayFigures> = (first..=today)
        .map(|day| (day, DayFigures { date: date_of(day), asked: 0, approved: 0, denied: 0, expired: 0 }))
        .collect();
    let mut took_all: BTreeMap<i64, u64> = BTreeMap::new();
    let mut took_by: BTreeMap<String, BTreeMap<i64, u64>> = BTreeMap::new();
    let sql = "SELECT day, what, who, took, count FROM tally WHERE org = ?1 AND day BETWEEN ?2 AND ?3";
    connection.each(sql, values![org.as_str(), first, today], &mut |row| {
        let (day, what, who): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (took, count): (i64, i64) = (row.get(3)?, row.get(4)?);
        let count = u64::try_from(count).unwrap_or_default();
        if let Some(day) = days.get_mut(&day) {
            let sum = match what.as_str() {
                "asked" => &mut day.asked,
                "approved" => &mut day.approved,
                "denied" => &mut day.denied,
                _ => &mut day.expired,
            };
            *sum = sum.saturating_add(count);
        }
        if took > UNKNOWN {
            for counts in [&mut took_all, took_by.entry(who).or_default()] {
                let sum = counts.entry(took).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(())
    })?;
    let mut people: Vec<PersonFigures> =
        took_by.into_iter().map(|(who, counts)| PersonFigures { who, pondered: pondered(counts) }).collect();
    people.sort_by_key(|person| std::cmp::Reverse(person.pondered.decided));
    Ok(Figures { days: days.into_values().collect(), people, together: pondered(took_all) })
}

fn pondered(counts: BTreeMap<i64, u64>) -> Pondered {
    Pondered::of(counts.into_iter().map(|(took, count)| (SignedDuration::from_millis(took), count)).collect())
}

/// A length of time in milliseconds, cut to its first two digits: so the rows stay few.
fn two_digits(time: SignedDuration) -> i64 {
    let milliseconds = i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(0);
    let mut unit = 1_i64;
    while milliseconds / unit >= 100 {
        unit = unit.saturating_mul(10);
    }
    milliseconds / unit * unit
}

/// Nobody knows how long it took.
const UNKNOWN: i64 = -1;

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::two_digits;

    #[test]
    fn two_seconds_are_an_edge_and_the_rows_stay_few() {
        let cut = |milliseconds| two_digits(SignedDuration::from_millis(milliseconds));
        assert_eq!([0, 7, 99, 101, 1_999, 2_000, 2_099].map(cut), [0, 7, 99, 100, 1_900, 2_000, 2_000]);
        assert_eq!([61_234, 3_600_000, 86_400_000].map(cut), [61_000, 3_600_000, 86_000_000]);
        assert_eq!(two_digits(SignedDuration::from_secs(-5)), 0);
        assert!(two_digits(SignedDuration::MAX) > 0);
    }
}
