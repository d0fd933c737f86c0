//! What fails, and when.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::dice::Dice;
use super::nodes::Nodes;
use crate::line::Cut;
use crate::mock_http::{Misbehaviour, MockHttp, On};

/// Something that fails.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Fault {
    /// A node is killed, and started again.
    Kill,
    /// The database ends connections of its own accord.
    Terminate,
    /// The line of a node is cut.
    CutLine,
    /// The line of a node is cut in its next commit: before, in the middle or after.
    CutCommit,
    /// The line of a node is cut in the middle of something that is sent or answered.
    CutWithin,
    /// The line of a node is slow, until something else fails.
    Slow,
    /// The server hangs up on a call that it received.
    HangUp,
    /// The server turns a call away.
    TurnAway,
}

impl Fault {
    /// All of them, those more often that cost less.
    const ALL: [Self; 14] = [
        Self::Kill,
        Self::Terminate,
        Self::Terminate,
        Self::CutLine,
        Self::CutLine,
        Self::CutCommit,
        Self::CutCommit,
        Self::CutCommit,
        Self::CutWithin,
        Self::CutWithin,
        Self::Slow,
        Self::Slow,
        Self::HangUp,
        Self::TurnAway,
    ];
}

/// Whoever brings it about.
#[derive(Debug)]
pub(super) struct Faults {
    dice: Dice,
    /// What comes next, in the order of the dice: everything fails before anything fails again.
    deck: Vec<Fault>,
    every: u64,
    nodes: Arc<Nodes>,
    done: BTreeMap<Fault, u64>,
}

impl Faults {
    pub(super) fn new(seed: u64, every: u64, nodes: Arc<Nodes>) -> Self {
        Self { dice: Dice::new(seed, u64::MAX), deck: Vec::new(), every, nodes, done: BTreeMap::new() }
    }

    /// Lets one thing after another fail as calls are done, until all calls are begun.
    pub(super) async fn rage(
        mut self,
        begun: Arc<AtomicU64>,
        calls: u64,
        mut progress: watch::Receiver<u64>,
        server: MockHttp,
    ) -> (MockHttp, BTreeMap<Fault, u64>) {
        let mut next = self.every;
        while begun.load(Ordering::Relaxed) < calls && progress.wait_for(|done| *done >= next).await.is_ok() {
            let fault = self.draw();
            eprintln!("after {} calls: {fault:?}", *progress.borrow());
            self.bring_about(fault, &server).await;
            *self.done.entry(fault).or_default() += 1;
            next = *progress.borrow() + 1 + self.dice.below(2 * self.every);
        }
        for node in 0..self.nodes.count() {
            self.nodes.line(node).mend();
        }
        server.behave();
        (server, self.done)
    }

    fn draw(&mut self) -> Fault {
        if self.deck.is_empty() {
            self.deck.extend(Fault::ALL);
        }
        let place = self.dice.below(self.deck.len() as u64) as usize;
        self.deck.swap_remove(place)
    }

    async fn bring_about(&mut self, fault: Fault, server: &MockHttp) {
        let node = self.dice.below(self.nodes.count() as u64) as usize;
        let line = self.nodes.line(node);
        for node in 0..self.nodes.count() {
            self.nodes.line(node).slow_down(Duration::ZERO);
        }
        match fault {
            Fault::Kill => {
                let nodes = Arc::clone(&self.nodes);
                let killed = tokio::task::spawn_blocking(move || nodes.kill_and_restart(node));
                killed.await.expect("a node comes back");
            }
            Fault::Terminate => {
                let most = 1 + self.dice.below(20);
                let nodes = Arc::clone(&self.nodes);
                let told = tokio::task::spawn_blocking(move || nodes.database().soon(&terminate(most)));
                told.await.expect("the database takes orders");
            }
            Fault::CutLine => line.cut_now(),
            Fault::CutCommit => {
                line.cut(self.dice.one_of(&[Cut::BeforeCommit, Cut::WithinCommit, Cut::AfterCommit]));
            }
            Fault::CutWithin => {
                let after = 1 + self.dice.below(40) as u32;
                line.cut(self.dice.one_of(&[Cut::WithinRequest(after), Cut::WithinAnswer(after)]));
            }
            Fault::Slow => line.slow_down(Duration::from_millis(1 + self.dice.below(30))),
            Fault::HangUp => server.misbehave_times(1, On::Tool("delete_note"), Misbehaviour::Close),
            Fault::TurnAway => server.misbehave_times(1, On::Tool("delete_note"), Misbehaviour::Status(429)),
        }
    }
}

/// Ends so many connections to the database, whichever they are.
fn terminate(most: u64) -> String {
    format!(
        "DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity \
         WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY md5(pid::text) LIMIT {most}) one; \
         END $$"
    )
}
