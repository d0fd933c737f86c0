//! The connection that writes, to the primary, and again after it was lost.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use yesgate_core::clock::Clock;
use yesgate_core::id::BootId;

use super::address::DatabaseAddress;
use super::connection::PgConnection;
use super::replication::{self, Settings};
use super::schema;
use super::watcher::Seen;
use crate::engine::value::{Row, Value, values};
use crate::engine::{Begun, Dialect, Expected, Presence, Sql, Transactions};
use crate::error::LedgerError;
use crate::head::Head;
use crate::origin::{Origin, Trail};
use crate::seal::Seal;
use crate::skew::Skew;

/// The connection that writes.
pub(crate) struct PgWriter {
    address: DatabaseAddress,
    seal: Arc<Seal>,
    boot: BootId,
    seen: Seen,
    clock: Arc<dyn Clock>,
    skew: Skew,
    connection: Option<PgConnection>,
    /// Which history the connection leads to.
    origin: Origin,
    /// The last row of the audit trail that this process has seen committed.
    last_row: u64,
    /// When to try again to connect, and why not before.
    next_try: Option<(Instant, LedgerError)>,
    pause: Duration,
}

impl PgWriter {
    /// Connects, and brings the database to our schema.
    pub(crate) fn open(
        address: DatabaseAddress,
        seal: Arc<Seal>,
        boot: BootId,
        seen: Seen,
        clock: Arc<dyn Clock>,
        skew: Skew,
    ) -> Result<Self, LedgerError> {
        let connection = PgConnection::open(&address)?;
        let origin = replication::origin(&connection, address.standby())?;
        schema::migrate(&connection, &seal)?;
        connection.batch(PLANS)?;
        Ok(Self {
            address,
            seal,
            boot,
            seen,
            clock,
            skew,
            connection: Some(connection),
            origin,
            last_row: 0,
            next_try: None,
            pause: FIRST_PAUSE,
        })
    }

    fn connected(&self) -> Result<&PgConnection, LedgerError> {
        self.connection.as_ref().ok_or_else(|| LedgerError::Unreachable("the connection was lost".to_owned()))
    }

    /// Connects again, at growing distances. Meanwhile changes fail at once, and nothing of them is kept.
    fn reconnect(&mut self) -> Result<(), LedgerError> {
        if let Some((at, why)) = &self.next_try
            && Instant::now() < *at
        {
            return Err(why.clone());
        }
        match self.open_again() {
            Ok((connection, origin)) => {
                tracing::info!("the ledger's database is connected again");
                self.connection = Some(connection);
                self.origin = origin;
                self.next_try = None;
                self.pause = FIRST_PAUSE;
                Ok(())
            }
            Err(error) => {
                self.next_try = Some((Instant::now() + self.pause, error.clone()));
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                Err(error)
            }
        }
    }

    /// Connects to the ledger that it was. An old primary that came back after another took over is none.
    fn open_again(&self) -> Result<(PgConnection, Origin), LedgerError> {
        let connection = PgConnection::open(&self.address)?;
        schema::check(&connection, &self.seal)?;
        connection.batch(PLANS)?;
        let origin = replication::origin(&connection, self.address.standby())?;
        if origin.history.is_before(&self.origin.history) {
            return Err(LedgerError::Unreachable("one that was replaced by its standby answers".to_owned()));
        }
        Ok((connection, origin))
    }

    /// Locks the head, and looks at the clock and the session once it is locked: all in one round trip.
    fn begin_now(&self) -> Result<Begun, LedgerError> {
        let connection = self.connected()?;
        connection.take_notice();
        connection.get_ready(&[HEAD_NOW, SESSION_NOW])?;
        connection.send_batch("BEGIN ISOLATION LEVEL READ COMMITTED");
        let head = connection.send_query(HEAD_NOW, &[])?;
        let session = connection.send_query(SESSION_NOW, values![self.boot.as_str()])?;
        let head = Head::read(&one(connection, head)?)?;
        let session = one(connection, session)?;
        connection.settle()?;
        self.judge(&session)?;
        let clock = Timestamp::from_nanosecond(i128::from(session.get::<i64>(0)?))
            .map_err(|_| LedgerError::Store("its clock tells no time".to_owned()))?;
        self.skew.note(self.clock.now(), clock);
        let has_row = session.get::<i64>(4)? == 1;
        let presence = if has_row && self.seen.is_seen() { Presence::Seen } else { Presence::Unseen };
        let trail = if head.sequence < self.last_row { Trail::Shortened } else { Trail::Whole };
        let last = session.get::<Option<String>>(9)?.map(|last| last.parse::<Origin>()).transpose();
        let last = last.map_err(|_| LedgerError::Damaged("it does not know who wrote it".to_owned()))?;
        let continuity = self.origin.after(last.as_ref(), trail);
        Ok(Begun { head, clock, presence, continuity })
    }

    /// Refuses a session in which a commit would not last.
    fn judge(&self, session: &Row) -> Result<(), LedgerError> {
        if session.get::<bool>(1)? || session.get::<String>(2)? != "off" {
            return Err(LedgerError::ReadOnly);
        }
        let durability: String = session.get(3)?;
        if !["on", "remote_apply"].contains(&durability.as_str()) {
            let problem = format!("its commits are `{durability}`, which a power cut can take back");
            return Err(LedgerError::Store(problem));
        }
        // A newer node may have brought a schema that this one does not know.
        let found = session.get::<i64>(5)?;
        if found != schema::known() {
            return Err(LedgerError::NewerSchema { found, known: schema::known() });
        }
        Settings::read(session, 6)?.hold(self.address.standby())
    }

