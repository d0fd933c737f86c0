//! The reference of the command line, made from the command line itself.

use clap::{Command, CommandFactory as _};

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
