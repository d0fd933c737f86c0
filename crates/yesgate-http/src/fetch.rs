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
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Request, StatusCode};
use tokio::time::timeout;

use self::connect::Connector;
use self::error::{FetchError, NotSentReason, TrustError};
use self::events::EventStream;
use self::flow::Flow;
use self::head::Head;
use self::letter::{Letter, Letterhead};
use self::line::{Line, Unanswered};
use self::names::{Resolver, SystemNames};
use self::parts::Parts;
use self::place::Reach;
use self::pool::{Host, Pool};
use self::trust::{Authorities, Trust};
use crate::edge::crew;
use crate::patience::within;

mod chunks;
mod connect;
pub mod error;
pub mod events;
mod flow;
mod head;
pub mod letter;
mod line;
mod names;
pub mod parts;
pub mod place;
mod pool;
pub mod trust;

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
pub enum AnswerBody {
    /// All of it, as it came: not unpacked, whatever its `Content-Encoding`.
    Whole(Bytes),
    /// A `text/event-stream`, to be read event by event.
    Events(Box<EventStream>),
}

/// Sends requests, over connections that are kept for a while and used again. Clones share them.
#[derive(Clone, Debug)]
pub struct HttpClient {
    connector: Connector,
    /// One for each thread that serves connections, after one for all others: what another thread connected is woken
    /// over there.
    pools: Arc<[Pool]>,
    limits: FetchLimits,
}

impl HttpClient {
    /// Makes a client that trusts whom the system trusts; that is read with the first connection over TLS.
    pub fn new(limits: FetchLimits) -> Self {
        Self::trusting(Trust::of_the_system(), limits)
    }

    /// Makes a client for an address that is known already. Where TLS leads there, it hears now that nobody can be trusted.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, and are needed.
    pub fn for_address(address: &str, limits: FetchLimits) -> Result<Self, TrustError> {
        let client = Self::new(limits);
        client.prepare_for(address)?;
        Ok(client)
    }

    /// Reads now whom the system trusts, where TLS leads to this address.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, and are needed.
    pub fn prepare_for(&self, address: &str) -> Result<(), TrustError> {
        match address.get(..HTTPS.len()) {
            Some(scheme) if scheme.eq_ignore_ascii_case(HTTPS) => self.connector.trust().read(),
            Some(_) | None => Ok(()),
        }
    }

    /// Makes a client that goes no further than `reach`, for addresses that strangers name. It trusts these authorities
    /// besides the system's.
    ///
    /// # Errors
    /// When there are such authorities and they cannot be used.
    pub fn reaching(reach: Reach, authorities: Authorities, limits: FetchLimits) -> Result<Self, TrustError> {
        let resolver = Resolver::new(Arc::new(SystemNames), reach);
        Ok(Self::resolving(Trust::with(authorities)?, resolver, limits))
    }

    fn trusting(trust: Trust, limits: FetchLimits) -> Self {
        Self::resolving(trust, Resolver::new(Arc::new(SystemNames), Reach::Anywhere), limits)
    }

    fn resolving(trust: Trust, resolver: Resolver, limits: FetchLimits) -> Self {
        let connector = Connector::new(trust, resolver, limits.connect);
        Self { connector, pools: (0..=crew::most()).map(|_| Pool::default()).collect(), limits }
    }

