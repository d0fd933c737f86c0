//! Billing behind the dangerous-ops handshake: the first call describes, the second, with its token, executes.

mod server;
mod story;

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_examples::run("handshake-billing", server::serve, story::tell)
}
