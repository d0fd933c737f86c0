//! The code flow of OpenID Connect (Core 1.0 §3.1), with PKCE (RFC 7636) and the issuer in the answer (RFC 9207).
//!
//! INVARIANT: an [`Identity`] is made in one place, from a token whose signature, issuer, audience, time and nonce were
//! looked at. An address counts where the provider says that it verified it.

mod claims;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use http::Request;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use jiff::{SignedDuration, Timestamp};
use ring::digest::{SHA256, digest};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::sync::Mutex;
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::policy::HttpUrl;
use yesgate_http::fetch::HttpClient;
use yesgate_http::fetch::error::TrustError;
use yesgate_http::fetch::parts::Parts;

pub use self::claims::{ClaimError, Identity};
use crate::fetching::{self, FetchFault};
use crate::keys::{Keys, Unverified};

/// What the operator says of a provider.
#[derive(Clone, Debug)]
pub struct ProviderSettings {
    /// Its issuer, word for word.
    pub issuer: HttpUrl,
    /// Who we are there.
    pub client_id: String,
    /// How we prove it, where we do.
    pub client_secret: Option<SecretString>,
}

/// A provider.
#[derive(Debug)]
pub struct Provider {
    settings: ProviderSettings,
    client: HttpClient,
    known: Mutex<Option<(Timestamp, Arc<Known>)>>,
}

/// What a provider says of itself.
#[derive(Debug)]
struct Known {
    authorization: HttpUrl,
    token: HttpUrl,
    keys: Keys,
    /// How it wants to be told our secret.
    proof: Proof,
    /// Whether it says in every answer who answers.
    names_itself: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Proof {
    Header,
    Body,
}

/// A sign-in that is under way: what only we and the browser's request know.
#[derive(Debug)]
pub struct Begun {
    /// What comes back with the answer.
    pub state: String,
    nonce: String,
    verifier: SecretString,
    redirect: String,
}

/// Why nobody was signed in.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// The provider cannot be asked.
    #[error("the provider cannot be asked: {0}")]
    Fetch(#[from] FetchFault),
    /// What it says of itself is not what the operator wrote, or cannot be used.
    #[error("the provider does not describe itself as one that can be used: {0}")]
    Description(&'static str),
    /// Somebody else answered.
    #[error("another issuer answered")]
    Issuer,
    /// The token counts for nothing.
    #[error("its token is not taken: {0}")]
    Unverified(#[from] Unverified),
    /// The token is somebody else's, old, or for another purpose.
    #[error("its token is not taken: {0}")]
    Claim(#[from] ClaimError),
}

impl Begun {
    /// Makes one of random bytes, for answers that come to this address.
    pub fn new(state: [u8; 32], nonce: [u8; 32], verifier: [u8; 32], redirect: String) -> Self {
        let [state, nonce, verifier] = [state, nonce, verifier].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        Self { state, nonce, verifier: SecretString::from(verifier), redirect }
    }
}

impl Provider {
    /// Makes one. Nothing is asked of it yet.
    ///
    /// # Errors
    /// When the certificates that the system trusts cannot be read.
    pub fn new(settings: ProviderSettings) -> Result<Self, TrustError> {
        let client = HttpClient::for_address(settings.issuer.as_str(), fetching::LIMITS)?;
        Ok(Self { settings, client, known: Mutex::new(None) })
    }

    /// Whether the provider describes itself as one that can be used.
    ///
    /// # Errors
    /// When it does not.
    pub async fn try_out(&self, now: Timestamp) -> Result<(), OidcError> {
        self.known(now).await.map(drop)
    }

    /// Where the browser is to go.
    ///
    /// # Errors
    /// When the provider does not say where.
    pub async fn address(&self, begun: &Begun, now: Timestamp) -> Result<String, OidcError> {
        let known = self.known(now).await?;
        let challenge = digest(&SHA256, begun.verifier.expose_secret().as_bytes());
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", &begun.redirect)
            .append_pair("scope", "openid email")
            .append_pair("state", &begun.state)
            .append_pair("nonce", &begun.nonce)
            .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(challenge))
            .append_pair("code_challenge_method", "S256")
            .finish();
        let address = known.authorization.as_str();
        let join = if address.contains('?') { '&' } else { '?' };
        Ok(format!("{address}{join}{query}"))
    }

    /// Takes the code of an answer to the provider, and learns who came. `issuer` is whom the answer says it is from.
    ///
    /// # Errors
    /// When nobody did.
    pub async fn finish(
        &self,
        begun: Begun,
        code: &str,
        issuer: Option<&str>,
        now: Timestamp,
    ) -> Result<Identity, OidcError> {
        let known = self.known(now).await?;
        match issuer {
            // RFC 9207 §2.4: who promised to say so, says so.
            None if known.names_itself => return Err(OidcError::Issuer),
            Some(issuer) if issuer != self.settings.issuer.as_str() => return Err(OidcError::Issuer),
            Some(_) | None => {}
        }
        let answer = fetching::whole(
            self.client.send(self.exchange(&known, &begun, code)?).await.map_err(FetchFault::from)?,
        )?;
        let answer = parse_lenient(&answer, Limits::default()).map_err(|_| FetchFault::Unreadable)?;
        let token = answer.get("id_token").and_then(Value::as_str).ok_or(FetchFault::Unreadable)?;
        let said = known.keys.verify(token, now).await?;
        let issuer = self.settings.issuer.as_str();
        Ok(Identity::read(&said, issuer, &self.settings.client_id, &begun.nonce, now)?)
    }

    fn exchange(&self, known: &Known, begun: &Begun, code: &str) -> Result<Request<Parts>, FetchFault> {
        let ProviderSettings { client_id, client_secret, .. } = &self.settings;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &begun.redirect)
            .append_pair("code_verifier", begun.verifier.expose_secret());
        let mut header = None;
        match (client_secret, known.proof) {
            (Some(secret), Proof::Header) => {
                // RFC 6749 §2.3.1: both are written as in a form first.
                let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encode(client_id), encode(secret.expose_secret()));
                let value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)));
                let mut value = value.map_err(|_| FetchFault::Address)?;
                value.set_sensitive(true);
                header = Some(value);
            }
            (Some(secret), Proof::Body) => {
                form.append_pair("client_id", client_id).append_pair("client_secret", secret.expose_secret());
            }
            (None, Proof::Header | Proof::Body) => {
                form.append_pair("client_id", client_id);
            }
        }
        let mut request = Request::post(known.token.as_str())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, "yesgate")
            .body(Parts::from(Bytes::from(form.finish())))
            .map_err(|_| FetchFault::Address)?;
        if let Some(header) = header {
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        Ok(request)
    }

    /// What the provider says of itself, fetched now and then.
    async fn known(&self, now: Timestamp) -> Result<Arc<Known>, OidcError> {
        let mut known = self.known.lock().await;
        if let Some((fetched_at, known)) = &*known
            && now.duration_since(*fetched_at) < KEPT
        {
            return Ok(Arc::clone(known));
        }
        let issuer = &self.settings.issuer;
        let place = format!("{}/.well-known/openid-configuration", issuer.as_str().trim_end_matches('/'));
        let place: HttpUrl = place.parse().map_err(|_| FetchFault::Address)?;
        let text = fetching::get(&self.client, &place).await?;
        let fresh = Arc::new(Known::read(&text, issuer, &self.client)?);
        *known = Some((now, Arc::clone(&fresh)));
        Ok(fresh)
    }
}