    /// Sends a request, and waits as long as the limits allow.
    ///
    /// Dropping the future gives the request up and closes its connection.
    ///
    /// # Errors
    /// When there is no usable answer; [`FetchError::was_sent`] tells whether the server may have the request.
    pub fn send(
        &self,
        request: Request<Parts>,
    ) -> impl Future<Output = Result<Answer, FetchError>> + Send + use<'_> {
        self.send_within(request, self.limits.answer)
    }

    /// Sends a request under a head that was written before, with these headers besides.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_under(
        &self,
        letterhead: &Letterhead,
        headers: &[(HeaderName, HeaderValue)],
        body: Parts,
    ) -> impl Future<Output = Result<Answer, FetchError>> + Send + use<'_> {
        self.deliver(letterhead.letter(headers, body), self.limits.answer)
    }

    /// Sends a request whose answer may take another time to begin than the limits say.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_within(
        &self,
        request: Request<Parts>,
        answer: Duration,
    ) -> impl Future<Output = Result<Answer, FetchError>> + Send + use<'_> {
        self.deliver(Letter::of(request), answer)
    }

    /// `None`: it is addressed to nobody.
    async fn deliver(&self, letter: Option<Letter>, answer: Duration) -> Result<Answer, FetchError> {
        let mut letter = letter.ok_or(FetchError::NotSent(NotSentReason::Address))?;
        let mut given = Given::No;
        let (head, line, pool) = match timeout(answer, self.exchange(&mut letter, &mut given)).await {
            Ok(exchanged) => exchanged?,
            // A request that was never given a connection is dropped here.
            Err(_) => {
                return Err(match given {
                    Given::No => FetchError::NotSent(NotSentReason::TooSlow),
                    Given::ToConnection => FetchError::TooSlow,
                });
            }
        };
        let flow = Flow::new(line, pool, letter.host);
        let body = if is_event_stream(&head.headers) {
            AnswerBody::Events(Box::new(EventStream::new(flow, &self.limits)))
        } else {
            let whole = within(self.limits.whole, collect(flow, &self.limits)).await;
            AnswerBody::Whole(whole.map_err(|_| FetchError::TooSlow)??)
        };
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// Sends a request over a connection that rests, or over a new one, and waits for the head of the answer.
    ///
    /// A request goes out on another connection only when no byte of it was written to one that had rested.
    async fn exchange(
        &self,
        letter: &mut Letter,
        given: &mut Given,
    ) -> Result<(Head, Line, Pool), FetchError> {
        let pool = self.pools.get(crew::place()).or(self.pools.first()).cloned().unwrap_or_default();
        while let Some(mut line) = pool.take(&letter.host) {
            *given = Given::ToConnection;
            match line.send(letter).await {
                Ok(head) => return Ok((head, line, pool)),
                Err(Unanswered::Unwritten) => *given = Given::No,
                Err(Unanswered::Lost(broken)) => return Err(error::of_exchange(&broken)),
            }
        }
        // In a box: it is rare, and needs much room.
        let mut line = Box::pin(self.connect(&letter.host)).await?;
        *given = Given::ToConnection;
        match line.send(letter).await {
            Ok(head) => Ok((head, line, pool)),
            Err(Unanswered::Unwritten) => Err(error::of_closing()),
            Err(Unanswered::Lost(broken)) => Err(error::of_exchange(&broken)),
        }
    }

    async fn connect(&self, host: &Host) -> Result<Line, FetchError> {
        let connecting = self.connector.connect(host.uri());
        let stream = connecting.await.map_err(|error| error::of_connecting(&*error))?;
        Ok(Line::over(stream))
    }
}

/// What an address begins with that TLS leads to.
const HTTPS: &str = "https:";

/// Whether a request may have been written.
#[derive(Clone, Copy, Debug)]
enum Given {
    /// No connection has it.
    No,
    /// A connection has it, and may have written it at any time since.
    ToConnection,
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

/// The whole body. When it came in one piece it is that piece.
async fn collect(mut flow: Flow, limits: &FetchLimits) -> Result<Bytes, FetchError> {
    let cap = limits.answer_bytes;
    let announced = flow.least();
    if announced > cap {
        return Err(FetchError::TooLarge);
    }
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    loop {
        let piece = match within(limits.silence, flow.next()).await {
            Err(_) => return Err(FetchError::TooSlow),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(error::of_exchange(&error)),
            Ok(Some(Ok(piece))) => piece,
        };
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
