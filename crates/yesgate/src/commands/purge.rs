//! `purge`: erases what questions were about once they are over, and keeps that they were asked.

use serde_json::json;

use super::by_this_account;
use crate::cli::PurgeArgs;
use crate::length;
use crate::output::{self, Done, Hinted};
use crate::retention::before;
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, args: &PurgeArgs, as_json: bool) -> anyhow::Result<Done> {
    let keep = match (&args.older_than, settings.config.ledger.keep) {
        (Some(text), _) => length::parse(text)?,
        (None, Some(keep)) => keep,
        (None, None) => {
            let words = "nothing says how old contents must be to be purged";
            let hint = "give --older-than 30d, or set `keep` in [ledger]";
            return Err(Hinted::new(words, Some(hint)).into());
        }
    };
    let (ledger, _) = settings.ledger().await?;
    let before = before(ledger.now(), keep);
    if args.dry_run {
        let questions = ledger.purgeable(before).await?;
        if as_json {
            output::json(&json!({"would_purge": questions, "before": before}))?;
        } else {
            output::line(format_args!(
                "The contents of {questions} questions that were over before {before} would be purged."
            ));
        }
        return Ok(Done::Ok);
    }
    let purged = ledger.purge(before, &by_this_account()).await?;
    if as_json {
        output::json(&json!({"purged": purged.questions, "before": before, "wiped": purged.wiped}))?;
        return Ok(Done::Ok);
    }
    output::line(format_args!(
        "The contents of {} questions that were over before {before} are purged. That they were asked, and who \
         decided, stays.",
        purged.questions
    ));
    if !purged.wiped {
        output::line(
            "Another process was reading: the log through which they went is overwritten as it goes on, or by \
             another `yesgate purge`.",
        );
    }
    Ok(Done::Ok)
}
