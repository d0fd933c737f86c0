//! What an answer carries: nothing, pieces that are known in advance, or a stream that somebody feeds.
//!
//! INVARIANT: a body that is known in advance says its exact length, so that it goes out with a
//! `Content-Length` and without chunk framing; only pieces that are short together are copied, into one.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

/// The body of a response.
pub struct Body(Source);

enum Source {
    One(Option<Bytes>),
    Parts {
        parts: vec::IntoIter<Bytes>,
        left: u64,
    },
    Stream(mpsc::Receiver<Bytes>),
    /// A stream that somebody else may end.
    Cut {
        pieces: mpsc::Receiver<Bytes>,
        end: Pin<Box<dyn Future<Output = ()> + Send>>,
    },
}

impl Body {
    /// Nothing.
    pub const fn empty() -> Self {
        Self(Source::One(None))
    }

    /// One piece.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Source::One(Some(bytes.into()).filter(|bytes| !bytes.is_empty())))
    }

    /// Several pieces, one after the other.
    pub fn parts(parts: impl IntoIterator<Item = Bytes>) -> Self {
        let parts: Vec<Bytes> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let left = parts.iter().map(length).fold(0, u64::saturating_add);
        if left <= COPIED {
            return Self::whole(parts.concat());
        }
        Self(Source::Parts { parts: parts.into_iter(), left })
    }

    /// Whatever comes, until the last sender is dropped. When the client goes away the receiver is dropped,
    /// which the senders see as `closed`.
    pub const fn stream(pieces: mpsc::Receiver<Bytes>) -> Self {
        Self(Source::Stream(pieces))
    }

    /// The same, and a stream of it is over as soon as `end` is, whatever its senders have still to say. What is known in
    /// advance is sent as it is.
    #[must_use]
    pub fn until(self, end: impl Future<Output = ()> + Send + 'static) -> Self {
        match self.0 {
            Source::Stream(pieces) => Self(Source::Cut { pieces, end: Box::pin(end) }),
            source @ (Source::One(_) | Source::Parts { .. } | Source::Cut { .. }) => Self(source),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = match &mut self.0 {
            Source::One(bytes) => bytes.take(),
            Source::Parts { parts, left } => {
                parts.next().inspect(|part| *left = left.saturating_sub(length(part)))
            }
            Source::Stream(pieces) => std::task::ready!(pieces.poll_recv(cx)),
            Source::Cut { pieces, end } => match end.as_mut().poll(cx) {
                Poll::Ready(()) => {
                    // The senders see that nobody reads any more.
                    self.0 = Source::One(None);
                    None
                }
                Poll::Pending => std::task::ready!(pieces.poll_recv(cx)),
            },
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Source::One(bytes) => bytes.is_none(),
            Source::Parts { parts, left: _ } => parts.len() == 0,
            Source::Stream(pieces) | Source::Cut { pieces, end: _ } => {
                pieces.is_closed() && pieces.is_empty()
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Source::One(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, length)),
            Source::Parts { parts: _, left } => SizeHint::with_exact(*left),
            Source::Stream(_) | Source::Cut { .. } => SizeHint::new(),
        }
    }
}

/// Says how much there is, never what.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::One(bytes) => write!(f, "Body({} bytes)", bytes.as_ref().map_or(0, Bytes::len)),
            Source::Parts { parts, left } => write!(f, "Body({left} bytes in {} parts)", parts.len()),
            Source::Stream(_) | Source::Cut { .. } => f.write_str("Body(stream)"),
        }
    }
}

/// An answer of one line of text, for whoever gets no further than the edge.
pub fn plain(status: StatusCode, text: impl fmt::Display) -> Response<Body> {
    let mut response = Response::new(Body::whole(format!("{text}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// How much is rather copied into one piece than sent in several.
const COPIED: u64 = 2 * 1024;

fn length(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
