//! `tools review`: a human gives the tools of a server their classes, in seconds.
//!
//! A suggestion is only that: it counts once it was accepted here, for exactly the definition that
//! was looked at.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use yesgate_core::class::{Class, ClassSource};
use yesgate_core::id::ToolName;
use yesgate_core::render::Sanitized;
use yesgate_core::suggest::{Suggestion, Sureness};

use super::tools::{Row, matrix, servers};
use crate::cli::ReviewArgs;
use crate::output::{self, Done, Hinted};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, args: &ReviewArgs, as_json: bool) -> anyhow::Result<Done> {
    let known = servers(settings, args.server.as_deref(), &[]).await?;
    let seen = match known.as_slice() {
        [] => {
            return Ok(output::not_found(
                "no such server is known",
                "wrap it once; then its tools are known",
            ));
        }
        [seen] => seen,
        [_, _, ..] => {
            let names: Vec<&str> = known.iter().map(|seen| seen.server.as_str()).collect();
            let hint = format!("name one of them: {}", names.join(", "));
            return Ok(output::not_found("several servers are known", &hint));
        }
    };
    let (ledger, _) = settings.ledger().await?;
    let rows = matrix(settings, &ledger, seen).await?;
    let open: Vec<(&Row, Suggestion)> =
        rows.iter().filter(|row| needs_review(row)).map(|row| (row, row.suggestion())).collect();
    let chosen = if args.accept.is_empty() && !args.accept_clear {
        ask(&open)?
    } else {
        from_words(&rows, &open, args)?
    };
    let by = super::by_this_account();
    for (row, class) in &chosen {
        row.pin(&ledger, &seen.server, Some(*class), &by).await?;
    }
    if as_json {
        let pinned: Vec<_> = chosen
            .iter()
            .map(|(row, class)| serde_json::json!({"tool": row.definition.name, "class": class, "definition": row.definition.digest}))
            .collect();
        output::json(&pinned)?;
    } else {
        output::line(format_args!(
            "{} classes pinned for {}. A tool whose definition changes is dangerous again.",
            chosen.len(),
            seen.server
        ));
    }
    Ok(Done::Ok)
}

/// Tools that no rule, no pin and no believed annotation speaks for.
fn needs_review(row: &Row) -> bool {
    match row.classified.source {
        ClassSource::Unknown
        | ClassSource::StalePin
        | ClassSource::NewTool
        | ClassSource::Contradiction(_) => true,
        ClassSource::Rule(_) | ClassSource::Pin | ClassSource::Annotation => false,
    }
}

fn from_words<'a>(
    rows: &'a [Row],
    open: &[(&'a Row, Suggestion)],
    args: &ReviewArgs,
) -> anyhow::Result<Vec<(&'a Row, Class)>> {
    let mut chosen: Vec<(&Row, Class)> = Vec::new();
    if args.accept_clear {
        chosen.extend(
            open.iter()
                .filter(|(_, suggestion)| suggestion.sure == Sureness::Clear)
                .map(|(row, suggestion)| (*row, suggestion.class)),
        );
    }
    for words in &args.accept {
        let parsed = words.split_once('=').and_then(|(tool, class)| {
            let class = Class::ALL.into_iter().find(|known| known.as_str() == class)?;
            Some((tool.parse::<ToolName>().ok()?, class))
        });
        let Some((tool, class)) = parsed else {
            let hint = "write TOOL=CLASS, where CLASS is read-only, safe-write or dangerous";
            return Err(
                Hinted::new(format!("`{}` is not understood", words.escape_debug()), Some(hint)).into()
            );
        };
        let Some(row) = rows.iter().find(|row| row.definition.name == tool) else {
            let hint = "`yesgate tools` lists the tools of the server";
            return Err(Hinted::new(format!("the server has no tool `{tool}`"), Some(hint)).into());
        };
        chosen.retain(|(other, _)| other.definition.name != tool);
        chosen.push((row, class));
    }
    Ok(chosen)
}

/// Shows all suggestions at once and takes corrections until the human accepts.
fn ask<'a>(open: &[(&'a Row, Suggestion)]) -> anyhow::Result<Vec<(&'a Row, Class)>> {
    if open.is_empty() {
        output::line("Nothing to review: every tool has a class that somebody vouches for.");
        return Ok(Vec::new());
    }
    if !std::io::stdin().is_terminal() {
        let hint = "use `--accept TOOL=CLASS` or `--accept-clear`";
        return Err(Hinted::new("there is no terminal to ask at", Some(hint)).into());
    }
    let mut chosen: Vec<(&Row, Class)> =
        open.iter().map(|(row, suggestion)| (*row, suggestion.class)).collect();
    loop {
        let rows: Vec<Vec<String>> = chosen
            .iter()
            .zip(open)
            .enumerate()
            .map(|(index, ((row, class), (_, suggestion)))| {
                let sure = match suggestion.sure {
                    Sureness::Clear => "",
                    Sureness::Guess => " (a guess)",
                };
                vec![
                    (index + 1).to_string(),
                    row.definition.name.to_string(),
                    class.to_string(),
                    Sanitized::line(&format!("{}{sure}", suggestion.why)).to_string(),
                ]
            })
            .collect();
        output::table(&["#", "TOOL", "CLASS", "SUGGESTED BY"], &rows);
        output::line("");
        eprint!("Enter accepts all of these; `3 r`, `3 w` or `3 d` sets a class; `q` changes nothing: ");
        std::io::stderr().flush()?;
        // What was typed before the table was shown is no answer to it.
        rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush)?;
        let mut answer = String::new();
        if std::io::stdin().lock().read_line(&mut answer)? == 0 {
            return Ok(Vec::new());
        }
        match answer.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => return Ok(chosen),
            ["q"] => return Ok(Vec::new()),
            [number, letter] => {
                let class = match *letter {
                    "r" => Some(Class::ReadOnly),
                    "w" => Some(Class::SafeWrite),
                    "d" => Some(Class::Dangerous),
                    _ => None,
                };
                let slot = number
                    .parse::<usize>()
                    .ok()
                    .and_then(|n| n.checked_sub(1))
                    .and_then(|n| chosen.get_mut(n));
                match (slot, class) {
                    (Some(slot), Some(class)) => slot.1 = class,
                    (Some(_) | None, _) => output::line("That is no line of the table, or no class."),
                }
            }
            _ => output::line("That was not understood; nothing is changed yet."),
        }
    }
}
