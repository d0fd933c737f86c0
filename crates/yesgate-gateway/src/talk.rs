//! The client's end of a conversation, whatever its era and transport: what servers say to it on the
//! way to an answer goes through here.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;
use yesgate_core::caller::Caller;
use yesgate_core::id::ClientId;

use crate::era::Era;
use crate::front::inputs::Abilities;
use crate::front::revision::Revision;
use crate::gate::Naming;
use crate::raw::{RawObject, raw};

/// A notification on its way to a client, with ids and tokens as that client knows them.
#[derive(Clone, Debug)]
pub struct Notice {
    /// The method.
    pub method: Cow<'static, str>,
    /// The parameters, in the sender's own bytes where nothing had to be rewritten.
    pub params: Option<Box<RawValue>>,
}

impl Notice {
    /// Tells that what a human was sent to a page for is over. Only clients of 2025-11-25 are told: no other
    /// revision has a name for the question.
    pub fn elicitation_complete(id: &str) -> Self {
        let params = raw(json!({"elicitationId": id}).to_string());
        Self { method: Cow::Borrowed(ELICITATION_COMPLETE), params: Some(params) }
    }
}

/// The notification that ends a question by URL.
pub(crate) const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";

/// A server's question to the client, or to the human behind it.
#[derive(Clone, Debug)]
pub struct InputRequest {
    /// What the answer is found by, unique within one round.
    pub key: String,
    /// What is asked for.
    pub method: InputMethod,
    /// The parameters, in the server's own bytes. Whoever asks by URL may choose the `elicitationId`, to tell
    /// later that it is over.
    pub params: Box<RawValue>,
}

/// What a server may ask of a client.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InputMethod {
    /// `elicitation/create`
    Elicitation,
    /// `sampling/createMessage`
    Sampling,
    /// `roots/list`
    Roots,
}

impl InputMethod {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Elicitation, Self::Sampling, Self::Roots];

    /// The protocol's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// The one of this name.
    pub fn named(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == method)
    }
}

/// How a client puts a question to its human.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Elicitation {
    /// As a form that the client shows.
    Form,
    /// By sending the human to a page of ours.
    Url,
}

/// A client's answer to one [`InputRequest`].
#[derive(Clone, Debug)]
pub struct InputAnswer {
    /// The key of the question.
    pub key: String,
    /// The client's own bytes.
    pub answer: Given,
}

/// What a client gave as an answer.
#[derive(Clone, Debug)]
pub enum Given {
    /// A result.
    Result(Box<RawValue>),
    /// A JSON-RPC error. Clients of the modern era cannot give one.
    Error(Box<RawValue>),
}

/// A client could not be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum AskError {
    /// It went, or gave the call up, before it answered.
    #[error("the client went before it answered")]
    Gone,
    /// It took longer than it may.
    #[error("the client did not answer in time")]
    Late,
    /// It cannot be asked here: it declared no such capability, or there is no way to reach it.
    #[error("the client cannot be asked")]
    Unable,
}

/// A future in a box.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The way to a client while one of its requests is answered, or while its session lasts.
pub trait Talk: Send + Sync + fmt::Debug {
    /// Hands a notification on. Nothing waits: a client that went gets nothing.
    fn notify(&self, notice: Notice);

    /// Asks the client, and waits. All of one round are asked together; the answers come in any order,
    /// and one that the client left out is missing.
    fn ask(&self, requests: Vec<InputRequest>) -> Boxed<'_, Result<Vec<InputAnswer>, AskError>>;

    /// Lets a modern client go without an answer, and waits until it comes back for one: its request ends with
    /// nothing but a state to come back with. That takes no capability. A client of the old era has to stay.
    fn rest(&self) -> Boxed<'_, Result<(), AskError>>;

    /// How long the client has had what was put to it at this moment. Most are told at once; one that fetches what
    /// it is asked may not have seen it for a while.
    fn seen_for(&self, put: Instant) -> Duration {
        put.elapsed()
    }
}

/// One client as the gateway knows it: a session of the old era, or all requests of the new one that
/// come from the same caller with the same capabilities.
#[derive(Debug)]
pub struct Party {
    /// Tells this party from all others; no secret, and never shown.
    pub key: PartyKey,
    /// Who it is.
    pub caller: Caller,
    /// The rules it speaks by.
    pub era: Era,
    /// The revision it speaks, as it wrote it.
    pub version: String,
    /// Its `ClientCapabilities`.
    pub capabilities: Box<RawValue>,
    /// Its `clientInfo`, if it gave one.
    pub info: Option<Box<RawValue>>,
    /// The name that it gives itself there.
    pub client: Option<ClientId>,
    /// The way to it outside of any request; only sessions have one.
    pub session: Option<Arc<dyn Talk>>,
}

impl Party {
    /// The caller that it is. One that nobody else named goes by its own name.
    pub(crate) fn known_as(&self, naming: Naming) -> Caller {
        match (naming, &self.client) {
            (Naming::BySelf, Some(client)) => Caller { client: client.clone(), ..self.caller.clone() },
            (Naming::BySelf, None) | (Naming::ByKey, _) => self.caller.clone(),
        }
    }

    /// Whether its human can be asked in this way, as far as it declared in words of its revision.
    pub fn can_elicit(&self, mode: Elicitation) -> bool {
        // Most say nothing of it, which a look tells; one with an escape may spell its keys in another way.
        let said = self.capabilities.get();
        if !said.contains("elicitation") && !said.contains('\\') {
            return false;
        }
        // What a revision that we do not know means by its words is nothing to build on.
        Revision::named(&self.version)
            .is_some_and(|revision| Abilities::of(&self.capabilities, revision).elicits(mode))
    }

    /// Whether it declared an extension of the protocol, such as `io.modelcontextprotocol/tasks`. Only the
    /// modern era has them.
    pub fn has_extension(&self, name: &str) -> bool {
        let declared = |capabilities| RawObject::parse(RawObject::parse(capabilities)?.get("extensions")?);
        match self.era {
            Era::Legacy => false,
            Era::Modern => declared(&self.capabilities)
                .is_some_and(|known| known.get(name).is_some_and(|settings| settings.get().starts_with('{'))),
        }
    }
}

/// The name in a `clientInfo`, in characters that a name may have.
pub(crate) fn own_name(info: Option<&RawValue>) -> Option<ClientId> {
    client_id(&RawObject::parse(info?)?.text("name")?)
}

/// The id of a client that goes by this name.
pub(crate) fn client_id(name: &str) -> Option<ClientId> {
    let plain: String =
        name.chars().take(128).map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
    plain.parse().ok()
}

/// Names a [`Party`].
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PartyKey(pub String);

#[cfg(test)]
mod tests;
