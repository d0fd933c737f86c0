//! Whom TLS connections are trusted by.

use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

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

/// The TLS settings that trust whom the system trusts.
pub(super) fn of_the_system() -> Result<ClientConfig, TrustError> {
    let settings = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .try_with_platform_verifier()?
        .with_no_client_auth();
    Ok(settings)
}

/// The same, and whom these authorities vouch for.
pub(super) fn with(authorities: Authorities) -> Result<ClientConfig, TrustError> {
    if authorities.0.is_empty() {
        return of_the_system();
    }
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
