//! The `yesgate` command: reads the words, calls one command, prints `Error:` and `Hint:`.

mod catalogue;
mod cli;
mod commands;
mod home;
mod output;
mod server_name;
mod settings;
mod sign_ins;
mod telemetry;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;

fn main() -> ExitCode {
    let cli = Cli::parse();
    commands::run(cli)
}
