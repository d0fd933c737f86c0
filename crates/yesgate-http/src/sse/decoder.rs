//! A byte stream cut into server-sent events, whatever the pieces it comes in.
//!
//! INVARIANT: no more is held than one event of the allowed size and the chunk that is being read. What is not
//! part of an event (comments, blank lines) is never held, however much of it there is.

use std::mem::take;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::{Event, line_end};

/// An event is larger than is allowed. The stream cannot be read on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("an event is larger than the {cap} bytes that are allowed")]
pub struct EventError {
    /// How large it might have been.
    pub cap: usize,
}

/// Reads events out of chunks.
///
/// Every chunk goes in by [`Self::feed`], then [`Self::next_event`] is called until there is none. An event
/// that the stream's end cut off is no event.
#[derive(Debug)]
pub struct Decoder {
    cap: usize,
    /// What was fed and not yet read.
    chunk: Bytes,
    /// The start of a line whose end has not come yet.
    line: Unfinished,
    /// The event whose end has not come yet.
    event: Event,
    data: Data,
    /// How many bytes the event's finished lines had, those too that say nothing.
    size: usize,
    place: Place,
}

/// The start of a line whose end has not come yet.
#[derive(Debug)]
enum Unfinished {
    Text(BytesMut),
    /// Nothing of a comment is kept but that it is one.
    Comment,
}

/// The data lines of an event.
#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line is a part of the chunk it came in.
    One(Bytes),
    Several(BytesMut),
}

/// What the bytes before the next one mean for it.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// On the first line, which may start with a byte order mark.
    FirstLine,
    /// Behind a `\r`, with which a `\n` would make one line end.
    AfterReturn,
    Anywhere,
    /// Behind an event that was too large.
    Broken,
}

impl Decoder {
    /// Reads events of up to `cap` bytes, counting their lines without the line ends.
    pub fn new(cap: usize) -> Self {
        Self {
            cap,
            chunk: Bytes::new(),
            line: Unfinished::Text(BytesMut::new()),
            event: Event::default(),
            data: Data::None,
            size: 0,
            place: Place::FirstLine,
        }
    }

    /// Takes the next chunk of the stream.
    pub fn feed(&mut self, chunk: Bytes) {
        if self.chunk.is_empty() {
            self.chunk = chunk;
        } else {
            self.chunk = [take(&mut self.chunk), chunk].concat().into();
        }
    }

    /// The next event that has come whole; none when another chunk is needed.
    ///
    /// # Errors
    /// When an event is too large, from then on.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventError> {
        loop {
            match self.place {
                Place::Broken => return Err(EventError { cap: self.cap }),
                Place::FirstLine | Place::AfterReturn | Place::Anywhere if self.chunk.is_empty() => {
                    return Ok(None);
                }
                Place::AfterReturn => {
                    self.place = Place::Anywhere;
                    if self.chunk.starts_with(b"\n") {
                        drop(self.chunk.split_to(1));
                        continue;
                    }
                }
                Place::FirstLine | Place::Anywhere => {}
            }
            let Some(end) = line_end(&self.chunk) else {
                let rest = take(&mut self.chunk);
                self.keep(&rest)?;
                return Ok(None);
            };
            let rest = self.chunk.split_to(end);
            let line = self.finish(rest)?;
            self.place = match self.chunk.split_to(1).first() {
                Some(b'\r') => Place::AfterReturn,
                Some(_) | None => Place::Anywhere,
            };
            match line {
                Some(line) if line.is_empty() => {
                    if let Some(event) = self.dispatch() {
                        return Ok(Some(event));
                    }
                }
                Some(line) => self.field(&line),
                None => {}
            }
        }
    }

    /// Keeps the start of a line, of a comment only that it is one.
    fn keep(&mut self, rest: &[u8]) -> Result<(), EventError> {
        let Unfinished::Text(text) = &mut self.line else { return Ok(()) };
        text.extend_from_slice(rest);
        if without_mark(text, self.place).starts_with(b":") {
            self.line = Unfinished::Comment;
            return Ok(());
        }
        let size = self.size.saturating_add(text.len());
        self.within_cap(size)
    }

    /// The line that `rest` is the end of, unless it is a comment.
    fn finish(&mut self, rest: Bytes) -> Result<Option<Bytes>, EventError> {
        let line = match take(&mut self.line) {
            Unfinished::Comment => return Ok(None),
            Unfinished::Text(text) if text.is_empty() => rest,
            Unfinished::Text(mut text) => {
                text.extend_from_slice(&rest);
                text.freeze()
            }
        };
        let text = without_mark(&line, self.place);
        if text.starts_with(b":") {
            return Ok(None);
        }
        self.size = self.size.saturating_add(line.len());
        self.within_cap(self.size)?;
        Ok(Some(line.slice_ref(text)))
    }

    fn within_cap(&mut self, size: usize) -> Result<(), EventError> {
        if size <= self.cap {
            return Ok(());
        }
        // Nothing of it is of use any more.
        *self = Self { place: Place::Broken, ..Self::new(self.cap) };
        Err(EventError { cap: self.cap })
    }

    /// Takes in one line that is neither empty nor a comment.
    fn field(&mut self, line: &Bytes) {
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let name = halves.next().unwrap_or_default();
        let value = halves.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.data = match take(&mut self.data) {
                    Data::None => Data::One(line.slice_ref(value)),
                    Data::One(first) => Data::Several(joined(BytesMut::from(first), value)),
                    Data::Several(lines) => Data::Several(joined(lines, value)),
                }
            }
            b"event" => self.event.name = (!value.is_empty()).then(|| text(value)),
            b"id" if !value.contains(&0) => self.event.id = Some(text(value)),
            b"retry" => self.event.retry = milliseconds(value).or(self.event.retry),
            // The standard has other fields ignored, and an id with a NUL in it too.
            _ => {}
        }
    }

    /// The event that a blank line ends, if it says anything.
    fn dispatch(&mut self) -> Option<Event> {
        self.size = 0;
        let mut event = take(&mut self.event);
        event.data = match take(&mut self.data) {
            Data::None if event.id.is_none() && event.retry.is_none() => return None,
            Data::None => Bytes::new(),
            Data::One(line) => line,
            Data::Several(lines) => lines.freeze(),
        };
        Some(event)
    }

    /// How much memory is held between two chunks.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let line = match &self.line {
            Unfinished::Text(text) => text.capacity(),
            Unfinished::Comment => 0,
        };
        let data = match &self.data {
            Data::None => 0,
            Data::One(line) => line.len(),
            Data::Several(lines) => lines.capacity(),
        };
        self.chunk.len() + line + data
    }
}

impl Default for Unfinished {
    fn default() -> Self {
        Self::Text(BytesMut::new())
    }
}

/// The line without the byte order mark that a stream may start with.
fn without_mark(line: &[u8], place: Place) -> &[u8] {
    match place {
        Place::FirstLine => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line),
        Place::AfterReturn | Place::Anywhere | Place::Broken => line,
    }
}

fn joined(mut lines: BytesMut, line: &[u8]) -> BytesMut {
    lines.extend_from_slice(b"\n");
    lines.extend_from_slice(line);
    lines
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// A waiting time: digits and nothing else.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(value).ok()?.parse().ok().map(Duration::from_millis)
}
