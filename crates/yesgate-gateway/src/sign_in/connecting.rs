//! One sign-in by a person, from the address that is shown to them to the tokens that are kept.
//!
//! Who we are there follows the order of the MCP specification: a client that the operator registered, a
//! client metadata document where the authorization server knows such, dynamic registration otherwise.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rmcp::transport::auth::{AuthorizationManager, OAuthClientConfig};
use secrecy::ExposeSecret as _;
use url::Url;

use super::discovery::{Discovered, discover, failed, quietly, says};
use super::error::{SignInError, said};
use super::record::{Client, Record, SignedIn};
use super::redirect::{Answer, Redirected};
use super::shelf::{Open, Shelf};
use super::{Identity, SignIn};

/// A sign-in that a person is asked to complete.
pub struct Connecting {
    manager: AuthorizationManager,
    shelf: Shelf,
    client: Client,
    address: String,
    state: String,
    issuer: Option<String>,
    scopes: Vec<String>,
}

impl SignIn {
    /// Begins a sign-in that ends at this redirect address.
    ///
    /// # Errors
    /// When the server has no authorization server that we can use.
    pub async fn begin(&self, redirect: &str) -> Result<Connecting, SignInError> {
        let Discovered { mut manager, metadata } = discover(self.url()).await?;
        // What cannot be opened any more is about to be replaced.
        let before = match self.shelf().read().await {
            Err(SignInError::Sealed) => None,
            read => read?,
        };
        let mut scopes = self.wished(&manager, before.as_ref()).await;
        let knows_offline = metadata.scopes_supported.iter().flatten().any(|scope| scope == "offline_access");
        if knows_offline && !scopes.is_empty() && !scopes.iter().any(|scope| scope == "offline_access") {
            scopes.push("offline_access".into());
        }
        let words: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let mut config = OAuthClientConfig::new("", redirect).with_scopes(scopes.clone());
        let mut given = None;
        match self.identity() {
            Identity::Registered { id, secret } => {
                config.client_id.clone_from(id);
                config.client_secret = secret.as_ref().map(|secret| secret.expose_secret().to_owned());
            }
            Identity::Document(url) if says(&metadata, "client_id_metadata_document_supported") => {
                config.client_id.clone_from(url);
            }
            Identity::Document(_) | Identity::Unregistered => {
                config =
                    quietly(manager.register_client("Yesgate", redirect, &words)).await.map_err(failed)?;
                given.clone_from(&config.client_secret);
            }
        }
        let client = Client { id: config.client_id.clone(), secret: given, redirect: redirect.to_owned() };
        let address = quietly(async {
            manager.configure_client(config)?;
            manager.get_authorization_url(&words).await
        });
        let address = address.await.map_err(failed)?;
        if !address.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SignInError::Unacceptable("the address to open cannot be shown as it is".into()));
        }
        let state = state_of(&address).ok_or(SignInError::Ourselves("the sign-in has no state"))?;
        let issuer = metadata.issuer;
        Ok(Connecting { manager, shelf: self.shelf().clone(), client, address, state, issuer, scopes })
    }

    /// What to ask for: what the operator wrote, else what the server names; and what it wanted besides.
    async fn wished(&self, manager: &AuthorizationManager, before: Option<&Record>) -> Vec<String> {
        let mut scopes = self.scopes().to_vec();
        if scopes.is_empty() {
            scopes = quietly(manager.select_initial_scopes(&[])).await;
        }
        if let Some(before) = before.filter(|before| !before.wanted.is_empty()) {
            // SEP-2350: a step up asks for what was granted and for what is wanted, together.
            scopes.extend(before.credentials.granted_scopes.iter().cloned());
            scopes.extend(before.wanted.iter().cloned());
        }
        let mut seen = BTreeSet::new();
        scopes.retain(|scope| seen.insert(scope.clone()));
        scopes
    }
}

impl Connecting {
    /// The address for the person to open: http or https, and nothing but visible ASCII.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Who will ask the person.
    pub fn issuer(&self) -> Option<&str> {
        self.issuer.as_deref()
    }

    /// What is asked for.
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    pub(super) fn state(&self) -> &str {
        &self.state
    }

    /// Exchanges what came back for tokens, and keeps them.
    ///
    /// # Errors
    /// When it is not ours, comes from another issuer (RFC 9207), or was refused.
    pub async fn finish(self, redirected: Redirected) -> Result<SignedIn, SignInError> {
        // A code that was exchanged and not kept is lost: whoever waits here may go, this goes on.
        let kept = tokio::spawn(self.exchange(redirected));
        kept.await.map_err(|_| SignInError::Ourselves("the sign-in was interrupted"))?
    }

    async fn exchange(mut self, redirected: Redirected) -> Result<SignedIn, SignInError> {
        if redirected.state != self.state {
            return Err(SignInError::NotOurs);
        }
        let code = match &redirected.answer {
            Answer::Code(code) => code,
            Answer::Error(words) => {
                // The library checks the issuer of a code; an error is for us to check.
                return Err(match &redirected.issuer {
                    Some(issuer) if Some(issuer) != self.issuer.as_ref() => SignInError::NotOurs,
                    Some(_) | None => SignInError::Denied(said(words)),
                });
            }
        };
        let lock = Arc::new(self.shelf.lock().await?);
        self.manager.set_credential_store(Open { shelf: self.shelf.clone(), lock, client: self.client });
        let exchange = self.manager.exchange_code_for_token_with_issuer(
            code,
            &redirected.state,
            redirected.issuer.as_deref(),
        );
        quietly(exchange).await.map_err(failed)?;
        let record = self.shelf.read().await?;
        let usable = record.filter(|record| record.token().is_some());
        usable
            .and_then(|record| record.signed_in())
            .ok_or_else(|| SignInError::Unacceptable("it gave no bearer token".into()))
    }
}

impl fmt::Debug for Connecting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Connecting");
        shown.field("issuer", &self.issuer).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

fn state_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    url.query_pairs().find(|(key, _)| key == "state").map(|(_, value)| value.into_owned())
}
