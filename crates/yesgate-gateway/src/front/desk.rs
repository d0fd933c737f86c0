//! What the fronts of both transports do alike before a request reaches the board.
//!
//! INVARIANT: a board sees only methods that the era of the request has.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::json;
use yesgate_core::caller::Caller;
use yesgate_core::clock::Entropy;
use yesgate_core::oauth::Scopes;

use super::FrontSettings;
use super::exchange::Exchange;
use super::leg::Leg;
use super::mailbox::{Asking, Mailbox, Means};
use super::message::{Malformed, Request};
use super::meta::{Meta, text};
use super::parked::{self, PREFIX, Parked, Resumed};
use super::parties::Parties;
use super::revision::Revision;
use crate::base::Base;
use crate::board::{Ask, Board, Scope};
use crate::cancel::Cancel;
use crate::methods::{Route, route};
use crate::raw::{Params, Raw};
use crate::reply::Reply;
use crate::talk::Party;
use crate::trace::{TraceContext, remote_parent};

/// What both transports share.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) board: Arc<dyn Board>,
    pub(crate) means: Arc<Means>,
    pub(crate) parties: Parties,
    pub(crate) parked: Arc<Parked>,
    /// Where clients reach us, if the operator says so.
    public: Option<Base>,
}

/// What the HTTP headers of a request say; nothing where it came over a pipe.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Where in the client's trace it belongs.
    pub(crate) trace: Option<TraceContext>,
    /// Where the client reached us.
    pub(crate) base: Option<Base>,
    /// What the token was given that came with it.
    pub(crate) scopes: Option<Arc<Scopes>>,
}

/// One request and all that came with it.
#[derive(Debug)]
pub(crate) struct Incoming<'a> {
    pub(crate) scope: Scope,
    pub(crate) message: Bytes,
    pub(crate) request: &'a Request<'a>,
    pub(crate) headers: Option<HeaderMap>,
    /// What the token was given that came with it.
    pub(crate) scopes: Option<Arc<Scopes>>,
}

/// What a modern request comes to.
#[derive(Debug)]
pub(crate) enum Begun {
    /// It is under way.
    Leg(Leg),
    /// It is answered.
    Answered(Reply),
}

impl Desk {
    pub(crate) fn new(board: Arc<dyn Board>, settings: &FrontSettings, entropy: Arc<dyn Entropy>) -> Self {
        let means = Arc::new(Means { ask_time: settings.ask_time, entropy });
        let parked = Parked::new(Arc::clone(&means), settings.ask_time, settings.parked, board.metrics());
        Self { board, means, parties: Parties::new(settings.parties), parked: Arc::new(parked), public: None }
    }

    /// Clients reach us here, whatever they call us.
    pub(crate) fn at(self, public: Option<Base>) -> Self {
        Self { public, ..self }
    }

    /// What these headers say, and what came with them.
    pub(crate) fn carried(&self, headers: &HeaderMap, scopes: Option<Arc<Scopes>>) -> Carried {
        Carried {
            trace: remote_parent(headers),
            base: self.public.clone().or_else(|| Base::of_host(headers)),
            scopes,
        }
    }

    /// The party that sends a modern message.
    pub(crate) fn party(&self, caller: &Caller, meta: &Meta<'_>) -> Result<Arc<Party>, Malformed> {
        let capabilities = meta.capabilities()?;
        self.parties.of(caller, capabilities, meta.info).map_err(|error| Malformed(error.to_string()))
    }

