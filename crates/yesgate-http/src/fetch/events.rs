//! An answer that is a stream of events.
//!
//! INVARIANT: what was read and not yet handed over stays in here, so that a wait may be given up and begun
//! again; the server's silence is measured from its last byte, not from the last wait.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::FetchLimits;
use super::error::{FetchError, of_exchange};
use super::flow::Flow;
use crate::sse::Event;
use crate::sse::decoder::Decoder;

/// The events of one answer. Dropping it closes the connection.
#[derive(Debug)]
pub struct EventStream {
    /// None when the stream has ended, well or badly.
    body: Option<Flow>,
    decoder: Decoder,
    silence: Option<Duration>,
    heard: Instant,
}

impl EventStream {
    pub(super) fn new(body: Flow, limits: &FetchLimits) -> Self {
        Self {
            body: Some(body),
            decoder: Decoder::new(limits.event_bytes),
            silence: limits.stream_silence,
            heard: Instant::now(),
        }
    }

    /// The next event; none when the server has ended the stream, or after an error. Cancel safe.
    ///
    /// # Errors
    /// When the connection breaks, the server is silent for too long, or an event is too large.
    pub async fn next(&mut self) -> Option<Result<Event, FetchError>> {
        let next = self.read().await;
        match next {
            Some(Ok(_)) => {}
            Some(Err(_)) | None => self.body = None,
        }
        next
    }

    /// Nothing more is wanted of it, and the server will end it by itself: the connection is kept for the next
    /// request.
    pub fn see_off(mut self) {
        if let Some(body) = self.body.take() {
            body.see_off();
        }
    }

    async fn read(&mut self) -> Option<Result<Event, FetchError>> {
        let body = self.body.as_mut()?;
        loop {
            match self.decoder.next_event() {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(_) => return Some(Err(FetchError::TooLarge)),
            }
            let deadline = self.silence.and_then(|silence| self.heard.checked_add(silence));
            let chunk = match deadline {
                None => body.next().await,
                Some(deadline) => match timeout_at(deadline, body.next()).await {
                    Ok(chunk) => chunk,
                    Err(_) => return Some(Err(FetchError::TooSlow)),
                },
            };
            match chunk? {
                Ok(chunk) => {
                    self.heard = Instant::now();
                    self.decoder.feed(chunk);
                }
                Err(error) => return Some(Err(of_exchange(&error))),
            }
        }
    }
}
