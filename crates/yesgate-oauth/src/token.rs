//! The token endpoint: codes, refresh tokens and answers of typed codes become tokens.
//!
//! INVARIANTS:
//! - The client has proven itself before anything of the request is looked at that could change something.
//! - Tokens leave in the answer only, after the ledger has stored their hashes.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::USER_AGENT;
use http::{HeaderMap, Response, StatusCode};
use ring::digest::{SHA256, digest};
use serde_json::json;
use yesgate_core::oauth::{
    AccessToken, AuthorizationCode, Challenge, CodeFault, DeviceCode, Exchange, GrantType, OAuthClient, Poll,
    RefreshToken, Scopes,
};
use yesgate_http::edge::body::Body;
use yesgate_ledger::{Exchanged, Issued, NewTokens, Refreshed, Refreshing};

use crate::answer as answering;
use crate::endpoints::Endpoint;
use crate::fault::{Fault, Word};
use crate::form::Form;
use crate::governed::Governed;
use crate::limits::{TooOften, neighbour};
use crate::register::clean;
use crate::sealing;
use crate::server::AuthServer;

/// Tokens that are about to leave.
struct Minted {
    access: AccessToken,
    refresh: Option<RefreshToken>,
}

impl AuthServer {
    /// Answers a request for tokens.
    ///
    /// # Errors
    /// When there are none to be had.
    pub(crate) async fn token(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        from: SocketAddr,
    ) -> Result<Response<Body>, Fault> {
        let governed = self.governed();
        self.take_turn(from, &governed)?;
        let form = Form::read(headers, body)?;
        let grant_type = form.needed("grant_type")?;
        let Some(grant) = GrantType::ALL.into_iter().find(|known| known.as_str() == grant_type) else {
            return Err(Fault::new(Word::UnsupportedGrantType, "tokens are not had in this way"));
        };
        let client = self.client_of(headers, &form, from.ip(), &Endpoint::Token).await?;
        // Whoever holds a refresh token was given it here.
        if !client.grants.contains(&grant) && grant != GrantType::RefreshToken {
            return Err(Fault::new(
                Word::UnauthorizedClient,
                "the client did not register for this grant type",
            ));
        }
        let (issued, minted) = match grant {
            GrantType::AuthorizationCode => self.exchange(&client, &form, &governed).await?,
            GrantType::RefreshToken => self.refresh(&client, &form, &governed).await?,
            GrantType::DeviceCode => self.poll(&client, &form, &governed).await?,
        };
        self.standings.note(&issued.connection, Some(provenance(headers, from)));
        let mut answer = json!({
            "access_token": minted.access.expose(),
            "token_type": "Bearer",
            "expires_in": issued.access_for.as_secs(),
            "scope": issued.scopes.to_string(),
        });
        if let (Some(refresh), Some(members)) = (minted.refresh, answer.as_object_mut()) {
            members.insert("refresh_token".to_owned(), refresh.expose().into());
        }
        Ok(answering::json(StatusCode::OK, &answer))
    }

    /// O-S8: counts a request of this address.
    ///
    /// # Errors
    /// When there were too many.
    pub(crate) fn take_turn(&self, from: SocketAddr, governed: &Governed) -> Result<(), Fault> {
        let most = governed.config.limits.token_per_address;
        let turn = self.limits.address.take(neighbour(from.ip()), most, self.ledger.now());
        turn.map_err(|TooOften(after)| Fault::too_often(after))
    }

    /// O-T3, O-T4, O-T5: a code.
    async fn exchange(
        &self,
        client: &OAuthClient,
        form: &Form,
        governed: &Governed,
    ) -> Result<(Issued, Minted), Fault> {
        let code = AuthorizationCode::presented(form.needed("code")?);
        let verifier = form.needed("code_verifier")?;
        let exchange = Exchange {
            client: client.id.clone(),
            redirect_uri: form.value("redirect_uri").map(str::to_owned),
            challenge: challenge_of(verifier)
                .ok_or_else(|| Fault::new(Word::InvalidRequest, "code_verifier is not one"))?,
            resources: governed.endpoints.named(form.resources())?,
        };
        let minted = self.mint(client)?;
        match self.ledger.exchange(code.hash(), exchange, minted.new_tokens(governed)).await? {
            Exchanged::Tokens(issued) => Ok((issued, minted)),
            Exchanged::Fault(fault @ CodeFault::Resource) => {
                Err(Fault::new(Word::InvalidTarget, fault.to_string()))
            }
            Exchanged::Fault(CodeFault::Replayed) => {
                tracing::warn!(client.id = %client.id, "a code came back that had been used, its tokens are revoked");
                Err(Fault::new(Word::InvalidGrant, CodeFault::Replayed.to_string()))
            }
            Exchanged::Fault(fault @ (CodeFault::Old | CodeFault::Redirect | CodeFault::Verifier)) => {
                Err(Fault::new(Word::InvalidGrant, fault.to_string()))
            }
            // Whether a code of somebody else exists is nobody's business.
            Exchanged::Fault(CodeFault::OtherClient) | Exchanged::Unknown => {
                Err(Fault::new(Word::InvalidGrant, "the code does not count"))
            }
        }
    }