    /// Begins a modern request, or goes on with one that was parked.
    pub(crate) fn begin(&self, incoming: Incoming<'_>, party: Arc<Party>, meta: &Meta<'_>) -> Begun {
        let Incoming { scope, message, request, headers, scopes } = incoming;
        if let Some(state) = request.fields.request_state {
            let Some(state) = text(state) else {
                return Begun::Answered(Reply::error(-32602, "`requestState` must be a string", None));
            };
            if state.starts_with(PREFIX) {
                return self.resume(&scope, message, request, &state, party, meta);
            }
        }
        let asking = match request.method.as_ref() {
            "tools/call" | "prompts/get" | "resources/read" => Asking::Possible,
            _ => Asking::Impossible,
        };
        let (means, cancel) = (Arc::clone(&self.means), Cancel::new());
        let mailbox = Mailbox::new(means, Arc::clone(&party), Revision::July2026, asking, cancel.clone());
        let carried = headers.as_ref().map(|headers| self.carried(headers, scopes)).unwrap_or_default();
        let ask = Ask {
            scope: scope.clone(),
            party: Arc::clone(&party),
            scopes: carried.scopes,
            method: request.method.clone().into_owned(),
            message: message.clone(),
            call: request.call.clone(),
            params: request.params.map(|params| Params::within(&message, params)),
            progress: meta.progress_token.map(|token| token.value().to_owned()),
            log: meta.log_level(),
            trace: carried.trace.or_else(|| meta.trace()),
            base: carried.base,
            headers,
            talk: Arc::clone(&mailbox) as _,
            cancel,
        };
        let exchange = Exchange::new(Arc::clone(&self.board), mailbox, ask);
        Begun::Leg(Leg::first(exchange, Arc::clone(&self.parked), scope, party, message))
    }

    fn resume(
        &self,
        scope: &Scope,
        message: Bytes,
        request: &Request<'_>,
        state: &str,
        party: Arc<Party>,
        meta: &Meta<'_>,
    ) -> Begun {
        let binding = match parked::binding(&party, scope, &request.method, request.params) {
            Ok(binding) => binding,
            Err(Malformed(words)) => return Begun::Answered(Reply::error(-32602, &words, None)),
        };
        match self.parked.resume(state, binding, request.fields.input_responses) {
            Resumed::Going(exchange) => Begun::Leg(Leg::further(
                exchange,
                Arc::clone(&self.parked),
                scope.clone(),
                party,
                message,
                meta.progress_token.map(Raw::value),
            )),
            Resumed::Again(reply) | Resumed::Refused(reply) => Begun::Answered(reply),
        }
    }
}

/// Refuses a modern request that cannot be right, whoever sends it.
pub(crate) fn check_modern(request: &Request<'_>, meta: &Meta<'_>) -> Result<(), Reply> {
    match meta.version() {
        Some(Ok(version)) if version == Revision::July2026.as_str() => {}
        Some(Ok(version)) => return Err(unsupported(&version)),
        Some(Err(Malformed(words))) => return Err(Reply::error(-32602, &words, None)),
        None => {}
    }
    if !is_modern(&request.method) {
        return Err(unknown_method());
    }
    if meta.version().is_none() {
        let words = "`_meta` must have `io.modelcontextprotocol/protocolVersion`";
        return Err(Reply::error(-32602, words, None));
    }
    Ok(())
}

/// The answer to a revision that we do not speak.
pub(crate) fn unsupported(requested: &str) -> Reply {
    let supported: Vec<&str> =
        Revision::ALL.into_iter().map(Revision::as_str).filter(|known| *known != requested).collect();
    Reply::error(
        -32022,
        "the protocol version is not supported",
        Some(json!({"supported": supported, "requested": requested})),
    )
}

/// The answer to a method that does not exist, or not in this era.
pub(crate) fn unknown_method() -> Reply {
    Reply::error(-32601, "the gateway does not know this method, so it does not pass", None)
}

/// Whether the modern era has a method.
fn is_modern(method: &str) -> bool {
    match route(method) {
        Route::Initialize | Route::Unknown => false,
        Route::Call | Route::Discover | Route::ToolsList => true,
        Route::Pass => ![
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "tasks/list",
            "tasks/result",
        ]
        .contains(&method),
    }
}

/// Whether the old era has a method, within a session.
pub(crate) fn is_legacy(method: &str) -> bool {
    match route(method) {
        Route::Initialize | Route::Discover | Route::Unknown => false,
        Route::Call | Route::ToolsList => true,
        Route::Pass => !["subscriptions/listen", "tasks/update"].contains(&method),
    }
}
