//! What the fronts hand requests to. A front knows a transport and an era; the board behind it knows
//! servers, rules and the gate. They meet in this trait alone.

use std::sync::Arc;

use http::HeaderMap;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use yesgate_core::call::CallRequest;
use yesgate_core::caller::Caller;
use yesgate_core::id::ServerName;
use yesgate_core::oauth::Scopes;

use crate::base::Base;
use crate::cancel::Cancel;
use crate::metrics::Metrics;
use crate::raw::Params;
use crate::reply::Reply;
use crate::talk::{Boxed, Notice, Party, Talk};
use crate::trace::TraceContext;

/// Which servers an endpoint shows.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Scope {
    /// All of them, with prefixed names.
    All,
    /// One, with its names unchanged.
    One(ServerName),
}

/// Who comes, and what they were given.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// Who.
    pub caller: Caller,
    /// What the token that came with this request was given; `None`: they came with no such token, and the policy alone
    /// decides.
    pub scopes: Option<Arc<Scopes>>,
}

impl From<Caller> for Visitor {
    fn from(caller: Caller) -> Self {
        Self { caller, scopes: None }
    }
}

/// One request of a client.
#[derive(Debug)]
pub struct Ask {
    /// Where it came in.
    pub scope: Scope,
    /// Who makes it.
    pub party: Arc<Party>,
    /// What its token was given; `None`: it came with none that is limited.
    pub scopes: Option<Arc<Scopes>>,
    /// The method.
    pub method: String,
    /// The whole message, in the client's own bytes.
    pub message: bytes::Bytes,
    /// The call that it is, where that has been read already.
    pub call: Option<Arc<CallRequest>>,
    /// The parameters within it.
    pub params: Option<Params>,
    /// The token under which the client wants to hear of progress.
    pub progress: Option<Box<RawValue>>,
    /// The least level of log messages that a modern client wants to hear with the answer.
    pub log: Option<String>,
    /// The HTTP headers of a modern request, for the ones that mirror parameters.
    pub headers: Option<HeaderMap>,
    /// Where in the client's trace it belongs, as its HTTP headers say.
    pub trace: Option<TraceContext>,
    /// Where the client reaches us, if that is known.
    pub base: Option<Base>,
    /// The way to the client while it waits.
    pub talk: Arc<dyn Talk>,
    /// The client's "never mind".
    pub cancel: Cancel,
}

impl Ask {
    /// The same request with other parameters, in this message.
    pub(crate) fn with(&self, message: bytes::Bytes, params: Params) -> Self {
        Self {
            scope: self.scope.clone(),
            party: Arc::clone(&self.party),
            scopes: self.scopes.clone(),
            method: self.method.clone(),
            message,
            call: None,
            params: Some(params),
            progress: self.progress.clone(),
            log: self.log.clone(),
            headers: self.headers.clone(),
            trace: self.trace.clone(),
            base: self.base.clone(),
            talk: Arc::clone(&self.talk),
            cancel: self.cancel.clone(),
        }
    }
}

/// What a client wants to hear about outside of its requests.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Wanted {
    /// `notifications/tools/list_changed`
    pub tools: bool,
    /// `notifications/prompts/list_changed`
    pub prompts: bool,
    /// `notifications/resources/list_changed`
    pub resources: bool,
    /// `notifications/resources/updated`, for these.
    pub uris: Vec<String>,
    /// `notifications/tasks`, for these.
    pub tasks: Vec<String>,
}

/// What a client will hear about, and where.
#[derive(Debug)]
pub struct Listening {
    /// What of the wishes can be fulfilled.
    pub granted: Wanted,
    /// The notices, as they come; its end means that no more will.
    pub notices: mpsc::Receiver<Notice>,
}

/// The servers, the rules and the gate, as a front sees them.
pub trait Board: Send + Sync + std::fmt::Debug {
    /// Where what the fronts hold is counted.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }

    /// Whether there is such an endpoint.
    fn has(&self, scope: &Scope) -> bool;

    /// Answers one request: any method but `subscriptions/listen` and `ping`, including `initialize`
    /// and `server/discover`. Dropping the future gives the request up; so does its `cancel`.
    fn request(&self, ask: Ask) -> Boxed<'_, Reply>;

    /// Takes one notification of a client, any but `notifications/cancelled`.
    fn notify(&self, scope: &Scope, party: &Arc<Party>, method: &str, params: Option<&RawValue>);

    /// Begins to listen on behalf of a modern client.
    fn listen(&self, scope: Scope, party: Arc<Party>, wanted: Wanted) -> Boxed<'_, Result<Listening, Reply>>;

    /// A session ended: whatever was kept for it can go.
    fn leave(&self, party: &Party);
}
