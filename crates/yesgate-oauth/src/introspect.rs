//! Where programs of the operator ask what a token stands for (RFC 7662).
//!
//! INVARIANT: only a client with a secret is answered, and of tokens of others it hears only where the operator said so.

use std::net::SocketAddr;

use http::{HeaderMap, Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_core::oauth::{AuthMethod, OAuthClient, RefreshToken, Resources, Scopes};
use yesgate_http::edge::body::Body;
use yesgate_ledger::KeptConnection;

use crate::answer as answering;
use crate::endpoints::Endpoint;
use crate::fault::{Fault, Word};
use crate::form::Form;
use crate::governed::{Governed, Introspects};
use crate::revoke;
use crate::server::AuthServer;

impl AuthServer {
    /// O-V5: says what a token stands for; of whatever does not count only that.
    ///
    /// # Errors
    /// When whoever asks may not.
    pub(crate) async fn introspect(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        from: SocketAddr,
    ) -> Result<Response<Body>, Fault> {
        let governed = self.governed();
        self.take_turn(from, &governed)?;
        let form = Form::read(headers, body)?;
        let client = self.client_of(headers, &form, from.ip(), &Endpoint::Introspect).await?;
        if client.method == AuthMethod::None {
            return Err(Fault::new(Word::InvalidClient, "only clients with a secret may ask about tokens"));
        }
        let token = form.needed("token")?;
        let found = self.stands_for(token, &client, &governed).await?;
        Ok(answering::json(StatusCode::OK, &found.unwrap_or_else(|| json!({ "active": false }))))
    }

    async fn stands_for(
        &self,
        token: &str,
        client: &OAuthClient,
        governed: &Governed,
    ) -> Result<Option<Value>, Fault> {
        let may_hear = |kept: &KeptConnection| match governed.introspects(&client.id) {
            Introspects::All => !governed.is_struck_out(&kept.connection.client),
            Introspects::Own => kept.connection.client == client.id,
        };
        let hash = revoke::hash(token);
        if token.starts_with(RefreshToken::PREFIX) {
            let found = self.ledger.refresh_token(hash).await?;
            let found = found.filter(|(refresh, kept)| refresh.rotated.is_none() && may_hear(kept));
            return Ok(found.map(|(refresh, kept)| {
                let connection = &kept.connection;
                say(&kept, (&connection.scopes, &connection.resources), refresh.ends_at, governed)
            }));
        }
        let found = self.ledger.admitted(hash).await?.filter(|admitted| may_hear(&admitted.kept));
        Ok(found.map(|admitted| {
            let access = &admitted.access;
            let mut said = say(&admitted.kept, (&access.scopes, &access.resources), access.ends_at, governed);
            if let Some(members) = said.as_object_mut() {
                members.insert("token_type".to_owned(), "Bearer".into());
            }
            said
        }))
    }
}

/// RFC 7662 §2.2.
fn say(
    kept: &KeptConnection,
    (scopes, resources): (&Scopes, &Resources),
    ends_at: Timestamp,
    governed: &Governed,
) -> Value {
    let audience: Vec<&str> = resources.0.iter().map(|resource| resource.as_str()).collect();
    json!({
        "active": true,
        "iss": governed.endpoints.issuer(),
        "client_id": kept.connection.client.as_str(),
        "sub": kept.connection.caller.principal.as_str(),
        "org": kept.connection.caller.org.as_str(),
        "scope": scopes.to_string(),
        "aud": audience,
        "exp": ends_at.as_second(),
    })
}
