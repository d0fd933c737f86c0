//! The way to one server, and the only function that sends it a `tools/call`.
//!
//! INVARIANT: [`Upstream::execute`] takes the [`PermittedCall`] by value and is the only place
//! where the method `tools/call` is written towards a server. Own requests are an enum that has no
//! word for it, and `Upstream::pass` refuses it.

pub(crate) mod exchange;
pub mod pipe;
pub mod web;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use yesgate_core::digest::Binding;
use yesgate_core::permit::{Permit, PermittedCall};

pub use self::exchange::Answer;
use self::exchange::{Exchange, Step};
use self::pipe::{Down, Interest, PassError, Pipe, Watch};
use self::web::Web;
use crate::book::ToolBook;
use crate::cancel::Cancel;
use crate::envelope::RequestKey;
use crate::era::Era;
use crate::hearing::Hearing;
use crate::input::{self, Round};
use crate::trace::TraceContext;
use yesgate_http::fetch::error::FetchError;

/// The way to one server, and what it said of its tools over this way.
#[derive(Debug)]
pub struct Upstream {
    wire: Wire,
    /// The server's tools.
    pub book: ToolBook,
    era: Mutex<Option<Era>>,
}

#[derive(Debug)]
enum Wire {
    Pipe(Arc<Pipe>),
    Web(Arc<Web>),
}

/// How a permitted call is put on the wire.
#[derive(Debug)]
pub enum Form<'a> {
    /// A host's own message, byte for byte, under the host's own id.
    AsItCame {
        /// The whole message.
        line: &'a [u8],
        /// Its id.
        id: RequestKey,
    },
    /// The caller's own parameters, under an id of ours.
    Params {
        /// The parameters, with the names and the `_meta` that this server understands.
        params: Bytes,
        /// The HTTP headers that mirror some of them.
        mirrored: HeaderMap,
    },
    /// The stored call in canonical form, with the transport's own keys of `_meta`.
    Canonical {
        /// Progress, tracing, protocol version.
        meta: Map<String, Value>,
        /// The HTTP headers that mirror some of the arguments.
        mirrored: HeaderMap,
    },
}

/// What became of a permitted call.
#[derive(Debug)]
pub enum Execution {
    /// It was passed on; the server answers the caller itself.
    Relayed,
    /// The server answered.
    Answered(Answer),
    /// We know that no byte of it left.
    NotSent(NotSent),
    /// It left, and the server would not take it: an answer, by which nothing ran.
    TurnedAway(TurnedAway),
    /// The server answered, and the answer was too large to be taken: it ran, and how it ended is not known.
    TooLong,
    /// It left, and the answer is lost.
    Lost(&'static str),
}

/// Requests that the gateway makes for itself. None of them runs a tool.
#[derive(Debug)]
pub enum OwnRequest<'a> {
    /// `tools/list`, from the start or from a cursor.
    ToolsList {
        /// Where to go on.
        cursor: Option<String>,
    },
    /// `initialize`, with the parameters that the host once sent.
    Initialize {
        /// Those parameters.
        params: &'a RawValue,
    },
    /// `server/discover`, to learn which era a server speaks.
    Discover,
}

/// One request on its way out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Bytes,
    /// What the header `Mcp-Name` says.
    pub(crate) name: Option<&'a str>,
    pub(crate) mirrored: &'a HeaderMap,
}

/// Why a request certainly did not leave.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotSent {
    /// There is nobody to send it to.
    #[error("the server is not running")]
    Down,
    /// The host used an id twice.
    #[error("the request id is already in use")]
    IdInUse,
    /// It would have left in a form that nobody approved.
    #[error("an approved call is sent in its stored form only")]
    StoredOnly,
    /// It would have gone around the gate.
    #[error("a call of a tool does not pass by here")]
    NotPermitted,
    /// No connection, so no byte of it left.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
    /// We have no credentials for the server.
    #[error("{0}")]
    NoCredentials(String),
}

/// How a server turned a request away.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TurnedAway {
    /// It would not look at it.
    #[error("the server refused it with HTTP {0}")]
    Refused(StatusCode),
    /// It does not take our credentials, and there are no others.
    #[error("{0}")]
    Credentials(String),
}

