//! A wallet that pays: what is small runs, what is larger asks, what is too large is rejected, and budgets hold.

mod server;
mod story;

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_examples::run("spend-wallet", server::serve, story::tell)
}
