//! The ledger on SQLite: one file, or none.
//!
//! INVARIANT: one thread of the process writes, on one connection; another one reads. Several
//! processes may do so on one file at the same time.

mod budgets;
mod connection;
mod contents;
mod fault;
mod file;
mod grants;
mod keys;
mod listing;
mod pace;
mod people;
mod queries;
mod regime;
mod rows;
mod schema;
mod seal;
mod tally;
mod verify;
mod watcher;
mod writer;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use yesgate_core::budget::{Sums, Window};
use yesgate_core::caller::Caller;
use yesgate_core::clock::Clock;
use yesgate_core::digest::{CallDigest, ServerIdentity};
use yesgate_core::grant::GrantRecord;
use yesgate_core::id::{BootId, BudgetName, IntentId, OrgId, ServerName};
use yesgate_core::intent::{Intent, SlotKey};
use yesgate_core::key::{BearerKeyHash, KeyRecord};
use yesgate_core::person::{Link, Person, SecretHash, Session};
use yesgate_core::policy::Pins;
use yesgate_core::regime::Regimes;

use self::fault::Fault;
use self::seal::Seal;
use self::writer::{Job, Writer};
use crate::boots::{Alive, Boots};
use crate::change::Change;
use crate::changes::{Bell, Changes};
use crate::credentials::KeptCredential;
use crate::error::LedgerError;
use crate::figures::Figures;
use crate::filter::Filter;
use crate::listing::{Asks, Listed, Listing, Stage};
use crate::report::{AuditRow, VerifyReport};
use crate::secret::SecretKey;
use crate::spending::Spending;

/// A running store.
#[derive(Debug)]
pub(crate) struct Sqlite {
    writes: Option<mpsc::Sender<Job>>,
    /// `None`: there is no file that a second connection could read, so the writer reads too.
    reads: Option<mpsc::Sender<ReadJob>>,
    threads: Vec<JoinHandle<()>>,
    bell: Arc<Bell>,
    seal: Arc<Seal>,
    boots: Option<Boots>,
    alive: OnceLock<Alive>,
}

/// Whether a file is a ledger that is sealed under some key already.
pub(crate) fn is_sealed(at: &Path) -> Result<bool, LedgerError> {
    contents::is_sealed(at)
}

/// Something to look up, and whom to tell.
pub(crate) type ReadJob = Box<dyn FnOnce(&Connection) + Send>;

impl Sqlite {
    /// Opens a file, or makes it.
    pub(crate) async fn open(at: &Path, key: &SecretKey, clock: Arc<dyn Clock>) -> Result<Self, LedgerError> {
        let (bell, seal) = (Bell::new(), Arc::new(Seal::of(key)?));
        let (at, bell_of_writer, seal_of_writer) = (at.to_owned(), Arc::clone(&bell), Arc::clone(&seal));
        let set_up = move || {
            let path = file::prepare(&at)?;
            let boots = Boots::beside(&path)?;
            let _gate = boots.gate()?;
            let mut connection = connection::open(&path)?;
            schema::migrate(&mut connection, &seal_of_writer)?;
            contents::clean(&connection);
            Ok((Writer::new(connection, seal_of_writer, clock, bell_of_writer), (path, boots)))
        };
        let (writes, writer, (path, boots)) = start("ledger-writer", set_up, Writer::serve).await?;
        let to_read = path.clone();
        let set_up = move || Ok((connection::open_to_read(&to_read)?, ()));
        let (reads, reader, ()) = start("ledger-reader", set_up, serve_reads).await?;
        let watcher = watcher::start(path, Arc::clone(&bell))?;
        Ok(Self {
            writes: Some(writes),
            reads: Some(reads),
            threads: vec![writer, reader, watcher],
            bell,
            seal,
            boots: Some(boots),
            alive: OnceLock::new(),
        })
    }

    /// Makes a store without a file.
    pub(crate) async fn in_memory(clock: Arc<dyn Clock>) -> Result<Self, LedgerError> {
        let (bell, seal) = (Bell::new(), Arc::new(Seal::of_this_process()?));
        let (bell_of_writer, seal_of_writer) = (Arc::clone(&bell), Arc::clone(&seal));
        let set_up = move || {
            let mut connection = connection::open_in_memory()?;
            schema::migrate(&mut connection, &seal_of_writer)?;
            Ok((Writer::new(connection, seal_of_writer, clock, bell_of_writer), ()))
        };
        let (writes, writer, ()) = start("ledger-writer", set_up, Writer::serve).await?;
        Ok(Self {
            writes: Some(writes),
            reads: None,
            threads: vec![writer],
            bell,
            seal,
            boots: None,
            alive: OnceLock::new(),
        })
    }

