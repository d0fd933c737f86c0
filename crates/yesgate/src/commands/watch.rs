//! `watch`: the open questions as a live list, with keys to look, to approve and to deny.
//!
//! Invariants:
//! - The list follows the ledger: it is read anew when something was committed or a question's time is over, and never
//!   because time passes.
//! - A yes is given to what was shown whole, on its last page, and typed out. What was typed before the question of it
//!   was shown, or within the first moment after, is no answer (REN7).
//! - The terminal is given back as it was, however this ends.

mod desk;
mod keyboard;
mod plain;
mod screen;
mod tty;

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};
use yesgate_core::intent::{Intent, State};
use yesgate_ledger::{Filter, Ledger};

use self::desk::{Desk, Wish};
use self::keyboard::Keyboard;
use self::tty::Raw;
use crate::output::Done;
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    if as_json || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return plain::follow(&ledger, as_json).await;
    }
    let mut ends = Ends::listen()?;
    let mut resized = signal(SignalKind::window_change())?;
    let mut changes = ledger.changes();
    let _raw = Raw::enter()?;
    let mut keyboard = Keyboard::listen()?;
    let mut desk = Desk::default();
    loop {
        ledger.sweep().await?;
        desk.lay_out(ledger.intents(Filter::Pending).await?, &ledger).await?;
        let news = loop {
            screen::draw(&desk, ledger.now(), tty::size())?;
            desk.was_drawn();
            tokio::select! {
                () = changes.changed() => break News::Ledger,
                () = sleep_until(desk.next_end(ledger.now())) => break News::Ledger,
                // The time that is left is shown to the second, and when a prompt begins to listen; nothing is looked up.
                () = tokio::time::sleep(desk.next_look()) => {}
                _ = resized.recv() => {}
                () = ends.any() => break News::Over,
                key = keyboard.next() => {
                    let Some(key) = key else { break News::Over };
                    match desk.take(&key, tty::size()) {
                        Wish::None => {}
                        Wish::Quit => break News::Over,
                        Wish::Decide(decision) => {
                            desk.say(decision.carry_out(&ledger).await?);
                            break News::Ledger;
                        }
                    }
                }
            }
        };
        match news {
            News::Ledger => {}
            News::Over => return Ok(Done::Ok),
        }
    }
}

/// Why the list is left alone no longer.
enum News {
    /// It may be another one now.
    Ledger,
    /// It is shown no more.
    Over,
}

/// What ends it from outside.
struct Ends([Signal; 4]);

impl Ends {
    fn listen() -> std::io::Result<Self> {
        let one = |kind| signal(kind);
        Ok(Self([
            one(SignalKind::interrupt())?,
            one(SignalKind::terminate())?,
            one(SignalKind::hangup())?,
            one(SignalKind::quit())?,
        ]))
    }

    async fn any(&mut self) {
        let Self([interrupt, terminate, hangup, quit]) = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

/// When the first of some questions runs out of time.
fn first_end(open: &[Intent], now: jiff::Timestamp) -> Instant {
    let ends = open.iter().filter(|intent| intent.state() == State::Pending).map(Intent::decide_by);
    let left = ends.min().map_or(LONG, |end| end.duration_since(now).unsigned_abs());
    Instant::now() + left.min(LONG)
}

/// How a question that is open no longer came to its end, in a few words.
async fn fate(ledger: &Ledger, intent: &Intent) -> anyhow::Result<String> {
    let now = ledger.intent(intent.id()).await?;
    Ok(now.map_or_else(|| "gone".to_owned(), |now| screen::fate(&now)))
}

/// Nobody's time to decide is longer.
const LONG: Duration = Duration::from_secs(30 * 24 * 60 * 60);
