//! The one writer of a process, with group commit.
//!
//! INVARIANT: nobody hears of a change before the commit that holds it is durable. All that wait
//! share one commit; each can be taken back, by itself or with others of its wave, so that one that
//! fails spoils no other.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::{mpsc, oneshot};
use yesgate_core::id::BootId;
use yesgate_core::intent::{DoneKind, Intent, State};

use super::ReadJob;
use super::batch::{Batch, Touched};
use super::failover::{self, TakeOver};
use super::notes::Notes;
use super::recall::Recall;
use crate::brake::Brake;
use crate::change::{Change, Effects, Found, Run, Target};
use crate::changes::Bell;
use crate::engine::{Begun, Transactions};
use crate::error::LedgerError;
use crate::head::Head;
use crate::life::Life;
use crate::origin::Continuity;
use crate::seal::Seal;

/// What the writer's queue holds.
pub(crate) enum Job {
    /// A change.
    Change(Box<dyn Change>),
    /// A look-up, where there is no other connection to do it.
    Read(ReadJob),
    /// The question whether anything can be written.
    Probe(oneshot::Sender<Result<(), LedgerError>>),
}

/// Whether something was redeemed that is not running: by a commit that nobody knows the end of, or for somebody who was gone
/// when it was done. It is written down with the next change, so somebody had better make one.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubt(Arc<AtomicBool>);

impl Doubt {
    pub(super) fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The one writer of a process.
pub(super) struct Writer {
    engine: Box<dyn Transactions>,
    seal: Arc<Seal>,
    /// What was stored last, so that it need not be unsealed to be looked at.
    recall: RefCell<Recall<Intent>>,
    bell: Arc<Bell>,
    life: Life,
    /// Set once the disk failed: from then on nothing is written, for a second try could report a
    /// success that is none.
    broken: Option<LedgerError>,
    /// What was redeemed and is not running: whoever asked was told no, or was not there any more.
    doubtful: Vec<Run>,
    doubt: Doubt,
    brake: Brake,
    /// Why the last transaction failed, where it did, and when.
    trouble: Option<(Instant, LedgerError)>,
}

impl Writer {
    pub(super) fn new(engine: Box<dyn Transactions>, seal: Arc<Seal>, bell: Arc<Bell>, life: Life) -> Self {
        let (doubt, brake) = (Doubt::default(), Brake::default());
        Self {
            engine,
            seal,
            recall: RefCell::new(Recall::new()),
            bell,
            life,
            broken: None,
            doubtful: Vec::new(),
            doubt,
            brake,
            trouble: None,
        }
    }

    /// What holds back whatever would begin.
    pub(super) fn brake(&self) -> Brake {
        self.brake.clone()
    }

    /// Where it says whether something is in doubt.
    pub(super) fn doubt(&self) -> Doubt {
        self.doubt.clone()
    }

    /// Works until nobody can send any more.
    pub(super) fn serve(mut self, mut queue: mpsc::Receiver<Job>) {
        while let Some(first) = queue.blocking_recv() {
            let mut changes = Vec::new();
            let (mut reads, mut probes) = (Vec::new(), Vec::new());
            let mut next = Some(first);
            while let Some(job) = next {
                match job {
                    Job::Change(change) => changes.push(change),
                    Job::Read(read) => reads.push(read),
                    Job::Probe(reply) => probes.push(reply),
                }
                next = if changes.len() < BATCH { queue.try_recv().ok() } else { None };
            }
            if !changes.is_empty() {
                self.carry_out(changes);
            }
            for read in reads {
                read(self.engine.as_sql());
            }
            // Those who waited too long for their answer are gone.
            for reply in probes.into_iter().filter(|reply| !reply.is_closed()) {
                drop(reply.send(self.probe()));
            }
        }
        self.engine.close();
    }

    /// Carries out a batch, and tells everybody what became of it.
    fn carry_out(&mut self, mut changes: Vec<Box<dyn Change>>) {
        // First of all, what became of a commit in doubt: after that its intents are like any other.
        let unsent = std::mem::take(&mut self.doubtful);
        changes.splice(0..0, unsent.iter().cloned().map(Unsent::change));
        let committed = match &self.broken {
            Some(error) => Err(error.clone()),
            None => self.transact(&mut changes).map_err(|error| self.give_up(error)),
        };
        if committed.is_err() {
            self.doubtful.extend(unsent);
        }
        // Before anybody hears of it.
        self.tell_of_doubt();
        match committed {
            Ok(outcomes) => {
                self.trouble = None;
                for (change, outcome) in changes.into_iter().zip(outcomes) {
                    self.doubtful.extend(change.settle(outcome));
                }
                self.tell_of_doubt();
            }
            Err(error) => {
                self.trouble = Some((Instant::now(), error.clone()));
                tracing::error!(%error, changes = changes.len(), "nothing was written to the ledger");
                for change in changes {
                    drop(change.settle(Err(error.clone())));
                }
            }
        }
    }

