//! A chat's moderation behind two keys: the operator's, for the whole server, and the caller's, for each call.

mod server;
mod story;

use std::process::ExitCode;

fn main() -> ExitCode {
    yesgate_examples::run("two-key-moderation", server::serve, story::tell)
}
