//! Server-sent events: what one is, and how ours are written.
//!
//! The format is the one of the HTML standard (§9.2), which Streamable HTTP uses for everything that is more
//! than one answer. Reading is the [`decoder`]'s duty.
//!
//! INVARIANT: whatever the data or the id, what is written is one event: neither can start a line of its own.

use std::time::Duration;

use bytes::{Bytes, BytesMut};

pub mod decoder;

/// One event, as it was received.
///
/// A block without data is an event too when it carries an id or a waiting time, so that a reader who
/// resumes streams misses neither; its data is empty.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Event {
    /// Where a reader goes on after this event; empty when the sender takes earlier ids back.
    pub id: Option<String>,
    /// What kind of event it is; none is `message`.
    pub name: Option<String>,
    /// How long to wait before connecting again.
    pub retry: Option<Duration>,
    /// The data, its lines joined by `\n`. It may be a part of the bytes as they came from the network.
    pub data: Bytes,
}

/// Writes one event whose data is made of `pieces`, which are not copied unless there is a line break in them.
///
/// A line break in the data (`\n`, `\r\n` or `\r`) starts a further data line and is read back as `\n`. An id
/// with a line break or a NUL in it is left out, since no reader would read it back.
pub fn event(pieces: impl IntoIterator<Item = Bytes>, id: Option<&str>) -> Vec<Bytes> {
    let mut written = vec![match id.filter(|id| !id.contains(['\r', '\n', '\0'])) {
        Some(id) => Bytes::from(format!("id: {id}\ndata: ")),
        None => Bytes::from_static(b"data: "),
    }];
    written.extend(pieces.into_iter().filter(|piece| !piece.is_empty()));
    if written.iter().skip(1).any(|piece| line_end(piece).is_some()) {
        let lines = in_lines(&written.split_off(1));
        written.push(lines);
    }
    written.push(Bytes::from_static(b"\n\n"));
    written
}

/// Writes a comment, which readers skip: it keeps a silent connection alive.
pub fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// Tells the reader how long to wait before it connects again, should this stream end.
pub fn retry(after: Duration) -> Bytes {
    Bytes::from(format!("retry: {}\n\n", after.as_millis()))
}

/// The data with a new data line at every line break. One buffer takes it all: pieces would cost many times
/// the memory of what a peer may send.
fn in_lines(pieces: &[Bytes]) -> Bytes {
    let mut lines = BytesMut::with_capacity(pieces.iter().map(Bytes::len).sum());
    let mut last = None;
    for mut rest in pieces.iter().map(Bytes::as_ref) {
        while let Some(end) = line_end(rest) {
            let (line, more) = rest.split_at_checked(end).unwrap_or_default();
            lines.extend_from_slice(line);
            // A `\r\n` is one line break, even one that lies across two pieces.
            let before = line.last().copied().or(last);
            last = more.first().copied();
            if (before, last) != (Some(b'\r'), Some(b'\n')) {
                lines.extend_from_slice(b"\ndata: ");
            }
            rest = more.get(1..).unwrap_or_default();
        }
        lines.extend_from_slice(rest);
        last = rest.last().copied().or(last);
    }
    lines.freeze()
}

/// Where the first line ends: at a `\n` or a `\r`.
///
/// Whole blocks are looked at without a branch, so that a long line costs little more than reading it; what
/// is looked at twice is never more than one block, so that many short lines cost little too.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let mut passed = 0;
    for block in bytes.chunks(BLOCK) {
        if block.iter().fold(false, |found, byte| found | is_line_end(*byte)) {
            return block.iter().position(|byte| is_line_end(*byte)).map(|at| passed + at);
        }
        passed += block.len();
    }
    None
}

const fn is_line_end(byte: u8) -> bool {
    (byte == b'\n') | (byte == b'\r')
}

const BLOCK: usize = 64;

#[cfg(test)]
mod tests;
