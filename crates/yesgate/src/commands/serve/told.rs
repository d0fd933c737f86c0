//! Being told to end, by SIGTERM or SIGINT: once to end in peace, twice to end at once.

use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

/// How often we were told to end, and since when.
#[derive(Debug)]
pub(super) struct Told(watch::Receiver<(u32, Instant)>);

impl Told {
    /// Begins to listen; from here on the signals do not end the process by themselves.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let unheard = "signals cannot be listened to";
        let mut terminate = signal(SignalKind::terminate()).context(unheard)?;
        let mut interrupt = signal(SignalKind::interrupt()).context(unheard)?;
        let (sender, receiver) = watch::channel((0, Instant::now()));
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                sender.send_modify(|(times, first)| {
                    if *times == 0 {
                        *first = Instant::now();
                    }
                    *times += 1;
                });
            }
        });
        Ok(Self(receiver))
    }

    /// How often so far.
    pub(super) fn so_far(&self) -> u32 {
        self.0.borrow().0
    }

    /// Waits until we were told so often.
    pub(super) async fn times(&self, wanted: u32) {
        if self.0.clone().wait_for(|(times, _)| *times >= wanted).await.is_err() {
            // Nobody listens any more, so nobody can tell.
            std::future::pending::<()>().await;
        }
    }

    /// How long ago the first time was; waits for it.
    pub(super) async fn since(&self) -> Duration {
        self.times(1).await;
        self.0.borrow().1.elapsed()
    }
}
