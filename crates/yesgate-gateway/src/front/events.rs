//! Server-sent events as the fronts write them.
//!
//! INVARIANT: whatever the message, what is written is one event: a line break in it starts a further data
//! line, never a field.

use std::time::Duration;

use bytes::Bytes;

/// Writes one event whose data is made of `pieces`. Small ones become one piece; large ones are not copied.
pub(crate) fn event(pieces: impl IntoIterator<Item = Bytes>, id: Option<&str>) -> Vec<Bytes> {
    let mut written = vec![match id {
        Some(id) => Bytes::from(format!("id: {id}\ndata: ")),
        None => Bytes::from_static(b"data: "),
    }];
    written.extend(pieces.into_iter().map(one_line));
    written.push(Bytes::from_static(b"\n\n"));
    if written.iter().map(Bytes::len).sum::<usize>() <= JOINED {
        written = vec![written.concat().into()];
    }
    written
}

/// Writes a comment, which readers skip: it keeps a silent connection alive.
pub(crate) const fn comment() -> Bytes {
    Bytes::from_static(b":\n\n")
}

/// Tells the reader how long to wait before it connects again, should this stream end.
pub(crate) fn retry(after: Duration) -> Bytes {
    Bytes::from(format!("retry: {}\n\n", after.as_millis()))
}

/// In JSON text a line break is white space between tokens, so that a blank says the same.
fn one_line(piece: Bytes) -> Bytes {
    if !piece.iter().any(|byte| [b'\n', b'\r'].contains(byte)) {
        return piece;
    }
    piece.iter().map(|byte| if [b'\n', b'\r'].contains(byte) { b' ' } else { *byte }).collect()
}

/// What is cheaper to copy than to send in pieces.
const JOINED: usize = 8 * 1024;