    /// O-F1 to O-F5: a refresh token.
    async fn refresh(
        &self,
        client: &OAuthClient,
        form: &Form,
        governed: &Governed,
    ) -> Result<(Issued, Minted), Fault> {
        let used = RefreshToken::presented(form.needed("refresh_token")?);
        let resources = governed.endpoints.named(form.resources())?;
        // O-T7: what there is not is clipped, and asking for nothing that there is means everything.
        let scopes = form.value("scope").map(|scope| governed.scopes(scope));
        let successor = RefreshToken::from_entropy(self.entropy.draw()?);
        let sealed = sealing::seal(&used, &successor, self.entropy.draw()?).map_err(|error| {
            tracing::error!(%error, "a refresh token could not be rotated");
            Fault::new(Word::TemporarilyUnavailable, "this cannot be done now, try again later")
        })?;
        let access = AccessToken::from_entropy(self.entropy.draw()?);
        let minted = Minted { access, refresh: Some(successor) };
        let refreshing = Refreshing {
            token: used.hash(),
            client: client.id.clone(),
            scopes: scopes.filter(|scopes: &Scopes| !scopes.is_empty()),
            resources,
            new: minted.new_tokens(governed),
            sealed,
            window: governed.retry_of(&client.id),
        };
        match self.ledger.refresh(refreshing).await? {
            Refreshed::Rotated(issued) => Ok((issued, minted)),
            Refreshed::Again(issued, sealed) => {
                let successor = sealing::open(&used, &sealed).map_err(|error| {
                    tracing::error!(%error, "a client that asked again cannot get the same refresh token");
                    Fault::new(Word::TemporarilyUnavailable, "this cannot be done now, try again later")
                })?;
                Ok((issued, Minted { refresh: Some(successor), ..minted }))
            }
            Refreshed::Reused(connection) => {
                tracing::warn!(connection.id = %connection, "a refresh token came back too late, its connection ended");
                Err(Fault::new(Word::InvalidGrant, "the refresh token was used before, authorize anew"))
            }
            Refreshed::OtherResource => {
                Err(Fault::new(Word::InvalidTarget, "the refresh token is for another resource"))
            }
            Refreshed::Unknown => {
                Err(Fault::new(Word::InvalidGrant, "the refresh token does not count, authorize anew"))
            }
        }
    }

    /// O-S4: the answer to a typed code (RFC 8628 §3.4).
    async fn poll(
        &self,
        client: &OAuthClient,
        form: &Form,
        governed: &Governed,
    ) -> Result<(Issued, Minted), Fault> {
        let device = DeviceCode::presented(form.needed("device_code")?);
        // Some clients name the resource here again.
        governed.endpoints.named(form.resources())?;
        let minted = self.mint(client)?;
        let polled = self.ledger.poll_device(device.hash(), &client.id, minted.new_tokens(governed)).await?;
        let refused = |word: Word, says: &'static str| Err(Fault::new(word, says));
        match polled {
            Some((Poll::Allowed(_), Some(issued))) => Ok((issued, minted)),
            Some((Poll::Pending, _)) => refused(Word::AuthorizationPending, "nobody has answered yet"),
            Some((Poll::SlowDown, _)) => {
                refused(Word::SlowDown, "wait five seconds longer between two requests")
            }
            Some((Poll::Denied, _)) => refused(Word::AccessDenied, "the person said no"),
            Some((Poll::Expired, _)) => refused(Word::ExpiredToken, "the code is over, begin anew"),
            Some((Poll::Spent | Poll::Allowed(_), _)) | None => {
                refused(Word::InvalidGrant, "the device code does not count")
            }
        }
    }

    /// Throws the dice for tokens. O-F1: a client that may come again without a person can.
    fn mint(&self, client: &OAuthClient) -> Result<Minted, Fault> {
        let access = AccessToken::from_entropy(self.entropy.draw()?);
        let refresh = client.grants.contains(&GrantType::RefreshToken).then(|| self.entropy.draw());
        let refresh = refresh.transpose()?.map(RefreshToken::from_entropy);
        Ok(Minted { access, refresh })
    }
}

impl Minted {
    /// What the ledger has of them.
    fn new_tokens(&self, governed: &Governed) -> NewTokens {
        let times = governed.config.times;
        NewTokens {
            access: self.access.hash(),
            access_for: times.access,
            refresh: self.refresh.as_ref().map(|refresh| (refresh.hash(), times.refresh)),
            longest: times.longest,
        }
    }
}

/// RFC 7636 §4.6: what a verifier was announced as; `None`: it is none (§4.1).
pub(crate) fn challenge_of(verifier: &str) -> Option<Challenge> {
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let fits = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
    let hash = || URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
    fits.then(hash).and_then(|hash| Challenge::read(&hash))
}

/// From where a client came, and what it calls itself.
fn provenance(headers: &HeaderMap, from: SocketAddr) -> String {
    let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let agent = clean(agent.unwrap_or_default(), LONGEST_AGENT);
    if agent.is_empty() { from.ip().to_string() } else { format!("{}, {agent}", from.ip()) }
}

const LONGEST_AGENT: usize = 120;

#[cfg(test)]
mod tests;
