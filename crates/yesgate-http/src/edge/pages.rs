//! Pages for people, beside what programs are served: whoever makes them.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use http::Response;
use http::request::Parts;

use super::body::Body;

/// The pages of a gateway.
#[async_trait]
pub trait Pages: fmt::Debug + Send + Sync {
    /// Whether a path is one of theirs.
    fn has(&self, path: &str) -> bool;

    /// Answers one request. Whoever calls has seen to it that `Host` is ours, and has bounded the body.
    async fn answer(&self, parts: Parts, body: Bytes) -> Response<Body>;
}
