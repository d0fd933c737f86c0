//! Finding the authorization server of a server, and what we accept of it.
//!
//! The protocol is rmcp's; what stands here is stricter than it (B10): everything is https, except on this
//! machine where the operator's own address is on this machine; PKCE is listed; nothing that an address
//! hides, such as a user name before an `@`. Which addresses metadata may name is decided by rmcp, both by
//! name and when a connection is made.

use std::error::Error as _;
use std::future::Future;

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata, WWWAuthenticateParams};
use rustls::crypto::CryptoProvider;
use tracing::instrument::WithSubscriber as _;
use tracing::subscriber::NoSubscriber;
use url::{Host, Url};

use super::challenge::challenge;
use super::error::{SignInError, said};

/// An authorization server that we accept, and the manager that talks to it.
pub(super) struct Discovered {
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
}

/// Looks for the authorization server of a server (RFC 9728, RFC 8414, OpenID Connect discovery).
pub(super) async fn discover(server: &Url) -> Result<Discovered, SignInError> {
    use_ring();
    quietly(async {
        let mut manager = AuthorizationManager::new(server.clone()).await.map_err(failed)?;
        let challenge = challenge(server).await;
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref()).await.map_err(failed)?;
        // A server that publishes nothing is of the revision 2025-03-26: the endpoints have fixed places
        // on its own origin, and it could not say that it knows PKCE. We send it all the same.
        if found.source.is_discovered() {
            refuse_without_pkce(&found.metadata)?;
        }
        refuse_addresses(server, &found.metadata)?;
        manager.set_metadata(found.metadata.clone());
        Ok(Discovered { manager, metadata: found.metadata })
    })
    .await
}

/// Makes ring the cryptography of this process, where nothing else is yet: the OAuth library's own client
/// takes what is there, and cannot do without. Harmless to call again.
pub fn use_ring() {
    if CryptoProvider::get_default().is_none() {
        // An error says that another thread was faster.
        rustls::crypto::ring::default_provider().install_default().ok();
    }
}

/// Runs a step of the OAuth library without its log, in which codes and vendors' tokens would stand. What
/// goes wrong is in what it returns.
pub(super) async fn quietly<T>(step: impl Future<Output = T>) -> T {
    step.with_subscriber(NoSubscriber::default()).await
}

/// Whether the authorization server says that it knows something.
pub(super) fn says(metadata: &AuthorizationMetadata, what: &str) -> bool {
    metadata.additional_fields.get(what).and_then(serde_json::Value::as_bool).unwrap_or(false)
}

fn refuse_without_pkce(metadata: &AuthorizationMetadata) -> Result<(), SignInError> {
    let methods = metadata.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if methods.iter().any(|method| method == "S256") {
        Ok(())
    } else {
        Err(SignInError::Unacceptable("it does not say that it supports PKCE with S256".into()))
    }
}

fn refuse_addresses(server: &Url, metadata: &AuthorizationMetadata) -> Result<(), SignInError> {
    let addresses = [
        Some(&metadata.authorization_endpoint),
        Some(&metadata.token_endpoint),
        metadata.registration_endpoint.as_ref(),
        metadata.issuer.as_ref(),
    ];
    match addresses.into_iter().flatten().find(|address| !is_acceptable(server, address)) {
        Some(address) => Err(SignInError::Unacceptable(format!("it names the address `{}`", said(address)))),
        None => Ok(()),
    }
}

/// Whether an address that a server's metadata names may be used, or shown to a person to open.
pub(super) fn is_acceptable(server: &Url, address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    if !url.username().is_empty() || url.password().is_some() {
        return false;
    }
    let is_private_enough = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
    // The library's own policy for addresses that metadata names, asked through the one door that it has.
    let challenge = format!("Bearer resource_metadata=\"{url}\"");
    is_private_enough && WWWAuthenticateParams::parse(&challenge, server).resource_metadata_url == Some(url)
}

/// Whether an address is on this machine by its own words.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// What the OAuth library's error means to us. Nothing of it is a token; what a peer wrote is cut.
#[expect(clippy::wildcard_enum_match_arm, reason = "the library's own enum, which may grow")]
pub(super) fn failed(error: AuthError) -> SignInError {
    use AuthError as E;
    match error {
        E::TokenRefreshFailed(words) | E::MetadataError(words) => SignInError::Unreachable(said(&words)),
        E::HttpError(error) => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            SignInError::Unreachable(said(&format!("{error}: {cause}")))
        }
        E::CredentialStoreError(_) => SignInError::Ourselves("the sign-in could not be kept"),
        other => SignInError::Unacceptable(said(&other.to_string())),
    }
}

#[cfg(test)]
mod tests;
