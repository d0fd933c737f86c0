//! Making connections, and waiting for answers that nobody should wait for for ever.
//!
//! INVARIANT: whoever takes a call and says nothing is no database. What changes a question is not waited for
//! here: that is never cut short.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::{Client, Connection, Socket};

use super::address::DatabaseAddress;
use super::fault::{in_our_words, unreachable};
use super::tls::{Line, Tls};
use crate::error::LedgerError;

/// Connects, and learns who is there. Of several hosts one after the other is tried, so each adds to the time.
pub(super) async fn connect(
    address: &DatabaseAddress,
) -> Result<(Client, Connection<Socket, Line>), LedgerError> {
    let config = address.config();
    let hosts = u32::try_from(config.get_hosts().len().max(1)).unwrap_or(u32::MAX);
    match timeout(CONNECT.saturating_mul(hosts), config.connect(Tls::of(address)?)).await {
        Ok(connected) => connected.map_err(|error| unreachable(&error)),
        Err(_) => Err(silent()),
    }
}

/// Waits for an answer, but not for ever.
pub(super) async fn within<T>(
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, LedgerError> {
    match timeout(SILENCE, answer).await {
        Ok(answered) => answered.map_err(|error| in_our_words(&error)),
        Err(_) => Err(silent()),
    }
}

fn silent() -> LedgerError {
    LedgerError::Unreachable("it does not answer".to_owned())
}

/// For the line and for what is said before the first statement.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(5);
