//! The HTTP door of `serve`: who may come in, and to which endpoint.
//!
//! - INVARIANT: nothing is read of a request's body before `Host`, `Origin` and the key were looked at.
//! - INVARIANT: no caller, no front: `Doorkeeper::caller` is the only place where one is made.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::json;
use yesgate_core::caller::Caller;
use yesgate_core::id::ServerName;
use yesgate_core::key::{BearerKey, BearerKeyHash};

use crate::board::Scope;
use crate::front::HttpFront;
use crate::hub::Hub;
use crate::metrics::labels::Rejection;
use crate::metrics::{self, Metrics};
use crate::rest::{self, RestFront};
use crate::server::Health;
use yesgate_http::edge::body::{Body, plain};
use yesgate_http::edge::guard::Guard;
use yesgate_http::edge::intake::{BodyError, read_body};
use yesgate_http::edge::pages::{self, Pages};
use yesgate_http::edge::quota::{Hold, Kind, Quotas};
use yesgate_http::edge::{EdgeLimits, Handler};

/// Knows who may come in.
#[derive(Debug)]
pub struct Doorkeeper {
    keys: RwLock<Arc<HashMap<BearerKeyHash, Caller>>>,
    /// Who comes in without a key; nobody once there was one.
    anybody: RwLock<Option<Caller>>,
}

impl Doorkeeper {
    /// Lets in whoever has one of these keys; where there are none, the local user, if one is named.
    pub fn new(keys: HashMap<BearerKeyHash, Caller>, local: Option<Caller>) -> Self {
        let local = local.filter(|_| keys.is_empty());
        Self { keys: RwLock::new(Arc::new(keys)), anybody: RwLock::new(local) }
    }

    /// Other keys are valid from here on. The first key closes the door for those without one, and the
    /// last one that goes does not open it again.
    pub fn renew(&self, keys: HashMap<BearerKeyHash, Caller>) {
        if !keys.is_empty() {
            *self.anybody.write().unwrap_or_else(PoisonError::into_inner) = None;
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Who calls.
    fn caller(&self, headers: &HeaderMap) -> Result<Caller, Stranger> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let value = match (values.next(), values.next()) {
            (None, _) => {
                let anybody = self.anybody.read().unwrap_or_else(PoisonError::into_inner);
                return anybody.clone().ok_or(Stranger::NoKey);
            }
            (Some(value), None) => value,
            (Some(_), Some(_)) => return Err(Stranger::WrongKey),
        };
        let key = value.to_str().ok().and_then(bearer).ok_or(Stranger::WrongKey)?;
        let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
        // Who shows a key that nobody gave out is not the local user.
        keys.get(&BearerKey::presented(key).hash()).cloned().ok_or(Stranger::WrongKey)
    }
}

/// Why somebody does not come in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stranger {
    NoKey,
    WrongKey,
}

impl Stranger {
    /// RFC 6750 §3: whoever showed nothing is told only what to show.
    fn response(self, failure: impl FnOnce(StatusCode, &str) -> Response<Body>) -> Response<Body> {
        let (challenge, words) = match self {
            Self::NoKey => ("Bearer realm=\"yesgate\"", "a bearer key is needed"),
            Self::WrongKey => {
                ("Bearer realm=\"yesgate\", error=\"invalid_token\"", "the bearer key is not valid")
            }
        };
        let mut response = failure(StatusCode::UNAUTHORIZED, words);
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        response
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, key) = value.split_once(' ')?;
    Some(key.trim()).filter(|key| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty())
}

/// Answers every HTTP request of the gateway.
#[derive(Debug)]
pub struct Door {
    /// Which hosts and origins may call.
    pub guard: Guard,
    /// Who may come in.
    pub keeper: Arc<Doorkeeper>,
    /// What one caller, and all of them, may take.
    pub quotas: Quotas,
    /// What a request may take.
    pub limits: EdgeLimits,
    /// The way to the servers.
    pub front: Arc<HttpFront>,
    /// The way to them without MCP.
    pub rest: Arc<RestFront>,
    /// The pages for people, who come with a session of their own and never with a key.
    pub pages: Arc<dyn Pages>,
    /// The servers.
    pub hub: Arc<Hub>,
    /// What is counted.
    pub metrics: Metrics,
    /// Whether `/metrics` is served.
    pub shows_metrics: bool,
}

