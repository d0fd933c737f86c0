//! The gateway as an OAuth client of the servers behind it: one sign-in per server, renewed by itself.
//!
//! A person signs in once (`yesgate connect`, [`SignIn::begin`]); from then on [`SignIn::bearer`] has a token
//! that holds. The protocol is rmcp's; what is stored, who may renew, and what is accepted is decided here.
//!
//! Invariants:
//! - A token goes to the server it was granted for and a refresh token to the issuer that gave it, to nobody
//!   else. What a client sent us as its own authorization never gets here.
//! - However many callers find the token old at once, one of them renews it. A renewal goes to its end even
//!   if its caller is gone: a rotated refresh token that nobody kept would end the sign-in.
//! - Nothing is kept in clear, nothing is logged, and `Debug` shows no secret.

mod callback;
mod challenge;
mod connecting;
mod credentials;
mod discovery;
mod error;
mod record;
mod redirect;
mod seal;
mod shelf;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use rmcp::transport::auth::{AuthError, OAuthClientConfig, WWWAuthenticateParams};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::Instant;
use url::Url;
use yesgate_core::id::ServerName;

pub use self::callback::Callback;
pub use self::connecting::Connecting;
pub use self::discovery::use_ring;
pub use self::error::{Need, SignInError};
pub use self::record::SignedIn;
pub use self::redirect::Redirected;
pub use self::shelf::Vault;

use self::discovery::{Discovered, discover, failed, is_loopback, quietly};
use self::record::{Live, MOST_SCOPES, Record, scopes_of};
use self::shelf::{Open, Shelf};

/// Who we are at the authorization server.
#[derive(Clone, Debug, Default)]
pub enum Identity {
    /// A client that the operator registered there.
    Registered {
        /// Its id.
        id: String,
        /// Its secret, if it has one.
        secret: Option<SecretString>,
    },
    /// A client metadata document at this address; where the authorization server does not know such
    /// documents, the gateway registers itself.
    Document(String),
    /// Nobody yet: the gateway registers itself.
    #[default]
    Unregistered,
}

/// The sign-in to one server. A cheap handle.
#[derive(Clone, Debug)]
pub struct SignIn(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    url: Url,
    identity: Identity,
    scopes: Vec<String>,
    shelf: Shelf,
    held: Mutex<Held>,
    /// Whoever has it looks at the shelf; the others wait for what it finds.
    turn: tokio::sync::Mutex<()>,
}

/// What was found last, so that not every call opens a seal.
#[derive(Debug, Default)]
struct Held {
    found: Option<(Instant, Result<Live, SignInError>)>,
    /// A token that the server refused although it should hold.
    refused: Option<HeaderValue>,
    renewed_at: Option<Instant>,
}

impl SignIn {
    /// The sign-in to the server at this address, with the scopes that the operator wants, if any.
    ///
    /// # Errors
    /// When the address is not https, nor on this machine; or the client's document is not https.
    pub fn new(
        server: ServerName,
        url: &str,
        identity: Identity,
        scopes: Vec<String>,
        vault: Vault,
    ) -> Result<Self, SignInError> {
        let url = Url::parse(url).map_err(|_| SignInError::Settings("the server's address is no URL"))?;
        if url.scheme() != "https" && !(url.scheme() == "http" && is_loopback(&url)) {
            return Err(SignInError::Settings("a server that one signs in to needs an https address"));
        }
        let is_document = |address: &str| {
            Url::parse(address).is_ok_and(|document| document.scheme() == "https" && document.path() != "/")
        };
        if let Identity::Document(document) = &identity
            && !is_document(document)
        {
            return Err(SignInError::Settings(
                "a client metadata document needs an https address with a path",
            ));
        }
        let shelf = Shelf::new(vault, server, url.to_string());
        let (held, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self(Arc::new(Inner { url, identity, scopes, shelf, held, turn })))
    }

    /// The server that it is for.
    pub fn server(&self) -> &ServerName {
        self.0.shelf.server()
    }

    /// A token that holds now, as the value of `Authorization`, marked as sensitive.
    ///
    /// # Errors
    /// When there is none; [`SignInError::NeedsPerson`] when only a person can change that.
    pub async fn bearer(&self) -> Result<HeaderValue, SignInError> {
        if let Some(found) = self.0.remembered() {
            return found.map(|live| live.header);
        }
        let this = self.clone();
        detached(async move { this.0.look().await }).await.map(|live| live.header)
    }

