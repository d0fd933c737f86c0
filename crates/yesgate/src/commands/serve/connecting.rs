//! How clients of `serve` are connected: by the gateway's own server, by somebody else's tokens, or not at all.

use std::sync::Arc;
use std::time::Duration;

use yesgate::{SystemClock, SystemEntropy};
use yesgate_core::policy::{Config, KnownClient, OAuthConfig, Registration, Template};
use yesgate_gateway::door::KnownAs;
use yesgate_http::edge::bearer::Bearers;
use yesgate_ledger::Ledger;
use yesgate_oauth::{AuthServer, ExternalBearers, OAuthSettings};

use crate::output::Hinted;

/// Who connects clients.
#[derive(Clone, Debug)]
pub(super) enum Connecting {
    /// Nobody: keys are the only way in.
    Nobody,
    /// The gateway itself.
    Own(Arc<AuthServer>),
    /// Somebody else, whose tokens are taken.
    External(Arc<ExternalBearers>),
}

impl Connecting {
    /// As the configuration says, for clients that know us by this address.
    pub(super) fn open(config: &Config, ledger: &Ledger, issuer: &str) -> anyhow::Result<Self> {
        if !config.oauth.is_on(&config.serve) {
            return Ok(Self::Nobody);
        }
        let settings = OAuthSettings {
            issuer: issuer.to_owned(),
            config: config.oauth.clone(),
            servers: servers(config),
        };
        if config.oauth.external.is_some() {
            return Ok(Self::External(Arc::new(ExternalBearers::new(settings, Arc::new(SystemClock))?)));
        }
        refuse_missing(&config.oauth)?;
        let server =
            AuthServer::new(ledger.clone(), Arc::new(SystemEntropy), settings).with_variables(variable);
        Ok(Self::Own(Arc::new(server)))
    }

    /// Who verifies tokens at the door.
    pub(super) fn bearers(&self) -> Option<Arc<dyn Bearers>> {
        match self {
            Self::Nobody => None,
            Self::Own(server) => Some(Arc::clone(server) as Arc<dyn Bearers>),
            Self::External(bearers) => Some(Arc::clone(bearers) as Arc<dyn Bearers>),
        }
    }

    /// Who is asked on pages whether a client may.
    pub(super) fn asking(&self) -> Option<Arc<AuthServer>> {
        match self {
            Self::Nobody | Self::External(_) => None,
            Self::Own(server) => Some(Arc::clone(server)),
        }
    }

    /// By which name clients are told to come.
    pub(super) fn known_as(&self, issuer: &str) -> Option<KnownAs> {
        match self {
            Self::Nobody => None,
            Self::Own(_) | Self::External(_) => Some(KnownAs::new(issuer.split_once("://")?.1.to_owned())),
        }
    }

    /// Goes by another configuration from here on.
    pub(super) fn govern(&self, config: &Config) {
        match self {
            Self::Nobody => {}
            Self::Own(server) => server.govern(config.oauth.clone(), servers(config)),
            Self::External(bearers) => {
                if let Err(error) = bearers.govern(config.oauth.clone(), servers(config)) {
                    tracing::error!(%error, "[oauth.external] cannot be used, and the old one stays in force: {error}");
                }
            }
        }
    }

    /// O-S9: removes what is too old to matter, for as long as we serve.
    pub(super) async fn sweep(self) {
        let Self::Own(server) = self else { return };
        loop {
            tokio::time::sleep(SWEEPING).await;
            if let Err(error) = server.sweep().await {
                tracing::warn!(%error, "what clients left behind could not be swept: {error}");
            }
        }
    }
}

/// The servers that have an endpoint of their own.
fn servers(config: &Config) -> Vec<String> {
    config.servers.keys().map(ToString::to_string).collect()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A secret that is not there would let nobody in, and nobody would know why.
fn refuse_missing(oauth: &OAuthConfig) -> anyhow::Result<()> {
    let token = match &oauth.registration {
        Registration::WithToken(token) => Some(token),
        Registration::Open | Registration::Off => None,
    };
    let secrets = oauth.clients.values().filter_map(|client: &KnownClient| client.secret.as_ref());
    for secret in secrets.chain(token) {
        let secret: &Template = secret;
        secret.expand(variable).map_err(|missing| {
            let hint = "[oauth] speaks of it; put it into the environment of the gateway";
            Hinted::new(missing.to_string(), Some(hint))
        })?;
    }
    Ok(())
}

/// How often what is too old is looked for.
const SWEEPING: Duration = Duration::from_mins(30);
