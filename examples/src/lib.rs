//! What the examples have in common: a stage with the real gate on it, a scripted agent, and a screen.
//!
//! Each example is one program with two parts. As `NAME server` it is a small MCP server, which any host can start;
//! without a word it tells a story: a scripted agent uses that server through `yesgate wrap`, and every line that is
//! printed stands on what really came back.

mod agent;
mod journal;
mod program;
mod screen;
mod stage;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Runtime;
use tokio::time::timeout;

pub use self::agent::{Agent, Answer, Host, Waiting};
pub use self::journal::Journal;
pub use self::screen::{Screen, Who};
pub use self::stage::{Gate, Question, Stage};

/// Does what the words on the command line say: serve, or tell the story.
pub fn run(
    name: &'static str,
    serve: impl AsyncFnOnce(Journal) -> anyhow::Result<()>,
    tell: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) -> ExitCode {
    match act(name, serve, tell) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act(
    name: &'static str,
    serve: impl AsyncFnOnce(Journal) -> anyhow::Result<()>,
    tell: impl AsyncFnOnce(&Stage) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let runtime = Runtime::new().context("there is no runtime to be had")?;
    match words.as_slice() {
        [] => runtime.block_on(async {
            let stage = Stage::prepare(name)?;
            timeout(LONGEST_STORY, async {
                tell(&stage).await?;
                stage.balance_the_books().await
            })
            .await
            .context("the story does not end")?
        }),
        [word] if word == "server" => runtime.block_on(serve(Journal::to_stderr())),
        [word, option, file] if word == "server" && option == "--journal" => {
            runtime.block_on(serve(Journal::in_file(file)?))
        }
        _ => anyhow::bail!("`{name}` tells the story; `{name} server` is the MCP server in it"),
    }
}

/// How long a story may take; it takes seconds.
const LONGEST_STORY: Duration = Duration::from_secs(120);
