//! One connection of its own: it shows that this node lives, and hears what other nodes commit.
//!
//! INVARIANT: for as long as a node is seen, its lock is held and its row is there. Once this connection is lost the
//! node runs nothing, until it is seen again.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_postgres::{AsyncMessage, Client};
use yesgate_core::id::BootId;

use super::address::DatabaseAddress;
use super::reach::{self, within};
use crate::changes::Bell;
use crate::error::LedgerError;

/// Since when other nodes see that this one lives, as far as it knows; none: they do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Option<Instant>>>);

impl Seen {
    pub(crate) fn is_seen(&self) -> bool {
        self.since().is_some()
    }

    /// Whether they have seen it for at least this long without a break.
    pub(crate) fn is_seen_for(&self, least: Duration) -> bool {
        self.since().is_some_and(|since| since.elapsed() >= least)
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread, and waits until this node is seen.
pub(crate) async fn start(
    address: DatabaseAddress,
    boot: BootId,
    seen: Seen,
    bell: Arc<Bell>,
) -> Result<JoinHandle<()>, LedgerError> {
    let (ready, started) = oneshot::channel();
    let watcher = Watcher { address, boot, seen, bell };
    let thread = thread::Builder::new()
        .name("ledger-watcher".to_owned())
        .spawn(move || watcher.run(ready))
        .map_err(LedgerError::file("cannot start a thread"))?;
    started.await.unwrap_or(Err(LedgerError::Closed))?;
    Ok(thread)
}

struct Watcher {
    address: DatabaseAddress,
    boot: BootId,
    seen: Seen,
    bell: Arc<Bell>,
}

type Ready = oneshot::Sender<Result<(), LedgerError>>;

impl Watcher {
    fn run(self, ready: Ready) {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                drop(ready.send(Err(LedgerError::file("cannot start a runtime")(error))));
                return;
            }
        };
        let mut ready = Some(ready);
        runtime.block_on(async {
            while !self.bell.is_closed() {
                let watched = self.watch(&mut ready).await;
                *self.seen.since() = None;
                match (watched, ready.take()) {
                    (Ok(()), _) => return,
                    (Err(error), Some(first)) => {
                        drop(first.send(Err(error)));
                        return;
                    }
                    (Err(error), None) => {
                        // Whoever waits had better look for themselves than wait for us.
                        self.bell.ring();
                        tracing::warn!(%error, "other nodes do not see this one; it runs nothing until they do");
                        timeout(AFTER_FAILURE, self.bell.closing()).await.ok();
                    }
                }
            }
        });
    }

    /// Shows that this node lives, and listens, until the ledger is closed.
    async fn watch(&self, ready: &mut Option<Ready>) -> Result<(), LedgerError> {
        let client = self.connect().await?;
        within(client.batch_execute(SESSION)).await?;
        self.take_lock(&client).await?;
        self.beat(&client).await?;
        *self.seen.since() = Some(Instant::now());
        if let Some(ready) = ready.take() {
            drop(ready.send(Ok(())));
        }
        // What was committed while nobody listened.
        self.bell.ring();
        let mut beaten = Instant::now();
        while timeout(BETWEEN_LOOKS, self.bell.closing()).await.is_err() {
            if client.is_closed() {
                return Err(LedgerError::Unreachable("the connection is closed".to_owned()));
            }
            if self.bell.has_listeners() {
                let row = within(client.query_one("SELECT sequence FROM head", &[])).await?;
                self.bell.ring_for(
                    row.try_get(0).ok().and_then(|row: i64| row.try_into().ok()).unwrap_or_default(),
                );
            }
            if beaten.elapsed() >= BETWEEN_BEATS {
                self.beat(&client).await?;
                beaten = Instant::now();
            }
        }
        // Nothing runs here any more, and nobody need wait to learn it.
        let boot = self.boot.as_str();
        if let Err(error) = within(client.execute("DELETE FROM node WHERE boot = $1", &[&boot])).await {
            tracing::debug!(%error, "the row of this node could not be removed");
        }
        Ok(())
    }

    async fn connect(&self) -> Result<Client, LedgerError> {
        let (client, mut connection) = reach::connect(&self.address).await?;
        let bell = Arc::clone(&self.bell);
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(news) = message {
                    match news.payload().parse() {
                        Ok(row) => bell.ring_for(row),
                        Err(_) => bell.ring(),
                    }
                }
            }
        });
        Ok(client)
    }

    /// Takes the lock that says that this node lives; the database lets go of it when the connection ends.
    async fn take_lock(&self, client: &Client) -> Result<(), LedgerError> {
        let taken = within(client.query_one("SELECT pg_try_advisory_lock($1)", &[&lock(&self.boot)])).await?;
        if taken.try_get(0).unwrap_or(false) { Ok(()) } else { Err(LedgerError::BootInUse) }
    }

    /// Writes down when this node was last heard of, by the database's clock.
    async fn beat(&self, client: &Client) -> Result<(), LedgerError> {
        let (boot, lock) = (self.boot.as_str(), lock(&self.boot));
        within(client.execute(BEAT, &[&boot, &lock])).await.map(drop)
    }
}

/// The number of a node's lock.
fn lock(boot: &BootId) -> i64 {
    let hash = digest(&SHA256, format!("yesgate/node/{boot}").as_bytes());
    hash.as_ref().first_chunk().copied().map_or(0, i64::from_be_bytes)
}

const SESSION: &str =
    "SET statement_timeout = 0; SET lock_timeout = '10s'; SET client_min_messages = warning;
     LISTEN yesgate_ledger;";
const BEAT: &str = "INSERT INTO node (boot, lock, seen_at)
     VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint)
     ON CONFLICT (boot) DO UPDATE SET seen_at = excluded.seen_at";

/// Under the notices of the database, for one that was lost.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
const BETWEEN_BEATS: Duration = Duration::from_secs(1);
const AFTER_FAILURE: Duration = Duration::from_millis(200);
