//! The HTTP door of `serve`: who may come in, and to which endpoint.
//!
//! - INVARIANT: nothing is read of a request's body before `Host`, `Origin` and the key or token were looked at.
//! - INVARIANT: no visitor, no front: `Door::admit` is the only place where one is made.
//! - INVARIANT: what somebody has open is closed when they are not let in any more.

mod admission;

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use serde_json::json;
use yesgate_core::caller::Caller;
use yesgate_core::id::ServerName;
use yesgate_core::policy::Proxies;
use yesgate_ledger::{Ledger, Readiness};

pub use self::admission::{Doorkeeper, KnownAs};
use self::admission::{Stranger, Visit};
use crate::board::Scope;
use crate::front::HttpFront;
use crate::hub::Hub;
use crate::metrics::labels::Rejection;
use crate::metrics::{self, Metrics};
use crate::rest::{self, RestFront};
use crate::server::Health;
use yesgate_http::edge::bearer::{Bearers, Lacking, Unadmitted};
use yesgate_http::edge::body::{Body, plain};
use yesgate_http::edge::guard::Guard;
use yesgate_http::edge::intake::{BodyError, read_body};
use yesgate_http::edge::pages::{self, Pages};
use yesgate_http::edge::quota::{Hold, Kind, Quotas};
use yesgate_http::edge::{EdgeLimits, Handler};

/// Answers every HTTP request of the gateway.
#[derive(Debug)]
pub struct Door {
    /// Which hosts and origins may call.
    pub guard: Guard,
    /// Who may come in with a key.
    pub keeper: Arc<Doorkeeper>,
    /// Who verifies other tokens, where clients are connected.
    pub bearers: Option<Arc<dyn Bearers>>,
    /// By which name clients are told to come, where they are told.
    pub known_as: Option<KnownAs>,
    /// Whose word is taken for where a request comes from.
    pub proxies: Proxies,
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
    /// What has to be written before anything runs.
    pub ledger: Ledger,
    /// What is counted.
    pub metrics: Metrics,
    /// Whether `/metrics` is served.
    pub shows_metrics: bool,
}

impl Handler for Door {
    fn connected(&self) -> Box<dyn Send> {
        Box::new(self.metrics.connection())
    }

