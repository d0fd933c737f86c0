//! A server at the other end of HTTP, in either era.
//!
//! - INVARIANT: what goes out carries the operator's headers and our own, never a client's
//!   `Authorization`, cookies or session.
//! - INVARIANT: a request is sent once. Only one that the server refused to look at (a dead token) is
//!   sent again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, WWW_AUTHENTICATE};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use serde_json::json;
use serde_json::value::RawValue;

use super::exchange::{Answer, Step};
use super::{NotSent, Outgoing, TurnedAway, Unsent};
use crate::envelope::{Envelope, Kind, RequestKey};
use crate::era::Era;
use crate::mirror;
use crate::talk::Boxed;
use crate::trace::{TRACEPARENT, TRACESTATE, TraceContext, Tracing};
use yesgate_http::fetch::error::FetchError;
use yesgate_http::fetch::events::EventStream;
use yesgate_http::fetch::letter::Letterhead;
use yesgate_http::fetch::parts::Parts;
use yesgate_http::fetch::{self, AnswerBody, HttpClient};
use yesgate_http::sse::Event;

/// Where a server is, and how we show who we are.
#[derive(Clone, Debug)]
pub struct WebPlace {
    /// Its endpoint.
    pub uri: Uri,
    /// The operator's headers for it.
    pub headers: HeaderMap,
    /// How a bearer token is had, where the server wants one.
    pub credentials: Option<Arc<dyn Credentials>>,
}

/// Our own credentials at one server.
pub trait Credentials: Send + Sync + std::fmt::Debug {
    /// The value of `Authorization`, fresh enough to be used; an error says what a person must do.
    fn authorization(&self) -> Boxed<'_, Result<HeaderValue, String>>;

    /// The server would not take these.
    fn rejected<'a>(
        &'a self,
        used: &'a HeaderValue,
        status: StatusCode,
        challenge: Option<&'a HeaderValue>,
    ) -> Boxed<'a, Recourse>;
}

/// What to do when a server would not take our credentials.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Recourse {
    /// Send the request again: there are others now.
    Again,
    /// Nothing: the server said no to the request itself, and what it said is the answer.
    Answer,
    /// Nothing until somebody does what this says.
    None(String),
}

/// The way to a server over HTTP.
#[derive(Debug)]
pub struct Web {
    client: HttpClient,
    place: WebPlace,
    era: Era,
    tracing: Tracing,
    next: AtomicU64,
    /// What every message of the modern era begins with.
    letterhead: Arc<Letterhead>,
    session: Mutex<WebSession>,
    /// Whether the server knows the session no more.
    forgotten: AtomicBool,
}

/// What the server said when the session began; nothing of it exists in the modern era.
#[derive(Debug)]
struct WebSession {
    /// What every message says in its headers.
    headers: HeaderMap,
    /// The same, as every message begins with it.
    letterhead: Arc<Letterhead>,
    has_id: bool,
}

impl Web {
    /// A way to a server, spoken to in this era.
    pub fn new(client: HttpClient, place: WebPlace, era: Era, tracing: Tracing) -> Self {
        let headers = common_headers(&place, era);
        let letterhead = Arc::new(Letterhead::new(Method::POST, &place.uri, &headers));
        let session = WebSession { headers, letterhead: Arc::clone(&letterhead), has_id: false };
        Self {
            client,
            place,
            era,
            tracing,
            next: AtomicU64::new(1),
            letterhead,
            session: Mutex::new(session),
            forgotten: AtomicBool::new(false),
        }
    }

    /// Notes what the server answered to `initialize`.
    pub(crate) fn opened(&self, version: &str) {
        if let (Era::Legacy, Ok(version)) = (self.era, HeaderValue::from_str(version)) {
            self.note(mirror::PROTOCOL_VERSION, version);
        }
    }

    /// Notes by which name the server knows the session.
    fn knows(&self, id: Option<HeaderValue>) {
        if let (Era::Legacy, Some(id)) = (self.era, id) {
            self.note(mirror::SESSION_ID, id);
        }
    }

    /// Every message of the session says this from now on.
    fn note(&self, name: HeaderName, value: HeaderValue) {
        let mut session = self.session();
        session.has_id |= name == mirror::SESSION_ID;
        session.headers.insert(name, value);
        session.letterhead = Arc::new(Letterhead::new(Method::POST, &self.place.uri, &session.headers));
    }

