//! A byte stream cut into messages, one per line.
//!
//! INVARIANT: whatever the peer sends, no more than about twice [`LINE_CAP`] is held. A longer line is
//! reported once, when it ends, and the next one arrives as if nothing had happened.

use std::io::{self, BufRead};
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// The longest line that is taken, in bytes.
pub const LINE_CAP: usize = 4 * 1024 * 1024;

/// How much of either end of a line that was too long is kept.
pub const EDGE: usize = 512;

/// Why a line could not be handed over.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line was skipped. Its two ends are kept, so that the message can be told apart from others: many
    /// servers write the id last.
    #[error("a line of {length} bytes is longer than the {cap} that are allowed")]
    TooLong {
        /// How long the line was.
        length: usize,
        /// How long it might have been.
        cap: usize,
        /// Its first [`EDGE`] bytes.
        head: Vec<u8>,
        /// Its last [`EDGE`] bytes.
        tail: Vec<u8>,
    },
    /// The stream broke; nothing follows.
    #[error("reading failed")]
    Read(#[from] io::Error),
}

/// Reads messages that end with `\n` or `\r\n`; empty lines are none.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    cap: usize,
    buffer: Vec<u8>,
    /// Where in the buffer the current line starts; what lies before it was handed over.
    start: usize,
    /// Where in the buffer the search for the line's end goes on.
    searched: usize,
    /// The line that is being skipped, if it is.
    skipped: Option<Skipped>,
    stream: Stream,
}

#[derive(Clone, Copy, Debug)]
enum Stream {
    Open,
    Ended,
}

/// One step in the buffer.
enum Step {
    Line(Range<usize>),
    TooLong(Skipped),
    /// The buffer holds no further whole line.
    Starved,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of up to [`LINE_CAP`] bytes.
    pub fn new(reader: R) -> Self {
        Self::with_cap(reader, LINE_CAP)
    }

    /// Reads lines of up to `cap` bytes.
    pub fn with_cap(reader: R, cap: usize) -> Self {
        Self { reader, cap, buffer: Vec::new(), start: 0, searched: 0, skipped: None, stream: Stream::Open }
    }

    /// The next message, without its line end; none when the stream has ended.
    ///
    /// A last line without a line end is a message too. Cancel safe: what was read stays in here.
    pub async fn next(&mut self) -> Option<Result<&[u8], LineError>> {
        loop {
            match self.step() {
                Step::Line(range) => return self.buffer.get(range).map(Ok),
                Step::TooLong(skipped) => return Some(Err(skipped.into_error(self.cap))),
                Step::Starved => {}
            }
            match self.stream {
                Stream::Ended => return None,
                Stream::Open => {}
            }
            self.make_room();
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) => {
                    self.stream = Stream::Ended;
                    // The missing line end is added, so that a last line is a line like any other. None is
                    // missing where nothing came after the last one.
                    if self.start < self.buffer.len() || self.skipped.is_some() {
                        self.buffer.push(b'\n');
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.stream = Stream::Ended;
                    self.buffer.clear();
                    (self.start, self.searched, self.skipped) = (0, 0, None);
                    return Some(Err(LineError::Read(error)));
                }
            }
        }
    }

    /// Takes the next line out of the buffer, or says that there is none.
    fn step(&mut self) -> Step {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(length) = find_newline(unsearched) else {
                self.searched = self.buffer.len();
                self.give_up_if_too_long();
                return Step::Starved;
            };
            let line = self.start..self.searched + length;
            self.start = line.end + 1;
            self.searched = self.start;

            let bytes = self.buffer.get(line.clone()).unwrap_or_default();
            if let Some(mut skipped) = self.skipped.take() {
                skipped.add(bytes);
                return Step::TooLong(skipped);
            }
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            if bytes.len() > self.cap {
                let mut skipped = Skipped::default();
                skipped.add(bytes);
                return Step::TooLong(skipped);
            }
            if !bytes.is_empty() {
                return Step::Line(line.start..line.start + bytes.len());
            }
        }
    }

    /// Stops collecting a line that is longer than allowed, and starts skipping it.
    fn give_up_if_too_long(&mut self) {
        let unfinished = self.buffer.get(self.start..).unwrap_or_default();
        // One byte more than the cap may yet turn out to be the `\r` of the line's end.
        if let Some(skipped) = &mut self.skipped {
            skipped.add(unfinished);
        } else if unfinished.len() > self.cap.saturating_add(1) {
            let mut skipped = Skipped::default();
            skipped.add(unfinished);
            self.skipped = Some(skipped);
        } else {
            return;
        }
        self.buffer.clear();
        (self.start, self.searched) = (0, 0);
    }

    /// Moves the unfinished line to the front, gives back what a huge line needed, and makes room to read.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start.min(self.buffer.len()));
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.capacity() > KEPT_CAPACITY && self.buffer.len() < READ_SIZE {
            self.buffer.shrink_to(KEPT_CAPACITY);
        }
        self.buffer.reserve(READ_SIZE);
    }
}

/// A line that was too long to keep: its two ends and its length.
#[derive(Debug, Default)]
struct Skipped {
    length: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Skipped {
    fn add(&mut self, bytes: &[u8]) {
        self.length = self.length.saturating_add(bytes.len());
        let missing = EDGE.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(bytes.get(..missing).unwrap_or_default());
        self.tail.extend_from_slice(bytes.get(bytes.len().saturating_sub(EDGE)..).unwrap_or_default());
        self.tail.drain(..self.tail.len().saturating_sub(EDGE));
    }

    fn into_error(self, cap: usize) -> LineError {
        LineError::TooLong { length: self.length, cap, head: self.head, tail: self.tail }
    }
}

/// Where the first line ends. The standard library's own search is many times faster than a loop.
fn find_newline(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let passed = rest.skip_until(b'\n').unwrap_or(0);
    let last = passed.checked_sub(1)?;
    bytes.get(last).is_some_and(|byte| *byte == b'\n').then_some(last)
}

const READ_SIZE: usize = 8 * 1024;
const KEPT_CAPACITY: usize = 64 * 1024;

#[cfg(test)]
mod tests;
