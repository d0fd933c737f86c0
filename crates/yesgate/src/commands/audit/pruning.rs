//! `audit export` and `audit prune`: old rows go to a file, and then out of the ledger.
//!
//! INVARIANT: nothing is taken out that the file does not hold, and nothing of a trail that does not fit together.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};
use serde_json::json;
use yesgate_ledger::Ledger;
use yesgate_proof::checkpoint::SignedCheckpoint;

use super::super::by_this_account;
use super::exported;
use crate::checkpoints::beginning_problem;
use crate::cli::audit::{AuditExportArgs, AuditPruneArgs, OldArgs};
use crate::length;
use crate::output::{self, Done, Hinted};
use crate::retention::before;
use crate::settings::Settings;

pub(in crate::commands) async fn export(
    settings: &Settings,
    args: &AuditExportArgs,
    as_json: bool,
) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let moment = moment(&args.old, ledger.now())?;
    let Some(up_to) = last_row(&ledger, moment).await? else { return Ok(nothing(moment)) };
    let rows = exported::write(&ledger, up_to, &args.file).await?;
    if as_json {
        output::json(&json!({"rows": rows, "up_to": up_to, "before": moment}))?;
    } else {
        output::line(format_args!(
            "{rows} rows up to row {up_to}, from before {moment}, are in {}. They are still in the ledger.",
            args.file.display()
        ));
    }
    Ok(Done::Ok)
}

pub(in crate::commands) async fn prune(
    settings: &Settings,
    args: &AuditPruneArgs,
    as_json: bool,
) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let moment = moment(&args.old, ledger.now())?;
    let Some(up_to) = last_row(&ledger, moment).await? else { return Ok(nothing(moment)) };
    let key = settings.home.receipt_key()?;
    let report = ledger.verify().await?;
    if !report.is_sound() || beginning_problem(report.beginning.as_ref(), &key.public()).is_some() {
        eprintln!("Error: the trail does not fit together, so nothing is taken out of it");
        eprintln!("Hint: `yesgate audit verify` says what is wrong");
        return Ok(Done::Problem);
    }
    let begins_after = report.beginning.as_ref().map_or(0, |beginning| beginning.sequence);
    let held = exported::holds(&ledger, report.beginning.as_ref(), up_to, &args.exported).await?;
    if let Err(problem) = held {
        let words = format!("`{}` does not hold what is to be taken out: {problem}", args.exported.display());
        let hint = "export the rows first: `yesgate audit export` with the same `--before`";
        return Err(Hinted::new(words, Some(hint)).into());
    }
    let rows = up_to - begins_after;
    if !args.yes {
        output::line(format_args!(
            "{rows} rows up to row {up_to}, from before {moment}, would be taken out of the ledger. They are in {}: keep it. \
             Say --yes to do it.",
            args.exported.display()
        ));
        return Ok(Done::Refused);
    }
    while let Some(pruning) = ledger.plan_prune(up_to).await? {
        let signed = SignedCheckpoint::sign(*pruning.checkpoint(), &key)?.text()?;
        ledger.prune(pruning, signed, &by_this_account()).await?;
    }
    if as_json {
        output::json(&json!({"pruned": rows, "up_to": up_to, "before": moment}))?;
    } else {
        output::line(format_args!(
            "{rows} rows up to row {up_to} are taken out. The trail begins after it, as is signed now; `yesgate audit verify \
             --with {}` proves both together.",
            args.exported.display()
        ));
    }
    Ok(Done::Ok)
}

/// The last row from before a moment that is in the ledger. `None`: there is none.
async fn last_row(ledger: &Ledger, moment: Timestamp) -> anyhow::Result<Option<u64>> {
    let begins_after = ledger.beginning().await?.map_or(0, |beginning| beginning.sequence);
    let last = ledger.last_row_before(moment).await?;
    Ok((last > begins_after).then_some(last))
}

fn nothing(moment: Timestamp) -> Done {
    output::not_found(
        &format!("the ledger has no rows from before {moment}"),
        "`yesgate audit list` shows the rows",
    )
}

/// The moment that rows must be older than.
fn moment(old: &OldArgs, now: Timestamp) -> anyhow::Result<Timestamp> {
    match (&old.before, &old.older) {
        (Some(text), _) => day(text),
        (None, Some(text)) => Ok(before(now, time(text)?)),
        (None, None) => Err(Hinted::new("nothing says how old rows must be", Some("give --older 2y")).into()),
    }
}

fn day(text: &str) -> anyhow::Result<Timestamp> {
    let moment = text.parse().ok().or_else(|| {
        let day: civil::Date = text.parse().ok()?;
        Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
    });
    moment.ok_or_else(|| {
        let words = format!("`{}` is no moment and no day", text.escape_debug());
        Hinted::new(words, Some("write 2025-01-01, or 2025-01-01T12:00:00Z")).into()
    })
}

/// A length of time, which may be years of 365 days.
fn time(text: &str) -> anyhow::Result<SignedDuration> {
    match text.strip_suffix('y').and_then(|years| years.parse::<u32>().ok()) {
        Some(years) => length::parse(&format!("{}d", u64::from(years) * 365)),
        None => length::parse(text),
    }
}