    /// What to do about a 401 or 403 to a request that carried this value of [`Self::bearer`].
    /// `Ok`: send the request again with a new [`Self::bearer`], once, and pass on what then comes.
    ///
    /// # Errors
    /// When sending it again would not help.
    pub async fn rejected(
        &self,
        used: &HeaderValue,
        status: StatusCode,
        challenge: Option<&HeaderValue>,
    ) -> Result<(), SignInError> {
        let challenge = challenge.and_then(|challenge| challenge.to_str().ok()).unwrap_or_default();
        let challenge = WWWAuthenticateParams::parse(challenge, &self.0.url);
        let (this, used) = (self.clone(), used.clone());
        if challenge.is_insufficient_scope() {
            let scopes = challenge.scope.unwrap_or_default();
            return detached(async move { this.0.note(&used, &scopes).await }).await;
        }
        if status == StatusCode::FORBIDDEN {
            return Err(SignInError::Forbidden);
        }
        detached(async move { this.0.replace(&used).await }).await
    }

    /// What was granted, if anybody is signed in.
    ///
    /// # Errors
    /// When what is kept cannot be read.
    pub async fn standing(&self) -> Result<Option<SignedIn>, SignInError> {
        Ok(self.shelf().read().await?.and_then(|record| record.signed_in()))
    }

    /// Forgets the sign-in; tells whether there was one. The authorization server is not told.
    ///
    /// # Errors
    /// When that is not durable.
    pub async fn forget(&self) -> Result<bool, SignInError> {
        let lock = self.shelf().lock().await?;
        let was_there = match self.shelf().read().await {
            Err(SignInError::Sealed) => true,
            read => read?.is_some(),
        };
        self.shelf().clear(&lock).await?;
        *self.0.held() = Held::default();
        Ok(was_there)
    }

    fn url(&self) -> &Url {
        &self.0.url
    }

    fn identity(&self) -> &Identity {
        &self.0.identity
    }

    fn scopes(&self) -> &[String] {
        &self.0.scopes
    }

    fn shelf(&self) -> &Shelf {
        &self.0.shelf
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found a moment ago.
    fn remembered(&self) -> Option<Result<Live, SignInError>> {
        let held = self.held();
        let (at, found) = held.found.as_ref()?;
        let age = at.elapsed();
        let still = match found {
            Ok(live) => age < FRESH && !self.is_due(live, held.renewed_at),
            Err(error) if error.may_pass() => age < RETRY,
            Err(_) => age < FRESH,
        };
        still.then(|| found.clone())
    }

    /// Looks at the shelf, and renews what is old. What is found counts for all who wait.
    async fn look(&self) -> Result<Live, SignInError> {
        let _turn = self.turn.lock().await;
        if let Some(found) = self.remembered() {
            return found;
        }
        let found = self.find().await;
        self.held().found = Some((Instant::now(), found.clone()));
        found
    }

    async fn find(&self) -> Result<Live, SignInError> {
        let record = self.shelf.read().await?.ok_or(SignInError::NeedsPerson(Need::First))?;
        if let Some(live) = self.usable(&record) {
            return Ok(live);
        }
        match self.renew().await {
            Err(error) if error.may_pass() => match record.token() {
                // It is old but not over: better than nothing for as long as it lasts.
                Some(live) if !self.is_refused(&live) && !live.has_ended(self.shelf.now()) => {
                    tracing::warn!(%error, "a sign-in could not be renewed; the present token is used to its end");
                    Ok(live)
                }
                Some(_) | None => Err(error),
            },
            renewed => renewed,
        }
    }

    /// The token of a record, if it need not be renewed.
    fn usable(&self, record: &Record) -> Option<Live> {
        let renewed_at = self.held().renewed_at;
        record.token().filter(|live| !self.is_due(live, renewed_at) && !self.is_refused(live))
    }

    /// Whether a token should be renewed; not one that was renewed just now, however short it lives.
    fn is_due(&self, live: &Live, renewed_at: Option<Instant>) -> bool {
        live.is_due(self.shelf.now()) && renewed_at.is_none_or(|at| at.elapsed() >= RETRY)
    }

    fn is_refused(&self, live: &Live) -> bool {
        self.held().refused.as_ref() == Some(&live.header)
    }

    /// Renews the token, unless another process did while we waited for our turn.
    async fn renew(&self) -> Result<Live, SignInError> {
        let lock = Arc::new(self.shelf.lock().await?);
        let record = self.shelf.read().await?.ok_or(SignInError::NeedsPerson(Need::First))?;
        if let Some(live) = self.usable(&record) {
            return Ok(live);
        }
        if !record.renews() {
            return Err(SignInError::NeedsPerson(Need::Again));
        }
        let Discovered { mut manager, metadata } = discover(&self.url).await?;
        if metadata.issuer.as_deref() != record.issuer() {
            // SEP-2352: what one issuer gave is never shown to another.
            return Err(SignInError::NeedsPerson(Need::OtherIssuer {
                before: error::said(record.issuer().unwrap_or("none")),
                now: error::said(metadata.issuer.as_deref().unwrap_or("none")),
            }));
        }
        let mut config = OAuthClientConfig::new(&record.client.id, &record.client.redirect);
        config.client_secret = self.secret_of(&record);
        manager.configure_client(config).map_err(failed)?;
        manager.set_credential_store(Open { shelf: self.shelf.clone(), lock, client: record.client });
        match quietly(manager.refresh_token()).await {
            Ok(_) => {}
            Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
                return Err(SignInError::NeedsPerson(Need::Again));
            }
            Err(error) => return Err(failed(error)),
        }
        self.held().renewed_at = Some(Instant::now());
        let renewed = self.shelf.read().await?.and_then(|record| record.token());
        renewed.ok_or_else(|| SignInError::Unacceptable("it gave no bearer token".into()))
    }

