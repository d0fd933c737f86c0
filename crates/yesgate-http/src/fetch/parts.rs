//! The body of a request: a few pieces, sent one after the other without being copied together.
//!
//! INVARIANT: its length is known from the start, and a piece is given away once: nobody can send it again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a request. The default has none.
#[derive(Default)]
pub struct Parts {
    /// The pieces that are still to be sent; none of them is empty.
    pieces: VecDeque<Bytes>,
}

impl Parts {
    fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::try_from(piece.len()).unwrap_or(u64::MAX)).sum()
    }
}

impl FromIterator<Bytes> for Parts {
    fn from_iter<I: IntoIterator<Item = Bytes>>(pieces: I) -> Self {
        Self { pieces: pieces.into_iter().filter(|piece| !piece.is_empty()).collect() }
    }
}

impl From<Bytes> for Parts {
    fn from(whole: Bytes) -> Self {
        Self::from_iter([whole])
    }
}

impl From<Vec<Bytes>> for Parts {
    fn from(pieces: Vec<Bytes>) -> Self {
        Self::from_iter(pieces)
    }
}

/// Tells the length only: arguments and tokens are nobody's business.
impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("bytes", &self.length()).finish()
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length())
    }
}
