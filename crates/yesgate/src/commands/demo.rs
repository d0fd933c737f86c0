//! `demo`: a mock server, a scripted agent, and the real gate between them.
//!
//! INVARIANT: nothing here decides or runs a call. The agent has one way to the server, `yesgate wrap`;
//! the human's part is `yesgate approve`, in a process of its own.

mod agent;
mod home;
mod human;
mod screen;
mod server;
mod story;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::agent::Agent;
use self::home::TemporaryHome;
use self::human::Yesgate;
use self::screen::Screen;
use self::story::{Ending, Human, PATIENCE, Story};
use crate::output::{self, Done, Hinted};

/// Serves the mock server's tools over stdio.
pub(super) fn serve() -> anyhow::Result<Done> {
    server::serve(std::io::stdin().lock(), std::io::stdout().lock())
        .context("the client cannot be served")?;
    Ok(Done::Ok)
}

/// Tells the story. However it ends, the gate is stopped and the folder removed.
pub(super) async fn run(yes: bool) -> anyhow::Result<Done> {
    let human = if yes { Human::Played } else { Human::Person };
    let screen = Screen::new();
    let mut signals = Signals::new().context("signals cannot be caught")?;
    let home = TemporaryHome::create()?;
    let yesgate = Yesgate::new(&home)?;
    let mut agent = Agent::start(yesgate.wrap())?;
    let mut story = Story { agent: &mut agent, yesgate: &yesgate, screen: &screen, human };
    let told = tokio::select! {
        ending = story.tell() => ending.map(Told::Story),
        code = signals.next() => Ok(Told::Interrupted(code)),
    };
    let gate = agent.stop().await;
    if let Err(error) = home.remove() {
        output::error(&error);
    }
    match told? {
        Told::Story(Ending::Told) => anyhow::ensure!(gate == Some(0), "the gate did not end well"),
        Told::Story(Ending::NobodyAnswered) => {
            let words = format!("nobody answered within {} minutes, so nothing ran", PATIENCE.as_secs() / 60);
            let hint = "`yesgate demo --yes` plays the human's part too";
            output::error(&Hinted::new(words, Some(hint)).into());
            return Ok(Done::Refused);
        }
        Told::Interrupted(code) => {
            screen.interrupted()?;
            return Ok(Done::Code(code));
        }
    }
    screen.heading("Next: in your MCP host's configuration, put the gate before a server's command")?;
    screen.unbroken(&format!("  {} wrap -- <your server>", yesgate.shell_program()))?;
    Ok(Done::Ok)
}

/// How far the story came.
enum Told {
    /// To one of its endings.
    Story(Ending),
    /// To a signal, which stands for this exit code.
    Interrupted(i32),
}

/// The signals that end the demo before its time.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupt.recv() => 128 + 2,
            _ = self.terminate.recv() => 128 + 15,
            _ = self.hang_up.recv() => 128 + 1,
        }
    }
}
