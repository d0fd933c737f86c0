//! Our own stdin and stdout, as the MCP host gave them to us.
//!
//! Hosts give pipes (Python, Rust, Go) or sockets (Node). Both are read and written on the runtime's own
//! thread. Terminals, files and `/dev/null` cannot be waited for and go through a helper thread.
//! - INVARIANT: the mode of stderr never changes. Non-blocking is a property of the open file, which
//!   descriptors share: where stderr is the same open file (`2>&1`), the helper thread is used too, for a log
//!   line must not fail because a pipe is full.
//! - Once both halves are dropped, the modes of stdin and stdout are as they were.

use std::io::{self, IoSlice};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::fs::{FileType, OFlags};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, Stdin, Stdout};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Opens this process's stdin and stdout for the runtime it is called in.
///
/// Call it once. Whoever leaves by `process::exit` drops both halves first, or a shell that shares the pipes
/// finds them non-blocking.
///
/// # Panics
/// Outside a tokio runtime.
pub fn host() -> io::Result<(HostReader, HostWriter)> {
    open(rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr())
}

/// What the host says to us.
#[derive(Debug)]
pub struct HostReader {
    end: ReadingEnd,
    _modes: Arc<Modes>,
}

/// What we say to the host.
#[derive(Debug)]
pub struct HostWriter {
    end: WritingEnd,
    _modes: Arc<Modes>,
}

#[derive(Debug)]
enum ReadingEnd {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    Threaded(Stdin),
}

#[derive(Debug)]
enum WritingEnd {
    Pipe(pipe::Sender),
    Socket(UnixStream),
    Threaded(Stdout),
}

fn open(
    input: BorrowedFd<'_>,
    output: BorrowedFd<'_>,
    log: BorrowedFd<'_>,
) -> io::Result<(HostReader, HostWriter)> {
    // Both halves hold the old modes of both ends: they may be one and the same open file, and the first
    // half to be dropped must not make the other one block.
    let modes = Arc::new(Modes::remember(&[input, output])?);
    let reading = match prepare(input, log)? {
        Prepared::Pipe(fd) => ReadingEnd::Pipe(pipe::Receiver::from_owned_fd(fd)?),
        Prepared::Socket(fd) => ReadingEnd::Socket(UnixStream::from_std(StdUnixStream::from(fd))?),
        Prepared::Threaded => ReadingEnd::Threaded(tokio::io::stdin()),
    };
    let writing = match prepare(output, log)? {
        Prepared::Pipe(fd) => WritingEnd::Pipe(pipe::Sender::from_owned_fd(fd)?),
        Prepared::Socket(fd) => WritingEnd::Socket(UnixStream::from_std(StdUnixStream::from(fd))?),
        Prepared::Threaded => WritingEnd::Threaded(tokio::io::stdout()),
    };
    let reader = HostReader { end: reading, _modes: Arc::clone(&modes) };
    Ok((reader, HostWriter { end: writing, _modes: modes }))
}

/// A descriptor of ours for an end that the host gave us.
enum Prepared {
    /// In non-blocking mode.
    Pipe(OwnedFd),
    /// In non-blocking mode.
    Socket(OwnedFd),
    /// To be left alone.
    Threaded,
}

fn prepare(end: BorrowedFd<'_>, log: BorrowedFd<'_>) -> io::Result<Prepared> {
    let file_type = FileType::from_raw_mode(rustix::fs::fstat(end)?.st_mode);
    if !file_type.is_fifo() && !file_type.is_socket() {
        return Ok(Prepared::Threaded);
    }
    let mode_of_end = rustix::fs::fcntl_getfl(end)?;
    let mode_of_log = rustix::fs::fcntl_getfl(log)?;
    rustix::fs::fcntl_setfl(end, mode_of_end | OFlags::NONBLOCK)?;
    // No call tells whether two descriptors are one open file; that the mode of one follows the other does.
    if rustix::fs::fcntl_getfl(log)? != mode_of_log {
        rustix::fs::fcntl_setfl(end, mode_of_end)?;
        return Ok(Prepared::Threaded);
    }
    let end = end.try_clone_to_owned()?;
    Ok(if file_type.is_fifo() { Prepared::Pipe(end) } else { Prepared::Socket(end) })
}

/// The modes of open files before we touched them; restored on drop.
#[derive(Debug)]
struct Modes(Vec<(OwnedFd, OFlags)>);

impl Modes {
    fn remember(ends: &[BorrowedFd<'_>]) -> io::Result<Self> {
        let remember = |end: &BorrowedFd<'_>| Ok((end.try_clone_to_owned()?, rustix::fs::fcntl_getfl(end)?));
        ends.iter().map(remember).collect::<io::Result<Vec<_>>>().map(Self)
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        for (end, mode) in &self.0 {
            // An end that cannot be restored is one that nobody can use any more.
            rustix::fs::fcntl_setfl(end, *mode).ok();
        }
    }
}

impl AsyncRead for HostReader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().end {
            ReadingEnd::Pipe(pipe) => Pin::new(pipe).poll_read(cx, buf),
            ReadingEnd::Socket(socket) => Pin::new(socket).poll_read(cx, buf),
            ReadingEnd::Threaded(stdin) => Pin::new(stdin).poll_read(cx, buf),
        }
    }
}

impl HostWriter {
    fn end(&mut self) -> Pin<&mut (dyn AsyncWrite + Unpin)> {
        Pin::new(match &mut self.end {
            WritingEnd::Pipe(pipe) => pipe,
            WritingEnd::Socket(socket) => socket,
            WritingEnd::Threaded(stdout) => stdout,
        })
    }
}

impl AsyncWrite for HostWriter {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.end().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.end().poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.end {
            WritingEnd::Pipe(pipe) => pipe.is_write_vectored(),
            WritingEnd::Socket(socket) => socket.is_write_vectored(),
            WritingEnd::Threaded(stdout) => stdout.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end().poll_flush(cx)
    }

    /// Flushes. The host sees the end of what we say when this process ends, for stdout itself stays open.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.end().poll_flush(cx)
    }
}

#[cfg(test)]
mod tests;
