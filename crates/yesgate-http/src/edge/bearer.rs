//! Who comes with a bearer token, beside those with keys: whoever verifies it, and serves what clients need to get one.

use std::fmt;
use std::net::SocketAddr;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Response};
use tokio::sync::watch;
use yesgate_core::caller::Caller;
use yesgate_core::oauth::Scopes;

use super::body::Body;

/// Verifies tokens, and answers clients that want one.
#[async_trait]
pub trait Bearers: fmt::Debug + Send + Sync {
    /// Who comes with this token to this path. Looked up every time: what was revoked counts no more.
    async fn admit(&self, token: &str, path: &str) -> Result<Bearer, Unadmitted>;

    /// What `WWW-Authenticate` says to whoever is not let in at this path.
    fn challenge(&self, path: &str, why: &Unadmitted) -> HeaderValue;

    /// Whether a path is one of the endpoints at which clients register and get tokens, or that describe these. They
    /// have their own rules about who may come: no session and no bearer of the gate's counts there.
    fn has(&self, path: &str) -> bool;

    /// Answers one request to such an endpoint, its preflight included.
    async fn answer(&self, parts: Parts, body: Bytes, from: SocketAddr) -> Response<Body>;
}

/// Somebody who was let in.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// Who.
    pub caller: Caller,
    /// What they may do.
    pub scopes: Scopes,
    /// Says `Over` once they may do nothing any more: what is open for them is closed then.
    pub standing: watch::Receiver<Standing>,
}

/// Whether somebody who was let in still is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Standing {
    /// They are.
    Good,
    /// They are not.
    Over,
}

/// The scopes that a request would have needed, among the extensions of the response that says so: whoever lets callers in
/// says it in the words of the protocol too.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lacking(pub Scopes);

/// Why somebody is not let in, or not to that.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Unadmitted {
    /// They showed nothing.
    NoToken,
    /// The token does not count, or not here.
    InvalidToken,
    /// The token counts, and does not allow this. All that would be needed.
    InsufficientScope(Scopes),
    /// Nobody can tell at the moment.
    Unknown,
}
