//! What a client hears while a server works on its request, and what the server may ask it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::task::{AbortHandle, JoinSet};

use crate::board::Ask;
use crate::envelope::RequestKey;
use crate::era::Era;
use crate::errand::Person;
use crate::raw::{RawObject, bytes, raw};
use crate::reply::Reply;
use crate::talk::{AskError, Given, InputAnswer, InputMethod, InputRequest, Notice, Party, Talk};
use crate::trace::TraceContext;
use crate::upstream::pipe::Interest;

/// The client's ear during one request; clones are the same ear.
#[derive(Clone, Debug)]
pub struct Hearing {
    client: Option<Arc<Listener>>,
    /// Who gives the input that a server asks for in an answer, where nobody hears it here.
    giver: Option<Arc<dyn Talk>>,
}

#[derive(Debug)]
struct Listener {
    party: Arc<Party>,
    talk: Arc<dyn Talk>,
    /// The progress token that the client chose.
    token: Option<Box<RawValue>>,
    /// The least level of log messages that it wants; `None`: it wants none.
    log: Option<LogLevel>,
    /// Where in the client's trace this happens.
    trace: Option<TraceContext>,
}

/// How weighty a log message is, as RFC 5424 has it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct LogLevel(u8);

impl LogLevel {
    const NAMES: [&str; 8] =
        ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

    /// The level of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let index = Self::NAMES.iter().position(|known| *known == name)?;
        u8::try_from(index).ok().map(Self)
    }

    /// Its name.
    pub(crate) fn as_str(self) -> &'static str {
        Self::NAMES.get(usize::from(self.0)).copied().unwrap_or("debug")
    }
}

impl Hearing {
    /// Nobody listens.
    pub const fn deaf() -> Self {
        Self { client: None, giver: None }
    }

    /// A host that hears its server itself. Only the input that the server asks for in its answer to a call of ours
    /// has to be fetched: the host does not know that call.
    pub(crate) fn beside(person: Option<&Person>) -> Self {
        Self { client: None, giver: person.map(|person| Arc::clone(&person.talk)) }
    }

    /// A client that waits for the answer to its request.
    pub(crate) fn of(ask: &Ask) -> Self {
        let log = match ask.party.era {
            // The server, or who stands for it, was told the level by `logging/setLevel`.
            Era::Legacy => Some(LogLevel(0)),
            Era::Modern => ask.log.as_deref().and_then(LogLevel::named),
        };
        let (party, talk) = (Arc::clone(&ask.party), Arc::clone(&ask.talk));
        let (token, trace) = (ask.progress.clone(), ask.trace.clone());
        Self { client: Some(Arc::new(Listener { party, talk, token, log, trace })), giver: None }
    }

    /// The same client, when its request is over and only what it is asked still reaches it, this way.
    pub(crate) fn after(&self, talk: &Arc<dyn Talk>) -> Self {
        let client = self.client.as_ref().map(|client| {
            let (party, trace) = (Arc::clone(&client.party), client.trace.clone());
            Arc::new(Listener { party, talk: Arc::clone(talk), token: None, log: None, trace })
        });
        Self { client, giver: self.giver.as_ref().map(|_| Arc::clone(talk)) }
    }

