//! One connection to a server, driven by whoever uses it.
//!
//! It has no task of its own: whoever waits for an answer reads it, so nobody is woken but for bytes. There is one
//! exchange at a time on it.
//!
//! INVARIANT: a request counts as unwritten only when not even an attempt was made to write it.
//! INVARIANT: it is free for the next request only when all of the last one was written and all of its answer was read,
//! nothing came after that, and neither side said that it was the last.

use std::collections::VecDeque;
use std::fmt;
use std::io::IoSlice;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use http::{Method, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWrite as _};
use tokio::time::Instant;

use super::chunks::{Chunks, Found};
use super::connect::Stream;
use super::error::Broken;
use super::head::{self, Afterwards, Framing, Head};
use super::letter::Letter;

/// One connection. Dropping it closes it.
pub(super) struct Line {
    /// In a box: it is large with TLS, and is handed from hand to hand.
    stream: Box<TokioIo<Stream>>,
    /// What has come and was not taken.
    buffer: BytesMut,
    /// What is still to come of an answer.
    rest: Rest,
    afterwards: Afterwards,
    /// Since when nobody uses it.
    pub(super) rests_since: Instant,
}

/// What is still to come of an answer.
#[derive(Clone, Copy, Debug)]
enum Rest {
    /// Its head and whatever that announces.
    Head,
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunks(Chunks),
    /// Whatever comes until the connection ends.
    UntilClose,
    /// Nothing.
    Nothing,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The connection had ended, and nothing was written.
    Unwritten,
    /// It ended after that.
    Lost(Broken),
}

impl Line {
    /// Speaks HTTP over a stream.
    pub(super) fn over(stream: Stream) -> Self {
        Self {
            stream: Box::new(TokioIo::new(stream)),
            buffer: BytesMut::new(),
            rest: Rest::Nothing,
            afterwards: Afterwards::Free,
            rests_since: Instant::now(),
        }
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(&mut self, letter: &mut Letter) -> Result<Head, Unanswered> {
        // What is said on a connection that rests is its end, or nonsense; either way it is not used.
        if std::future::poll_fn(|cx| Poll::Ready(self.poll_read(cx, LEAST))).await.is_ready() {
            return Err(Unanswered::Unwritten);
        }
        self.rest = Rest::Head;
        let Letter { method, pieces, afterwards, host: _ } = letter;
        let answered = std::future::poll_fn(|cx| self.poll_exchange(cx, pieces, method)).await;
        // Either side may say that this was the last one.
        if *afterwards == Afterwards::Closed {
            self.afterwards = Afterwards::Closed;
        }
        answered.map_err(Unanswered::Lost)
    }

    /// Writes what can be written, and reads what has come: a server may answer before it has heard everything.
    fn poll_exchange(
        &mut self,
        cx: &mut Context<'_>,
        unsent: &mut VecDeque<Bytes>,
        asked: &Method,
    ) -> Poll<Result<Head, Broken>> {
        let written = self.poll_write(cx, unsent);
        match self.poll_head(cx, asked) {
            Poll::Ready(Ok(mut head)) => {
                if !unsent.is_empty() {
                    head.afterwards = Afterwards::Closed;
                }
                self.rest = match head.framing {
                    Framing::Length(0) => Rest::Nothing,
                    Framing::Length(length) => Rest::Length(length),
                    Framing::Chunked => Rest::Chunks(Chunks::Size),
                    Framing::Close => Rest::UntilClose,
                };
                self.afterwards = head.afterwards;
                Poll::Ready(Ok(head))
            }
            Poll::Ready(Err(broken)) => Poll::Ready(Err(broken)),
            Poll::Pending => match written {
                // Why it was not taken may still be said: that is waited for.
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
                Poll::Ready(Err(broken)) => Poll::Ready(Err(broken)),
            },
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, unsent: &mut VecDeque<Bytes>) -> Poll<Result<(), Broken>> {
        while let Some(first) = unsent.front() {
            let stream = Pin::new(&mut self.stream);
            let written = if unsent.len() == 1 {
                stream.poll_write(cx, first)
            } else {
                let mut slices = [IoSlice::new(&[]); SLICES];
                for (slice, piece) in slices.iter_mut().zip(&*unsent) {
                    *slice = IoSlice::new(piece);
                }
                stream.poll_write_vectored(cx, slices.get(..unsent.len().min(SLICES)).unwrap_or_default())
            };
            let mut written = match std::task::ready!(written) {
                Ok(0) => return Poll::Ready(Err(Broken::Closed)),
                Ok(written) => written,
                Err(error) => return Poll::Ready(Err(Broken::Io(error))),
            };
            while let Some(first) = unsent.front_mut() {
                let length = first.len().min(written);
                first.advance(length);
                written -= length;
                if !first.is_empty() {
                    break;
                }
                drop(unsent.pop_front());
            }
        }
        // TLS may hold back what it was given.
        Pin::new(&mut self.stream).poll_flush(cx).map_err(Broken::Io)
    }

    fn poll_head(&mut self, cx: &mut Context<'_>, asked: &Method) -> Poll<Result<Head, Broken>> {
        loop {
            if !self.buffer.is_empty()
                && let Some(head) = head::read(&mut self.buffer, asked)?
            {
                // Interim answers say nothing that anybody here waits for; nobody asked for another protocol.
                if head.status == StatusCode::SWITCHING_PROTOCOLS {
                    return Poll::Ready(Err(Broken::NotHttp));
                }
                if !head.status.is_informational() {
                    return Poll::Ready(Ok(head));
                }
                continue;
            }
            match std::task::ready!(self.poll_read(cx, USUAL))? {
                Came::Some => {}
                Came::End => return Poll::Ready(Err(Broken::Closed)),
            }
        }
    }

    /// The next piece of the answer; none at its end.
    pub(super) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            let room = match &mut self.rest {
                Rest::Nothing | Rest::Head => return Poll::Ready(None),
                Rest::Length(left) => {
                    if !self.buffer.is_empty() {
                        let here = usize::try_from(*left).unwrap_or(usize::MAX).min(self.buffer.len());
                        *left = left.saturating_sub(u64::try_from(here).unwrap_or(u64::MAX));
                        if *left == 0 {
                            self.rest = Rest::Nothing;
                        }
                        return Poll::Ready(Some(Ok(taken(&mut self.buffer, here))));
                    }
                    usize::try_from(*left).unwrap_or(usize::MAX).clamp(LEAST, MOST)
                }
                Rest::Chunks(chunks) => match chunks.take(&mut self.buffer) {
                    Ok(Found::Piece(piece)) => return Poll::Ready(Some(Ok(piece))),
                    Ok(Found::End) => {
                        self.rest = Rest::Nothing;
                        return Poll::Ready(None);
                    }
                    Ok(Found::Wait) => USUAL,
                    Err(broken) => return Poll::Ready(Some(Err(broken))),
                },
                Rest::UntilClose => {
                    if !self.buffer.is_empty() {
                        return Poll::Ready(Some(Ok(self.buffer.split().freeze())));
                    }
                    USUAL
                }
            };
            match std::task::ready!(self.poll_read(cx, room)) {
                Ok(Came::Some) => {}
                Ok(Came::End) => {
                    return Poll::Ready(match self.rest {
                        Rest::UntilClose => {
                            self.rest = Rest::Nothing;
                            None
                        }
                        Rest::Head | Rest::Length(_) | Rest::Chunks(_) | Rest::Nothing => {
                            Some(Err(Broken::Closed))
                        }
                    });
                }
                Err(broken) => return Poll::Ready(Some(Err(broken))),
            }
        }
    }

