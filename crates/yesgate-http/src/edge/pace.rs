//! How long a connection may stay as it is. The HTTP library has one clock, for the head of a request, which
//! also runs between requests; here a head, a silence and a client that takes nothing each have their own.
//!
//! INVARIANT: only while a handler thinks or streams, and the client takes what is sent, is there no
//! deadline.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::EdgeLimits;
use super::body::Body;

/// The clock of one connection, shared by its socket, its requests and the task that drives it.
#[derive(Debug)]
pub(super) struct Pace(Mutex<State>);

#[derive(Debug)]
struct State {
    stage: Stage,
    stalled_since: Option<Instant>,
    peer: Peer,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The head of a request is on its way since then.
    Head(Instant),
    /// A handler thinks, or its body is being sent.
    Serving,
    /// Nothing has come since the last answer.
    Idle(Instant),
}

/// Whether the other side can still hear us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Peer {
    /// It may.
    There,
    /// It closed its side, or the connection broke.
    Gone,
}

impl Pace {
    /// Starts with a head that has to come.
    pub(super) fn new() -> Self {
        Self(Mutex::new(State { stage: Stage::Head(Instant::now()), stalled_since: None, peer: Peer::There }))
    }

    /// When the connection has to be something else than now.
    pub(super) fn deadline(&self, limits: &EdgeLimits) -> Option<Instant> {
        let State { stage, stalled_since, peer: _ } = *self.lock();
        // A time beyond the clock's range never comes.
        let stage = match stage {
            Stage::Head(since) => since.checked_add(limits.header_time),
            Stage::Serving => None,
            Stage::Idle(since) => since.checked_add(limits.idle_time),
        };
        let stall = stalled_since.and_then(|since| since.checked_add(limits.stall_time));
        match (stage, stall) {
            (Some(stage), Some(stall)) => Some(stage.min(stall)),
            (stage, stall) => stage.or(stall),
        }
    }

    /// Whether the other side can still hear us.
    pub(super) fn peer(&self) -> Peer {
        self.lock().peer
    }

    /// A request is complete enough to be handled; until the end of its answer nobody hurries.
    pub(super) fn serving(self: &Arc<Self>) -> Serving {
        self.lock().stage = Stage::Serving;
        Serving(Arc::clone(self))
    }

    fn heard(&self, bytes: usize) {
        let mut state = self.lock();
        if bytes == 0 {
            state.peer = Peer::Gone;
            return;
        }
        state.stage = match state.stage {
            Stage::Idle(_) => Stage::Head(Instant::now()),
            stage @ (Stage::Head(_) | Stage::Serving) => stage,
        };
    }

    fn wrote<T>(&self, written: &Poll<io::Result<T>>) {
        let mut state = self.lock();
        match written {
            Poll::Ready(Ok(_)) => state.stalled_since = None,
            Poll::Ready(Err(_)) => state.peer = Peer::Gone,
            Poll::Pending => {
                state.stalled_since.get_or_insert_with(Instant::now);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is being answered. Its drop begins the silence after it.
#[derive(Debug)]
pub(super) struct Serving(Arc<Pace>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.lock().stage = Stage::Idle(Instant::now());
    }
}

/// The body of an answer, and with it the end of the request.
#[derive(Debug)]
pub(super) struct PacedBody {
    body: Body,
    _serving: Serving,
}

impl PacedBody {
    pub(super) const fn new(body: Body, serving: Serving) -> Self {
        Self { body, _serving: serving }
    }
}

impl http_body::Body for PacedBody {
    type Data = Bytes;
    type Error = <Body as http_body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A socket that keeps the clock informed.
#[derive(Debug)]
pub(super) struct PacedStream {
    stream: TcpStream,
    pace: Arc<Pace>,
}

impl PacedStream {
    pub(super) const fn new(stream: TcpStream, pace: Arc<Pace>) -> Self {
        Self { stream, pace }
    }

    pub(super) fn into_stream(self) -> TcpStream {
        self.stream
    }
}

impl AsyncRead for PacedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, buf));
        self.pace.heard(match read {
            Ok(()) => buf.filled().len().saturating_sub(before),
            Err(_) => 0,
        });
        Poll::Ready(read)
    }
}

impl AsyncWrite for PacedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.pace.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut copy = [0; COPIED];
        let written = match in_one(bufs, &mut copy) {
            Some(one) => Pin::new(&mut self.stream).poll_write(cx, one),
            None => Pin::new(&mut self.stream).poll_write_vectored(cx, bufs),
        };
        self.pace.wrote(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What is short, in one piece: to copy it is less work for the system than to gather it.
fn in_one<'a>(pieces: &[IoSlice<'_>], copy: &'a mut [u8; COPIED]) -> Option<&'a [u8]> {
    let mut length = 0;
    for piece in pieces {
        let end = length + piece.len();
        copy.get_mut(length..end)?.copy_from_slice(piece);
        length = end;
    }
    copy.get(..length)
}

/// How much is rather copied.
const COPIED: usize = 1024;