    fn session(&self) -> MutexGuard<'_, WebSession> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server knows the session no more.
    pub(super) fn is_forgotten(&self) -> bool {
        self.forgotten.load(Ordering::Relaxed)
    }

    /// Makes a request. It leaves when its first word is waited for.
    pub(super) fn start(
        self: &Arc<Self>,
        outgoing: &Outgoing<'_>,
        trace: Option<&TraceContext>,
    ) -> WebExchange {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let head = [
            r#"{"jsonrpc":"2.0","id":"#,
            &id.to_string(),
            r#","method":""#,
            outgoing.method,
            r#"","params":"#,
        ];
        let body = [Bytes::from(head.concat()), outgoing.params.clone(), Bytes::from_static(b"}")];
        let headers = self.headers(outgoing, trace);
        let opens = outgoing.method == "initialize";
        let web = Arc::clone(self);
        let answer = Box::pin(async move {
            let answer = web.send(&web.letterhead(), headers, &body).await?;
            if opens {
                web.knows(answer.headers.get(mirror::SESSION_ID).cloned());
            }
            Ok(answer)
        });
        WebExchange {
            web: Arc::clone(self),
            id,
            incoming: Incoming::Head(answer),
            last_event: None,
            pause: FIRST_PAUSE,
            resumes: 0,
        }
    }

    /// Sends a message that nobody answers.
    pub(crate) async fn notify(&self, message: Bytes) -> Result<(), Unsent> {
        let answer = self.send(&self.letterhead(), Vec::new(), &[message]).await?;
        if answer.status.is_success() { Ok(()) } else { Err(TurnedAway::Refused(answer.status).into()) }
    }

    /// Opens the stream on which a server of the old era speaks outside of any request. `None`: it has
    /// no such stream.
    pub(crate) async fn listen(&self, after: Option<&str>) -> Result<Option<EventStream>, Unsent> {
        let mut headers = self.session().headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.remove(CONTENT_TYPE);
        if let Some(after) = after.and_then(|after| HeaderValue::from_str(after).ok()) {
            headers.insert(mirror::LAST_EVENT_ID, after);
        }
        let letterhead = Letterhead::new(Method::GET, &self.place.uri, &headers);
        let answer = self.send(&letterhead, Vec::new(), &[]).await?;
        match answer.body {
            AnswerBody::Events(events) if answer.status.is_success() => Ok(Some(*events)),
            AnswerBody::Events(_) | AnswerBody::Whole(_) => Ok(None),
        }
    }

    /// Ends the session, where there is one.
    pub(crate) async fn leave(&self) {
        let headers = {
            let session = self.session();
            if !session.has_id {
                return;
            }
            session.headers.clone()
        };
        let letterhead = Letterhead::new(Method::DELETE, &self.place.uri, &headers);
        if let Err(error) = self.send(&letterhead, Vec::new(), &[]).await {
            tracing::debug!(%error, "a session could not be ended: {error}");
        }
    }

    /// What every message begins with.
    fn letterhead(&self) -> Arc<Letterhead> {
        match self.era {
            Era::Legacy => Arc::clone(&self.session().letterhead),
            Era::Modern => Arc::clone(&self.letterhead),
        }
    }

    /// What the headers of one request say besides: what it is about, and where in a trace it belongs.
    fn headers(&self, outgoing: &Outgoing<'_>, trace: Option<&TraceContext>) -> Headers {
        let mut headers = Headers::with_capacity(ROOM);
        match self.era {
            Era::Legacy => {}
            Era::Modern => {
                headers.extend(mirror::headers(outgoing.method, outgoing.name));
                headers.extend(owned(outgoing.mirrored));
            }
        }
        let mut traced = HeaderMap::new();
        self.tracing.inject(trace, &mut traced);
        headers.extend(owned(&traced));
        headers
    }

