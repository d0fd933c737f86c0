//! The provider by way of which people sign in, as `[sign_in.oidc]` says.

use anyhow::Context as _;
use yesgate_core::policy::OidcConfig;
use yesgate_oidc::{Provider, ProviderSettings};
use yesgate_web::upstream::UpstreamSettings;

use crate::output::Hinted;

/// Who else says who people are, as the configuration has it.
pub(super) fn open(config: Option<&OidcConfig>) -> anyhow::Result<Option<UpstreamSettings>> {
    let Some(config) = config else { return Ok(None) };
    let secret = config.client_secret.as_ref();
    let secret = secret.map(|secret| secret.expand(|name| std::env::var(name).ok())).transpose();
    let client_secret = secret.map_err(|error| {
        Hinted::new(format!("the provider of [sign_in.oidc] has no secret: {error}"), None::<&str>)
    })?;
    let settings = ProviderSettings {
        issuer: config.issuer.clone(),
        client_id: config.client_id.clone(),
        client_secret,
    };
    Ok(Some(UpstreamSettings {
        provider: Provider::new(settings).context("nobody can sign in by way of a provider")?,
        name: config.name.clone(),
        org: config.org.clone(),
        subjects: config.subjects.clone(),
        new: config.new.clone(),
    }))
}
