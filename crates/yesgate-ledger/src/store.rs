//! What the ledger keeps, as rows, and the threads that write and read them.
//!
//! INVARIANT: one thread of the process writes, on one connection; others read. Several processes may do so on one
//! database at the same time.

mod batch;
mod beginning;
mod budgets;
mod failover;
mod grants;
mod keys;
mod listing;
mod looking;
mod lookup;
mod nodes;
mod notes;
pub(crate) mod oauth;
mod pace;
mod people;
mod pruning;
mod queries;
mod recall;
mod regime;
mod rows;
mod tally;
mod verify;
mod wave;
mod writer;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use yesgate_core::clock::Clock;
use yesgate_core::id::BootId;

use self::writer::{Doubt, Job, Writer};
use crate::boots::{Alive, Boots};
use crate::brake::Brake;
use crate::change::Change;
use crate::changes::{Bell, Changes};
use crate::engine::Sql;
use crate::engine::postgres::address::DatabaseAddress;
use crate::engine::postgres::watcher::Seen;
use crate::engine::postgres::writer::PgWriter;
use crate::engine::postgres::{self, PgReader};
use crate::engine::sqlite::{self, SqliteWriter, contents, file, schema, watcher};
use crate::error::LedgerError;
use crate::life::Life;
use crate::readiness::Known;
use crate::seal::Seal;
use crate::secret::SecretKey;
use crate::skew::Skew;

/// A running store.
#[derive(Debug)]
pub(crate) struct Store {
    writes: Option<mpsc::Sender<Job>>,
    /// `None`: there is no file that a second connection could read, so the writer reads too.
    reads: Option<mpsc::Sender<ReadJob>>,
    threads: Vec<JoinHandle<()>>,
    watcher: Mutex<Option<JoinHandle<()>>>,
    bell: Arc<Bell>,
    seal: Arc<Seal>,
    life: Life,
    alive: OnceLock<Alive>,
    /// Where the database is, and what this node knows of being seen there; none: it is a file or nowhere.
    database: Option<(DatabaseAddress, Seen)>,
    doubt: Doubt,
    brake: Brake,
    skew: Skew,
    readiness: Known,
}

/// Something to look up, and whom to tell.
pub(crate) type ReadJob = Box<dyn FnOnce(&dyn Sql) + Send>;