    /// Sends one HTTP request; twice at most, where the server would not take our token.
    async fn send(
        &self,
        letterhead: &Letterhead,
        mut headers: Headers,
        body: &[Bytes],
    ) -> Result<fetch::Answer, Unsent> {
        let in_session = self.era == Era::Legacy && self.session().has_id;
        let mut tries = 0;
        let own = headers.len();
        loop {
            tries += 1;
            let used = match &self.place.credentials {
                Some(credentials) => Some(credentials.authorization().await.map_err(NotSent::NoCredentials)?),
                None => None,
            };
            headers.truncate(own);
            headers.extend(used.iter().map(|used| (AUTHORIZATION, used.clone())));
            let body = Parts::from_iter(body.iter().cloned());
            let answer = self.client.send_under(letterhead, &headers, body).await?;
            if answer.status == StatusCode::NOT_FOUND && in_session {
                self.forgotten.store(true, Ordering::Relaxed);
            }
            let refused = answer.status == StatusCode::UNAUTHORIZED || answer.status == StatusCode::FORBIDDEN;
            if let (Some(credentials), Some(used), true) = (&self.place.credentials, &used, refused)
                && tries == 1
            {
                let challenge = answer.headers.get(WWW_AUTHENTICATE);
                match credentials.rejected(used, answer.status, challenge).await {
                    Recourse::Again => continue,
                    Recourse::Answer => {}
                    Recourse::None(why) => return Err(TurnedAway::Credentials(why).into()),
                }
            }
            return Ok(answer);
        }
    }
}

/// Headers that one request has and others have not.
type Headers = Vec<(HeaderName, HeaderValue)>;

/// For what a call is about, and our credentials.
const ROOM: usize = 3;

fn owned(headers: &HeaderMap) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    headers.iter().map(|(name, value)| (name.clone(), value.clone()))
}

/// The headers that all messages to one place have in common. What each request says for itself is not among them, even
/// where the operator set it.
fn common_headers(place: &WebPlace, era: Era) -> HeaderMap {
    let mut headers = HeaderMap::new();
    // Without it the HTTP client would write it anew for every message.
    let host = place.uri.authority().map(Authority::as_str).filter(|host| !host.contains('@'));
    if let Some(Ok(host)) = host.map(HeaderValue::from_str) {
        headers.insert(HOST, host);
    }
    headers.extend(place.headers.clone());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    match era {
        Era::Modern => {
            let version = HeaderValue::from_static(crate::era::MODERN_VERSION);
            headers.insert(mirror::PROTOCOL_VERSION, version);
        }
        Era::Legacy => {}
    }
    let of_era: &[HeaderName] = match era {
        Era::Modern => &[mirror::METHOD, mirror::NAME],
        Era::Legacy => &[],
    };
    let of_credentials = place.credentials.as_ref().map(|_| AUTHORIZATION);
    for name in [TRACEPARENT, TRACESTATE].iter().chain(of_era).chain(&of_credentials) {
        headers.remove(name);
    }
    headers
}

/// One request over HTTP. Dropped before its answer, it is withdrawn.
pub(crate) struct WebExchange {
    web: Arc<Web>,
    id: u64,
    incoming: Incoming,
    /// The last event that the server numbered, from which a broken stream can go on.
    last_event: Option<String>,
    pause: Duration,
    resumes: u32,
}

enum Incoming {
    /// The server has not begun to answer.
    Head(Boxed<'static, Result<fetch::Answer, Unsent>>),
    Events(Box<EventStream>),
    /// Nothing more comes.
    Ended,
}

impl WebExchange {
    /// Waits for the server's next word.
    pub(super) async fn next(&mut self) -> Step {
        loop {
            let events = match &mut self.incoming {
                Incoming::Head(head) => {
                    let answer = head.await;
                    self.incoming = Incoming::Ended;
                    if let Some(step) = self.begins(answer) {
                        return step;
                    }
                    continue;
                }
                Incoming::Events(events) => events,
                Incoming::Ended => return Step::Lost("the server gave no answer that can be read"),
            };
            match events.next().await {
                Some(Ok(event)) => {
                    if let Some(step) = self.heard(&event) {
                        return step;
                    }
                }
                Some(Err(FetchError::TooLarge)) => {
                    self.incoming = Incoming::Ended;
                    return Step::TooLong;
                }
                Some(Err(_)) | None => match Box::pin(self.resume()).await {
                    Some(events) => self.incoming = Incoming::Events(Box::new(events)),
                    None => {
                        self.incoming = Incoming::Ended;
                        return Step::Lost("the server's answer broke off");
                    }
                },
            }
        }
    }

