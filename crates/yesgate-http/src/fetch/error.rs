//! Why there is no usable answer, and whether the server may have the request all the same.
//!
//! INVARIANT: only what is certain is [`FetchError::NotSent`]. An error that is not known here is a loss.

use std::error::Error;
use std::io;

/// Why there is no usable answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FetchError {
    /// No byte of the request left: the server does not know of it.
    #[error("nothing was sent: {0}")]
    NotSent(NotSentReason),
    /// The server may have the request; its answer is lost.
    #[error("the answer is lost: {0}")]
    Lost(LostReason),
    /// The server may have the request; its answer is larger than allowed.
    #[error("the answer is larger than allowed")]
    TooLarge,
    /// The server may have the request; its answer took longer than allowed.
    #[error("the answer took longer than allowed")]
    TooSlow,
}

impl FetchError {
    /// Whether the server may have the request: yes, unless it is certain that it has not.
    pub const fn was_sent(&self) -> bool {
        match self {
            Self::NotSent(_) => false,
            Self::Lost(_) | Self::TooLarge | Self::TooSlow => true,
        }
    }
}

/// Why a request did not leave.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotSentReason {
    /// The address is not one of a server.
    #[error("the address is neither http nor https")]
    Address,
    /// The address is none that this client goes to.
    #[error("the server's address is none that may be connected to")]
    OutOfReach,
    /// Nobody listens there.
    #[error("the server refused the connection")]
    Refused,
    /// The server is not who it should be, or speaks no TLS.
    #[error("no trusted TLS connection to the server could be made")]
    Tls,
    /// Whom the system trusts could not be read, so nobody is.
    #[error("the system's certificates cannot be used")]
    NoTrust,
    /// The connection took longer than allowed.
    #[error("the connection to the server took longer than allowed")]
    TooSlow,
    /// The name could not be resolved, or no network leads there.
    #[error("the server could not be reached")]
    Unreachable,
    /// The connection ended before the request was put on it.
    #[error("the server closed the connection before the request was on it")]
    Closed,
}

/// Why the answer to a request is lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LostReason {
    /// The connection ended before the answer did.
    #[error("the server closed the connection before its answer was complete")]
    Closed,
    /// The answer cannot be read.
    #[error("the server's answer is not HTTP")]
    NotHttp,
    /// Something else went wrong after the request was put on the connection.
    #[error("the connection to the server broke")]
    Broken,
}

/// The system's certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the system's certificates cannot be used")]
pub struct TrustError(#[from] rustls::Error);

/// A connection took longer than allowed.
#[derive(Debug, thiserror::Error)]
#[error("connecting took longer than allowed")]
pub(super) struct ConnectTimeout;

/// A name or an address leads to where a client does not go.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the address is out of reach")]
pub(super) struct OutOfReach;

/// No connection could be made.
pub(super) fn of_connecting(error: &(dyn Error + 'static)) -> FetchError {
    tracing::debug!(error = %chain(error), "no connection to the server could be made");
    FetchError::NotSent(connect_reason(error))
}

/// A new connection ended before anything was written to it.
pub(super) fn of_closing() -> FetchError {
    tracing::debug!("the connection ended before the request was on it");
    FetchError::NotSent(NotSentReason::Closed)
}

/// What went wrong on a connection after a request was put on it.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// It ended before the answer did.
    #[error("the connection ended before the answer")]
    Closed,
    /// What came is not HTTP, or could be read in two ways.
    #[error("the answer is not HTTP")]
    NotHttp,
    /// The head of the answer has no end.
    #[error("the head of the answer is too large")]
    TooLarge,
    /// The stream under it broke.
    #[error("the stream broke")]
    Io(#[source] io::Error),
}

/// An exchange that went wrong.
pub(super) fn of_exchange(broken: &Broken) -> FetchError {
    tracing::debug!(error = %chain(broken), "the exchange with the server failed");
    match broken {
        Broken::TooLarge => FetchError::TooLarge,
        Broken::NotHttp => FetchError::Lost(LostReason::NotHttp),
        Broken::Closed => FetchError::Lost(LostReason::Closed),
        Broken::Io(error) if causes(error).filter_map(io_kind).any(is_close) => {
            FetchError::Lost(LostReason::Closed)
        }
        Broken::Io(_) => FetchError::Lost(LostReason::Broken),
    }
}

fn connect_reason(error: &(dyn Error + 'static)) -> NotSentReason {
    for cause in causes(error) {
        if cause.is::<ConnectTimeout>() {
            return NotSentReason::TooSlow;
        }
        if cause.is::<OutOfReach>() {
            return NotSentReason::OutOfReach;
        }
        if cause.is::<TrustError>() {
            return NotSentReason::NoTrust;
        }
        if cause.is::<rustls::Error>() {
            return NotSentReason::Tls;
        }
        match io_kind(cause) {
            Some(io::ErrorKind::ConnectionRefused) => return NotSentReason::Refused,
            Some(io::ErrorKind::TimedOut) => return NotSentReason::TooSlow,
            Some(_) | None => {}
        }
    }
    NotSentReason::Unreachable
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    error.downcast_ref::<io::Error>().map(io::Error::kind)
}

fn is_close(kind: io::ErrorKind) -> bool {
    [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe].contains(&kind)
}

/// An error and what caused it, outermost first.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error: &&'e (dyn Error + 'static)| {
        let error = *error;
        // An `io::Error` hides the error it was made of: its source is that one's source.
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
    .take(CAUSES)
}

fn chain(error: &(dyn Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

const CAUSES: usize = 16;