/// Why a message has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unsent {
    /// It certainly did not arrive.
    #[error(transparent)]
    Not(#[from] NotSent),
    /// It arrived, and the server would not take it.
    #[error(transparent)]
    TurnedAway(#[from] TurnedAway),
    /// The answer was larger than we take.
    #[error("{TOO_LONG}")]
    TooLong,
    /// It may have left; nothing usable came back.
    #[error("{0}")]
    Lost(&'static str),
}

impl Upstream {
    /// The way over a pipe.
    pub fn over_pipe(pipe: Arc<Pipe>) -> Self {
        Self { wire: Wire::Pipe(pipe), book: ToolBook::default(), era: Mutex::default() }
    }

    /// The way over HTTP, in the era that the wire speaks.
    pub(crate) fn over_web(web: Arc<Web>, era: Era) -> Self {
        Self { wire: Wire::Web(web), book: ToolBook::default(), era: Mutex::new(Some(era)) }
    }

    /// The era that this server was last spoken to in.
    pub fn era(&self) -> Option<Era> {
        *self.era.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes which era the server understands.
    pub fn speaks(&self, era: Era) {
        *self.era.lock().unwrap_or_else(PoisonError::into_inner) = Some(era);
    }

    /// Whether HTTP headers mirror parts of what is sent.
    pub(crate) fn mirrors(&self) -> bool {
        match (&self.wire, self.era()) {
            (Wire::Web(_), Some(Era::Modern)) => true,
            (Wire::Web(_), Some(Era::Legacy) | None) | (Wire::Pipe(_), _) => false,
        }
    }

    /// Whether the server knows our session no more.
    pub(crate) fn is_forgotten(&self) -> bool {
        match &self.wire {
            Wire::Web(web) => web.is_forgotten(),
            Wire::Pipe(_) => false,
        }
    }

    /// The HTTP headers that mirror arguments of a call in its stored form; only servers of the modern
    /// era over HTTP look at them.
    pub(crate) fn mirrored(&self, call: &Binding) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.mirrors() {
            self.book.mirrored(&call.tool).write(&mut headers, &call.arguments.value());
        }
        headers
    }

    /// Sends a permitted call. The only way to a tool.
    ///
    /// A server that asks for more input before it answers is given it, in as many rounds as it may take,
    /// as part of this one execution.
    pub async fn execute(
        &self,
        permitted: PermittedCall,
        form: Form<'_>,
        hearing: &Hearing,
        cancel: &Cancel,
    ) -> Execution {
        let tool = permitted.call().binding.tool.clone();
        let (params, mirrored) = match form {
            Form::AsItCame { line, id } => return self.relay(&permitted, line, &id),
            Form::Params { params, mirrored } => match permitted.permit() {
                Permit::Class(_) | Permit::Rule(_) => (params, mirrored),
                Permit::Intent(_) | Permit::Edited(_) | Permit::Preview(_) => {
                    return Execution::NotSent(NotSent::StoredOnly);
                }
            },
            Form::Canonical { meta, mirrored } => (canonical(&permitted, meta), mirrored),
        };
        let name = Some(tool.as_str());
        let call = Outgoing { method: "tools/call", params: &params, name, mirrored: &mirrored };
        // What a human approved is continued here; what passed is continued by the client itself, if it can.
        match permitted.permit() {
            Permit::Intent(_) | Permit::Edited(_) => self.hear_out(call, hearing, cancel).await,
            Permit::Class(_) | Permit::Rule(_) | Permit::Preview(_) => {
                self.carry(call, hearing, cancel).await
            }
        }
    }

    /// Passes a caller's request on, and its answer back: anything but a call of a tool.
    pub(crate) async fn pass(&self, outgoing: Outgoing<'_>, hearing: &Hearing, cancel: &Cancel) -> Execution {
        if outgoing.method == "tools/call" {
            return Execution::NotSent(NotSent::NotPermitted);
        }
        self.carry(outgoing, hearing, cancel).await
    }

    /// Makes a request, in several rounds where the server asks for input and the client cannot go on
    /// by itself.
    async fn carry(&self, outgoing: Outgoing<'_>, hearing: &Hearing, cancel: &Cancel) -> Execution {
        if hearing.is_of_legacy_client() {
            self.hear_out(outgoing, hearing, cancel).await
        } else {
            self.converse(outgoing, hearing, cancel).await
        }
    }

    /// Makes a request, and gives the server the input that it asks for, in as many rounds as that may take.
    async fn hear_out(&self, first: Outgoing<'_>, hearing: &Hearing, cancel: &Cancel) -> Execution {
        let mut execution = self.converse(first, hearing, cancel).await;
        for _ in 0..MOST_ROUNDS {
            let Execution::Answered(answer) = &execution else { return execution };
            match input::next_round(answer, first.params, hearing, cancel).await {
                Round::Done => return execution,
                Round::Failed(words) => return Execution::Answered(Answer::error(-32603, words, None)),
                Round::Next(params) => {
                    let next = Outgoing { params: &params, ..first };
                    execution = match self.converse(next, hearing, cancel).await {
                        // The call itself has left long ago.
                        Execution::NotSent(_) => Execution::Lost(GONE_BETWEEN),
                        execution @ (Execution::Relayed
                        | Execution::Answered(_)
                        | Execution::TurnedAway(_)
                        | Execution::TooLong
                        | Execution::Lost(_)) => execution,
                    };
                }
            }
        }
        Execution::Answered(Answer::error(
            -32603,
            "The server asked for input again and again, and was given up.",
            None,
        ))
    }

    /// Makes a request of the gateway's own.
    ///
    /// # Errors
    /// When the server is not there, or goes before it answers.
    pub async fn request(&self, request: OwnRequest<'_>) -> Result<Answer, Down> {
        let meta = match self.era() {
            Some(Era::Modern) => Some(Era::own_meta()),
            Some(Era::Legacy) | None => None,
        };
        let (method, params) = match request {
            OwnRequest::ToolsList { cursor } => {
                let mut params = Map::new();
                if let Some(cursor) = cursor {
                    params.insert("cursor".into(), cursor.into());
                }
                if let Some(meta) = meta {
                    params.insert("_meta".into(), meta.into());
                }
                ("tools/list", Value::Object(params).to_string())
            }
            OwnRequest::Initialize { params } => ("initialize", params.get().to_owned()),
            OwnRequest::Discover => ("server/discover", json!({ "_meta": Era::own_meta() }).to_string()),
        };
        let outgoing =
            Outgoing { method, params: &params.into(), name: None, mirrored: &HeaderMap::default() };
        match self.converse(outgoing, &Hearing::deaf(), &Cancel::new()).await {
            Execution::Answered(answer) => Ok(answer),
            Execution::Relayed
            | Execution::NotSent(_)
            | Execution::TurnedAway(_)
            | Execution::TooLong
            | Execution::Lost(_) => Err(Down),
        }
    }

    /// Sends a message that nobody answers: a notification, or an answer to the server.
    pub(crate) async fn notify(&self, message: Bytes) -> Result<(), Unsent> {
        match &self.wire {
            Wire::Pipe(pipe) => pipe.notify(&message).map_err(|Down| NotSent::Down.into()),
            Wire::Web(web) => web.notify(message).await,
        }
    }

    /// Begins a request. The server's words are the caller's to hear.
    pub(crate) fn start(
        &self,
        outgoing: Outgoing<'_>,
        interest: Interest,
        trace: Option<&TraceContext>,
    ) -> Result<Exchange, Down> {
        match &self.wire {
            Wire::Pipe(pipe) => pipe.start(outgoing.method, outgoing.params, interest).map(Exchange::Pipe),
            Wire::Web(web) => Ok(Exchange::Web(Box::new(web.start(&outgoing, trace)))),
        }
    }

    /// Passes a host's own message on, where nothing in it needs a stored form.
    fn relay(&self, permitted: &PermittedCall, line: &[u8], id: &RequestKey) -> Execution {
        match (permitted.permit(), &self.wire) {
            (Permit::Class(_) | Permit::Rule(_), Wire::Pipe(pipe)) => match pipe.pass(id, Watch::No, line) {
                Ok(()) => Execution::Relayed,
                Err(PassError::IdInUse) => Execution::NotSent(NotSent::IdInUse),
                Err(PassError::Down(Down)) => Execution::NotSent(NotSent::Down),
            },
            // What a human approved leaves only in the form the human approved.
            (Permit::Intent(_) | Permit::Edited(_) | Permit::Preview(_), Wire::Pipe(_))
            | (_, Wire::Web(_)) => Execution::NotSent(NotSent::StoredOnly),
        }
    }

    /// Makes one request and hears the server out: its words go to the client, its questions too, and
    /// its answer comes back.
    async fn converse(&self, outgoing: Outgoing<'_>, hearing: &Hearing, cancel: &Cancel) -> Execution {
        let mut exchange = match self.start(outgoing, hearing.interest(), hearing.trace()) {
            Ok(exchange) => exchange,
            Err(Down) => return Execution::NotSent(NotSent::Down),
        };
        let mut asked = hearing.questions();
        let step = loop {
            tokio::select! {
                step = exchange.next() => match step {
                    Step::Notice(notice) => hearing.notice(notice),
                    Step::Request { id, method, params } => {
                        if let Some(answer) = asked.ask(id, &method, params) {
                            Box::pin(self.respond(answer)).await;
                        }
                    }
                    Step::Withdrawn { id } => asked.withdraw(&id),
                    done @ (Step::Answer(_)
                    | Step::TooLong
                    | Step::Lost(_)
                    | Step::Unsent(_)
                    | Step::TurnedAway(_)) => break done,
                },
                answer = asked.answered() => Box::pin(self.respond(answer)).await,
                () = cancel.fired() => {
                    exchange.withdraw();
                    match Box::pin(timeout(LATE_ANSWER, last_word(&mut exchange))).await {
                        Ok(step) => break step,
                        Err(_) => break Step::Lost(CANCELLED),
                    }
                }
            }
        };
        match step {
            Step::Answer(answer) => Execution::Answered(answer),
            Step::TooLong => Execution::TooLong,
            Step::Lost(why) => Execution::Lost(why),
            Step::Unsent(why) => Execution::NotSent(why),
            Step::TurnedAway(how) => Execution::TurnedAway(how),
            Step::Notice(_) | Step::Request { .. } | Step::Withdrawn { .. } => Execution::Lost(CANCELLED),
        }
    }

    /// Hands a client's answer to the server that asked.
    async fn respond(&self, message: Bytes) {
        if let Err(error) = self.notify(message).await {
            tracing::warn!(%error, "a client's answer did not reach the server that asked: {error}");
        }
    }
}

/// What is said in place of an answer that was too long.
pub const TOO_LONG: &str = "The server answered, but its answer was larger than allowed and was dropped.";

/// How long a server may take to answer a call that was cancelled. It owes no answer at all, so that
/// without an end to the wait such a call would run for ever.
const LATE_ANSWER: Duration = Duration::from_secs(5);

/// How often a server may ask for input before it answers.
const MOST_ROUNDS: usize = 10;

const GONE_BETWEEN: &str = "the server asked for input, and could not be given it";

const CANCELLED: &str = "the caller cancelled it, and the server did not answer";

/// The answer, past everything that comes before it.
async fn last_word(exchange: &mut Exchange) -> Step {
    loop {
        match exchange.next().await {
            done @ (Step::Answer(_)
            | Step::TooLong
            | Step::Lost(_)
            | Step::Unsent(_)
            | Step::TurnedAway(_)) => return done,
            Step::Notice(_) | Step::Request { .. } | Step::Withdrawn { .. } => {}
        }
    }
}

/// The parameters of the stored call.
fn canonical(permitted: &PermittedCall, meta: Map<String, Value>) -> Bytes {
    let call = &permitted.call().binding;
    let name = Value::from(call.tool.as_str());
    let mut params = format!(r#"{{"name":{name},"arguments":{}"#, call.arguments.as_str());
    if !meta.is_empty() {
        params.push_str(r#","_meta":"#);
        params.push_str(&Value::Object(meta).to_string());
    }
    params.push('}');
    params.into()
}

impl From<FetchError> for Unsent {
    fn from(error: FetchError) -> Self {
        match error {
            FetchError::TooLarge => Self::TooLong,
            error @ (FetchError::NotSent(_) | FetchError::Lost(_) | FetchError::TooSlow) => {
                if error.was_sent() {
                    Self::Lost("the server gave no answer")
                } else {
                    NotSent::Unreachable(error.to_string()).into()
                }
            }
        }
    }
}
