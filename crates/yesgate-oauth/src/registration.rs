//! How a client looks after its own registration (RFC 7592).
//!
//! INVARIANT: whoever has not this client's own token hears the same, whether there is such a client or not.

use std::net::IpAddr;

use http::{HeaderMap, Method, Response, StatusCode};
use serde_json::{Map, Value};
use yesgate_core::oauth::{AuthMethod, ClientSecret, ManagementToken, OAuthClient, OAuthClientId};
use yesgate_core::secret::SecretHash;
use yesgate_http::edge::body::Body;

use crate::answer as answering;
use crate::fault::{Fault, Word};
use crate::limits::{TooOften, neighbour};
use crate::register::{Told, Wanted, bearer, describe, is_same, read_body, secret_for};
use crate::server::AuthServer;

impl AuthServer {
    /// O-R8: shows, changes or ends a registration.
    ///
    /// # Errors
    /// When whoever asks is not that client.
    pub(crate) async fn registration(
        &self,
        id: &str,
        method: &Method,
        headers: &HeaderMap,
        body: &[u8],
        from: IpAddr,
    ) -> Result<Response<Body>, Fault> {
        let governed = self.governed();
        let (limits, now) = (governed.config.limits, self.ledger.now());
        let turn = self.limits.address.take(neighbour(from), limits.token_per_address, now);
        turn.map_err(|TooOften(after)| Fault::too_often(after))?;
        let shown = ManagementToken::presented(bearer(headers).unwrap_or_default());
        let client = self.managed(id, shown.hash()).await?.ok_or_else(|| {
            let fault = Fault::new(Word::InvalidToken, "the token does not count for this registration");
            fault.with_challenge("Bearer error=\"invalid_token\"")
        })?;
        if *method == Method::DELETE {
            self.ledger.end_client(&client.id, "the client itself").await?;
            return Ok(answering::bare(StatusCode::NO_CONTENT));
        }
        let mut told = Told { secret: None, management: Some(shown) };
        if *method != Method::PUT {
            return Ok(answering::json(StatusCode::OK, &describe(&client, &told, &governed.endpoints)));
        }
        let members = read_body(headers, body)?;
        is_own(&members, &client)?;
        let wanted = Wanted::read(&members, &governed)?;
        let secret = match (wanted.method, client.secret) {
            (AuthMethod::None, _) => None,
            (AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost, Some(known)) => Some(known),
            (AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost, None) => {
                told.secret = secret_for(wanted.method, self.entropy.as_ref())?;
                told.secret.as_ref().map(ClientSecret::hash)
            }
        };
        let changed = OAuthClient {
            presentation: wanted.presentation,
            redirect_uris: wanted.redirect_uris,
            method: wanted.method,
            method_was_chosen: wanted.method_was_chosen,
            grants: wanted.grants,
            scope: wanted.scope,
            secret,
            used_at: now,
            ..client
        };
        let stored = self.ledger.store_client(changed.clone(), limits.unbound).await?;
        stored.map_err(|_| Fault::no_room())?;
        Ok(answering::json(StatusCode::OK, &describe(&changed, &told, &governed.endpoints)))
    }

    /// The registered client of this id, where this is the hash of its token. The same work is done where there is none.
    async fn managed(&self, id: &str, shown: SecretHash) -> Result<Option<OAuthClient>, Fault> {
        let nobody: Result<OAuthClientId, _> = "client_nobody".parse();
        let Ok(id) = id.parse::<OAuthClientId>().or(nobody) else { return Ok(None) };
        let found = self.ledger.client(&id).await?.filter(|client| client.ended_at.is_none());
        let expected = found.as_ref().and_then(|client| client.management);
        // What is presented is never equal to the hash of nothing: that has another domain.
        let nothing = SecretHash(yesgate_core::digest::Hasher::new("yesgate/nobody/1").finish());
        let is_same = is_same(expected.unwrap_or(nothing), shown);
        Ok(found.filter(|_| is_same))
    }
}

/// RFC 7592 §2.2: who changes a registration names it, and does not choose its secret.
fn is_own(members: &Map<String, Value>, client: &OAuthClient) -> Result<(), Fault> {
    let refused = |says: &'static str| Err(Fault::new(Word::InvalidClientMetadata, says));
    if members.get("client_id").and_then(Value::as_str) != Some(client.id.as_str()) {
        return refused("client_id is not the client of this address");
    }
    let Some(secret) = members.get("client_secret").filter(|secret| !secret.is_null()) else { return Ok(()) };
    let shown = secret.as_str().map(|secret| ClientSecret::presented(secret).hash());
    let is_known = shown.zip(client.secret).is_some_and(|(shown, known)| is_same(shown, known));
    if is_known { Ok(()) } else { refused("client_secret is not the one of this client") }
}
