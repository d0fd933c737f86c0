//! The event streams of one session, kept so that a client that was cut off can go on where it stopped.
//!
//! Stream 0 is the general one, which a client opens by `GET`; the others belong to one `POST` each. An event
//! id is the stream's number and the event's place in it, so it opens nothing outside its own session.
//! - INVARIANT: a stream has one reader at a time; a second one is turned away, never let in instead of the
//!   first (CVE-2026-33946).
//! - INVARIANT: what is kept is bounded. When it is too much, the oldest notices go first, then the oldest of
//!   everything but the newest; of whole streams, those that have ended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;
use yesgate_http::sse;

/// How much is kept for a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReplayCaps {
    /// Events of one stream.
    pub events: usize,
    /// Bytes of one stream's notices.
    pub bytes: usize,
    /// Bytes of all streams that have ended.
    pub ended_bytes: usize,
    /// How long a stream that has ended is kept.
    pub ended_for: Duration,
}

/// The number of the general stream.
pub(crate) const GENERAL: u64 = 0;

/// Whether a message may be left out for a client that does not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Weight {
    /// It may.
    Light,
    /// Somebody waits for it.
    Due,
}

/// Why a stream cannot be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AttachError {
    /// Somebody reads it.
    Taken,
    /// There is no such stream, or no more.
    Unknown,
}

/// The streams of one session.
#[derive(Debug)]
pub(crate) struct Streams {
    caps: ReplayCaps,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last: u64,
    streams: BTreeMap<u64, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    events: VecDeque<Event>,
    bytes: usize,
    /// The place of the newest event.
    last: u64,
    /// The place of the last event that was sent to a reader.
    taken: u64,
    reader: Option<Arc<Notify>>,
    ended: Option<Instant>,
}

#[derive(Debug)]
struct Event {
    place: u64,
    pieces: Vec<Bytes>,
    bytes: usize,
    weight: Weight,
}

impl Streams {
    pub(crate) fn new(caps: ReplayCaps) -> Self {
        let streams = BTreeMap::from([(GENERAL, Stream::default())]);
        Self { caps, state: Mutex::new(State { last: GENERAL, streams }) }
    }

    /// Begins the stream of one `POST`.
    pub(crate) fn open(&self) -> u64 {
        let mut state = self.lock();
        state.last += 1;
        let number = state.last;
        state.streams.insert(number, Stream::default());
        number
    }

    /// Puts a message on a stream; on one that is over it is lost.
    pub(crate) fn say(&self, number: u64, message: impl IntoIterator<Item = Bytes>, weight: Weight) {
        let mut state = self.lock();
        let Some(stream) = state.streams.get_mut(&number).filter(|stream| stream.ended.is_none()) else {
            return;
        };
        stream.last += 1;
        let pieces = sse::event(message, Some(&event_id(number, stream.last)));
        let bytes = pieces.iter().map(Bytes::len).sum();
        stream.bytes += bytes;
        stream.events.push_back(Event { place: stream.last, pieces, bytes, weight });
        stream.shrink(self.caps);
        stream.wake();
    }

    /// Ends a stream: its reader is let go when it has read everything.
    pub(crate) fn end(&self, number: u64) {
        let mut state = self.lock();
        if let Some(stream) = state.streams.get_mut(&number) {
            stream.ended = Some(Instant::now());
            stream.wake();
        }
        state.shrink(self.caps);
    }

    /// Ends all streams at once, read or not.
    pub(crate) fn close(&self) {
        let streams = std::mem::take(&mut self.lock().streams);
        streams.values().for_each(Stream::wake);
    }

    /// Forgets what ended long ago.
    pub(crate) fn sweep(&self) {
        let kept = self.caps.ended_for;
        self.lock().streams.retain(|_, stream| {
            stream.reader.is_some() || stream.ended.is_none_or(|ended| ended.elapsed() < kept)
        });
    }

    /// Whether somebody reads.
    pub(crate) fn is_read(&self) -> bool {
        self.lock().streams.values().any(|stream| stream.reader.is_some())
    }

