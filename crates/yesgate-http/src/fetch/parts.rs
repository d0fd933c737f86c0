//! The body of a request: a few pieces, sent one after the other; long ones are not copied together.
//!
//! INVARIANT: its length is known from the start, and a piece is given away once: nobody can send it again.

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;

/// The body of a request. The default has none.
#[derive(Default)]
pub struct Parts {
    /// The pieces that are still to be sent; none of them is empty.
    pieces: VecDeque<Bytes>,
}

impl Parts {
    /// How many bytes there are.
    pub(super) fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::try_from(piece.len()).unwrap_or(u64::MAX)).sum()
    }

    /// The pieces, none of them empty.
    pub(super) fn into_pieces(self) -> VecDeque<Bytes> {
        self.pieces
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