    /// How many bytes of the answer are still to come at least.
    pub(super) fn least(&self) -> u64 {
        match self.rest {
            Rest::Length(left) => left,
            Rest::Head | Rest::Chunks(_) | Rest::UntilClose | Rest::Nothing => 0,
        }
    }

    /// Whether all of the answer was read, as far as that is known without looking.
    pub(super) const fn is_over(&self) -> bool {
        match self.rest {
            Rest::Nothing => true,
            Rest::Head | Rest::Length(_) | Rest::Chunks(_) | Rest::UntilClose => false,
        }
    }

    /// Whether another request can be sent.
    pub(super) fn is_free(&self) -> bool {
        match (self.rest, self.afterwards) {
            (Rest::Nothing, Afterwards::Free) => self.buffer.is_empty(),
            (Rest::Nothing, Afterwards::Closed)
            | (Rest::Head | Rest::Length(_) | Rest::Chunks(_) | Rest::UntilClose, _) => false,
        }
    }

    /// Reads what has come. There is room for at least this much.
    fn poll_read(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<Result<Came, Broken>> {
        if self.buffer.capacity() - self.buffer.len() < room {
            self.buffer.reserve(room);
        }
        match std::task::ready!(pin!(self.stream.read_buf(&mut self.buffer)).poll(cx)) {
            Ok(0) => Poll::Ready(Ok(Came::End)),
            Ok(_) => Poll::Ready(Ok(Came::Some)),
            Err(error) => Poll::Ready(Err(Broken::Io(error))),
        }
    }
}

/// Takes the first so many bytes out of a buffer. A few are copied: then the next answer needs no new buffer.
fn taken(buffer: &mut BytesMut, length: usize) -> Bytes {
    match buffer.get(..length) {
        Some(few) if length <= COPIED => {
            let copy = Bytes::copy_from_slice(few);
            buffer.advance(length);
            copy
        }
        Some(_) | None => buffer.split_to(length).freeze(),
    }
}

/// What a look at the stream brought.
#[derive(Clone, Copy, Debug)]
enum Came {
    /// Bytes.
    Some,
    /// Its end.
    End,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("rest", &self.rest).finish_non_exhaustive()
    }
}

/// How many pieces of a request are written in one go.
const SLICES: usize = 8;

/// How much of an answer is rather copied.
const COPIED: usize = 1024;

/// How much is read in one go: at least, usually, and at most.
const LEAST: usize = 1024;
const USUAL: usize = 8 * 1024;
const MOST: usize = 128 * 1024;
