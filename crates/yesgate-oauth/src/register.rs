//! Dynamic registration of clients (RFC 7591): what they say of themselves, and what is made of it.
//!
//! INVARIANT: what a client asks for beyond what there is, is left out and not refused; only an address that could harm a
//! person refuses a whole registration.

mod answer;
mod reading;

use std::net::IpAddr;

use http::header::AUTHORIZATION;
use http::{HeaderMap, Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value};
use subtle::ConstantTimeEq as _;
use yesgate_core::clock::{Entropy, EntropyError};
use yesgate_core::oauth::{
    AuthMethod, ClientKind, ClientSecret, ManagementToken, OAuthClient, OAuthClientId,
};
use yesgate_core::secret::SecretHash;
use yesgate_http::edge::body::Body;
use yesgate_ledger::{NoRoom, Room};

pub(crate) use self::answer::describe;
pub(crate) use self::reading::{Wanted, clean};
use crate::answer as answering;
use crate::fault::{Fault, Word};
use crate::form::{LONGEST, has_type};
use crate::governed::{Registering, registration_token};
use crate::limits::{TooOften, neighbour};
use crate::server::AuthServer;

#[cfg(test)]
mod tests;

/// The secrets of a client, at the one moment when they can be told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) secret: Option<ClientSecret>,
    pub(crate) management: Option<ManagementToken>,
}

impl AuthServer {
    /// Registers a client.
    ///
    /// # Errors
    /// When it may not register, or not like that.
    pub(crate) async fn register(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        from: IpAddr,
    ) -> Result<Response<Body>, Fault> {
        let governed = self.governed();
        let (limits, now, from) = (governed.config.limits, self.ledger.now(), neighbour(from));
        let turn = self.limits.register.take(from, limits.register_per_minute, now);
        turn.map_err(|TooOften(after)| Fault::too_often(after))?;
        may_register(governed.registering, headers)?;
        let wanted = Wanted::read(&read_body(headers, body)?, &governed)?;
        let (client, told) = mint(wanted, self.entropy.as_ref(), now)?;
        let room = Room { all: limits.unbound, each: limits.unbound_per_address };
        let stored = self.ledger.register_client(client.clone(), from, room).await?;
        stored.map_err(|NoRoom| Fault::too_many())?;
        tracing::info!(client.id = %client.id, "a client registered");
        let described = describe(&client, &told, &governed.endpoints);
        Ok(answering::json(StatusCode::CREATED, &described))
    }
}

/// O-R9: whether somebody may register.
fn may_register(registering: Registering, headers: &HeaderMap) -> Result<(), Fault> {
    match registering {
        Registering::Open => Ok(()),
        Registering::Off => Err(Fault::forbidden("clients cannot register here, ask the operator")),
        Registering::WithToken(expected) => {
            let shown = registration_token(bearer(headers).unwrap_or_default());
            if is_same(expected, shown) {
                Ok(())
            } else {
                let fault = Fault::new(Word::InvalidToken, "registering needs a token of the operator");
                Err(fault.with_challenge("Bearer error=\"invalid_token\""))
            }
        }
    }
}

/// The body of a request to register: one object.
pub(crate) fn read_body(headers: &HeaderMap, body: &[u8]) -> Result<Map<String, Value>, Fault> {
    if body.len() > LONGEST {
        return Err(Fault::too_long());
    }
    let is_typed = headers.contains_key(http::header::CONTENT_TYPE);
    if is_typed && !has_type(headers, "application/json") {
        return Err(Fault::new(Word::InvalidClientMetadata, "the body must be application/json"));
    }
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| Fault::new(Word::InvalidClientMetadata, "the body is not JSON"))?;
    match value {
        Value::Object(members) => Ok(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Fault::new(Word::InvalidClientMetadata, "the body is not an object"))
        }
    }
}

/// The one token behind `Bearer`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let (first, None) = (sent.next()?, sent.next()) else { return None };
    let (scheme, token) = first.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Compares two hashes. How long that takes says nothing.
pub(crate) fn is_same(one: SecretHash, other: SecretHash) -> bool {
    one.0.as_bytes().ct_eq(other.0.as_bytes()).into()
}

/// A new client, and what only it will know.
fn mint(wanted: Wanted, entropy: &dyn Entropy, now: Timestamp) -> Result<(OAuthClient, Told), EntropyError> {
    let id = OAuthClientId::from_entropy(entropy.draw()?);
    let management = ManagementToken::from_entropy(entropy.draw()?);
    let secret = secret_for(wanted.method, entropy)?;
    let client = OAuthClient {
        id,
        kind: ClientKind::Registered,
        presentation: wanted.presentation,
        redirect_uris: wanted.redirect_uris,
        method: wanted.method,
        method_was_chosen: wanted.method_was_chosen,
        grants: wanted.grants,
        scope: wanted.scope,
        secret: secret.as_ref().map(ClientSecret::hash),
        management: Some(management.hash()),
        created_at: now,
        used_at: now,
        is_bound: false,
        ended_at: None,
    };
    Ok((client, Told { secret, management: Some(management) }))
}

/// A secret, where a client that proves itself in this way needs one.
pub(crate) fn secret_for(
    method: AuthMethod,
    entropy: &dyn Entropy,
) -> Result<Option<ClientSecret>, EntropyError> {
    match method {
        AuthMethod::None => Ok(None),
        AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => {
            entropy.draw().map(ClientSecret::from_entropy).map(Some)
        }
    }
}