    /// Lets others see that this process lives, until the store is closed.
    pub(crate) fn declare_alive(&self, boot: &BootId) -> Result<(), LedgerError> {
        let Some(boots) = &self.boots else { return Ok(()) };
        self.alive.set(boots.register(boot)?).map_err(|_| LedgerError::BootInUse)
    }

    /// The boots of all processes on this file.
    pub(crate) const fn boots(&self) -> Option<&Boots> {
        self.boots.as_ref()
    }

    /// Begins to listen for commits.
    pub(crate) fn changes(&self) -> Changes {
        self.bell.listen()
    }

    /// Hands a change to the writer.
    pub(crate) async fn submit(&self, change: Box<dyn Change>) -> Result<(), LedgerError> {
        let writes = self.writes.as_ref().ok_or(LedgerError::Closed)?;
        writes.send(Job::Change(change)).await.map_err(|_| LedgerError::Closed)
    }

    pub(crate) async fn intent(&self, id: IntentId) -> Result<Option<Intent>, LedgerError> {
        self.read_sealed(move |connection, seal| queries::intent(connection, seal, &id)).await
    }

    pub(crate) async fn intents(&self, filter: Filter) -> Result<Vec<Intent>, LedgerError> {
        self.read_sealed(move |connection, seal| queries::intents(connection, seal, filter)).await
    }

    pub(crate) async fn list(&self, listing: Listing) -> Result<Vec<Listed>, LedgerError> {
        self.read_sealed(move |connection, seal| listing::list(connection, seal, &listing)).await
    }

    pub(crate) async fn count(&self, org: OrgId, stage: Stage, most: u32) -> Result<u32, LedgerError> {
        self.read(move |connection| listing::count(connection, &org, stage, most)).await
    }

    pub(crate) async fn figures(&self, org: OrgId, today: i64) -> Result<Figures, LedgerError> {
        self.read(move |connection| tally::figures(connection, &org, today)).await
    }

    pub(crate) async fn find(&self, beginning: String) -> Result<Vec<IntentId>, LedgerError> {
        self.read(move |connection| queries::find(connection, &beginning)).await
    }

    pub(crate) async fn releasable(
        &self,
        server: ServerName,
        identity: ServerIdentity,
    ) -> Result<Vec<IntentId>, LedgerError> {
        self.read(move |connection| queries::releasable(connection, &server, &identity)).await
    }

    pub(crate) async fn any_open(
        &self,
        server: ServerName,
        identity: ServerIdentity,
    ) -> Result<bool, LedgerError> {
        self.read(move |connection| queries::any_open(connection, &server, &identity)).await
    }

    pub(crate) async fn any_due(&self, now: Timestamp) -> Result<bool, LedgerError> {
        self.read(move |connection| queries::any_due(connection, now)).await
    }

    pub(crate) async fn running_boots(&self) -> Result<Vec<BootId>, LedgerError> {
        self.read(queries::running_boots).await
    }

    pub(crate) async fn regimes(&self) -> Result<Regimes, LedgerError> {
        self.read(regime::all).await
    }

    pub(crate) async fn grants(&self) -> Result<Vec<GrantRecord>, LedgerError> {
        self.read_sealed(grants::all).await
    }

    pub(crate) async fn grants_for(&self, slot: SlotKey) -> Result<Vec<GrantRecord>, LedgerError> {
        self.read_sealed(move |connection, seal| grants::of_slot(connection, seal, slot)).await
    }

    pub(crate) async fn asks(&self) -> Result<Vec<Asks>, LedgerError> {
        self.read(listing::asks).await
    }

    pub(crate) async fn callers(&self) -> Result<Vec<Caller>, LedgerError> {
        self.read(regime::callers).await
    }

    pub(crate) async fn pins(&self, server: ServerName) -> Result<Pins, LedgerError> {
        self.read(move |connection| {
            let snapshot = connection.unchecked_transaction()?;
            let pins = queries::pins(&snapshot, &server)?;
            snapshot.finish()?;
            Ok(pins)
        })
        .await
    }

    pub(crate) async fn keys(&self) -> Result<Vec<KeyRecord>, LedgerError> {
        self.read(keys::all).await
    }

    pub(crate) async fn key(&self, hash: BearerKeyHash) -> Result<Option<KeyRecord>, LedgerError> {
        self.read(move |connection| keys::by_hash(connection, &hash)).await
    }

    pub(crate) async fn live_keys(&self) -> Result<HashMap<BearerKeyHash, Caller>, LedgerError> {
        self.read(keys::live).await
    }

