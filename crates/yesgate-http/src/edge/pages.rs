//! Pages for people, beside what programs are served: whoever makes them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::body::{Body, plain};
use super::guard::Guard;
use super::intake::read_body;
use super::{EdgeLimits, Handler};
use crate::problem::Problem;

/// Whom a request came from, among its extensions: the other end of the connection, whatever the request says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Peer(pub IpAddr);

/// The pages of a gateway.
#[async_trait]
pub trait Pages: fmt::Debug + Send + Sync {
    /// Whether a path is one of theirs.
    fn has(&self, path: &str) -> bool;

    /// Whether a path of theirs is for programs that people run.
    fn is_api(&self, path: &str) -> bool;

    /// Whether a request brings the session of a person, be it one that counts or not.
    fn has_session(&self, headers: &HeaderMap) -> bool;

    /// Answers one request. Whoever calls has seen to it that `Host` is ours, and has bounded the body.
    async fn answer(&self, parts: Parts, body: Bytes) -> Response<Body>;
}

/// Reads what came for a page from this peer, and has it answered. People have no key, so what they send is small.
pub async fn answer(
    pages: &dyn Pages,
    limits: &EdgeLimits,
    mut parts: Parts,
    body: Incoming,
    from: SocketAddr,
) -> Response<Body> {
    parts.extensions.insert(Peer(from.ip()));
    let limits = EdgeLimits { body_bytes: limits.body_bytes.min(PAGE_BYTES), ..limits.clone() };
    match read_body(body, &limits).await {
        Ok(body) => pages.answer(parts, body).await,
        Err(error) if pages.is_api(parts.uri.path()) => {
            Problem::new(error.status(), "invalid_body", &error.to_string()).response()
        }
        Err(error) => plain(error.status(), error),
    }
}

/// Serves pages and nothing else.
#[derive(Debug)]
pub struct PagesDoor {
    /// Which names are ours.
    pub guard: Guard,
    /// What a request may take.
    pub limits: EdgeLimits,
    /// The pages.
    pub pages: Arc<dyn Pages>,
}

impl Handler for PagesDoor {
    async fn handle(&self, request: Request<Incoming>, from: SocketAddr) -> Response<Body> {
        let (parts, body) = request.into_parts();
        // People come to a page by links, wherever those stand.
        let checked = match self.pages.is_api(parts.uri.path()) {
            true => self.guard.check(&parts).map(drop),
            false => self.guard.check_page(&parts).map(drop),
        };
        if let Err(refused) = checked {
            return refused.response();
        }
        if !self.pages.has(parts.uri.path()) {
            return plain(StatusCode::NOT_FOUND, "there is nothing here");
        }
        answer(&*self.pages, &self.limits, parts, body, from).await
    }
}

/// The largest form that a page of ours can send, arguments of a call included.
const PAGE_BYTES: usize = 256 * 1024;