    /// Reads a stream, from an event on or from where the last reader stopped.
    pub(crate) fn attach(&self, number: u64, after: Option<u64>) -> Result<Place, AttachError> {
        let mut state = self.lock();
        let stream = state.streams.get_mut(&number).ok_or(AttachError::Unknown)?;
        if stream.reader.is_some() {
            return Err(AttachError::Taken);
        }
        let wake = Arc::new(Notify::new());
        stream.reader = Some(Arc::clone(&wake));
        // An event that was never sent is no place to go on from.
        let after = after.unwrap_or(stream.taken).min(stream.last);
        Ok(Place { stream: number, after, wake })
    }

    /// Lets go of a stream.
    pub(crate) fn detach(&self, place: &Place) {
        if let Some(stream) = self.lock().streams.get_mut(&place.stream) {
            stream.reader = None;
        }
    }

    /// What a reader reads next.
    pub(crate) fn read(&self, place: &mut Place) -> Read {
        let state = self.lock();
        let Some(stream) = state.streams.get(&place.stream) else { return Read::Over };
        let index = stream.events.partition_point(|event| event.place <= place.after);
        match stream.events.get(index) {
            Some(event) => {
                place.after = event.place;
                Read::Event(event.pieces.clone())
            }
            None if stream.ended.is_some() => Read::Over,
            None => Read::Nothing,
        }
    }

    /// What was read was sent. Until then it counts as unread: a reader may turn out to be gone, and the next
    /// one must not miss what this one could not be told.
    pub(crate) fn sent(&self, place: &Place) {
        if let Some(stream) = self.lock().streams.get_mut(&place.stream) {
            stream.taken = stream.taken.max(place.after);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a reader is.
#[derive(Debug)]
pub(crate) struct Place {
    stream: u64,
    after: u64,
    wake: Arc<Notify>,
}

impl Place {
    /// The id of the last event that was read.
    pub(crate) fn event_id(&self) -> String {
        event_id(self.stream, self.after)
    }

    /// Waits until there may be something to read.
    pub(crate) async fn news(&self) {
        self.wake.notified().await;
    }
}

/// What there is to read.
#[derive(Debug)]
pub(crate) enum Read {
    /// An event.
    Event(Vec<Bytes>),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    Over,
}

/// The stream and the place that an event id names.
pub(crate) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, place) = id.split_once('-')?;
    Some((stream.parse().ok()?, place.parse().ok()?))
}

fn event_id(stream: u64, place: u64) -> String {
    format!("{stream}-{place}")
}

impl Stream {
    fn wake(&self) {
        if let Some(reader) = &self.reader {
            reader.notify_one();
        }
    }

    /// Drops the oldest notices until the rest is within bounds; if there is none, and too many wait even so,
    /// the oldest of all: nobody waits for ever for a client that never reads.
    fn shrink(&mut self, caps: ReplayCaps) {
        while (self.events.len() > caps.events || self.bytes > caps.bytes)
            && let Some(oldest) = self.events.iter().position(|event| event.weight == Weight::Light)
            && let Some(event) = self.events.remove(oldest)
        {
            self.bytes -= event.bytes;
        }
        while self.events.len() > caps.events.max(1)
            && let Some(event) = self.events.pop_front()
        {
            self.bytes -= event.bytes;
        }
    }
}

impl State {
    /// Forgets the oldest of the streams that ended, but never the last one.
    fn shrink(&mut self, caps: ReplayCaps) {
        loop {
            let ended = || self.streams.iter().filter(|(_, stream)| stream.ended.is_some());
            let bytes: usize = ended().map(|(_, stream)| stream.bytes).sum();
            if ended().count() <= 1 || (bytes <= caps.ended_bytes && ended().count() <= caps.events) {
                return;
            }
            let Some(oldest) = ended().find(|(_, stream)| stream.reader.is_none()).map(|(number, _)| *number)
            else {
                return;
            };
            self.streams.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests;
