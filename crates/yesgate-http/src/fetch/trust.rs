//! Whom TLS connections are trusted by.
//!
//! It is read when the first of them is made: most clients make none, and whom a system trusts takes more memory than all
//! the rest of a client.

use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;
use tokio::task::spawn_blocking;

use super::error::TrustError;

/// Authorities that are trusted besides those of the system.
#[derive(Clone, Debug, Default)]
pub struct Authorities(Vec<CertificateDer<'static>>);

/// A text holds no certificates of authorities.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("it holds no certificates in PEM")]
pub struct NoAuthorities;

impl Authorities {
    /// Reads certificates in PEM (RFC 7468), one after the other.
    ///
    /// # Errors
    /// When there are none, or one cannot be read.
    pub fn from_pem(text: &[u8]) -> Result<Self, NoAuthorities> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        let found = found.map_err(|_| NoAuthorities)?;
        if found.is_empty() { Err(NoAuthorities) } else { Ok(Self(found)) }
    }
}

/// The TLS settings of a client. Clones are read together.
#[derive(Clone, Debug)]
pub(super) struct Trust(Arc<OnceCell<Arc<ClientConfig>>>);

impl Trust {
    /// Trusts whom the system trusts when that is first asked.
    pub(super) fn of_the_system() -> Self {
        Self(Arc::new(OnceCell::new()))
    }

    /// The same, and whom these authorities vouch for. They are read now, and with them the system's.
    pub(super) fn with(authorities: Authorities) -> Result<Self, TrustError> {
        if authorities.0.is_empty() {
            return Ok(Self::of_the_system());
        }
        with(authorities).map(Self::these)
    }

    /// These settings.
    pub(super) fn these(settings: ClientConfig) -> Self {
        Self(Arc::new(OnceCell::new_with(Some(Arc::new(settings)))))
    }

    /// Reads now whom the system trusts.
    pub(super) fn read(&self) -> Result<(), TrustError> {
        if !self.0.initialized() {
            // Whoever was faster has read the same.
            let _faster = self.0.set(Arc::new(of_the_system()?));
        }
        Ok(())
    }

    /// The settings, read where nobody has yet. Where that fails it is tried again for the next connection.
    pub(super) async fn settings(&self) -> Result<Arc<ClientConfig>, TrustError> {
        let read = || async {
            // It takes some milliseconds, which other connections of the thread need not wait.
            match spawn_blocking(of_the_system).await {
                Ok(settings) => settings.map(Arc::new),
                Err(_) => Err(rustls::Error::General("they were not read to their end".into()).into()),
            }
        };
        self.0.get_or_try_init(read).await.cloned()
    }
}

/// The TLS settings that trust whom the system trusts.
fn of_the_system() -> Result<ClientConfig, TrustError> {
    let settings = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .try_with_platform_verifier()?
        .with_no_client_auth();
    Ok(settings)
}

/// The same, and whom these authorities vouch for.
fn with(authorities: Authorities) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(authorities.0, Arc::clone(&provider))?;
    let settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        // It is the system's own verifier, which knows some more authorities.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(settings)
}