    // What is rare is put into boxes of its own, here and further in: the room for it would be made for every call.
    async fn handle(&self, request: Request<Incoming>, from: SocketAddr) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let from = self.sender(&parts, from);
        let place = self.place(&parts);
        if let Some(Place::Clients(bearers)) = place {
            return Box::pin(self.clients(&*bearers, parts, body, from)).await;
        }
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
            return Box::pin(pages::answer(&*self.pages, &self.limits, parts, body, from)).await;
        }
        if let Some(response) = self.guard.preflight(&parts) {
            return response;
        }
        let mut response = match place {
            Some(Place::Endpoint(scope)) => self.endpoint(scope, parts, body).await,
            Some(Place::Rest(found)) => Box::pin(self.rest(*found, parts, body)).await,
            Some(Place::PeopleOnly) => Box::pin(self.people_only(&parts)).await,
            Some(Place::AgentsOnly) => {
                let words = "This is for agents with a key: a session never calls a tool. Nothing ran.";
                rest::failure(StatusCode::FORBIDDEN, "not_for_people", words)
            }
            Some(Place::Alive) => only_get(&parts.method, || plain(StatusCode::OK, "alive\n")),
            Some(Place::Ready) => {
                let ready = Box::pin(self.ready()).await;
                only_get(&parts.method, || ready)
            }
            Some(Place::Metrics) if self.shows_metrics => only_get(&parts.method, || self.numbers()),
            Some(Place::Metrics | Place::Page | Place::Clients(_)) | None => {
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
    fn place(&self, parts: &Parts) -> Option<Place> {
        let path = parts.uri.path();
        if let Some(bearers) = self.bearers.as_ref().filter(|bearers| bearers.has(path)) {
            return Some(Place::Clients(Arc::clone(bearers)));
        }
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

    /// Where a request comes from, as far as anybody is believed about it.
    fn sender(&self, parts: &Parts, from: SocketAddr) -> SocketAddr {
        let forwarded: Vec<&str> = parts
            .headers
            .get_all("x-forwarded-for")
            .iter()
            .map(|value| value.to_str().unwrap_or_default())
            .collect();
        SocketAddr::new(self.proxies.sender(from.ip(), forwarded.into_iter()), from.port())
    }

    /// What clients need to be connected. Whoever they are, and whatever page they run in: no session and no key counts here.
    async fn clients(
        &self,
        bearers: &dyn Bearers,
        parts: Parts,
        body: Incoming,
        from: SocketAddr,
    ) -> Response<Body> {
        if let Err(refused) = self.guard.check_open(&parts) {
            self.metrics.rejected(Rejection::Host);
            return refused.response();
        }
        self.notice_name(&parts);
        let limits =
            EdgeLimits { body_bytes: self.limits.body_bytes.min(CLIENT_BYTES), ..self.limits.clone() };
        match read_body(body, &limits).await {
            Ok(body) => bearers.answer(parts, body, from).await,
            Err(error) => {
                let told = json!({"error": "invalid_request", "error_description": error.to_string()});
                let mut response = json_response(error.status(), &told);
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                response
            }
        }
    }

    /// Who comes: whoever has a key of ours, or a token that counts here.
    async fn admit(&self, parts: &Parts, path: &str) -> Result<Visit, Stranger> {
        let stranger = match self.keeper.caller(&parts.headers) {
            Ok(caller) => return Ok(Visit::keyed(caller)),
            Err(Stranger::WrongKey) => match admission::newly_made(&self.ledger, &parts.headers).await {
                Ok(caller) => return Ok(Visit::keyed(caller)),
                Err(stranger) => stranger,
            },
            Err(stranger @ (Stranger::NoKey | Stranger::Unadmitted(_))) => stranger,
        };
        match (stranger, &self.bearers) {
            (stranger @ Stranger::Unadmitted(_), _) | (stranger, None) => Err(stranger),
            (Stranger::NoKey, Some(_)) => Err(Stranger::Unadmitted(Unadmitted::NoToken)),
            (Stranger::WrongKey, Some(bearers)) => {
                let Some(token) = admission::presented(&parts.headers) else {
                    return Err(Stranger::Unadmitted(Unadmitted::InvalidToken));
                };
                bearers.admit(token, path).await.map(Visit::of).map_err(Stranger::Unadmitted)
            }
        }
    }

    /// What somebody is told who is not let in.
    fn turned_away(&self, stranger: &Stranger, path: &str, words: Words) -> Response<Body> {
        self.metrics.unauthorized();
        let mut response = match words {
            Words::Rpc => stranger.told(),
            Words::Rest => rest::failure(stranger.status(), stranger.code(), stranger.words()),
        };
        let challenge = match (stranger, &self.bearers) {
            (Stranger::Unadmitted(Unadmitted::Unknown), _) => {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                return response;
            }
            (Stranger::Unadmitted(why), Some(bearers)) => bearers.challenge(path, why),
            (stranger @ (Stranger::NoKey | Stranger::WrongKey | Stranger::Unadmitted(_)), _) => {
                stranger.challenge()
            }
        };
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        response
    }

    /// What an agent is told where only people are.
    async fn people_only(&self, parts: &Parts) -> Response<Body> {
        // It is no endpoint of clients, so no token is for it: what counts is that it is one of ours.
        if let Err(stranger) = self.admit(parts, SHARED_ENDPOINT).await {
            return self.turned_away(&stranger, SHARED_ENDPOINT, Words::Rest);
        }
        let words =
            "This is for people who are signed in: a key never sees or decides it. Nothing was changed.";
        rest::failure(StatusCode::FORBIDDEN, "not_for_agents", words)
    }

    /// What comes by REST: the same caller, the same limits, other words.
    async fn rest(&self, found: rest::Found, parts: Parts, body: Incoming) -> Response<Body> {
        let path = parts.uri.path().to_owned();
        let refused = found.refused(&parts.method, &parts.headers);
        let visit = match self.admit(&parts, &path).await {
            Ok(visit) => visit,
            Err(stranger) => return unread(self.turned_away(&stranger, &path, Words::Rest), &body),
        };
        if let Some(refused) = refused {
            return refused;
        }
        if found.is_for_applications() && visit.visitor.scopes.is_some() {
            let words = "This is for applications with a key: a connected client speaks for its own user alone. Nothing ran.";
            return rest::failure(StatusCode::FORBIDDEN, "not_for_clients", words);
        }
        let (held, body) = match self.take(&visit.visitor.caller, body).await {
            Ok(taken) => taken,
            Err(Untaken::Full(status)) => return rest::busy(status),
            Err(Untaken::Unread(error)) => {
                return rest::failure(error.status(), "invalid_body", &error.to_string());
            }
        };
        let answer = pin!(self.rest.handle(found, &visit.visitor, &parts.headers, body));
        let response = self.while_good(&visit, &path, Words::Rest, answer).await;
        drop(held);
        response
    }

    /// Answers somebody as long as they are let in: whoever is not any more hears so at once, and reads nothing further.
    async fn while_good(
        &self,
        visit: &Visit,
        path: &str,
        words: Words,
        answer: Pin<&mut impl Future<Output = Response<Body>>>,
    ) -> Response<Body> {
        let response = tokio::select! {
            biased;
            () = visit.over() => {
                return self.turned_away(&Stranger::Unadmitted(Unadmitted::InvalidToken), path, words);
            }
            response = answer => response,
        };
        let mut response = visit.bound(response);
        if let (Some(Lacking(needed)), Some(bearers)) = (response.extensions_mut().remove(), &self.bearers) {
            let challenge = bearers.challenge(path, &Unadmitted::InsufficientScope(needed));
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// Says once in the log that clients come by another name than the one they are told.
    fn notice_name(&self, parts: &Parts) {
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        if let (Some(known), Some(host)) = (&self.known_as, host) {
            known.notice(host);
        }
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

    async fn endpoint(&self, scope: Scope, parts: Parts, body: Incoming) -> Response<Body> {
        self.notice_name(&parts);
        let address = parts.uri.clone();
        let path = address.path();
        let visit = match self.admit(&parts, path).await {
            Ok(visit) => visit,
            Err(stranger) => return unread(self.turned_away(&stranger, path, Words::Rpc), &body),
        };
        let (held, body) = match self.take(&visit.visitor.caller, body).await {
            Ok(taken) => taken,
            Err(Untaken::Full(status)) => return busy(status),
            Err(Untaken::Unread(error)) => return failure(error.status(), &error.to_string()),
        };
        let answer = pin!(self.front.handle(scope, visit.visitor.clone(), parts, body));
        let response = self.while_good(&visit, path, Words::Rpc, answer).await;
        drop(held);
        response
    }

    fn numbers(&self) -> Response<Body> {
        let mut response = Response::new(Body::whole(self.metrics.render()));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE));
        response
    }

    /// FC-1: whether gated calls can be answered, and how each server does. A server that is down does not make
    /// the gateway unready: the others are served. A ledger that cannot be written does: nothing could be asked or run.
    async fn ready(&self) -> Response<Body> {
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
        match self.ledger.readiness().await {
            Readiness::Writable => {
                json_response(StatusCode::OK, &json!({"status": "ready", "servers": servers}))
            }
            Readiness::Unwritable(error) => {
                let unready = json!({"status": "unready", "why": error.public_reason(), "servers": servers});
                let mut response = json_response(StatusCode::SERVICE_UNAVAILABLE, &unready);
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                response
            }
        }
    }
}

/// Why a body was not taken.
enum Untaken {
    Full(StatusCode),
    Unread(BodyError),
}

/// In whose words something is said.
#[derive(Clone, Copy, Debug)]
enum Words {
    Rpc,
    Rest,
}

enum Place {
    /// What clients need to be connected.
    Clients(Arc<dyn Bearers>),
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

/// An answer to somebody whose body nobody reads. RFC 9112 §9.3: the connection carries no further request then, and a
/// client that is not told would send its next one to nobody.
fn unread(mut response: Response<Body>, body: &Incoming) -> Response<Body> {
    if !hyper::body::Body::is_end_stream(body) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
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

/// The endpoint that is all of the gateway.
const SHARED_ENDPOINT: &str = "/api/mcp";
/// The largest thing that a client sends which wants to be connected; each endpoint has a bound of its own below.
const CLIENT_BYTES: usize = 32 * 1024;
