//! The REST front of `serve`: every tool by `POST`, questions to look up, consent for applications (H3, H8, H10).
//!
//! - INVARIANT: it is one more front over the same board. There is no way to a server here but
//!   [`crate::board::Board::request`], and so none around the gate.
//! - INVARIANT: `GET` decides and runs nothing, and what may do something takes only `application/json`, which no
//!   form of a web page can send.

mod answer;
mod call;
mod consent;
mod decide;
mod look;
pub mod openapi;
mod pace;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, HeaderValue};
use http::{HeaderMap, Method, Response, StatusCode};
use serde_json::Value;
use tokio::task::AbortHandle;
use yesgate_core::caller::Caller;
use yesgate_core::id::{IntentId, ServerName};
use yesgate_core::policy::{RouteTarget, Routes};

use self::openapi::Annex;
use self::pace::Looks;
use self::table::{Endpoint, ROUTES, Verb};
use crate::base::Base;
use crate::board::{Board, Visitor};
use crate::custom::{CustomGate, Terms};
use crate::front::parties::Parties;
use crate::gate::Naming;
use yesgate_http::edge::body::Body;
use yesgate_http::edge::intake::is_json;

pub(crate) use self::answer::{busy, failure};

/// The REST front of one gateway.
#[derive(Debug)]
pub struct RestFront {
    board: Arc<dyn Board>,
    gate: CustomGate,
    naming: Naming,
    public: Option<Base>,
    outcome: Duration,
    annex: Annex,
    changeable: RwLock<Arc<Changeable>>,
    parties: Parties,
    /// What applications were permitted and have not told the end of: each is given up in time.
    unsettled: Arc<Mutex<HashMap<IntentId, AbortHandle>>>,
    /// Who has looked at what, and when.
    looks: Looks,
}

/// What does not change while the gateway runs.
#[derive(Clone, Debug)]
pub struct RestSettings {
    /// How far a client's own name counts.
    pub naming: Naming,
    /// Where clients reach us, if the operator says so.
    pub public: Option<Base>,
    /// How long an application may take to say how a permitted operation ended.
    pub outcome: Duration,
    /// What the description has of people's paths.
    pub annex: Annex,
}

/// What a new configuration can change.
#[derive(Clone, Debug, Default)]
pub struct Changeable {
    /// The operator's own paths.
    pub routes: Routes,
    /// What holds for questions of applications.
    pub terms: Terms,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Found {
    endpoint: Endpoint,
    verb: Verb,
    /// What stood in the places of names.
    values: Vec<String>,
    /// The tool of a path of the operator's.
    target: Option<RouteTarget>,
}

impl RestFront {
    /// A front before this board, with this gate for what applications do themselves.
    pub fn new(
        board: Arc<dyn Board>,
        gate: CustomGate,
        settings: RestSettings,
        changeable: Changeable,
    ) -> Self {
        let RestSettings { naming, public, outcome, annex } = settings;
        Self {
            board,
            gate,
            naming,
            public,
            outcome,
            annex,
            changeable: RwLock::new(Arc::new(changeable)),
            parties: Parties::new(MOST_PARTIES),
            unsettled: Arc::default(),
            looks: Looks::default(),
        }
    }

    /// Another configuration is in force, for every request from here on.
    pub fn change(&self, changeable: Changeable) {
        *self.changeable.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(changeable);
    }

    fn changeable(&self) -> Arc<Changeable> {
        Arc::clone(&self.changeable.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where a path leads; `None`: it is none of ours.
    pub(crate) fn find(&self, path: &str) -> Option<Found> {
        let own = ROUTES.iter().find_map(|route| {
            let values = route.fit(path)?;
            Some(Found { endpoint: route.endpoint, verb: route.verb, values, target: None })
        });
        own.or_else(|| {
            let target = self.changeable().routes.get(path)?.clone();
            Some(Found {
                endpoint: Endpoint::Call,
                verb: Verb::Post,
                values: Vec::new(),
                target: Some(target),
            })
        })
    }

    /// Answers one request of a caller. Whoever calls has verified the visitor, `Host` and `Origin`, has asked
    /// [`Found::refused`], and has bounded the body.
    pub(crate) async fn handle(
        &self,
        found: Found,
        visitor: &Visitor,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Response<Body> {
        let caller = &visitor.caller;
        let mut values = found.values.iter().map(String::as_str);
        match found.endpoint {
            Endpoint::Call => match (&found.target, values.next(), values.next()) {
                (Some(target), _, _) => {
                    let tool = (target.server.clone(), target.tool.as_str());
                    self.call(visitor, tool, headers, &body).await
                }
                (None, Some(server), Some(tool)) => match server.parse::<ServerName>() {
                    Ok(server) => self.call(visitor, (server, tool), headers, &body).await,
                    Err(_) => nothing_here(),
                },
                (None, _, _) => nothing_here(),
            },
            Endpoint::Look => self.look(visitor, values.next().unwrap_or_default()).await,
            Endpoint::Decide => self.decide(visitor, values.next().unwrap_or_default(), headers, &body).await,
            Endpoint::Cancel => self.cancel(visitor, values.next().unwrap_or_default(), &body).await,
            Endpoint::Mint => self.mint(caller, headers, &body).await,
            Endpoint::Consume => self.consume(caller, &body).await,
            Endpoint::Outcome => self.settle(caller, values.next().unwrap_or_default(), &body).await,
            Endpoint::Document => answer::json(StatusCode::OK, &self.document()),
        }
    }

    /// The description of the whole API, with the paths that the operator named.
    pub fn document(&self) -> Value {
        openapi::document(&self.changeable().routes, &self.annex)
    }

    /// Where the sender of a request reaches us.
    fn base(&self, headers: &HeaderMap) -> Option<Base> {
        self.public.clone().or_else(|| Base::of_host(headers))
    }
}

impl Found {
    /// Whether it is for applications, which speak for all users of their organisation. A client that one person connected
    /// speaks for that person alone.
    pub(crate) const fn is_for_applications(&self) -> bool {
        match self.endpoint {
            Endpoint::Mint | Endpoint::Consume | Endpoint::Outcome => true,
            Endpoint::Call | Endpoint::Look | Endpoint::Decide | Endpoint::Cancel | Endpoint::Document => {
                false
            }
        }
    }

    /// Why a request does not come as far as its body, if it does not.
    pub(crate) fn refused(&self, method: &Method, headers: &HeaderMap) -> Option<Response<Body>> {
        if !self.verb.is(method) {
            let words = format!("Only {} is known here.", self.verb.as_str());
            let mut response = failure(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", &words);
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(self.verb.as_str()));
            return Some(response);
        }
        match self.verb {
            Verb::Post if !is_json(headers) => Some(failure(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "The content type must be application/json. Nothing ran.",
            )),
            Verb::Get | Verb::Post => None,
        }
    }
}

fn nothing_here() -> Response<Body> {
    failure(StatusCode::NOT_FOUND, "not_found", "There is nothing here.")
}

/// The application that a caller is: its name stands where a server's name stands for tools.
fn application(caller: &Caller) -> Result<ServerName, String> {
    caller.client.as_str().parse().map_err(|_| {
        "the client of this key is no name of an application; make one with `yesgate keys add --client NAME`"
            .to_owned()
    })
}

/// How many callers are remembered.
const MOST_PARTIES: usize = 4_096;
