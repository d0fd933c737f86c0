//! A server that gates its own tools with the library: no proxy in front, the same ledger, the same yes.

mod server;
mod story;

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_examples::run("custom-tool", server::serve, story::tell)
}
