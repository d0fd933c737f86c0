//! The client side of HTTP: one request out, one answer or one stream of events back.
//!
//! It knows nothing of MCP, follows no redirects, unpacks nothing, keeps no cookies, and asks no environment
//! variable for a proxy. Everything a server can make large or slow has a limit.
//!
//! INVARIANT: a request is written to at most one connection. [`error::FetchError::NotSent`] is said only when
//! it is certain that no byte of it was written; in doubt the answer is lost.
//! INVARIANT: of one answer no more is held than [`FetchLimits`] allows, and one chunk from the network.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, TRANSFER_ENCODING,
};
use http::{Method, Request, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use rustls::ClientConfig;
use tokio::task::coop::consume_budget;
use tokio::time::timeout;

use self::connect::Connector;
use self::error::{FetchError, NotSentReason, TrustError};
use self::events::EventStream;
use self::parts::Parts;
use crate::edge::crew;

mod connect;
pub mod error;
pub mod events;
pub mod parts;

/// What a server may take, of time and of memory.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// Until a connection is there, names resolved and TLS agreed.
    pub connect: Duration,
    /// From the request to the head of the answer, connecting included.
    pub answer: Duration,
    /// Between two pieces of the body of a whole answer.
    pub silence: Duration,
    /// From the head of a whole answer to its end.
    pub whole: Duration,
    /// How large a whole answer may be.
    pub answer_bytes: usize,
    /// How large an event may be.
    pub event_bytes: usize,
    /// Between two pieces of a stream of events, comments included; none is for ever.
    pub stream_silence: Option<Duration>,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(60),
            silence: Duration::from_secs(30),
            whole: Duration::from_secs(300),
            answer_bytes: 4 * 1024 * 1024,
            event_bytes: 4 * 1024 * 1024,
            stream_silence: None,
        }
    }
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    /// The status, a redirect's too.
    pub status: StatusCode,
    /// The headers as they came.
    pub headers: HeaderMap,
    /// The rest.
    pub body: AnswerBody,
}

/// The body of an answer.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once, never kept or collected")]
pub enum AnswerBody {
    /// All of it, as it came: not unpacked, whatever its `Content-Encoding`.
    Whole(Bytes),
    /// A `text/event-stream`, to be read event by event.
    Events(EventStream),
}

/// Sends requests, over connections that are kept for a while and used again. Clones share them.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client<Connector, Parts>,
    /// One more for each thread that serves connections: what another thread connected is woken over there.
    own: Arc<[Client<Connector, Parts>]>,
    limits: FetchLimits,
}

impl HttpClient {
    /// Makes a client that trusts whom the system trusts.
    ///
    /// # Errors
    /// When the system's certificates cannot be read.
    pub fn new(limits: FetchLimits) -> Result<Self, TrustError> {
        Ok(Self::trusting(&connect::trust_of_the_system()?, limits))
    }

    fn trusting(tls: &ClientConfig, limits: FetchLimits) -> Self {
        let client = || connect::client(tls.clone(), limits.connect);
        Self { own: (0..crew::most()).map(|_| client()).collect(), client: client(), limits }
    }

    /// Sends a request, and waits as long as the limits allow.
    ///
    /// Dropping the future gives the request up and closes its connection.
    ///
    /// # Errors
    /// When there is no usable answer; [`FetchError::was_sent`] tells whether the server may have the request.
    pub async fn send(&self, request: Request<Parts>) -> Result<Answer, FetchError> {
        self.send_within(request, self.limits.answer).await
    }

    /// Sends a request whose answer may take another time to begin than the limits say.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn send_within(
        &self,
        mut request: Request<Parts>,
        answer: Duration,
    ) -> Result<Answer, FetchError> {
        let (Some("http" | "https"), Some(_)) = (request.uri().scheme_str(), request.uri().host()) else {
            return Err(FetchError::NotSent(NotSentReason::Address));
        };
        frame(&mut request);
        let connection = capture_connection(&mut request);
        let own = crew::place().checked_sub(1).and_then(|place| self.own.get(place));
        let client = own.unwrap_or(&self.client);
        let sent = timeout(answer, client.request(request)).await;
        // A request that was never given a connection was dropped with the future that held it. One that was
        // given one may have been written by the connection's own task at any time since.
        let given = connection.connection_metadata().is_some();
        let (head, body) = match sent {
            Ok(Ok(response)) => response.into_parts(),
            Ok(Err(error)) if given => return Err(error::of_exchange(&error)),
            Ok(Err(error)) => return Err(error::of_connecting(&error)),
            Err(_) if given => return Err(FetchError::TooSlow),
            Err(_) => return Err(FetchError::NotSent(NotSentReason::TooSlow)),
        };
        let body = if is_event_stream(&head.headers) {
            AnswerBody::Events(EventStream::new(body, &self.limits))
        } else {
            let whole = timeout(self.limits.whole, collect(body, &self.limits)).await;
            AnswerBody::Whole(whole.map_err(|_| FetchError::TooSlow)??)
        };
        Ok(Answer { status: head.status, headers: head.headers, body })
    }
}

/// Leaves the framing of a request to this client: one version, one exact length, no compressed answer.
fn frame(request: &mut Request<Parts>) {
    *request.version_mut() = Version::HTTP_11;
    for name in [CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING] {
        request.headers_mut().remove(name);
    }
    // RFC 9110 §8.6: the length is told for methods that usually have a body. hyper does so itself unless it
    // is zero.
    if request.body().is_end_stream() && [Method::POST, Method::PUT, Method::PATCH].contains(request.method())
    {
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

/// The whole body. When it came in one piece it is that piece.
async fn collect(mut body: Incoming, limits: &FetchLimits) -> Result<Bytes, FetchError> {
    let cap = limits.answer_bytes;
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > cap {
        return Err(FetchError::TooLarge);
    }
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    loop {
        // A server that never pauses must not keep this task from being interrupted.
        consume_budget().await;
        let frame = match timeout(limits.silence, body.frame()).await {
            Err(_) => return Err(FetchError::TooSlow),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(error::of_body(&error)),
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers are not part of it.
        let Ok(piece) = frame.into_data() else { continue };
        let so_far = if whole.is_empty() { first.len() } else { whole.len() };
        if so_far.saturating_add(piece.len()) > cap {
            return Err(FetchError::TooLarge);
        }
        if so_far == 0 {
            first = piece;
        } else {
            if whole.is_empty() {
                whole.reserve(announced.max(so_far + piece.len()));
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&piece);
        }
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}

#[cfg(test)]
mod tests;
