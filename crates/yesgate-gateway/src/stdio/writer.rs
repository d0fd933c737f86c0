//! Messages sent whole, in order, and without ever waiting for the peer.
//!
//! A message goes out in the call that sends it, if the pipe has room; that is the usual case, and it costs
//! one write. What does not fit is kept, and a task of the runtime writes it when the peer reads again.
//! - INVARIANT: a line is taken whole or not at all, and never mixed with another.
//! - INVARIANT: while something is kept, nothing overtakes it.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::AsyncWrite;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// How many bytes are kept for a peer that does not read.
pub const BACKLOG_CAP: usize = 64 * 1024 * 1024;

/// Why a line was not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// The peer closed its end, or we closed ours.
    #[error("the other side is closed")]
    Closed,
    /// The peer does not read; trying again helps only if it starts to.
    #[error("the other side does not read, and too much is waiting for it already")]
    Backlog,
    /// The text has a line break in it and would arrive as two messages.
    #[error("a message must be one line")]
    LineBreak,
}

/// A handle to send lines to one peer; clones send to the same peer.
///
/// When the last handle is gone, what was taken is still written, and then the end is closed.
#[derive(Clone)]
pub struct LineWriter {
    shared: Arc<Shared>,
}

impl LineWriter {
    /// Sends lines into `sink`, keeping up to [`BACKLOG_CAP`] bytes.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(sink: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self::with_cap(sink, BACKLOG_CAP)
    }

    /// Sends lines into `sink`, keeping up to `cap` bytes.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn with_cap(sink: impl AsyncWrite + Send + Unpin + 'static, cap: usize) -> Self {
        let state = State { sink: Some(Box::new(sink)), backlog: Backlog::default(), task: Task::Idle };
        let shared =
            Shared { cap, runtime: Handle::current(), state: Mutex::new(state), settled: Notify::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Sends one line and the line break after it. Never blocks. To be called inside the runtime, as a task
    /// does.
    pub fn send(&self, line: &[u8]) -> Result<(), WriteError> {
        if line.contains(&b'\n') {
            return Err(WriteError::LineBreak);
        }
        let taken = self.shared.lock().send(line, self.shared.cap)?;
        match taken {
            Taken::Settled => {}
            Taken::NeedsTask => drop(self.shared.runtime.spawn(drain(Arc::clone(&self.shared)))),
        }
        Ok(())
    }

    /// Waits until everything that was taken is written, or can never be.
    pub async fn flushed(&self) {
        let mut settled = pin!(self.shared.settled.notified());
        loop {
            settled.as_mut().enable();
            match self.shared.lock().task {
                Task::Idle => return,
                Task::Draining | Task::Closing => {}
            }
            settled.as_mut().await;
            settled.set(self.shared.settled.notified());
        }
    }

    /// Takes no more lines, for all clones; the end is closed once everything that was taken is written.
    pub fn close(&self) {
        self.shared.lock().close();
    }
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.shared.lock();
        f.debug_struct("LineWriter")
            .field("open", &state.sink.is_some())
            .field("backlog_bytes", &state.backlog.bytes)
            .field("task", &state.task)
            .finish()
    }
}

struct Shared {
    cap: usize,
    runtime: Handle,
    state: Mutex<State>,
    /// Told when the task has nothing left to do.
    settled: Notify,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct State {
    /// None once it is closed.
    sink: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    backlog: Backlog,
    task: Task,
}

/// What the background task does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Task {
    /// There is none: everything is written.
    Idle,
    /// It writes what is kept.
    Draining,
    /// It writes what is kept and then closes.
    Closing,
}

/// What became of a line that was taken.
enum Taken {
    /// It is written, or the task that is at work will write it.
    Settled,
    /// There is work for a task, and no task yet.
    NeedsTask,
}