    /// The operator's secret for this client, or the one that came with its registration.
    fn secret_of(&self, record: &Record) -> Option<String> {
        match &self.identity {
            Identity::Registered { id, secret } if *id == record.client.id => {
                secret.as_ref().map(|secret| secret.expose_secret().to_owned())
            }
            Identity::Registered { .. } | Identity::Document(_) | Identity::Unregistered => {
                record.client.secret.clone()
            }
        }
    }

    /// Gets another token in place of one that the server refused.
    async fn replace(&self, used: &HeaderValue) -> Result<(), SignInError> {
        let _turn = self.turn.lock().await;
        {
            let mut held = self.held();
            match &held.found {
                // Another caller was refused with the same token, and there is a new one already.
                Some((_, Ok(live))) if live.header != *used => return Ok(()),
                Some((at, Err(error))) if at.elapsed() < RETRY => return Err(error.clone()),
                Some((_, Ok(_))) if held.renewed_at.is_some_and(|at| at.elapsed() < RETRY) => {
                    return Err(SignInError::TokenRefused);
                }
                Some(_) | None => held.refused = Some(used.clone()),
            }
        }
        let found = self.find().await;
        self.held().found = Some((Instant::now(), found.clone()));
        found.map(|_| ())
    }

    /// Writes down what the server wants besides, for the next `yesgate connect` to ask for.
    async fn note(&self, used: &HeaderValue, scopes: &str) -> Result<(), SignInError> {
        let _turn = self.turn.lock().await;
        let lock = self.shelf.lock().await?;
        let mut record = self.shelf.read().await?.ok_or(SignInError::NeedsPerson(Need::First))?;
        self.held().found = None;
        let granted = &record.credentials.granted_scopes;
        let missing: Vec<String> =
            scopes_of(scopes).into_iter().filter(|scope| !granted.contains(scope)).collect();
        if missing.is_empty() {
            let is_new = record.token().is_some_and(|live| live.header != *used);
            // Granted meanwhile: once more with the new token. Otherwise the server contradicts itself.
            return if is_new { Ok(()) } else { Err(SignInError::Forbidden) };
        }
        let known = record.wanted.len();
        record.wanted.extend(missing.iter().cloned());
        if (known..=MOST_SCOPES).contains(&record.wanted.len()) && record.wanted.len() > known {
            self.shelf.write(&lock, &record).await?;
        }
        Err(SignInError::NeedsPerson(Need::Scopes(missing)))
    }
}

/// Runs a step to its end, whether or not anybody still waits for it.
async fn detached<T: Send + 'static>(
    step: impl Future<Output = Result<T, SignInError>> + Send + 'static,
) -> Result<T, SignInError> {
    tokio::spawn(step).await.map_err(|_| SignInError::Ourselves("the sign-in was interrupted"))?
}

/// How long what was found on the shelf counts: `connect` and `disconnect` are heard within this time.
const FRESH: Duration = Duration::from_secs(1);
/// How long a renewal that failed is not tried again, and one that succeeded not repeated.
const RETRY: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
