//! What a child says on its stdout, and the one thing its guard may say there instead.
//!
//! A program that could not be started says nothing, so the pipe is free: the guard says there why, behind a
//! mark with which no JSON text can begin. The reader of messages never sees it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe;

/// The stdout of a child, to read its messages from.
#[derive(Debug)]
pub struct ChildOutput {
    output: Arc<Output>,
}

impl ChildOutput {
    pub(super) const fn new(output: Arc<Output>) -> Self {
        Self { output }
    }
}

impl AsyncRead for ChildOutput {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.output.lock().poll_read(cx, buf)
    }
}

/// The pipe from the child, shared by the reader of its messages and by whoever asks how it ended.
#[derive(Debug)]
pub(super) struct Output {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    pipe: pipe::Receiver,
    speaker: Speaker,
}

/// Who speaks on the pipe.
#[derive(Debug)]
enum Speaker {
    /// Nothing was said yet.
    Unknown,
    /// The program; these bytes of its were looked at, and not yet read as messages.
    Program(Vec<u8>),
    /// The guard, because there is no program; this is the reason.
    Guard(String),
}

impl Output {
    pub(super) fn new(pipe: pipe::Receiver) -> Self {
        Self { state: Mutex::new(State { pipe, speaker: Speaker::Unknown }) }
    }

    /// Why the program could not be started; none if it was. To be asked after the guard has ended, when all
    /// that it can have said is in the pipe.
    pub(super) fn why_not_started(&self) -> Option<String> {
        let mut state = self.lock();
        match &state.speaker {
            Speaker::Unknown => {
                let mut room = [0; REPORT_CAP];
                // Past the runtime, which may not know yet that there is something to read. An error means
                // that nothing was said, and that somebody else holds the pipe open.
                let count = rustix::io::read(&state.pipe, &mut room).unwrap_or(0);
                state.speaker.said(room.get(..count).unwrap_or_default());
            }
            Speaker::Program(_) | Speaker::Guard(_) => {}
        }
        match &state.speaker {
            Speaker::Guard(reason) => Some(reason.clone()),
            Speaker::Program(_) | Speaker::Unknown => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            match &mut self.speaker {
                Speaker::Unknown => {
                    let mut room = [0; REPORT_CAP];
                    let mut first = ReadBuf::new(&mut room);
                    ready!(Pin::new(&mut self.pipe).poll_read(cx, &mut first))?;
                    if first.filled().is_empty() {
                        return Poll::Ready(Ok(()));
                    }
                    self.speaker.said(first.filled());
                }
                Speaker::Program(held) if held.is_empty() => {
                    return Pin::new(&mut self.pipe).poll_read(cx, buf);
                }
                Speaker::Program(held) => {
                    let count = held.len().min(buf.remaining());
                    buf.put_slice(held.get(..count).unwrap_or_default());
                    held.drain(..count);
                    return Poll::Ready(Ok(()));
                }
                // To the reader of messages this is the end.
                Speaker::Guard(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl Speaker {
    /// Takes down the first thing that was said, and by whom.
    fn said(&mut self, bytes: &[u8]) {
        match bytes.strip_prefix(GUARD_SPEAKS) {
            Some(reason) => *self = Self::Guard(String::from_utf8_lossy(reason).escape_debug().to_string()),
            None if bytes.is_empty() => {}
            None => *self = Self::Program(bytes.to_vec()),
        }
    }
}

/// What a guard writes in place of a program that could not be started, all at once.
pub(super) fn not_started(reason: &str) -> Vec<u8> {
    let mut said = [GUARD_SPEAKS, reason.as_bytes()].concat();
    said.truncate(REPORT_CAP);
    said
}

const GUARD_SPEAKS: &[u8] = b"\0yesgate guard: ";

/// The longest report: written at once and read at once, for a pipe does not split what is this short.
const REPORT_CAP: usize = 512;

#[cfg(test)]
mod tests;
