//! Whether the audit trail is marked elsewhere.

use yesgate_ledger::{Ledger, VerifyReport};

use super::{Finding, fine, know, mend};
use crate::checkpoints::{Note, TOO_LONG, age, beginning_problem};
use crate::settings::Settings;

pub(super) async fn finding(settings: &Settings, ledger: &Ledger) -> Finding {
    let Some(config) = &settings.config.checkpoints else {
        return know(
            TOPIC,
            "none: whoever may write the ledger can write a new trail that fits. [checkpoints] keeps signed marks elsewhere",
        );
    };
    let (note, end) = match (Note::read(ledger).await, ledger.checkpoint().await) {
        (Ok(note), Ok(end)) => (note, end),
        (Err(error), _) => return mend(TOPIC, format!("{error:#}")),
        (_, Err(error)) => return mend(TOPIC, error.to_string()),
    };
    let last = match note.at {
        Some(at) => format!("row {} was marked last, at {at}", note.sequence),
        None => "no row was marked yet; `yesgate serve` and `yesgate wrap` do it".to_owned(),
    };
    if let Some((since, problem)) = &note.problem {
        let refuses = config.refuse_after.is_some_and(|limit| age(*since, ledger.now()) >= limit);
        let follows = if refuses { ", so nothing is asked and nothing runs" } else { "" };
        return mend(TOPIC, format!("none can be written since {since}{follows}: {problem}. {last}"));
    }
    let Some(end) = end else { return fine(TOPIC, last) };
    match note.at {
        Some(at) if end.sequence > note.sequence && age(at, end.at) > TOO_LONG => {
            mend(TOPIC, format!("{last}, and the trail goes on to row {}: does a gateway run?", end.sequence))
        }
        Some(_) => fine(TOPIC, last),
        None => know(TOPIC, last),
    }
}

/// Whether the trail begins with its first row, or as this installation signed.
pub(super) fn begins_as_signed(settings: &Settings, report: &VerifyReport) -> bool {
    let key = settings.home.receipt_key();
    key.is_ok_and(|key| beginning_problem(report.beginning.as_ref(), &key.public()).is_none())
}

const TOPIC: &str = "checkpoints";