    pub(crate) async fn kept(&self, name: String) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read(move |connection| keys::kept(connection, &name)).await
    }

    pub(crate) async fn people(&self) -> Result<Vec<Person>, LedgerError> {
        self.read(people::people).await
    }

    pub(crate) async fn link(&self, secret: SecretHash) -> Result<Option<(Link, Person)>, LedgerError> {
        self.read(move |connection| people::link(connection, &secret)).await
    }

    pub(crate) async fn session(&self, secret: SecretHash) -> Result<Option<(Session, Person)>, LedgerError> {
        self.read(move |connection| people::session(connection, &secret)).await
    }

    pub(crate) async fn credentials(&self) -> Result<Vec<KeptCredential>, LedgerError> {
        self.read(people::credentials).await
    }

    pub(crate) async fn sessions(&self) -> Result<Vec<Session>, LedgerError> {
        self.read(people::sessions).await
    }

    pub(crate) async fn spent(
        &self,
        windows: Vec<Window>,
        now: Timestamp,
        call: CallDigest,
    ) -> Result<Sums, LedgerError> {
        self.read(move |connection| {
            let snapshot = connection.unchecked_transaction()?;
            let sums = budgets::sums(&snapshot, &windows, now, Some(&call))?;
            snapshot.finish()?;
            Ok(sums)
        })
        .await
    }

    pub(crate) async fn spending(
        &self,
        budget: BudgetName,
        after: Timestamp,
    ) -> Result<Vec<Spending>, LedgerError> {
        self.read(move |connection| budgets::since(connection, &budget, after)).await
    }

    pub(crate) async fn audit(&self, from: u64, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.read(move |connection| queries::audit(connection, from, limit)).await
    }

    pub(crate) async fn audit_last(&self, count: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.read(move |connection| queries::audit_last(connection, count)).await
    }

    pub(crate) async fn verify(&self) -> Result<VerifyReport, LedgerError> {
        self.read_sealed(verify::verify).await
    }

    pub(crate) async fn purgeable(&self, before: Timestamp, now: Timestamp) -> Result<u64, LedgerError> {
        self.read(move |connection| rows::purgeable(connection, before, now)).await
    }

    /// Empties the write-ahead log, so that nothing stands in it that was overwritten in the file.
    pub(crate) async fn empty_log(&self) -> Result<(), LedgerError> {
        let writes = self.writes.as_ref().ok_or(LedgerError::Closed)?;
        if self.reads.is_none() {
            return Ok(());
        }
        let (reply, answer) = oneshot::channel();
        let job: ReadJob = Box::new(move |connection| drop(reply.send(contents::empty_log(connection))));
        writes.send(Job::Read(job)).await.map_err(|_| LedgerError::Closed)?;
        Ok(answer.await.map_err(|_| LedgerError::Closed)??)
    }

    /// Looks something up that is sealed.
    async fn read_sealed<T, F>(&self, look_up: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &Seal) -> Result<T, Fault> + Send + 'static,
    {
        let seal = Arc::clone(&self.seal);
        self.read(move |connection| look_up(connection, &seal)).await
    }

    /// Looks something up, on the connection that never holds up the writer.
    async fn read<T, F>(&self, look_up: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: ReadJob = Box::new(move |connection| {
            let found = catch_unwind(AssertUnwindSafe(|| look_up(connection)))
                .unwrap_or(Err(Fault::Ledger(LedgerError::Panicked)));
            drop(reply.send(found.map_err(LedgerError::from)));
        });
        let sent = match (&self.reads, &self.writes) {
            (Some(reads), _) => reads.send(job).await.is_ok(),
            (None, Some(writes)) => writes.send(Job::Read(job)).await.is_ok(),
            (None, None) => false,
        };
        if sent { answer.await.unwrap_or(Err(LedgerError::Closed)) } else { Err(LedgerError::Closed) }
    }
}

impl Drop for Sqlite {
    /// Waits for what is under way: when the last handle is gone, so are the connections, and only
    /// then may others take this process for dead.
    fn drop(&mut self) {
        self.bell.close();
        self.writes = None;
        self.reads = None;
        for thread in self.threads.drain(..) {
            // The last handle may have been inside a closure that the writer ran.
            if thread.thread().id() != thread::current().id() && thread.join().is_err() {
                tracing::error!("a thread of the ledger had failed");
            }
        }
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

fn serve_reads(connection: Connection, mut queue: mpsc::Receiver<ReadJob>) {
    while let Some(job) = queue.blocking_recv() {
        job(&connection);
    }
    connection::close(connection);
}

/// How many jobs may wait; whoever comes after that waits for its place.
const QUEUE: usize = 1024;