impl State {
    fn send(&mut self, line: &[u8], cap: usize) -> Result<Taken, WriteError> {
        let Some(sink) = &mut self.sink else { return Err(WriteError::Closed) };
        // Checked before the first byte leaves: a line of which a part is written must be taken.
        if self.backlog.bytes.saturating_add(line.len()).saturating_add(1) > cap {
            return Err(WriteError::Backlog);
        }
        match self.task {
            Task::Closing => return Err(WriteError::Closed),
            Task::Draining => {
                self.backlog.push(line);
                self.backlog.push(b"\n");
                return Ok(Taken::Settled);
            }
            Task::Idle => {}
        }
        // Nobody waits here, so nobody needs to be woken: the task will wait, if there must be one.
        let mut cx = Context::from_waker(Waker::noop());
        let mut parts = [IoSlice::new(line), IoSlice::new(b"\n")];
        let mut rest = parts.as_mut_slice();
        while !rest.is_empty() {
            match Pin::new(&mut *sink).poll_write_vectored(&mut cx, rest) {
                Poll::Ready(Ok(0)) => return Err(self.fail(&io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => IoSlice::advance_slices(&mut rest, count),
                Poll::Ready(Err(error)) => return Err(self.fail(&error)),
                Poll::Pending => {
                    rest.iter().for_each(|part| self.backlog.push(part));
                    self.task = Task::Draining;
                    return Ok(Taken::NeedsTask);
                }
            }
        }
        // Only the helper thread behind a terminal or file has something to flush.
        match Pin::new(sink).poll_flush(&mut cx) {
            Poll::Ready(Ok(())) => Ok(Taken::Settled),
            Poll::Ready(Err(error)) => Err(self.fail(&error)),
            Poll::Pending => {
                self.task = Task::Draining;
                Ok(Taken::NeedsTask)
            }
        }
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(sink) = &mut self.sink {
            let written = match self.backlog.front() {
                Some(bytes) => ready!(Pin::new(sink).poll_write(cx, bytes)),
                None => match ready!(Pin::new(sink).poll_flush(cx)) {
                    Ok(()) => break,
                    Err(error) => Err(error),
                },
            };
            match written {
                Ok(0) => drop(self.fail(&io::ErrorKind::WriteZero.into())),
                Ok(count) => self.backlog.advance(count),
                Err(error) => drop(self.fail(&error)),
            }
        }
        match self.task {
            Task::Closing => self.sink = None,
            Task::Idle | Task::Draining => {}
        }
        self.task = Task::Idle;
        Poll::Ready(())
    }

    fn close(&mut self) {
        match self.task {
            Task::Idle => self.sink = None,
            Task::Draining | Task::Closing => self.task = Task::Closing,
        }
    }

    /// Closes because writing failed; what is kept can never be delivered.
    fn fail(&mut self, error: &io::Error) -> WriteError {
        tracing::debug!(%error, lost.bytes = self.backlog.bytes, "the other side can no longer be written to");
        self.sink = None;
        self.backlog = Backlog::default();
        WriteError::Closed
    }
}

/// Writes what is kept, whenever the peer reads; ends when nothing is left.
async fn drain(shared: Arc<Shared>) {
    poll_fn(|cx| shared.lock().poll_drain(cx)).await;
    shared.settled.notify_waiters();
}

/// Bytes that wait, in pieces, so that memory is given back as they leave and small lines go out together.
#[derive(Default)]
struct Backlog {
    pieces: VecDeque<Vec<u8>>,
    /// How much of the first piece is written.
    written: usize,
    bytes: usize,
}

impl Backlog {
    fn push(&mut self, mut bytes: &[u8]) {
        self.bytes += bytes.len();
        while !bytes.is_empty() {
            let room = self.pieces.back().map_or(0, |piece| PIECE - piece.len());
            if room == 0 {
                self.pieces.push_back(Vec::with_capacity(PIECE));
                continue;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if let Some(piece) = self.pieces.back_mut() {
                piece.extend_from_slice(now);
            }
            bytes = later;
        }
    }

    fn front(&self) -> Option<&[u8]> {
        self.pieces.front().and_then(|piece| piece.get(self.written..))
    }

    fn advance(&mut self, count: usize) {
        self.bytes = self.bytes.saturating_sub(count);
        self.written += count;
        if self.pieces.front().is_some_and(|piece| self.written >= piece.len()) {
            self.pieces.pop_front();
            self.written = 0;
        }
    }
}

const PIECE: usize = 64 * 1024;

#[cfg(test)]
mod tests;
