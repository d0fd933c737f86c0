//! `tools accept`: a human accepts what came or changed after the first use of a server.
//!
//! INVARIANT: what is accepted is the definition that was last seen and is shown here, no later one;
//! a tool that changes again waits again.

use serde_json::{Value, json};
use yesgate_core::class::Classified;
use yesgate_core::id::ToolName;
use yesgate_core::policy::Known;
use yesgate_core::render::Sanitized;

use super::tools::{Row, Standing, matrix, servers};
use super::wrap::trust;
use crate::catalogue::{self, Seen};
use crate::cli::AcceptArgs;
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, args: &AcceptArgs, as_json: bool) -> anyhow::Result<Done> {
    let Some(seen) = last_seen(settings, &args.server).await? else {
        let hint = "wrap it once; then its tools are known";
        return Ok(output::not_found("no such server is known", hint));
    };
    let (ledger, _) = settings.ledger().await?;
    let rows = matrix(settings, &ledger, &seen).await?;
    if args.tools.is_empty() && !args.all {
        return list(&seen, &rows, as_json);
    }
    let chosen = choose(&rows, args)?;
    let by = super::by_this_account();
    let mut accepted = Vec::new();
    for row in chosen.into_iter().filter(|row| row.standing != Standing::Accepted) {
        let pin = row.pin(&ledger, &seen.server, None, &by).await?;
        let trust = trust(&settings.config, &seen.server, seen.untrusted);
        let policy = &settings.config.policy;
        let classified = policy.classify(&seen.server, &row.definition, trust, Known::Pinned(&pin));
        accepted.push((row, classified));
    }
    if as_json {
        output::json(&accepted.iter().map(|(row, now)| to_json(row, now)).collect::<Vec<_>>())?;
        return Ok(Done::Ok);
    }
    for (row, classified) in &accepted {
        describe(row);
        let source = classified.source.to_string();
        output::line(format_args!("  now {} ({})", classified.class, Sanitized::line(&source)));
    }
    output::line(format_args!("{} tools accepted for {}.", accepted.len(), seen.server));
    Ok(Done::Ok)
}

/// The server as a gateway last saw it; one that none saw, but that is configured, is asked.
async fn last_seen(settings: &Settings, server: &str) -> anyhow::Result<Option<Seen>> {
    let seen = catalogue::all(&settings.home)?.into_iter().find(|seen| seen.server.as_str() == server);
    match seen {
        Some(seen) => Ok(Some(seen)),
        None => Ok(servers(settings, Some(server), &[]).await?.into_iter().next()),
    }
}

/// The tools that are meant: all of them are there, or none is accepted.
fn choose<'a>(rows: &'a [Row], args: &AcceptArgs) -> anyhow::Result<Vec<&'a Row>> {
    if args.all {
        return Ok(rows.iter().collect());
    }
    let find = |word: &String| {
        let tool = word.parse::<ToolName>().ok();
        rows.iter().find(|row| Some(&row.definition.name) == tool.as_ref()).ok_or_else(|| {
            let hint = "`yesgate tools` lists the tools of the server";
            Hinted::new(format!("the server has no tool `{}`", word.escape_debug()), Some(hint)).into()
        })
    };
    args.tools.iter().map(find).collect()
}

/// Lists what waits, and accepts nothing.
fn list(seen: &Seen, rows: &[Row], as_json: bool) -> anyhow::Result<Done> {
    let waiting: Vec<&Row> = rows.iter().filter(|row| row.standing.waits()).collect();
    if as_json {
        let tools: Vec<_> = waiting.iter().map(|row| to_json(row, &row.classified)).collect();
        output::json(&tools)?;
    } else if waiting.is_empty() {
        output::line(format_args!("No tool of {} is new or changed.", seen.server));
    } else {
        waiting.iter().for_each(|row| describe(row));
        output::line(format_args!(
            "Nothing was accepted. `yesgate tools accept {0} TOOL…` accepts some of these, `yesgate tools accept {0} --all` all of them.",
            seen.server
        ));
    }
    Ok(if waiting.is_empty() { Done::Ok } else { Done::Problem })
}

/// Says what is new about a tool, in the server's own words.
fn describe(row: &Row) {
    let digest = row.definition.digest.0.short();
    let news = match row.standing {
        Standing::Changed { from } => format!("{} -> {digest}", from.0.short()),
        Standing::Unused | Standing::Accepted | Standing::New => digest,
    };
    output::line(format_args!("{}: {}, {news}", row.definition.name, row.standing.as_str()));
    let says = row.definition.description.as_deref().unwrap_or("nothing");
    output::line(format_args!("  says: {}", Sanitized::line(says)));
}

fn to_json(row: &Row, classified: &Classified) -> Value {
    let from = match row.standing {
        Standing::Changed { from } => Some(from),
        Standing::Unused | Standing::Accepted | Standing::New => None,
    };
    json!({
        "tool": row.definition.name,
        "standing": row.standing.as_str(),
        "from": from,
        "definition": row.definition.digest,
        "class": classified.class,
        "source": classified.source.to_string(),
    })
}