impl Store {
    /// Opens a file, or makes it.
    pub(crate) async fn on_file(
        at: &Path,
        key: &SecretKey,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LedgerError> {
        let (bell, seal) = (Bell::new(), Arc::new(Seal::of(key)?));
        let (at, bell_of_writer, seal_of_writer) = (at.to_owned(), Arc::clone(&bell), Arc::clone(&seal));
        let set_up = move || {
            let path = file::prepare(&at)?;
            let boots = Boots::beside(&path)?;
            let _gate = boots.gate()?;
            let mut connection = sqlite::connection::open(&path)?;
            schema::migrate(&mut connection, &seal_of_writer)?;
            contents::clean(&connection);
            let life = Life::Files(boots);
            let engine = Box::new(SqliteWriter::new(connection, clock));
            let writer = Writer::new(engine, seal_of_writer, bell_of_writer, life.clone());
            let signals = (writer.doubt(), writer.brake());
            Ok((writer, (path, life, signals)))
        };
        let (writes, writer, (path, life, (doubt, brake))) =
            start("ledger-writer", set_up, Writer::serve).await?;
        let to_read = path.clone();
        let set_up = move || Ok((sqlite::connection::open_to_read(&to_read)?, ()));
        let (reads, reader, ()) = start("ledger-reader", set_up, serve_reads).await?;
        let watcher = watcher::start(path, Arc::clone(&bell))?;
        Ok(Self {
            writes: Some(writes),
            reads: Some(reads),
            threads: vec![writer, reader],
            watcher: Mutex::new(Some(watcher)),
            database: None,
            doubt,
            brake,
            skew: Skew::default(),
            readiness: Known::default(),
            bell,
            seal,
            life,
            alive: OnceLock::new(),
        })
    }

    /// Makes a store without a file.
    pub(crate) async fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, LedgerError> {
        let (bell, seal) = (Bell::new(), Arc::new(Seal::of_this_process()?));
        let (bell_of_writer, seal_of_writer) = (Arc::clone(&bell), Arc::clone(&seal));
        let set_up = move || {
            let mut connection = sqlite::connection::open_in_memory()?;
            schema::migrate(&mut connection, &seal_of_writer)?;
            let engine = Box::new(SqliteWriter::new(connection, clock));
            let writer = Writer::new(engine, seal_of_writer, bell_of_writer, Life::Alone);
            let signals = (writer.doubt(), writer.brake());
            Ok((writer, signals))
        };
        let (writes, writer, (doubt, brake)) = start("ledger-writer", set_up, Writer::serve).await?;
        Ok(Self {
            writes: Some(writes),
            reads: None,
            threads: vec![writer],
            watcher: Mutex::default(),
            database: None,
            doubt,
            brake,
            skew: Skew::default(),
            readiness: Known::default(),
            bell,
            seal,
            life: Life::Alone,
            alive: OnceLock::new(),
        })
    }

    /// Connects to a database that other nodes may use too.
    pub(crate) async fn on_postgres(
        address: DatabaseAddress,
        key: &SecretKey,
        clock: Arc<dyn Clock>,
        boot: BootId,
    ) -> Result<Self, LedgerError> {
        let (bell, seal, skew, seen) =
            (Bell::new(), Arc::new(Seal::of(key)?), Skew::default(), Seen::default());
        let (bell_of_writer, seal_of_writer) = (Arc::clone(&bell), Arc::clone(&seal));
        let (at, seen_by_writer, skew_of_writer) = (address.clone(), seen.clone(), skew.clone());
        let set_up = move || {
            let opening = Arc::clone(&seal_of_writer);
            let engine = PgWriter::open(at, opening, boot, seen_by_writer, clock, skew_of_writer)?;
            let writer = Writer::new(Box::new(engine), seal_of_writer, bell_of_writer, Life::Rows);
            let signals = (writer.doubt(), writer.brake());
            Ok((writer, signals))
        };
        let (writes, writer, (doubt, brake)) = start("ledger-writer", set_up, Writer::serve).await?;
        let (reads, queue) = mpsc::channel(QUEUE);
        let queue = Arc::new(tokio::sync::Mutex::new(queue));
        let mut threads = vec![writer];
        for _ in 0..READERS {
            let (at, queue) = (address.clone(), Arc::clone(&queue));
            let reader = thread::Builder::new()
                .name("ledger-reader".to_owned())
                .spawn(move || serve_reads_together(&PgReader::new(at), &queue))
                .map_err(LedgerError::file("cannot start a thread"))?;
            threads.push(reader);
        }
        Ok(Self {
            writes: Some(writes),
            reads: Some(reads),
            threads,
            watcher: Mutex::default(),
            bell,
            seal,
            life: Life::Rows,
            alive: OnceLock::new(),
            database: Some((address, seen)),
            doubt,
            brake,
            skew,
            readiness: Known::default(),
        })
    }

    /// What the ledger's clock says when that of this process says this.
    pub(crate) fn correct(&self, own: Timestamp) -> Timestamp {
        self.skew.correct(own)
    }

    /// Lets others see that this process lives, until the store is closed.
    pub(crate) async fn declare_alive(&self, boot: &BootId) -> Result<(), LedgerError> {
        match &self.life {
            Life::Alone => Ok(()),
            Life::Rows => {
                let (address, seen) = self.database.clone().ok_or(LedgerError::Closed)?;
                let bell = Arc::clone(&self.bell);
                let watcher = postgres::watcher::start(address, boot.clone(), seen, bell).await?;
                *self.watcher.lock().unwrap_or_else(PoisonError::into_inner) = Some(watcher);
                Ok(())
            }
            Life::Files(boots) => self.alive.set(boots.register(boot)?).map_err(|_| LedgerError::BootInUse),
        }
    }

    /// How the processes on this ledger see each other.
    pub(crate) const fn life(&self) -> &Life {
        &self.life
    }

    /// Whether another start of the gateway is over.
    pub(crate) async fn is_over(&self, boot: BootId) -> Result<bool, LedgerError> {
        let life = self.life.clone();
        self.read(move |connection| life.is_over(connection, &boot)).await
    }

    /// Forgets starts that are over. To be called when nothing runs under them any more.
    pub(crate) fn forget_those_over(&self) -> Result<(), LedgerError> {
        match &self.life {
            // Their rows went when they were found to be over.
            Life::Alone | Life::Rows => Ok(()),
            Life::Files(boots) => boots.forget_those_over(),
        }
    }

    /// Begins to listen for commits.
    pub(crate) fn changes(&self) -> Changes {
        self.bell.listen()
    }

    /// Whether something was redeemed that is not running, and that is not written down yet.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.doubt.is_there()
    }

    /// What holds back whatever would begin.
    pub(crate) const fn brake(&self) -> &Brake {
        &self.brake
    }

    /// How long anybody waits for a commit; `None`: until it is there. A disk of our own answers or fails; a database may wait
    /// for a standby that is gone.
    pub(crate) fn patience(&self) -> Option<Duration> {
        self.database.as_ref().map(|_| PATIENCE)
    }

    /// Hands a change to the writer.
    pub(crate) async fn submit(&self, change: Box<dyn Change>) -> Result<(), LedgerError> {
        let writes = self.writes.as_ref().ok_or(LedgerError::Closed)?;
        writes.send(Job::Change(change)).await.map_err(|_| LedgerError::Closed)
    }