impl Handler for Door {
    fn connected(&self) -> Box<dyn Send> {
        Box::new(self.metrics.connection())
    }

    async fn handle(&self, request: Request<Incoming>, from: SocketAddr) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let place = self.place(&parts);
        let checked = match &place {
            // People come to a page by links, wherever those stand.
            Some(Place::Page) if !self.pages.is_api(parts.uri.path()) => self.guard.check_page(&parts),
            Some(_) | None => self.guard.check(&parts),
        };
        let admitted = match checked {
            Ok(admitted) => admitted,
            Err(refused) => {
                self.metrics.rejected(match refused.status() {
                    StatusCode::BAD_REQUEST => Rejection::Host,
                    _ => Rejection::Origin,
                });
                return refused.response();
            }
        };
        if let Some(Place::Page) = place {
            // Nothing of it is for scripts of other sites, whichever may call.
            return pages::answer(&*self.pages, &self.limits, parts, body, from).await;
        }
        if let Some(response) = self.guard.preflight(&parts) {
            return response;
        }
        let mut response = match place {
            Some(Place::Endpoint(scope)) => self.endpoint(scope, parts, body).await,
            Some(Place::Rest(found)) => self.rest(*found, parts, body).await,
            Some(Place::PeopleOnly) => self.people_only(&parts.headers),
            Some(Place::AgentsOnly) => {
                let words = "This is for agents with a key: a session never calls a tool. Nothing ran.";
                rest::failure(StatusCode::FORBIDDEN, "not_for_people", words)
            }
            Some(Place::Alive) => only_get(&parts.method, || plain(StatusCode::OK, "alive\n")),
            Some(Place::Ready) => only_get(&parts.method, || self.ready()),
            Some(Place::Metrics) if self.shows_metrics => only_get(&parts.method, || self.numbers()),
            Some(Place::Metrics | Place::Page) | None => {
                self.metrics.rejected(Rejection::Path);
                match parts.uri.path().starts_with("/api/") {
                    true => rest::failure(StatusCode::NOT_FOUND, "not_found", "There is nothing here."),
                    false => failure(StatusCode::NOT_FOUND, "there is nothing here"),
                }
            }
        };
        admitted.decorate(&mut response);
        response
    }
}

impl Door {
    /// Where a request leads. Whoever shows a key is an agent, whatever cookies come with it; whoever comes with the
    /// session of a browser alone is a person. Neither is ever taken for the other.
    fn place(&self, parts: &http::request::Parts) -> Option<Place> {
        let path = parts.uri.path();
        if let Some(place) = place(path) {
            return Some(place);
        }
        let is_agent = parts.headers.contains_key(AUTHORIZATION);
        let is_person = !is_agent && self.pages.has_session(&parts.headers);
        let of_people = self.pages.has(path);
        match self.rest.find(path) {
            Some(_) if of_people && is_person => Some(Place::Page),
            Some(_) if is_person => Some(Place::AgentsOnly),
            Some(found) => Some(Place::Rest(Box::new(found))),
            None if is_agent && self.pages.is_api(path) => Some(Place::PeopleOnly),
            None => of_people.then_some(Place::Page),
        }
    }

    /// What an agent is told where only people are.
    fn people_only(&self, headers: &HeaderMap) -> Response<Body> {
        if let Err(stranger) = self.keeper.caller(headers) {
            self.metrics.unauthorized();
            return stranger.response(|status, words| rest::failure(status, "unauthorized", words));
        }
        let words =
            "This is for people who are signed in: a key never sees or decides it. Nothing was changed.";
        rest::failure(StatusCode::FORBIDDEN, "not_for_agents", words)
    }

    /// What comes by REST: the same caller, the same limits, other words.
    async fn rest(&self, found: rest::Found, parts: http::request::Parts, body: Incoming) -> Response<Body> {
        let refused = found.refused(&parts.method, &parts.headers);
        let caller = match self.keeper.caller(&parts.headers) {
            Ok(caller) => caller,
            Err(stranger) => {
                self.metrics.unauthorized();
                return stranger.response(|status, words| rest::failure(status, "unauthorized", words));
            }
        };
        if let Some(refused) = refused {
            return refused;
        }
        let (held, body) = match self.take(&caller, body).await {
            Ok(taken) => taken,
            Err(Untaken::Full(status)) => return rest::busy(status),
            Err(Untaken::Unread(error)) => {
                return rest::failure(error.status(), "invalid_body", &error.to_string());
            }
        };
        let response = self.rest.handle(found, &caller, &parts.headers, body).await;
        drop(held);
        response
    }

