//! The `yesgate` command: reads the words, calls one command, prints `Error:` and `Hint:`.

mod catalogue;
mod checkpoints;
mod cli;
mod commands;
mod home;
mod joined;
mod length;
mod output;
mod retention;
mod server_name;
mod settings;
mod sign_ins;
mod telemetry;
mod witness;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::Cli;

/// The system's own looks anew for whatever is larger than a kilobyte (decision 0063).
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // Beside every server process runs a guard, for as long as the server: it does without the command line's
    // whole grammar, and the memory for it.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "guard") && words.next().is_some_and(|word| word == "--") {
        let command: Vec<_> = words.collect();
        if let Some((program, args)) = command.split_first() {
            return yesgate_gateway::child::guard::run(program, args);
        }
    }
    let cli = Cli::parse();
    commands::run(cli)
}
