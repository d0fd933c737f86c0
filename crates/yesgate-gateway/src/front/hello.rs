//! How a session of the old era begins, and how its requests go to the board, over either transport.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;
use yesgate_core::caller::Caller;
use yesgate_core::digest::Hasher;

use super::desk::{Carried, Desk};
use super::exchange::{Exchange, Step};
use super::mailbox::{Asking, Mailbox};
use super::message::{Malformed, Request, Unreadable, refuse};
use super::meta::{Meta, text};
use super::revision::Revision;
use super::voice::Voice;
use crate::board::{Ask, Board, Scope};
use crate::cancel::Cancel;
use crate::era::Era;
use crate::raw::{Params, RawObject, raw};
use crate::reply::Reply;
use crate::talk::{Party, PartyKey, Talk, own_name};

/// What a client opens a session with.
#[derive(Debug)]
pub(crate) struct Hello {
    pub(crate) revision: Revision,
    pub(crate) capabilities: Box<RawValue>,
    pub(crate) info: Option<Box<RawValue>>,
}

impl Hello {
    /// Reads the parameters of `initialize`.
    pub(crate) fn read(params: Option<&RawValue>) -> Result<Self, Malformed> {
        let fields = params.and_then(RawObject::parse).unwrap_or_default();
        let version = fields
            .get("protocolVersion")
            .and_then(text)
            .ok_or_else(|| Malformed("`initialize` must name a `protocolVersion`".into()))?;
        let capabilities = match fields.get("capabilities") {
            Some(capabilities) if capabilities.get().starts_with('{') => capabilities.to_owned(),
            Some(_) => return Err(Malformed("`capabilities` must be an object".into())),
            None => raw("{}".into()),
        };
        let info = fields.get("clientInfo").map(ToOwned::to_owned);
        Ok(Self { revision: Revision::negotiate(&version), capabilities, info })
    }

    /// The session as the board knows it. Its key tells nothing of the session id.
    pub(crate) fn into_party(self, caller: Caller, voice: Arc<Voice>, id: &str) -> Arc<Party> {
        let mut hasher = Hasher::new("yesgate/party/session/1");
        hasher.field(id.as_bytes());
        Arc::new(Party {
            key: PartyKey(hasher.finish().to_string()),
            caller,
            era: Era::Legacy,
            version: self.revision.as_str().to_owned(),
            capabilities: self.capabilities,
            client: own_name(self.info.as_deref()),
            info: self.info,
            session: Some(voice as Arc<dyn Talk>),
        })
    }
}

impl Desk {
    /// A request within a session.
    pub(crate) fn legacy_exchange(
        &self,
        scope: Scope,
        party: &Arc<Party>,
        revision: Revision,
        message: Bytes,
        request: &Request<'_>,
        (cancel, carried): (Cancel, Carried),
    ) -> Exchange {
        let asking = if request.method == "initialize" { Asking::Impossible } else { Asking::Possible };
        let mailbox =
            Mailbox::new(Arc::clone(&self.means), Arc::clone(party), revision, asking, cancel.clone());
        // What cannot be read is nothing that we look for, and the server's to judge.
        let meta = Meta::read(&request.fields).unwrap_or_default();
        let ask = Ask {
            scope,
            party: Arc::clone(party),
            scopes: carried.scopes,
            method: request.method.clone().into_owned(),
            params: request.params.map(|params| Params::within(&message, params)),
            message,
            call: request.call.clone(),
            progress: meta.progress_token.map(|token| token.value().to_owned()),
            log: None,
            headers: None,
            trace: carried.trace.or_else(|| meta.trace()),
            base: carried.base,
            talk: Arc::clone(&mailbox) as _,
            cancel,
        };
        Exchange::new(Arc::clone(&self.board), mailbox, ask)
    }
}

/// The answer to `initialize`. Whatever is said before it has nowhere to go.
pub(crate) async fn welcome(mut exchange: Exchange, revision: Revision) -> Reply {
    let reply = loop {
        match exchange.next().await {
            Step::Notice(_) | Step::Question(_) | Step::Withdrawn(_) => {}
            Step::Done(reply) => break reply,
        }
    };
    match reply {
        Reply::Result(result) => agreed(&result, revision)
            .map_or_else(|| Reply::error(-32603, "the answer was no object", None), Reply::Result),
        reply @ (Reply::Own(_) | Reply::Relayed | Reply::Error(_) | Reply::Silent) => reply,
    }
}

/// A welcome with the revision that was agreed on, whatever the board would like.
fn agreed(result: &Bytes, revision: Revision) -> Option<Bytes> {
    let mut fields: RawObject = serde_json::from_slice(result).ok()?;
    let agreed = format!("\"{}\"", revision.as_str());
    if fields.get("protocolVersion").is_some_and(|version| version.get() == agreed) {
        return Some(result.clone());
    }
    fields.set("protocolVersion", raw(agreed));
    Some(String::from(Box::<str>::from(fields.to_raw())).into())
}

/// A session that may never come to be: then the board forgets it.
#[derive(Debug)]
pub(crate) struct Opening {
    board: Arc<dyn Board>,
    party: Option<Arc<Party>>,
}

impl Opening {
    pub(crate) fn new(board: Arc<dyn Board>, party: Arc<Party>) -> Self {
        Self { board, party: Some(party) }
    }

    /// It came to be.
    pub(crate) fn keep(mut self) {
        self.party = None;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(party) = &self.party {
            self.board.leave(party);
        }
    }
}

/// The answer to `ping`, which concerns one hop only.
pub(crate) fn pong() -> Reply {
    Reply::Result(Bytes::from_static(b"{}"))
}

/// Refuses a batch where there is none, or none that large.
pub(crate) fn check_batch(revision: Revision, length: usize, most: usize) -> Result<(), Unreadable> {
    match (revision, length) {
        (Revision::March2025, 0) => Err(refuse(None, "the batch is empty")),
        (Revision::March2025, length) if length <= most => Ok(()),
        (Revision::March2025, _) => Err(refuse(None, &format!("the batch has more than {most} messages"))),
        (Revision::June2025 | Revision::November2025 | Revision::July2026, _) => {
            Err(refuse(None, "this protocol version has no batches"))
        }
    }
}

/// The answers to a batch, as one array.
pub(crate) fn array(answers: Vec<[Bytes; 3]>) -> Vec<Bytes> {
    let mut pieces = Vec::with_capacity(answers.len() * 4 + 1);
    for parts in answers {
        pieces.push(Bytes::from_static(if pieces.is_empty() { b"[" } else { b"," }));
        pieces.extend(parts);
    }
    pieces.push(Bytes::from_static(b"]"));
    pieces
}