    /// Reads a body, within what its caller and all of them may take.
    async fn take(&self, caller: &Caller, body: Incoming) -> Result<(Hold, Bytes), Untaken> {
        let length = hyper::body::Body::size_hint(&body);
        let expected =
            length.upper().unwrap_or_else(|| u64::try_from(self.limits.body_bytes).unwrap_or(u64::MAX));
        let held = self.quotas.take(Kind::Bytes, caller, expected).map_err(|full| {
            self.metrics.rejected(Rejection::Full);
            Untaken::Full(full.status())
        })?;
        let body = read_body(body, &self.limits).await.map_err(|error| {
            self.metrics.rejected(match error {
                BodyError::TooLarge { .. } => Rejection::TooLarge,
                BodyError::TooSlow => Rejection::TooSlow,
                BodyError::Broken => Rejection::Broken,
            });
            Untaken::Unread(error)
        })?;
        Ok((held, body))
    }

    async fn endpoint(&self, scope: Scope, parts: http::request::Parts, body: Incoming) -> Response<Body> {
        let caller = match self.keeper.caller(&parts.headers) {
            Ok(caller) => caller,
            Err(stranger) => {
                self.metrics.unauthorized();
                return stranger.response(failure);
            }
        };
        let (held, body) = match self.take(&caller, body).await {
            Ok(taken) => taken,
            Err(Untaken::Full(status)) => return busy(status),
            Err(Untaken::Unread(error)) => return failure(error.status(), &error.to_string()),
        };
        let response = self.front.handle(scope, caller, parts, body).await;
        drop(held);
        response
    }

    fn numbers(&self) -> Response<Body> {
        let mut response = Response::new(Body::whole(self.metrics.render()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
        response
    }

    /// Whether gated calls can be answered, and how each server does. A server that is down does not make
    /// the gateway unready: the others are served.
    fn ready(&self) -> Response<Body> {
        let servers: serde_json::Map<String, serde_json::Value> = self
            .hub
            .health()
            .into_iter()
            .map(|(name, health)| {
                let health = match health {
                    Health::Idle => json!({"status": "idle"}),
                    Health::Up => json!({"status": "up"}),
                    Health::Down(why) => json!({"status": "down", "why": why}),
                };
                (name, health)
            })
            .collect();
        json_response(StatusCode::OK, &json!({"status": "ready", "servers": servers}))
    }
}

/// Why a body was not taken.
enum Untaken {
    Full(StatusCode),
    Unread(BodyError),
}

enum Place {
    Endpoint(Scope),
    Rest(Box<rest::Found>),
    Page,
    /// Something of people's, and an agent comes.
    PeopleOnly,
    /// Something of agents', and a person comes.
    AgentsOnly,
    Alive,
    Ready,
    Metrics,
}

fn place(path: &str) -> Option<Place> {
    match path {
        "/api/mcp" | "/mcp" => Some(Place::Endpoint(Scope::All)),
        "/healthz" | "/livez" => Some(Place::Alive),
        "/readyz" => Some(Place::Ready),
        "/metrics" => Some(Place::Metrics),
        other => {
            let name = other.strip_prefix("/mcp/")?.parse::<ServerName>().ok()?;
            Some(Place::Endpoint(Scope::One(name)))
        }
    }
}

fn only_get(method: &Method, answer: impl FnOnce() -> Response<Body>) -> Response<Body> {
    if method == Method::GET || method == Method::HEAD {
        return answer();
    }
    let mut response = failure(StatusCode::METHOD_NOT_ALLOWED, "only GET is known here");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    response
}

fn busy(status: StatusCode) -> Response<Body> {
    let mut response = failure(status, "too much is under way; try again in a moment");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// A refusal at the door, in the words of JSON-RPC so that clients show them.
fn failure(status: StatusCode, words: &str) -> Response<Body> {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": words}});
    json_response(status, &error)
}

fn json_response(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::whole(Bytes::from(value.to_string())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
