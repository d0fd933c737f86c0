//! One connection: statements that are prepared once, and sent without waiting where nobody needs the answer yet.
//!
//! INVARIANT: statements reach the database in the order in which they were given, and their answers are taken in that
//! order: one that nobody took would hold up all that come after it. What a statement before said is heard before anything
//! relies on it: a failure comes out at the next look-up, or when the change is settled.

mod ahead;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::BorrowToSql;
use tokio_postgres::{AsyncMessage, Client, RowStream, Statement};

use self::ahead::{Ahead, side_by_side};
use super::address::DatabaseAddress;
use super::fault::{in_our_words, is_certain, unreachable};
use super::{many, reach, types};
use crate::engine::value::{Row, Value};
use crate::engine::{Dialect, Expected, Sql};
use crate::error::LedgerError;

/// One connection, with a runtime of its own that runs while somebody waits for an answer.
pub(crate) struct PgConnection {
    client: Arc<Client>,
    runtime: Runtime,
    statements: RefCell<HashMap<String, Statement>>,
    /// The forms for many of statements, where they have one.
    for_many: RefCell<HashMap<String, Option<Statement>>>,
    sent: RefCell<Vec<Sent>>,
    ahead: RefCell<Ahead>,
    /// What the database said without having been asked.
    notices: Arc<Mutex<Vec<String>>>,
}

/// A write that is under way.
struct Sent {
    answer: Answer<u64>,
    /// How many times the statement was meant.
    count: u64,
    expected: Expected,
}

type Problem = tokio_postgres::Error;
pub(crate) type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Problem>>>>;