    fn look_now(&self) -> Result<(), LedgerError> {
        let connection = self.connected()?;
        let session = connection.send_query(SESSION_NOW, values![self.boot.as_str()])?;
        let session = one(connection, session)?;
        self.judge(&session)?;
        match session.get::<i64>(4)? == 1 && self.seen.is_seen() {
            true => Ok(()),
            false => Err(LedgerError::Unseen),
        }
    }

    /// Does something before anything is written. Where the connection was lost while nobody wrote, doing it anew on
    /// another one repeats nothing.
    fn first<T>(&mut self, act: impl Fn(&Self) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        if self.connection.as_ref().is_some_and(PgConnection::is_closed) {
            self.connection = None;
        }
        let had_one = self.connection.is_some();
        if !had_one {
            self.reconnect()?;
        }
        match act(self) {
            Err(LedgerError::Unreachable(_)) if had_one => {
                self.connection = None;
                self.reconnect()?;
                act(self)
            }
            done => done,
        }
    }
}

impl Transactions for PgWriter {
    fn begin(&mut self) -> Result<Begun, LedgerError> {
        self.first(Self::begin_now)
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn begin_change(&self) -> Result<(), LedgerError> {
        self.connected()?.send_batch("SAVEPOINT change");
        Ok(())
    }

    fn end_change(&self, so_far: Result<(), LedgerError>) -> Result<Result<(), LedgerError>, LedgerError> {
        let connection = self.connected()?;
        let settled = connection.settle();
        match so_far.and(settled) {
            Ok(()) => {
                connection.send_batch("RELEASE SAVEPOINT change");
                Ok(Ok(()))
            }
            Err(error @ LedgerError::Unreachable(_)) => Err(error),
            Err(error) => {
                connection.batch("ROLLBACK TO SAVEPOINT change; RELEASE SAVEPOINT change")?;
                Ok(Err(error))
            }
        }
    }

    fn commit(&mut self, news: Option<u64>) -> Result<(), LedgerError> {
        let connection = self.connected()?;
        if let Some(row) = news {
            let row = row.to_string();
            connection.write("SELECT pg_notify('yesgate_ledger', ?1)", values![row], Expected::Any)?;
        }
        connection.commit()?;
        if let Some(row) = news {
            self.last_row = row;
        }
        Ok(())
    }

    fn look(&mut self) -> Result<(), LedgerError> {
        self.first(Self::look_now)
    }

    fn give_up(&mut self) -> Result<(), LedgerError> {
        // What the session is left in after a commit that failed is not worth knowing: a new one begins clean.
        let is_clean = self.connection.as_ref().is_some_and(|connection| {
            connection.settle().ok();
            let is_back = connection.batch("ROLLBACK").is_ok();
            is_back && connection.take_notice().is_none()
        });
        if !is_clean {
            self.connection = None;
        }
        Ok(())
    }

    fn as_sql(&self) -> &dyn Sql {
        self
    }

    fn close(self: Box<Self>) {}
}

impl Sql for PgWriter {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        self.connected()?.execute(sql, values)
    }

    fn write(&self, sql: &str, values: &[Value<'_>], expected: Expected) -> Result<(), LedgerError> {
        self.connected()?.write(sql, values, expected)
    }

    fn write_many(
        &self,
        sql: &str,
        all: &[&[Value<'static>]],
        expected: &Expected,
    ) -> Result<(), LedgerError> {
        self.connected()?.write_many(sql, all, expected)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.connected()?.each(sql, values, visit)
    }

    fn ahead(&self, sql: &str, values: &[Value<'_>]) -> Result<(), LedgerError> {
        self.connected()?.ahead(sql, values)
    }

    fn begin_snapshot(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn end_snapshot(&self) -> Result<(), LedgerError> {
        Ok(())
    }
}

impl fmt::Debug for PgWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgWriter").finish_non_exhaustive()
    }
}

fn one(
    connection: &PgConnection,
    answer: super::connection::Answer<tokio_postgres::RowStream>,
) -> Result<Row, LedgerError> {
    let mut found = None;
    connection.receive(answer, &mut |row| {
        found = Some(row);
        Ok(())
    })?;
    found.ok_or_else(|| LedgerError::Damaged("it does not know its own end".to_owned()))
}

/// The head, which nobody else has until this transaction is over.
const HEAD_NOW: &str = "SELECT sequence, hash, time FROM head FOR UPDATE";

/// The clock, read after the head was locked, and what the session is like.
const SESSION_NOW: &str =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint, pg_is_in_recovery(),
    current_setting('transaction_read_only'), current_setting('synchronous_commit'),
    (SELECT count(*) FROM node WHERE boot = ?1), (SELECT version FROM yesgate_schema),
    current_setting('synchronous_standby_names'), current_setting('fsync'), current_setting('full_page_writes'),
    (SELECT system || '/' || timeline || '/' || copies FROM origin)";

/// What the writer looks for it finds by an index, whatever the statistics of the day say: a plan that was made while a
/// table was small must not go through all of it when it is large.
const PLANS: &str = "SET plan_cache_mode = force_generic_plan;
     SET enable_seqscan = off;
     SET enable_hashjoin = off;
     SET enable_mergejoin = off;";

/// How many changes share their statements at most.
const TOGETHER: usize = 128;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