    fn tell_of_doubt(&self) {
        self.doubt.0.store(!self.doubtful.is_empty(), Ordering::Relaxed);
    }

    /// Looks whether anything can be written. After a failure a look is not enough: a full disk shows itself in a commit
    /// only, so an empty one is tried, once a second.
    fn probe(&mut self) -> Result<(), LedgerError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.engine.look()?;
        self.brake.refuse_if_set()?;
        match &self.trouble {
            None => Ok(()),
            Some((at, error)) if at.elapsed() < BETWEEN_TRIES => Err(error.clone()),
            Some(_) => {
                self.carry_out(Vec::new());
                self.trouble.as_ref().map_or(Ok(()), |(_, error)| Err(error.clone()))
            }
        }
    }

    /// Carries out a batch in one transaction; after that its outcomes are final.
    fn transact(
        &mut self,
        changes: &mut [Box<dyn Change>],
    ) -> Result<Vec<Result<(), LedgerError>>, LedgerError> {
        let Begun { head: before, clock, presence, continuity } = self.engine.begin()?;
        let now = never_back(clock, &before)?;
        let (engine, seal, life, brake) = (&*self.engine, &*self.seal, &self.life, &self.brake);
        let connection = engine.as_sql();
        let notes = Notes::new(connection);
        let mut batch = Batch {
            engine,
            connection: &notes,
            notes: &notes,
            seal,
            recall: &self.recall,
            life,
            brake,
            now,
            presence,
            head: before,
            // Where there is nothing to do, the question is whether anything could be done.
            touched: if changes.is_empty() { Touched::Yes } else { Touched::No },
            begun: Vec::new(),
            held_back: None,
        };
        // Whoever took over looks at what it got before anything else.
        match continuity {
            Continuity::Same => {}
            Continuity::Note(origin) => failover::keep(connection, &origin)?,
            Continuity::Broken(succession) => batch.alone(&mut TakeOver::new(succession))??,
        }
        let mut outcomes = Vec::with_capacity(changes.len());
        while let Some(rest) = changes.get_mut(outcomes.len()..).filter(|rest| !rest.is_empty()) {
            outcomes.extend(batch.some(rest)?);
        }
        let Batch { mut head, touched, begun, .. } = batch;
        // Whoever looked at an intent may have told somebody "too late": that stays true.
        if touched == Touched::Yes {
            head.time = now;
        }
        if head != before {
            head.store(connection)?;
        }
        let news = (head.sequence != before.sequence).then_some(head.sequence);
        match self.engine.commit(news) {
            Ok(()) => {
                self.bell.ring_for(head.sequence);
                Ok(outcomes)
            }
            Err(error) => {
                if let LedgerError::InDoubt(_) = error {
                    self.doubtful.extend(begun);
                }
                Err(error)
            }
        }
    }

    /// Takes back whatever a failed batch left.
    fn give_up(&mut self, error: LedgerError) -> LedgerError {
        if let LedgerError::Disk(_) = error {
            self.broken = Some(error.clone());
        }
        if let Err(problem) = self.engine.give_up() {
            self.broken = Some(problem);
        }
        error
    }
}

/// The ledger's time: the clock's, but never before a time that was written down.
fn never_back(clock: Timestamp, head: &Head) -> Result<Timestamp, LedgerError> {
    if head.time.duration_since(clock) > MOST_BACK {
        return Err(LedgerError::ClockWentBack { now: clock, seen: head.time });
    }
    Ok(clock.max(head.time))
}

/// Admits that something was redeemed and never left. Where it was not redeemed, it changes nothing.
struct Unsent {
    target: Target,
    boot: Option<BootId>,
}

impl Unsent {
    fn change((id, boot): Run) -> Box<dyn Change> {
        Box::new(Self { target: Target::Intent(id), boot })
    }
}

impl Change for Unsent {
    fn target(&self) -> &Target {
        &self.target
    }

    fn apply(&mut self, found: Found, now: Timestamp) -> Effects {
        let Found { mut intents, .. } = found;
        let is_it =
            |intent: &&mut Intent| intent.state() == State::Running && intent.boot() == self.boot.as_ref();
        for intent in intents.iter_mut().filter(is_it) {
            // One that cannot be finished is not running any more.
            intent.finish(DoneKind::NotSent, None, now).ok();
        }
        Effects { intents, ..Effects::default() }
    }

    fn begins(&mut self, _runs: &[Run]) {}

    fn is_abandoned(&self) -> bool {
        false
    }

    fn settle(self: Box<Self>, committed: Result<(), LedgerError>) -> Vec<Run> {
        if let Err(error) = committed {
            tracing::warn!(%error, "that something was never sent could not be written down yet");
        }
        Vec::new()
    }
}

/// How long a store that failed is left alone before it is tried again for its own sake.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);
/// How many changes share a commit at most.
const BATCH: usize = 128;
/// How far a clock may be behind the ledger: as much as it is set back in daily life.
const MOST_BACK: SignedDuration = SignedDuration::from_secs(5);