impl PgConnection {
    /// Connects, and makes the session one that a ledger can be kept in.
    pub(crate) fn open(address: &DatabaseAddress) -> Result<Self, LedgerError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LedgerError::file("cannot start a runtime"))?;
        let notices: Arc<Mutex<Vec<String>>> = Arc::default();
        let (client, mut connection) = runtime.block_on(reach::connect(address))?;
        let heard = Arc::clone(&notices);
        runtime.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notice(notice) = message {
                    heard.lock().unwrap_or_else(PoisonError::into_inner).push(notice.message().to_owned());
                }
            }
        });
        runtime.block_on(reach::within(client.batch_execute(SESSION)))?;
        Ok(Self {
            client: Arc::new(client),
            runtime,
            statements: RefCell::default(),
            for_many: RefCell::default(),
            sent: RefCell::default(),
            ahead: RefCell::default(),
            notices,
        })
    }

    /// Whether it is known to be lost.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Sends statements that have no parameters and yield nothing, without waiting.
    pub(crate) fn send_batch(&self, sql: &'static str) {
        let client = Arc::clone(&self.client);
        let answer = Box::pin(async move { client.batch_execute(sql).await.map(|()| 0) });
        self.hand_over(answer, 1, Expected::Any);
    }

    /// Has statements prepared, so that sending them waits for nothing.
    pub(crate) fn get_ready(&self, statements: &[&str]) -> Result<(), LedgerError> {
        statements.iter().try_for_each(|sql| self.prepared(sql).map(drop))
    }

    /// Sends a look-up without waiting for what it finds.
    pub(crate) fn send_query(
        &self,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<Answer<RowStream>, LedgerError> {
        let statement = self.prepared(sql)?;
        Ok(self.send(statement, owned(values)?))
    }

    fn send<P>(&self, statement: Statement, parameters: Vec<P>) -> Answer<RowStream>
    where
        P: BorrowToSql + 'static,
    {
        let client = Arc::clone(&self.client);
        let mut answer: Answer<RowStream> =
            Box::pin(async move { client.query_raw(&statement, parameters).await });
        match poll_once(&mut answer) {
            Poll::Ready(ready) => Box::pin(std::future::ready(ready)),
            Poll::Pending => answer,
        }
    }

    /// Waits for what a look-up finds. Nothing was written after it was sent.
    pub(crate) fn receive(
        &self,
        answer: Answer<RowStream>,
        visit: &mut dyn FnMut(Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        // Answers come in the order of what was sent, and of each only so many pieces wait for whoever takes them.
        self.settle()?;
        let visited = self.runtime.block_on(async {
            let mut rows = pin!(answer.await?);
            while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
                if let Err(error) = visit(types::read(&row?)?) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        });
        visited.unwrap_or_else(|error: Problem| Err(in_our_words(&error)))
    }

    /// Waits until everything that was sent has its answer. The first failure is the one that counts.
    pub(crate) fn settle(&self) -> Result<(), LedgerError> {
        self.hear_all().map_err(|failure| match failure {
            Failure::Said(error) => in_our_words(&error),
            Failure::Unexpected(error) => error,
        })
    }

    /// Commits what was written, and hears that it counts.
    pub(crate) fn commit(&self) -> Result<(), LedgerError> {
        self.forget_ahead();
        if let Some(notice) = self.take_notice() {
            return Err(LedgerError::Store(format!("the database warned: {notice}")));
        }
        let client = Arc::clone(&self.client);
        let mut answer: Answer<()> = Box::pin(async move { client.batch_execute("COMMIT").await });
        let early = poll_once(&mut answer);
        // The answers of what was sent before it come first: if one of them is a no, the database has made a rollback
        // of the commit.
        match self.hear_all() {
            Ok(()) => {}
            Err(Failure::Said(error)) if error.as_db_error().is_some() => return Err(in_our_words(&error)),
            Err(Failure::Said(error)) => return Err(LedgerError::InDoubt(unreachable(&error).to_string())),
            Err(Failure::Unexpected(error)) => return Err(LedgerError::InDoubt(error.to_string())),
        }
        let answered = match early {
            Poll::Ready(answered) => answered,
            Poll::Pending => self.runtime.block_on(answer),
        };
        match answered {
            Ok(()) => match self.take_notice() {
                None => Ok(()),
                Some(notice) => Err(LedgerError::InDoubt(format!("the database warned: {notice}"))),
            },
            Err(error) if is_certain(&error) => Err(in_our_words(&error)),
            Err(error) => Err(LedgerError::InDoubt(unreachable(&error).to_string())),
        }
    }

    /// Runs statements that have no parameters, and waits.
    pub(crate) fn batch(&self, sql: &str) -> Result<(), LedgerError> {
        self.forget_ahead();
        self.settle()?;
        self.runtime.block_on(self.client.batch_execute(sql)).map_err(|error| in_our_words(&error))
    }

    /// Forgets what was said without having been asked.
    pub(crate) fn take_notice(&self) -> Option<String> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).drain(..).next()
    }

    fn hear_all(&self) -> Result<(), Failure> {
        let sent = std::mem::take(&mut *self.sent.borrow_mut());
        if sent.is_empty() {
            return Ok(());
        }
        self.runtime.block_on(async {
            let mut outcome = Ok(());
            for Sent { answer, count, expected } in sent {
                let heard = match answer.await {
                    Ok(changed) => expected.check(changed, count).map_err(Failure::Unexpected),
                    Err(error) => Err(Failure::Said(error)),
                };
                outcome = outcome.and(heard);
            }
            outcome
        })
    }

    fn prepared(&self, sql: &str) -> Result<Statement, LedgerError> {
        if let Some(statement) = self.statements.borrow().get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.prepare(&sql.replace('?', "$"))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Has a statement prepared, once the answers to all before it were taken.
    fn prepare(&self, text: &str) -> Result<Statement, LedgerError> {
        self.settle()?;
        self.runtime.block_on(self.client.prepare(text)).map_err(|error| in_our_words(&error))
    }

    /// The form for many of a statement, if it has one and there are many.
    fn for_many(&self, sql: &str, count: usize) -> Result<Option<Statement>, LedgerError> {
        if count < 2 {
            return Ok(None);
        }
        if let Some(known) = self.for_many.borrow().get(sql) {
            return Ok(known.clone());
        }
        let one = self.prepared(sql)?;
        let made = many::form(sql, one.params()).map(|text| self.prepare(&text)).transpose()?;
        self.for_many.borrow_mut().insert(sql.to_owned(), made.clone());
        Ok(made)
    }

    /// Gives a statement its place among those that are sent.
    fn hand_over(&self, mut answer: Answer<u64>, count: u64, expected: Expected) {
        let answer = match poll_once(&mut answer) {
            Poll::Ready(ready) => Box::pin(std::future::ready(ready)),
            Poll::Pending => answer,
        };
        self.sent.borrow_mut().push(Sent { answer, count, expected });
    }

    /// Lets what was handed over leave now, so that the database works on it while the next is made ready.
    fn push_out(&self) {
        self.runtime.block_on(tokio::task::yield_now());
    }
}

