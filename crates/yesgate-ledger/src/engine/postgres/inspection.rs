//! What a database says about itself, for whoever looks after it.
//!
//! INVARIANT: it only looks. It wants no key, and takes a standby as it is.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use yesgate_core::clock::Clock;

use super::address::DatabaseAddress;
use super::connection::PgConnection;
use super::replication::HISTORY;
use crate::engine::Sql;
use crate::error::LedgerError;

/// What a database says about itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DatabaseState {
    /// Which PostgreSQL it is.
    pub version: String,
    /// What it is to others.
    pub role: Role,
    /// How it is spoken to.
    pub line: Line,
    /// What commits wait for (`synchronous_standby_names`); nothing: for no standby.
    pub waits_for: String,
    /// Settings that are off and must not be, where a commit is to survive a power cut.
    pub off: Vec<&'static str>,
    /// Who follows it.
    pub followers: Followers,
    /// How far its clock is ahead of ours.
    pub ahead: SignedDuration,
}

/// What a server is to others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Role {
    /// It can be written. Its system and timeline.
    Primary(String),
    /// It follows another one and cannot be written.
    Standby,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Line {
    /// Nobody can listen.
    Encrypted,
    /// In clear, and nothing leaves the machine.
    OnThisMachine,
    /// In clear, over a network.
    InClear,
}

/// Who follows a server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Followers {
    /// The account may not see them.
    Hidden,
    /// Their names: those that have every commit before it counts, and those that come behind.
    Seen {
        /// They have every commit.
        synchronous: Vec<String>,
        /// They may lack the last ones.
        asynchronous: Vec<String>,
    },
}

/// Whether a failover can bring a spent yes back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Revival {
    /// Nobody follows, so nobody takes over.
    NobodyFollows,
    /// No: whoever can take over has every commit.
    Impossible,
    /// Only if one takes over that was not waited for.
    ByTheWrongOne,
    /// Yes.
    Possible,
    /// It cannot be told from here.
    Untold,
}

impl DatabaseState {
    /// Whether a failover can bring a spent yes back.
    pub fn revival(&self) -> Revival {
        let is_waited_for = !self.waits_for.trim().is_empty() && self.off.is_empty();
        match (&self.role, &self.followers) {
            (Role::Standby, _) | (_, Followers::Hidden) => Revival::Untold,
            (Role::Primary(_), Followers::Seen { synchronous, asynchronous }) => {
                match (synchronous.is_empty(), asynchronous.is_empty()) {
                    (true, true) => Revival::NobodyFollows,
                    (false, true) if is_waited_for => Revival::Impossible,
                    (false, false) if is_waited_for => Revival::ByTheWrongOne,
                    (_, _) => Revival::Possible,
                }
            }
        }
    }
}

impl DatabaseAddress {
    /// Looks at the database, and changes nothing.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn inspect(&self, clock: Arc<dyn Clock>) -> Result<DatabaseState, LedgerError> {
        let address = self.clone();
        let looked = tokio::task::spawn_blocking(move || {
            let primary = PgConnection::open(&address);
            let connection = primary.or_else(|_| PgConnection::open(&address.of_whoever_answers()))?;
            inspect(&connection, &*clock)
        });
        looked.await.unwrap_or(Err(LedgerError::Panicked))
    }
}

fn inspect(connection: &dyn Sql, clock: &dyn Clock) -> Result<DatabaseState, LedgerError> {
    let untold = || LedgerError::Store("it does not tell about itself".to_owned());
    let about = connection.first(ABOUT, &[])?.ok_or_else(untold)?;
    let there = Timestamp::from_nanosecond(i128::from(about.get::<i64>(3)?)).map_err(|_| untold())?;
    let ahead = there.duration_since(clock.now());
    let role = if about.get::<bool>(1)? {
        Role::Standby
    } else {
        let history = connection.first(HISTORY, &[])?.ok_or_else(untold)?;
        Role::Primary(format!("{}/{}", history.get::<String>(0)?, history.get::<i64>(1)?))
    };
    let line = match (about.get::<bool>(4)?, about.get::<bool>(5)?) {
        (true, _) => Line::Encrypted,
        (false, true) => Line::OnThisMachine,
        (false, false) => Line::InClear,
    };
    let mut off = Vec::new();
    for (column, setting) in [(6, "fsync"), (7, "full_page_writes")] {
        if about.get::<String>(column)? != "on" {
            off.push(setting);
        }
    }
    let (version, waits_for) = (about.get(0)?, about.get(2)?);
    Ok(DatabaseState { version, role, line, waits_for, off, followers: followers(connection)?, ahead })
}

fn followers(connection: &dyn Sql) -> Result<Followers, LedgerError> {
    let (mut synchronous, mut asynchronous, mut hidden) = (Vec::new(), Vec::new(), 0);
    connection.each(FOLLOWERS, &[], &mut |row| {
        let name: String = row.get(0)?;
        match row.get::<Option<String>>(1)?.as_deref() {
            Some("sync" | "quorum") => synchronous.push(name),
            Some(_) => asynchronous.push(name),
            None => hidden += 1,
        }
        Ok(())
    })?;
    Ok(match hidden {
        0 => Followers::Seen { synchronous, asynchronous },
        _ => Followers::Hidden,
    })
}

const ABOUT: &str =
    "SELECT current_setting('server_version'), pg_is_in_recovery(), current_setting('synchronous_standby_names'),
    (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint,
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
    coalesce(inet_client_addr() <<= inet '127.0.0.0/8' OR inet_client_addr() = inet '::1', true),
    current_setting('fsync'), current_setting('full_page_writes')";
const FOLLOWERS: &str =
    "SELECT coalesce(application_name, ''), sync_state FROM pg_stat_replication ORDER BY 1";