    /// The least level of log messages that the client wants with this request.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.client.as_ref().and_then(|client| client.log)
    }

    /// Where in the client's trace the request belongs.
    pub(crate) fn trace(&self) -> Option<&TraceContext> {
        self.client.as_ref().and_then(|client| client.trace.as_ref())
    }

    /// Whether anybody listens.
    pub(crate) const fn interest(&self) -> Interest {
        if self.client.is_some() { Interest::All } else { Interest::AnswerOnly }
    }

    /// Whether the client cannot go on by itself with a request that needs more input.
    pub(crate) fn is_of_legacy_client(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.party.era == Era::Legacy)
    }

    /// Hands on what the server tells.
    pub(crate) fn notice(&self, notice: Notice) {
        let Some(client) = &self.client else { return };
        let wanted = match (notice.method.as_ref(), client.party.era) {
            ("notifications/progress", _) => client.token.is_some(),
            ("notifications/message", _) => client.log.is_some_and(|least| level_of(&notice) >= Some(least)),
            // Everything else has a stream of its own in the modern era.
            (_, Era::Modern) => false,
            (_, Era::Legacy) => true,
        };
        if wanted {
            client.talk.notify(match &client.token {
                Some(token) => crate::upstream::pipe::under_client_token(notice, token),
                None => notice,
            });
        }
    }

    /// Asks the client.
    pub(crate) async fn ask(&self, requests: Vec<InputRequest>) -> Result<Vec<InputAnswer>, AskError> {
        match self.client.as_ref().map(|client| &client.talk).or(self.giver.as_ref()) {
            Some(talk) => talk.ask(requests).await,
            None => Err(AskError::Unable),
        }
    }

    /// The server's questions of one exchange.
    pub(crate) fn questions(&self) -> Questions {
        Questions { hearing: self.clone(), open: None, handles: Vec::new() }
    }
}

fn level_of(notice: &Notice) -> Option<LogLevel> {
    let fields = notice.params.as_deref().and_then(RawObject::parse)?;
    LogLevel::named(&fields.text("level")?)
}

/// What a server asked during one exchange, and the client has not answered yet.
#[derive(Debug)]
pub(crate) struct Questions {
    hearing: Hearing,
    /// None until there is one: most servers ask nothing.
    open: Option<JoinSet<Bytes>>,
    handles: Vec<(RequestKey, AbortHandle)>,
}

impl Questions {
    /// Puts a question to the client. Where there is nothing to ask, the answer is given at once.
    pub(crate) fn ask(
        &mut self,
        id: Box<RawValue>,
        method: &str,
        params: Option<Box<RawValue>>,
    ) -> Option<Bytes> {
        let Some(method) = InputMethod::named(method) else {
            return Some(not_for_the_client(&id, method));
        };
        let key = RequestKey::of(&id);
        let request =
            InputRequest { key: "1".into(), method, params: params.unwrap_or_else(|| raw("{}".into())) };
        let hearing = self.hearing.clone();
        let open = self.open.get_or_insert_default();
        let handle = open.spawn(async move { answer(&id, hearing.ask(vec![request]).await) });
        self.handles.push((key, handle));
        None
    }

    /// The server takes a question back.
    pub(crate) fn withdraw(&self, id: &RequestKey) {
        for (_, handle) in self.handles.iter().filter(|(key, _)| key == id) {
            handle.abort();
        }
    }

    /// Waits for the client's next answer, as a message for the server.
    pub(crate) async fn answered(&mut self) -> Bytes {
        loop {
            let Some(open) = &mut self.open else { return std::future::pending().await };
            match open.join_next().await {
                Some(Ok(message)) => return message,
                // It was taken back.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

/// The answer to a request that no client is asked.
pub(crate) fn not_for_the_client(id: &RawValue, method: &str) -> Bytes {
    let reply = match method {
        "ping" => Reply::Result(Bytes::from_static(b"{}")),
        _ => Reply::error(-32601, "the gateway does not pass this request on", None),
    };
    reply.into_message(id).unwrap_or_default().into()
}

/// A client's answer as a message for the server that asked.
pub(crate) fn answer(id: &RawValue, given: Result<Vec<InputAnswer>, AskError>) -> Bytes {
    let reply = match given.map(|answers| answers.into_iter().next().map(|answer| answer.answer)) {
        Ok(Some(Given::Result(result))) => Reply::Result(bytes(result)),
        Ok(Some(Given::Error(error))) => Reply::Error(bytes(error)),
        Ok(None) => Reply::error(-32603, "the client left the question unanswered", None),
        Err(error @ (AskError::Gone | AskError::Late)) => Reply::error(-32603, &error.to_string(), None),
        Err(error @ AskError::Unable) => Reply::error(-32601, &error.to_string(), None),
    };
    reply.into_message(id).unwrap_or_default().into()
}
