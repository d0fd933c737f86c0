//! Who is let in at the moment: what is open for them closes once their connection has ended, wherever it was ended.
//!
//! INVARIANTS:
//! - A connection that ended after it was looked up is noticed: the feed is heard before the second look.
//! - What is kept is bounded by what is open. Nothing is kept of connections for which nothing is.
//! - No request waits for anything that is noted here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use yesgate_core::audit::AuditEvent;
use yesgate_core::id::ConnectionId;
use yesgate_core::oauth::{Connection, OAuthClientId, OAuthEvent};
use yesgate_http::edge::bearer::Standing;
use yesgate_ledger::{Changes, KeptConnection, Ledger, LedgerError};

/// Who is let in at the moment.
#[derive(Debug)]
pub(crate) struct Standings {
    ledger: Ledger,
    open: Mutex<Open>,
    /// Connections whose use is being written down.
    noting: Mutex<HashSet<ConnectionId>>,
}

#[derive(Debug, Default)]
struct Open {
    by_connection: HashMap<ConnectionId, (OAuthClientId, watch::Sender<Standing>)>,
    /// How many there may be before those for which nothing is open are looked for.
    room: usize,
    watcher: Option<JoinHandle<()>>,
}

/// A connection that somebody came with.
#[derive(Debug)]
pub(crate) enum Watched {
    /// It was watched before.
    Known(watch::Receiver<Standing>),
    /// It is from here on: look once more whether it still counts.
    New(watch::Receiver<Standing>),
}

impl Standings {
    /// Nobody yet.
    pub(crate) fn new(ledger: Ledger) -> Arc<Self> {
        Arc::new(Self { ledger, open: Mutex::default(), noting: Mutex::default() })
    }

    /// Watches a connection for somebody who comes with it.
    pub(crate) fn watch(self: &Arc<Self>, connection: &Connection) -> Watched {
        let mut open = self.lock();
        if open.watcher.as_ref().is_none_or(JoinHandle::is_finished) {
            // It listens before anything is looked at: what happens from here on is heard.
            let changes = self.ledger.changes();
            open.watcher = Some(tokio::spawn(hear(Arc::downgrade(self), changes)));
        }
        if let Some((_, known)) = open.by_connection.get(&connection.id) {
            return Watched::Known(known.subscribe());
        }
        if open.by_connection.len() >= open.room {
            open.by_connection.retain(|_, (_, standing)| standing.receiver_count() > 0);
            open.room = open.by_connection.len().saturating_mul(2).max(LEAST_ROOM);
        }
        let (sender, receiver) = watch::channel(Standing::Good);
        open.by_connection.insert(connection.id.clone(), (connection.client.clone(), sender));
        Watched::New(receiver)
    }

    /// Ends what is open for clients that are not let in any more, though their connections are there.
    pub(crate) fn end_those_of(&self, is_out: impl Fn(&OAuthClientId) -> bool) {
        self.lock().keep(|_, client| !is_out(client));
    }

    /// Writes down that a connection is in use, beside the request, and at most once at a time.
    pub(crate) fn note(self: &Arc<Self>, connection: &ConnectionId, from: Option<String>) {
        {
            let mut noting = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
            if noting.len() >= MOST_NOTES || !noting.insert(connection.clone()) {
                return;
            }
        }
        let (standings, connection) = (Arc::clone(self), connection.clone());
        drop(tokio::spawn(async move {
            if let Err(error) = standings.ledger.see_connection(&connection, from).await {
                tracing::warn!(%error, "the use of a connection could not be written down");
            }
            standings.noting.lock().unwrap_or_else(PoisonError::into_inner).remove(&connection);
        }));
    }

    /// The same, where it was not noted within the last minute.
    pub(crate) fn note_use(self: &Arc<Self>, kept: &KeptConnection) {
        let since: SignedDuration = self.ledger.now().duration_since(kept.used_at);
        if since >= Connection::USED_STEP {
            self.note(&kept.connection.id, None);
        }
    }

    /// Ends what is open for connections that do not count any more.
    async fn look(&self) -> Result<(), LedgerError> {
        let counting = self.ledger.connections().await?;
        let counting: HashSet<ConnectionId> = counting.into_iter().map(|kept| kept.connection.id).collect();
        self.lock().keep(|connection, _| counting.contains(connection));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Keeps those that count, and ends what is open for the others.
    fn keep(&mut self, counts: impl Fn(&ConnectionId, &OAuthClientId) -> bool) {
        self.by_connection.retain(|connection, (client, standing)| {
            let counts = counts(connection, client);
            if !counts {
                standing.send_replace(Standing::Over);
            }
            counts
        });
    }
}

/// Hears of every commit, and looks again at who is let in when one could have ended something.
async fn hear(standings: Weak<Standings>, mut changes: Changes) {
    let mut heard = None;
    loop {
        let Some(standings) = standings.upgrade() else { return };
        match news(&standings.ledger, &mut heard).await {
            Ok(News::Ended) => {
                if let Err(error) = standings.look().await {
                    tracing::warn!(%error, "it is not known who is still let in");
                    heard = None;
                }
            }
            Ok(News::Other) => {}
            Err(LedgerError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "the audit trail cannot be followed");
                heard = None;
            }
        }
        drop(standings);
        match heard {
            Some(_) => changes.changed().await,
            // What was not heard is asked for again soon.
            None => drop(tokio::time::timeout(AGAIN, changes.changed()).await),
        }
    }
}

/// What new rows tell.
enum News {
    /// Something ended, or may have.
    Ended,
    /// Nothing that matters here.
    Other,
}

/// Reads the rows since the last one that was heard. Who has heard nothing yet has to look.
async fn news(ledger: &Ledger, heard: &mut Option<u64>) -> Result<News, LedgerError> {
    let Some(mut last) = *heard else {
        let row = ledger.audit_last(1).await?.pop();
        *heard = Some(row.map_or(0, |row| row.sequence));
        return Ok(News::Ended);
    };
    let mut news = News::Other;
    loop {
        let rows = ledger.audit(last.saturating_add(1), ROWS).await?;
        let Some(newest) = rows.last() else { break };
        last = newest.sequence;
        for row in &rows {
            match row.entry().map(|entry| ends(&entry.event)) {
                Ok(News::Other) => {}
                // A row that cannot be read may say anything.
                Ok(News::Ended) | Err(_) => news = News::Ended,
            }
        }
    }
    *heard = Some(last);
    Ok(news)
}

/// Whether an event may end a connection. Those of people too: whoever is removed has none.
const fn ends(event: &AuditEvent) -> News {
    if let AuditEvent::OAuth(OAuthEvent::Ended { .. } | OAuthEvent::ClientEnded { .. })
    | AuditEvent::Person(_) = event
    {
        News::Ended
    } else {
        News::Other
    }
}

/// Up to so many connections nobody looks which of them are not open any more.
const LEAST_ROOM: usize = 1024;
/// So many uses are written down at a time.
const MOST_NOTES: usize = 1024;
/// So many rows are read at a time.
const ROWS: u32 = 256;
/// How soon what was not heard is asked for again.
const AGAIN: Duration = Duration::from_millis(500);
