//! `audit verify` and `audit list`: the ledger's chain, checked, held against a server's own log, and shown.

mod upstream_log;

use serde_json::json;
use yesgate_core::audit::AuditEntry;
use yesgate_core::intent::Approver;
use yesgate_core::render::Sanitized;
use yesgate_ledger::AuditRow;

use crate::cli::audit::AuditVerifyArgs;
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
    let report = ledger.verify().await?;
    let joined = match log {
        Some(log) => Some(upstream_log::join(&ledger, log, args).await?),
        None => None,
    };
    let is_sound = report.is_sound() && joined.as_ref().is_none_or(Joined::is_sound);
    if as_json {
        let mut said = json!({
            "rows": report.rows,
            "intents": report.intents,
            "head": report.head,
            "problems": report.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        if let (Some(joined), Some(said)) = (&joined, said.as_object_mut()) {
            said.insert("upstream".into(), joined.to_json());
        }
        output::json(&said)?;
    } else {
        output::line(format_args!(
            "{} rows, {} questions, head {}",
            report.rows,
            report.intents,
            report.head.short()
        ));
        for fault in &report.faults {
            output::line(format_args!("  problem: {}", Sanitized::line(&fault.to_string())));
        }
        if report.is_sound() {
            output::line("The chain is whole: no row was changed, removed or reordered.");
        } else {
            output::line("The chain is broken: do not rely on what stands after the first problem.");
        }
        for line in joined.iter().flat_map(Joined::lines) {
            output::line(line);
        }
    }
    Ok(if is_sound { Done::Ok } else { Done::Problem })
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
