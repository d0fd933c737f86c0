//! The sign-ins to the servers behind the gateway, as the configuration describes them.
//!
//! Shared by `connect`, which makes them, and by whatever calls the servers. Secrets come from the
//! environment at the moment of use.

use std::sync::Arc;

use anyhow::Context as _;
use yesgate::{SystemClock, SystemEntropy};
use yesgate_core::id::ServerName;
use yesgate_core::policy::{AuthSetting, HttpPlace, OAuthClient, OAuthSetting};
use yesgate_gateway::sign_in::{Identity, SignIn, Vault};
use yesgate_ledger::Ledger;

use crate::home::Home;

/// The place where sign-ins are kept: the ledger, under the key of this home or of the environment.
pub(crate) fn vault(home: &Home, ledger: Ledger) -> anyhow::Result<Vault> {
    let (key, _) = home.key()?;
    Ok(Vault::new(ledger, key, home.path(), Arc::new(SystemClock), Arc::new(SystemEntropy)))
}

/// The sign-in to a server; `None` where the server wants none.
pub(crate) fn sign_in(name: &ServerName, place: &HttpPlace, vault: Vault) -> anyhow::Result<Option<SignIn>> {
    let OAuthSetting { scopes, client } = match &place.auth {
        AuthSetting::None => return Ok(None),
        AuthSetting::OAuth(setting) => setting,
    };
    let identity = match client {
        OAuthClient::Unregistered => Identity::Unregistered,
        OAuthClient::Described { url } => Identity::Document(url.to_string()),
        OAuthClient::Registered { id, secret } => {
            let secret = secret.as_ref().map(|secret| secret.expand(|name| std::env::var(name).ok()));
            let secret = secret.transpose().with_context(|| format!("the client secret for `{name}`"))?;
            Identity::Registered { id: id.clone(), secret }
        }
    };
    let url = place.url.to_string();
    let sign_in = SignIn::new(name.clone(), &url, identity, scopes.clone(), vault);
    Ok(Some(sign_in.with_context(|| format!("the server `{name}`"))?))
}