impl Known {
    fn read(text: &[u8], issuer: &HttpUrl, client: &HttpClient) -> Result<Self, OidcError> {
        let said = parse_lenient(text, Limits::default()).map_err(|_| FetchFault::Unreadable)?;
        // OpenID Connect Discovery 1.0 §4.3: it is the one that was asked for, to the letter.
        if said.get("issuer").and_then(Value::as_str) != Some(issuer.as_str()) {
            return Err(OidcError::Description("its issuer is another one"));
        }
        let place = |name: &str, missing: &'static str| {
            let text = said.get(name).and_then(Value::as_str).ok_or(OidcError::Description(missing))?;
            Ok::<_, OidcError>(fetching::address(text, issuer)?)
        };
        let proofs = said.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
        let takes = |name: &str| proofs.is_some_and(|proofs| proofs.iter().any(|proof| proof == name));
        // Where it does not say, it takes the header (Discovery §3).
        let proof = match proofs.is_none() || takes("client_secret_basic") || !takes("client_secret_post") {
            true => Proof::Header,
            false => Proof::Body,
        };
        let names_itself =
            said.get("authorization_response_iss_parameter_supported") == Some(&Value::Bool(true));
        Ok(Self {
            authorization: place("authorization_endpoint", "it has no authorization endpoint")?,
            token: place("token_endpoint", "it has no token endpoint")?,
            keys: Keys::new(client.clone(), place("jwks_uri", "it has no keys")?),
            proof,
            names_itself,
        })
    }
}

/// How long it is believed what a provider says of itself.
const KEPT: SignedDuration = SignedDuration::from_hours(1);