    /// What is known about whether it can be written.
    pub(crate) const fn readiness(&self) -> &Known {
        &self.readiness
    }

    /// Asks the writer whether anything can be written.
    pub(crate) async fn probe(&self) -> Result<(), LedgerError> {
        let writes = self.writes.as_ref().ok_or(LedgerError::Closed)?;
        let (reply, answer) = oneshot::channel();
        writes.send(Job::Probe(reply)).await.map_err(|_| LedgerError::Closed)?;
        answer.await.unwrap_or(Err(LedgerError::Closed))
    }

    /// Empties the write-ahead log, so that nothing stands in it that was overwritten in the file.
    pub(crate) async fn empty_log(&self) -> Result<(), LedgerError> {
        let writes = self.writes.as_ref().ok_or(LedgerError::Closed)?;
        match self.life {
            Life::Files(_) => {}
            Life::Alone | Life::Rows => return Ok(()),
        }
        let (reply, answer) = oneshot::channel();
        let job: ReadJob = Box::new(move |connection| drop(reply.send(contents::empty_log(connection))));
        writes.send(Job::Read(job)).await.map_err(|_| LedgerError::Closed)?;
        answer.await.map_err(|_| LedgerError::Closed)?
    }

    /// Looks something up that is sealed.
    async fn read_sealed<T, F>(&self, look_up: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Sql, &Seal) -> Result<T, LedgerError> + Send + 'static,
    {
        let seal = Arc::clone(&self.seal);
        self.read(move |connection| look_up(connection, &seal)).await
    }

    /// Looks something up, on the connection that never holds up the writer.
    async fn read<T, F>(&self, look_up: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&dyn Sql) -> Result<T, LedgerError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: ReadJob = Box::new(move |connection| {
            let found =
                catch_unwind(AssertUnwindSafe(|| look_up(connection))).unwrap_or(Err(LedgerError::Panicked));
            drop(reply.send(found));
        });
        let sent = match (&self.reads, &self.writes) {
            (Some(reads), _) => reads.send(job).await.is_ok(),
            (None, Some(writes)) => writes.send(Job::Read(job)).await.is_ok(),
            (None, None) => false,
        };
        if sent { answer.await.unwrap_or(Err(LedgerError::Closed)) } else { Err(LedgerError::Closed) }
    }
}

impl Drop for Store {
    /// Waits for what is under way: when the last handle is gone, so are the connections, and only
    /// then may others take this process for dead.
    fn drop(&mut self) {
        self.writes = None;
        self.reads = None;
        self.threads.drain(..).for_each(wait_for);
        self.bell.close();
        let watcher = self.watcher.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        watcher.into_iter().for_each(wait_for);
    }
}

/// Starts a thread that sets itself up and then serves a queue; waits for the first of the two.
async fn start<J, S, T>(
    name: &'static str,
    set_up: impl FnOnce() -> Result<(S, T), LedgerError> + Send + 'static,
    serve: fn(S, mpsc::Receiver<J>),
) -> Result<(mpsc::Sender<J>, JoinHandle<()>, T), LedgerError>
where
    J: Send + 'static,
    S: 'static,
    T: Send + 'static,
{
    let (sender, queue) = mpsc::channel(QUEUE);
    let (ready, started) = oneshot::channel();
    let body = move || match set_up() {
        Ok((server, made)) => {
            if ready.send(Ok(made)).is_ok() {
                serve(server, queue);
            }
        }
        Err(error) => drop(ready.send(Err(error))),
    };
    let thread = thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(LedgerError::file("cannot start a thread"))?;
    let made = started.await.unwrap_or(Err(LedgerError::Closed))?;
    Ok((sender, thread, made))
}

fn serve_reads(connection: rusqlite::Connection, mut queue: mpsc::Receiver<ReadJob>) {
    while let Some(job) = queue.blocking_recv() {
        job(&connection);
    }
    sqlite::connection::close(connection);
}

/// Serves a queue that other threads serve too.
fn serve_reads_together(connection: &PgReader, queue: &tokio::sync::Mutex<mpsc::Receiver<ReadJob>>) {
    loop {
        // One waits for the next job, the others wait for their turn to wait.
        let next = queue.blocking_lock().blocking_recv();
        match next {
            Some(job) => job(connection),
            None => return,
        }
    }
}

fn wait_for(thread: JoinHandle<()>) {
    // The last handle may have been inside a closure that the writer ran.
    if thread.thread().id() != thread::current().id() && thread.join().is_err() {
        tracing::error!("a thread of the ledger had failed");
    }
}

/// How many connections look things up; each is made when it is first needed.
const READERS: usize = 4;
/// Far longer than a commit takes, and less than clients wait for a call.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many jobs may wait; whoever comes after that waits for its place.
const QUEUE: usize = 1024;
