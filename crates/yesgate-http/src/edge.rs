//! The HTTP server that `serve` stands on. It knows sockets, limits and browsers, and nothing of MCP.
//!
//! INVARIANTS:
//! - Whatever a client does or leaves undone, it costs a bounded time, a bounded memory and one slot:
//!   every stage of a connection but our own thinking has a deadline, and a limit of 0 allows nothing.
//! - A handler's future lives as long as its client waits, and the source of a streamed body as long as its
//!   client reads: both are dropped when the connection ends.
//! - [`serve`] ends after the shutdown only, and leaves no task behind.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

use self::body::Body;
use self::connection::Setting;
use self::crew::Crew;
use self::slots::Slots;

pub mod bearer;
mod bell;
pub mod body;
mod connection;
mod cors;
pub mod crew;
pub mod guard;
pub mod intake;
mod pace;
pub mod pages;
pub mod quota;
mod slots;

#[cfg(test)]
mod tests;

/// Answers the requests of all connections.
pub trait Handler: Send + Sync + 'static {
    /// Whatever is to be held as long as a connection lasts, such as a count of them.
    fn connected(&self) -> Box<dyn Send> {
        Box::new(())
    }

    /// Answers one request. The future is dropped when its client goes away.
    fn handle(
        &self,
        request: Request<Incoming>,
        from: SocketAddr,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// What a client may take of us. Zero means none or at once, never unlimited.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EdgeLimits {
    /// For the whole head of a request, from its first byte; on a new connection from its beginning.
    pub header_time: Duration,
    /// For the whole body of a request.
    pub body_time: Duration,
    /// Between the end of an answer and the first byte of the next request.
    pub idle_time: Duration,
    /// While the client takes nothing of what we have to send.
    pub stall_time: Duration,
    /// For running requests and streams after the shutdown.
    pub drain_time: Duration,
    /// Connections at a time.
    pub connections: usize,
    /// Connections at a time from one address, or from one /64 network of IPv6.
    pub connections_per_address: usize,
    /// The head of a request.
    pub header_bytes: usize,
    /// The body of a request.
    pub body_bytes: usize,
}

impl EdgeLimits {
    /// The usual limits for a server that listens at `address`.
    ///
    /// On loopback every client, or the proxy in front of all clients, has the same address: there a share
    /// per address says nothing, and only the cap on all connections holds.
    pub fn listening_at(address: SocketAddr) -> Self {
        let usual = Self::default();
        if address.ip().to_canonical().is_loopback() {
            Self { connections_per_address: usual.connections, ..usual }
        } else {
            usual
        }
    }
}

impl Default for EdgeLimits {
    fn default() -> Self {
        Self {
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(75),
            stall_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(10),
            connections: 12_288,
            connections_per_address: 512,
            header_bytes: 32 * 1024,
            body_bytes: 1024 * 1024,
        }
    }
}

/// How the connections that were open at the shutdown ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Drained {
    /// By themselves, their last answer sent.
    pub finished: usize,
    /// By us, in the middle of something, because the time was over.
    pub cut: usize,
}

/// Serves connections on the threads of a crew until `shutdown` is ready, then lets the running requests end.
///
/// Dropping the future cuts all connections.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    handler: Arc<H>,
    limits: EdgeLimits,
    crew: &Crew,
    shutdown: impl Future<Output = ()>,
) -> Drained {
    serve_from(listener, handler, limits, crew, shutdown).await
}

/// Where connections come from: a listener, or in tests one that has trouble.
trait Door {
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)>;
}

impl Door for TcpListener {
    async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        Self::accept(self).await
    }
}

async fn serve_from<H: Handler>(
    door: impl Door,
    handler: Arc<H>,
    limits: EdgeLimits,
    crew: &Crew,
    shutdown: impl Future<Output = ()>,
) -> Drained {
    let mut shutdown = std::pin::pin!(shutdown);
    let slots = Arc::new(Slots::new(limits.connections, limits.connections_per_address));
    let (drain, draining) = watch::channel(());
    let drain_time = limits.drain_time;
    let setting = Arc::new(Setting { handler, limits });
    let mut connections = JoinSet::new();
    let mut next_accept = Instant::now();
    let mut trouble = false;
    loop {
        let accept = async {
            sleep_until(next_accept).await;
            door.accept().await
        };
        tokio::select! {
            () = shutdown.as_mut() => break,
            Some(ended) = connections.join_next() => report(ended),
            accepted = accept => match accepted {
                Ok((stream, from)) => {
                    trouble = false;
                    match slots.take(from.ip()) {
                        Some(slot) => {
                            let setting = Arc::clone(&setting);
                            let run = connection::run(setting, stream.into_std(), from, draining.clone(), slot);
                            crew.give(&mut connections, run);
                        }
                        None => connection::turn_away(stream),
                    }
                }
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    if !trouble {
                        tracing::warn!(%error, "cannot accept connections; trying again until it works");
                    }
                    trouble = true;
                    next_accept = Instant::now() + ACCEPT_PAUSE;
                }
            },
        }
    }
    drop(door);
    drop(drain);
    let open = connections.len();
    let all_ended = async {
        while let Some(ended) = connections.join_next().await {
            report(ended);
        }
    };
    let in_time = timeout(drain_time, all_ended).await;
    let cut = match in_time {
        Ok(()) => 0,
        Err(_) => connections.len(),
    };
    connections.shutdown().await;
    Drained { finished: open.saturating_sub(cut), cut }
}

/// How long to leave a listener alone that has an error of its own, such as no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Tells a client that was gone before we came to it from a trouble of ours.
fn is_about_one_connection(error: &io::Error) -> bool {
    [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset, io::ErrorKind::Interrupted]
        .contains(&error.kind())
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection's task failed");
    }
}
