//! Deployments in three modes: the same wish is explained, previewed, or carried out after a yes.

mod server;
mod story;

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_examples::run("modes-deploy", server::serve, story::tell)
}
