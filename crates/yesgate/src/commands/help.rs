//! The references of the command line and of the REST front, made from the program itself.

use clap::{Command, CommandFactory as _};
use serde_json::Value;
use yesgate_core::policy::Routes;
use yesgate_gateway::rest::openapi::{self, Annex};
use yesgate_web::{Described, described};

use crate::cli::Cli;
use crate::output::{self, Done};

pub(super) fn markdown() -> anyhow::Result<Done> {
    let mut command = Cli::command().term_width(100);
    command.build();
    output::line("# The command line\n");
    output::line("Made by `cargo xtask docs` from the program itself; do not edit.\n");
    section(&mut command, "yesgate");
    Ok(Done::Ok)
}

/// What people have of the API, for the description of all of it.
pub(super) fn annex() -> Annex {
    let Described { paths, schemas } = described();
    Annex { paths, schemas }
}

/// The description of what people have, where there is nothing for agents.
pub(super) fn of_people() -> Value {
    let annex = annex();
    let mut document = openapi::document(&Routes::default(), &annex);
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|path, _| annex.paths.contains_key(path) || path.starts_with("/api/intents"));
    }
    document
}

/// The REST front without any path of an operator's.
pub(super) fn openapi() -> anyhow::Result<Done> {
    output::line(serde_json::to_string_pretty(&openapi::document(&Routes::default(), &annex()))?);
    Ok(Done::Ok)
}

fn section(command: &mut Command, path: &str) {
    output::line(format_args!(
        "## `{path}`\n\n```text\n{}\n```\n",
        command.render_long_help().to_string().trim_end()
    ));
    let names: Vec<String> = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        if let Some(sub) = command.find_subcommand_mut(&name) {
            section(sub, &format!("{path} {name}"));
        }
    }
}
