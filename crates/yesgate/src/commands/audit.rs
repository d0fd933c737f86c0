//! `audit verify`, `audit checkpoint` and `audit list`: the ledger's chain, checked, held against what was kept elsewhere,
//! marked, and shown.

mod exported;
mod progress;
mod pruning;
mod upstream_log;

use serde_json::json;
use yesgate_core::audit::AuditEntry;
use yesgate_core::intent::Approver;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{AuditRow, Inspection, VerifyReport};
use yesgate_proof::checkpoint::SignedCheckpoint;

pub(super) use self::pruning::{export, prune};
use crate::checkpoints;
use crate::cli::audit::{AuditCheckpointArgs, AuditVerifyArgs};
use crate::joined::Joined;
use crate::output::{self, Done};
use crate::settings::Settings;

pub(super) async fn verify(
    settings: &Settings,
    args: &AuditVerifyArgs,
    as_json: bool,
) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    // The log first: what it has by now, the ledger has too.
    let log = args.upstream_log.as_deref().map(|path| upstream_log::open(path, &ledger)).transpose()?;
    let key = settings.home.receipt_key()?.public();
    let mut marks = checkpoints::read(&args.checkpoints, &key)?;
    let progress = progress::tell(args, as_json);
    let rows = if args.with.is_empty() { None } else { Some(exported::rows(&args.with)?) };
    let report = ledger.inspect(Inspection { checkpoints: marks.checkpoints, rows, progress }).await?;
    marks.problems.extend(checkpoints::beginning_problem(report.beginning.as_ref(), &key));
    let joined = match log {
        Some(log) => Some(upstream_log::join(&ledger, log, args).await?),
        None => None,
    };
    let is_whole = report.is_sound() && marks.problems.is_empty();
    let is_sound = is_whole && joined.as_ref().is_none_or(Joined::is_sound);
    let problems: Vec<String> =
        marks.problems.into_iter().chain(report.faults.iter().map(ToString::to_string)).collect();
    if as_json {
        let mut said = json!({
            "rows": report.rows,
            "intents": report.intents,
            "head": report.head,
            "problems": problems,
        });
        if let Some(said) = said.as_object_mut() {
            if !args.checkpoints.is_empty() {
                said.insert("checkpoints".into(), report.checkpoints.into());
                said.insert("unchecked".into(), report.unchecked.into());
            }
            if let Some(beginning) = &report.beginning {
                said.insert("begins_after".into(), beginning.sequence.into());
            }
            if let Some(joined) = &joined {
                said.insert("upstream".into(), joined.to_json());
            }
        }
        output::json(&said)?;
    } else {
        print(&report, &problems, args);
        for line in joined.iter().flat_map(Joined::lines) {
            output::line(line);
        }
    }
    Ok(if is_sound { Done::Ok } else { Done::Problem })
}

fn print(report: &VerifyReport, problems: &[String], args: &AuditVerifyArgs) {
    output::line(format_args!(
        "{} rows, {} questions, head {}",
        report.rows,
        report.intents,
        report.head.short()
    ));
    if let Some(beginning) = &report.beginning
        && args.with.is_empty()
        && problems.is_empty()
    {
        output::line(format_args!(
            "The trail begins after row {}, as was signed; the rows before that were taken out.",
            beginning.sequence
        ));
    }
    for problem in problems {
        output::line(format_args!("  problem: {}", Sanitized::line(problem)));
    }
    match (problems.is_empty(), report.is_sound()) {
        (true, _) => output::line("The chain is whole: no row was changed, removed or reordered."),
        (false, true) => {
            output::line("The chain is whole, but not everything that it was to be held against is.")
        }
        (false, false) => {
            output::line("The chain is broken: do not rely on what stands after the first problem.");
        }
    }
    if problems.is_empty() && !args.checkpoints.is_empty() {
        output::line(format_args!(
            "It goes on from all {} checkpoints: it was neither cut off nor written anew.",
            report.checkpoints
        ));
        if report.unchecked > 0 {
            output::line(format_args!(
                "{} more are older than the beginning: give the exported rows with --with.",
                report.unchecked
            ));
        }
    }
}

/// Signs where the trail ends now.
pub(super) async fn checkpoint(settings: &Settings, args: &AuditCheckpointArgs) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let Some(end) = ledger.checkpoint().await? else {
        return Ok(output::not_found("the trail has no row yet", "ask something first"));
    };
    let line = SignedCheckpoint::sign(end, &settings.home.receipt_key()?)?.text()?;
    match &args.file {
        Some(path) => {
            checkpoints::append(path, &line)?;
            eprintln!("row {} is marked in {}", end.sequence, path.display());
        }
        None => output::line(line),
    }
    Ok(Done::Ok)
}

pub(super) async fn list(settings: &Settings, last: u32, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let rows = ledger.audit_last(last).await?;
    let entries = rows
        .iter()
        .map(|row| Ok((row, row.entry()?)))
        .collect::<anyhow::Result<Vec<(&AuditRow, AuditEntry)>>>()?;
    if as_json {
        let rows: Vec<_> = entries
            .iter()
            .map(|(row, entry)| json!({"sequence": row.sequence, "hash": row.hash, "entry": entry}))
            .collect();
        output::json(&rows)?;
        return Ok(Done::Ok);
    }
    let mut cells = Vec::new();
    for (row, entry) in &entries {
        let intent = entry.intent.as_ref().map(ToString::to_string).unwrap_or_default();
        let event = serde_json::to_value(&entry.event)?;
        let name = event.get("event").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        cells.push(vec![row.sequence.to_string(), entry.at.to_string(), name, intent, details(&event)]);
    }
    output::table(&["ROW", "AT", "EVENT", "QUESTION", "DETAILS"], &cells);
    Ok(Done::Ok)
}

/// The members of an event in one line, without its name.
fn details(event: &serde_json::Value) -> String {
    let Some(members) = event.as_object() else { return String::new() };
    let by = members.get("by").and_then(|by| by.as_str());
    let words: Vec<String> = members
        .iter()
        .filter(|(key, value)| key.as_str() != "event" && !value.is_null())
        .map(|(key, value)| match value.as_str() {
            // Words in quotes, which they cannot close: none of them can pose as another member.
            Some(text) if text.contains(is_no_part_of_a_name) => {
                format!("{}={}", label(key, by), Sanitized::quoted(text))
            }
            Some(text) => format!("{}={}", label(key, by), Sanitized::line(text)),
            None => format!("{key}={}", Sanitized::line(&value.to_string())),
        })
        .collect();
    words.join(" ")
}

/// X2: words that only the agent brought are its claim.
fn label<'a>(key: &'a str, by: Option<&str>) -> &'a str {
    match (key, by) {
        ("reason", Some(Approver::RELAYED_NO)) => "agent_claims",
        (key, _) => key,
    }
}

fn is_no_part_of_a_name(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || "_-./:@".contains(c))
}
