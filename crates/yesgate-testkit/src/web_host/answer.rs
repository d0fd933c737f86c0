//! Reading an answer, whole or event by event.

use std::fmt::Display;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::wait::DEADLINE;

/// An answer that has begun. Dropped before its end, it closes the connection.
#[derive(Debug)]
pub struct WebAnswer {
    status: u16,
    headers: HeaderMap,
    body: Incoming,
    /// What came and was not asked for yet.
    buffer: Vec<u8>,
    has_ended: bool,
    id: Option<Value>,
    /// What went over the wire, for whoever must find a fault.
    wire: String,
}

/// One event of a stream.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WebEvent {
    /// The place from which the stream can be gone on with.
    pub id: Option<String>,
    /// How long to wait before that, in milliseconds.
    pub retry: Option<String>,
    /// The data.
    pub data: String,
}

impl WebAnswer {
    pub(super) fn new(response: Response<Incoming>, id: Option<Value>, mut wire: String) -> Self {
        let (parts, body) = response.into_parts();
        wire.push_str(&format!("< {}\n", parts.status));
        for (name, value) in &parts.headers {
            wire.push_str(&format!("< {name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        }
        let status = parts.status.as_u16();
        Self { status, headers: parts.headers, body, buffer: Vec::new(), has_ended: false, id, wire }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// All headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether it is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// What went over the wire so far.
    pub fn wire(&self) -> &str {
        &self.wire
    }

    /// The message that answers the request; what comes before it is passed over.
    ///
    /// # Panics
    /// When the answer ends without it.
    pub async fn answer(&mut self) -> Value {
        while let Some(message) = self.next().await {
            let fits = self.id.is_none() || message.get("id") == self.id.as_ref();
            let is_anonymous = message.get("error").is_some() && message["id"].is_null();
            if message.get("method").is_none() && (fits || is_anonymous) {
                return message;
            }
        }
        panic!("ended without the answer to {:?}\n{}", self.id, self.wire)
    }

    /// The next message with this method.
    ///
    /// # Panics
    /// When the answer ends without it.
    pub async fn next_of(&mut self, method: &str) -> Value {
        while let Some(message) = self.next().await {
            if message["method"] == method {
                return message;
            }
        }
        panic!("ended without `{method}`\n{}", self.wire)
    }

    /// The next message: of the stream of events, or the one that the body is.
    ///
    /// # Panics
    /// When what comes is no JSON.
    pub async fn next(&mut self) -> Option<Value> {
        let text = if self.is_stream() {
            loop {
                let event = self.event().await?;
                if !event.data.is_empty() {
                    break event.data;
                }
            }
        } else {
            let body = self.rest().await;
            if body.is_empty() {
                return None;
            }
            String::from_utf8_lossy(&body).into_owned()
        };
        match serde_json::from_str(&text) {
            Ok(message) => Some(message),
            Err(error) => panic!("no JSON ({error}): {}\n{}", shortened(text.as_bytes()), self.wire),
        }
    }

    /// The next event; `None` at the end of the stream. Comments are passed over.
    pub async fn event(&mut self) -> Option<WebEvent> {
        loop {
            let end = self.buffer.windows(2).position(|two| two == b"\n\n");
            let Some(end) = end else {
                if !self.more().await {
                    return None;
                }
                continue;
            };
            let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let event = WebEvent::read(&String::from_utf8_lossy(&block));
            if event != WebEvent::default() {
                return Some(event);
            }
        }
    }

    /// All that still comes, byte for byte.
    pub async fn rest(&mut self) -> Bytes {
        while self.more().await {}
        Bytes::from(std::mem::take(&mut self.buffer))
    }

    /// Reads on; false at the end, be it a proper one or not.
    async fn more(&mut self) -> bool {
        if self.has_ended {
            return false;
        }
        match within("more of an answer", &self.wire, self.body.frame()).await {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.wire.push_str(&format!("< {}\n", shortened(data)));
                    self.buffer.extend_from_slice(data);
                }
                true
            }
            Some(Err(error)) => {
                self.wire.push_str(&format!("< (broken off: {error})\n"));
                self.has_ended = true;
                false
            }
            None => {
                self.has_ended = true;
                false
            }
        }
    }
}

impl WebEvent {
    fn read(block: &str) -> Self {
        let mut event = Self::default();
        let mut data = Vec::new();
        for line in block.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "id" => event.id = Some(value),
                "retry" => event.retry = Some(value),
                "data" => data.push(value),
                _ => {}
            }
        }
        event.data = data.join("\n");
        event
    }
}

/// Waits for something, up to the deadline.
pub(super) async fn within<T>(what: &str, wire: &str, wait: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, wait).await {
        Ok(found) => found,
        Err(_) => panic!("never: {what}\n{wire}"),
    }
}

/// Bytes as text that fits on a screen.
pub(super) fn shortened(bytes: &[u8]) -> impl Display + use<> {
    let start: String = String::from_utf8_lossy(bytes.get(..MOST).unwrap_or(bytes)).into_owned();
    match bytes.len().checked_sub(MOST) {
        Some(rest @ 1..) => format!("{start}… and {rest} bytes more"),
        Some(0) | None => start,
    }
}

const MOST: usize = 2000;