/// Why a write does not count.
enum Failure {
    Said(Problem),
    Unexpected(LedgerError),
}

impl Sql for PgConnection {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, LedgerError> {
        self.forget_ahead();
        let statement = self.prepared(sql)?;
        self.settle()?;
        let changed = self.runtime.block_on(self.client.execute_raw(&statement, owned(values)?));
        changed.map_err(|error| in_our_words(&error))
    }

    fn write(&self, sql: &str, values: &[Value<'_>], expected: Expected) -> Result<(), LedgerError> {
        self.forget_ahead();
        let statement = self.prepared(sql)?;
        let client = Arc::clone(&self.client);
        let values = owned(values)?;
        self.hand_over(Box::pin(async move { client.execute_raw(&statement, values).await }), 1, expected);
        Ok(())
    }

    fn write_many(
        &self,
        sql: &str,
        all: &[&[Value<'static>]],
        expected: &Expected,
    ) -> Result<(), LedgerError> {
        self.forget_ahead();
        let Some(statement) = self.for_many(sql, all.len())? else {
            return all.iter().try_for_each(|values| self.write(sql, values, expected.clone()));
        };
        all.iter().copied().flatten().try_for_each(refuse_nul)?;
        let client = Arc::clone(&self.client);
        let (lists, count) = (side_by_side(all), u64::try_from(all.len()).unwrap_or(u64::MAX));
        let answer = Box::pin(async move { client.execute_raw(&statement, lists).await });
        self.hand_over(answer, count, expected.clone());
        self.push_out();
        Ok(())
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        match self.found_ahead(sql, values, visit)? {
            Some(()) => Ok(()),
            None => self.receive(self.send_query(sql, values)?, &mut |row| visit(&row)),
        }
    }

    fn ahead(&self, sql: &str, values: &[Value<'_>]) -> Result<(), LedgerError> {
        self.announce(sql, values)
    }

    fn begin_snapshot(&self) -> Result<(), LedgerError> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    }

    fn end_snapshot(&self) -> Result<(), LedgerError> {
        self.batch("ROLLBACK")
    }
}

impl fmt::Debug for PgConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgConnection").finish_non_exhaustive()
    }
}

/// The client hands a request to its connection when it is first asked for the answer, and never before.
fn poll_once<T>(answer: &mut Answer<T>) -> Poll<Result<T, Problem>> {
    answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// The parameters as they are sent.
fn owned(values: &[Value<'_>]) -> Result<Vec<Value<'static>>, LedgerError> {
    values.iter().try_for_each(refuse_nul)?;
    Ok(values.iter().cloned().map(Value::into_owned).collect())
}

/// PostgreSQL has no text with a NUL character. Found here, it spoils nothing else.
fn refuse_nul(value: &Value<'_>) -> Result<(), LedgerError> {
    match value {
        Value::Text(text) if text.contains('\0') => {
            Err(LedgerError::Store("a text with a NUL character cannot be kept in this database".to_owned()))
        }
        Value::Null | Value::Int(_) | Value::Text(_) | Value::Blob(_) => Ok(()),
    }
}

/// What is not left to the defaults of a server, a database or a role. A commit waits for the disk, and for the standby
/// where there is one; no statement is cut short; whoever falls silent inside a transaction loses it, so that others
/// can go on; and a wait for others ends before anything was done.
const SESSION: &str = "SET statement_timeout = 0;
     SET lock_timeout = '10s';
     SET idle_in_transaction_session_timeout = '15s';
     SET client_min_messages = notice;
     SET default_transaction_isolation = 'read committed';
     SET jit = off;
     SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout';
     SELECT set_config('synchronous_commit',
         CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false);";