    /// The server begins to answer: with the whole answer, with a stream, or not at all.
    fn begins(&mut self, answer: Result<fetch::Answer, Unsent>) -> Option<Step> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(Unsent::TooLong) => return Some(Step::TooLong),
            Err(Unsent::Lost(why)) => return Some(Step::Lost(why)),
            Err(Unsent::Not(why)) => return Some(Step::Unsent(why)),
            Err(Unsent::TurnedAway(how)) => return Some(Step::TurnedAway(how)),
        };
        match answer.body {
            AnswerBody::Events(events) if answer.status.is_success() => {
                self.incoming = Incoming::Events(events);
                return None;
            }
            AnswerBody::Whole(body) => {
                if let Some(answer) = Answer::in_message(&body, |found| is_id(found, self.id)) {
                    return Some(Step::Answer(answer));
                }
            }
            AnswerBody::Events(_) => {}
        }
        // A server that says whose fault it was did not do what it was asked for.
        Some(if answer.status.is_client_error() {
            Step::TurnedAway(TurnedAway::Refused(answer.status))
        } else {
            Step::Lost("the server gave no answer that can be read")
        })
    }

    fn heard(&mut self, event: &Event) -> Option<Step> {
        if let Some(id) = &event.id {
            self.last_event = Some(id.clone());
        }
        if let Some(retry) = event.retry {
            self.pause = retry.min(LONGEST_PAUSE);
        }
        if event.data.is_empty() {
            return None;
        }
        if let Some(answer) = Answer::at_a_glance(&event.data, |found| is_id(found, self.id)) {
            return Some(self.ends(answer));
        }
        let Ok(message) = Envelope::parse(&event.data) else {
            tracing::warn!("a server sent an event that is no JSON-RPC message; it is dropped");
            return None;
        };
        match message.kind() {
            Kind::Response => {
                let answer = message.id.filter(|id| is_id(id, self.id)).and_then(|_| Answer::of(&message))?;
                Some(self.ends(answer))
            }
            Kind::Request | Kind::Notification => Step::of(&message),
            Kind::Neither => None,
        }
    }

    /// The answer has come in a stream, and nothing more is to come.
    fn ends(&mut self, answer: Answer) -> Step {
        match std::mem::replace(&mut self.incoming, Incoming::Ended) {
            Incoming::Events(events) => events.see_off(),
            Incoming::Head(_) | Incoming::Ended => {}
        }
        Step::Answer(answer)
    }

    /// Goes on with a stream that broke off, as servers of the old era allow.
    async fn resume(&mut self) -> Option<EventStream> {
        let last = self.last_event.clone()?;
        if self.web.era == Era::Modern || self.resumes >= MOST_RESUMES {
            return None;
        }
        self.resumes += 1;
        tokio::time::sleep(self.pause).await;
        self.web.listen(Some(&last)).await.ok().flatten()
    }

    /// Tells the server that the caller gave up: by closing the stream, and in the old era, where that
    /// means nothing, by a message.
    pub(super) fn withdraw(&mut self) {
        match self.web.era {
            Era::Modern => self.incoming = Incoming::Ended,
            Era::Legacy => {
                let note = json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": self.id, "reason": "the caller cancelled the call"},
                });
                let web = Arc::clone(&self.web);
                tokio::spawn(async move {
                    if let Err(error) = web.notify(note.to_string().into()).await {
                        tracing::debug!(%error, "a cancellation did not reach the server: {error}");
                    }
                });
            }
        }
    }
}

impl std::fmt::Debug for WebExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebExchange").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Drop for WebExchange {
    fn drop(&mut self) {
        match (&self.incoming, self.web.era) {
            (Incoming::Head(_) | Incoming::Events(_), Era::Legacy) => self.withdraw(),
            (Incoming::Ended, _) | (Incoming::Head(_) | Incoming::Events(_), Era::Modern) => {}
        }
    }
}

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often a broken stream is gone on with before its answer counts as lost.
const MOST_RESUMES: u32 = 20;

fn is_id(found: &RawValue, id: u64) -> bool {
    match found.get().parse::<u64>() {
        Ok(found) => found == id,
        // There are other spellings of the same number.
        Err(_) => RequestKey::of(found).as_json() == id.to_string(),
    }
}

/// Headers of a client's request that mirror parameters of a call.
pub(crate) fn is_mirrored(name: &HeaderName) -> bool {
    name.as_str().starts_with("mcp-param-")
}

#[cfg(test)]
mod tests;
