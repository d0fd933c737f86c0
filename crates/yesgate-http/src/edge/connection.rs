//! One connection from its first byte to its last.
//!
//! INVARIANT: everything of a connection happens in one task. What changes its deadline happens while that
//! task polls it, so that the deadline need only be looked at afterwards.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::net::sockopt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until, timeout};

use super::bell::Bell;
use super::pace::{Pace, PacedBody, PacedStream, Peer};
use super::slots::Slot;
use super::{EdgeLimits, Handler};

/// What all connections have in common.
#[derive(Debug)]
pub(super) struct Setting<H> {
    pub(super) handler: Arc<H>,
    pub(super) limits: EdgeLimits,
}

/// Serves one connection until it ends, is overdue, or has nothing to finish after the shutdown.
pub(super) async fn run<H: Handler>(
    setting: Arc<Setting<H>>,
    stream: io::Result<std::net::TcpStream>,
    from: SocketAddr,
    mut draining: watch::Receiver<()>,
    _slot: Slot,
) {
    // It is watched over by the thread that serves it, and by no other.
    let stream = match stream.and_then(TcpStream::from_std).and_then(prepare) {
        Ok(stream) => stream,
        Err(error) => {
            tracing::debug!(%error, "the connection was gone before it began");
            return;
        }
    };
    let _connected = setting.handler.connected();
    let limits = &setting.limits;
    let pace = Arc::new(Pace::new());
    let service = service_fn(|request| {
        let serving = pace.serving();
        let setting = Arc::clone(&setting);
        // In a box: its room is needed while it runs only, and most connections are idle or streaming.
        Box::pin(async move {
            let response = setting.handler.handle(request, from).await;
            Ok::<_, Infallible>(response.map(|body| PacedBody::new(body, serving)))
        })
    });
    let io = TokioIo::new(PacedStream::new(stream, Arc::clone(&pace)));
    let mut connection = builder(limits).serve_connection(io, service);
    let mut clock = Clock { sleep: pin!(sleep_until(Instant::now())), rings_at: None };
    let mut drained = pin!(draining.changed());
    let mut accepts_more = true;
    let mut bell = None::<Waker>;
    let ended = poll_fn(|cx| {
        // A task has one waker as long as it lives.
        let cx = &mut Context::from_waker(bell.get_or_insert_with(|| Bell::of(cx.waker())));
        // The sender never says anything: its drop is the message.
        if accepts_more && drained.as_mut().poll(cx).is_ready() {
            accepts_more = false;
            Pin::new(&mut connection).graceful_shutdown();
        }
        if let Poll::Ready(result) = Pin::new(&mut connection).poll(cx) {
            return Poll::Ready(Ended::Closed(result));
        }
        clock.poll(cx, pace.deadline(limits)).map(|()| Ended::Overdue)
    })
    .await;
    match ended {
        Ended::Overdue => tracing::debug!("closed a connection that kept us waiting"),
        Ended::Closed(result) => {
            if let Err(error) = result {
                tracing::debug!(%error, "a connection ended with an error");
            }
            let stream = connection.into_parts().io.into_inner().into_stream();
            match pace.peer() {
                Peer::There => linger(stream).await,
                Peer::Gone => {}
            }
        }
    }
}

/// Answers a connection for which there is no room, as far as that takes no waiting.
pub(super) fn turn_away(stream: TcpStream) {
    let sent = stream.into_std().and_then(|mut stream| stream.write(NO_ROOM));
    match sent {
        Ok(_) => tracing::debug!("turned a connection away: there are too many"),
        Err(error) => tracing::debug!(%error, "turned a connection away without a word"),
    }
}

const NO_ROOM: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

enum Ended {
    Closed(hyper::Result<()>),
    Overdue,
}

/// What HTTP allows here. A request may have up to 100 headers, the parser's own limit.
///
/// Answers are flushed one by one (no `pipeline_flush`): holding them back copies every body, and would keep
/// a stream silent as long as its client has sent a byte too many.
fn builder(limits: &EdgeLimits) -> Builder {
    let mut builder = Builder::new();
    builder
        .header_read_timeout(None)
        .half_close(false)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(SMALLEST_BUFFER));
    builder
}

/// The least that the HTTP library accepts.
const SMALLEST_BUFFER: usize = 8 * 1024;

/// Sends small messages at once, and notices a peer that vanished without a word.
fn prepare(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, KEEPALIVE_AFTER)?;
    sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_EVERY)?;
    sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_PROBES)?;
    // What was sent and is not acknowledged stops the probes above; it has its own clock.
    #[cfg(target_os = "linux")]
    sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_MILLIS)?;
    Ok(stream)
}

const KEEPALIVE_AFTER: Duration = Duration::from_secs(60);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 4;
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_MILLIS: u32 = 120_000;

/// Lets the other side read our last words. A socket that is closed with bytes unread resets the
/// connection, and a client that is still sending loses the answer that says why it should not.
async fn linger(mut stream: TcpStream) {
    let discard_rest = async {
        stream.shutdown().await?;
        let mut left = LINGER_BYTES;
        while left > 0 {
            stream.readable().await?;
            // Not held over an `await`: it would be part of every connection's task.
            let mut scrap = [0_u8; 8 * 1024];
            match stream.try_read(&mut scrap) {
                Ok(0) => break,
                Ok(read) => left = left.saturating_sub(read),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        io::Result::Ok(())
    };
    match timeout(LINGER_TIME, discard_rest).await {
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection broke at its end"),
    }
}

const LINGER_TIME: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 4 * 1024 * 1024;

/// A timer for a deadline that mostly moves away: it is set again only when it has to ring earlier, or has
/// rung in vain.
struct Clock<'a> {
    sleep: Pin<&'a mut Sleep>,
    rings_at: Option<Instant>,
}

impl Clock<'_> {
    /// Ready when the deadline has passed.
    fn poll(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else { return Poll::Pending };
        if self.rings_at.is_none_or(|rings_at| deadline < rings_at) {
            self.set(deadline);
        }
        while self.sleep.as_mut().poll(cx).is_ready() {
            if Instant::now() >= deadline {
                return Poll::Ready(());
            }
            self.set(deadline);
        }
        Poll::Pending
    }

    fn set(&mut self, deadline: Instant) {
        self.sleep.as_mut().reset(deadline);
        self.rings_at = Some(deadline);
    }
}
