//! Where the database is, and how far its word is trusted on the way.
//!
//! INVARIANT: a password is part of an address, and is never printed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use yesgate_core::policy::Standby;

/// Where a PostgreSQL database is: `postgres://user:password@host:port/database?sslmode=verify-full`.
///
/// `sslmode` is `disable`, `require` (the line is encrypted, but nobody asks who is at the other end) or `verify-full`.
/// Where it is not said, it is `verify-full`, and `disable` on the own machine. `sslrootcert` names a file with the
/// certificates to trust in place of those of the system. Of several hosts, `host1:5432,host2:5432`, the one that can
/// be written is meant, which `target_session_attrs` may say too. Prints everything but the password.
#[derive(Clone)]
pub struct DatabaseAddress {
    parts: Arc<Parts>,
    standby: Standby,
}

struct Parts {
    config: Config,
    trust: Trust,
}

/// Whom to believe that they are the database.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Trust {
    /// Whoever answers, in clear.
    InClear,
    /// Whoever answers.
    Anybody,
    /// Whom the system's certificates vouch for.
    System,
    /// Whom the certificates in a file vouch for.
    File(PathBuf),
}

/// Why a text is no address of a database.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AddressError {
    /// It is something else.
    #[error("this is no `postgres://` address")]
    NotAnAddress,
    /// A part of it is not understood.
    #[error("the address of the database is not understood: {0}")]
    Part(String),
    /// Nobody knows this way to secure the line.
    #[error("`sslmode={0}` is not known; `disable`, `require` and `verify-full` are")]
    Mode(String),
}

impl DatabaseAddress {
    /// Whether a text is meant to be one.
    pub fn is_meant_by(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// The same database, with what is said of a standby.
    #[must_use]
    pub fn with_standby(self, standby: Standby) -> Self {
        Self { standby, ..self }
    }

    /// The same database by whichever of its hosts answers, a standby too.
    pub(crate) fn of_whoever_answers(&self) -> Self {
        let mut config = self.config().clone();
        config.target_session_attrs(TargetSessionAttrs::Any);
        Self { parts: Arc::new(Parts { config, trust: self.trust().clone() }), standby: self.standby }
    }

    pub(crate) const fn standby(&self) -> Standby {
        self.standby
    }

    pub(crate) fn config(&self) -> &Config {
        &self.parts.config
    }

    pub(crate) fn trust(&self) -> &Trust {
        &self.parts.trust
    }
}

impl FromStr for DatabaseAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if !Self::is_meant_by(text) {
            return Err(AddressError::NotAnAddress);
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut mode, mut roots, mut hosts, mut others) = (None, None, Vec::new(), Vec::new());
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(certificates(value)?),
                // Several may stand there, sockets too.
                Some(("host", value)) => {
                    let value =
                        decoded(value).ok_or_else(|| AddressError::Part("`host` is no name".to_owned()))?;
                    hosts.extend(value.split(',').map(ToOwned::to_owned));
                }
                // Both mean the one that can be written, and no other is of use.
                Some(("target_session_attrs", "read-write" | "primary")) => {}
                Some(("target_session_attrs", _)) => {
                    return Err(AddressError::Part("a ledger is kept on the primary only".to_owned()));
                }
                Some(_) | None => others.push(part),
            }
        }
        let rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        // What it could not read may be the password: so only what kind of problem it was.
        let mut config: Config =
            rest.parse().map_err(|error: tokio_postgres::Error| {
                AddressError::Part(std::error::Error::source(&error).map_or_else(
                    || "it cannot be read".to_owned(),
                    |_| "a part of it has no meaning".to_owned(),
                ))
            })?;
        for host in &hosts {
            config.host(host);
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(AddressError::Part("it names no host".to_owned()));
        }
        let trust = match mode {
            Some("disable") => Trust::InClear,
            Some("require") => Trust::Anybody,
            Some("verify-full") => roots.map_or(Trust::System, Trust::File),
            Some(other) => return Err(AddressError::Mode(other.to_owned())),
            None if roots.is_none() && is_own_machine(&config) => Trust::InClear,
            None => roots.map_or(Trust::System, Trust::File),
        };
        config.ssl_mode(match trust {
            Trust::InClear => SslMode::Disable,
            Trust::Anybody | Trust::System | Trust::File(_) => SslMode::Require,
        });
        // Of several hosts the primary is the one; a standby alone is none.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name("yesgate").connect_timeout(CONNECT);
        // A peer that vanished is noticed before people lose patience.
        config.keepalives_idle(KEEP_ALIVE).keepalives_interval(KEEP_ALIVE).keepalives_retries(2);
        config.tcp_user_timeout(SILENCE);
        Ok(Self { parts: Arc::new(Parts { config, trust }), standby: Standby::NoneMeant })
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config();
        f.write_str("postgres://")?;
        if let Some(user) = config.get_user() {
            write!(f, "{user}@")?;
        }
        for (index, host) in config.get_hosts().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
            if let Some(port) = config.get_ports().get(index).or_else(|| config.get_ports().first()) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseAddress({self})")
    }
}

/// Whether nothing leaves the machine on the way there.
fn is_own_machine(config: &Config) -> bool {
    config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback)
        && config.get_hosts().iter().all(|host| match host {
            Host::Unix(_) => true,
            Host::Tcp(name) => {
                name == "localhost"
                    || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
            }
        })
}

fn certificates(value: &str) -> Result<PathBuf, AddressError> {
    let path = decoded(value).map(PathBuf::from).filter(|path| path.is_absolute());
    path.ok_or_else(|| AddressError::Part("`sslrootcert` is no path".to_owned()))
}

/// RFC 3986 §2.1: `%` and two digits stand for a byte.
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const CONNECT: Duration = Duration::from_secs(5);
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
