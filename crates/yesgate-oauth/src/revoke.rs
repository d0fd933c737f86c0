//! Where clients give tokens back (RFC 7009).

use std::net::SocketAddr;

use http::{HeaderMap, Response, StatusCode};
use serde_json::json;
use yesgate_core::oauth::{AccessToken, RefreshToken};
use yesgate_core::secret::SecretHash;
use yesgate_http::edge::body::Body;

use crate::answer as answering;
use crate::endpoints::Endpoint;
use crate::fault::Fault;
use crate::form::Form;
use crate::server::AuthServer;

impl AuthServer {
    /// O-V1: takes a token back. Whether there was one, and whose, is not told: what the client wants is so either way.
    ///
    /// # Errors
    /// When the client did not prove itself, or named no token.
    pub(crate) async fn revoke(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        from: SocketAddr,
    ) -> Result<Response<Body>, Fault> {
        self.take_turn(from, &self.governed())?;
        let form = Form::read(headers, body)?;
        let client = self.client_of(headers, &form, from.ip(), &Endpoint::Revoke).await?;
        let token = form.needed("token")?;
        self.ledger.give_back(hash(token), &client.id).await?;
        Ok(answering::json(StatusCode::OK, &json!({})))
    }
}

/// What a token is known by. Its beginning says which kind it is; what a client says of it is only a hint.
pub(crate) fn hash(token: &str) -> SecretHash {
    if token.starts_with(RefreshToken::PREFIX) {
        RefreshToken::presented(token).hash()
    } else {
        AccessToken::presented(token).hash()
    }
}
