//! Reads the configuration again when its file changes, or when we are told to (SIGHUP).
//!
//! INVARIANT: a file that is not sound changes nothing: the policy that was in force stays.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use yesgate_core::policy::Config;
use yesgate_gateway::hub::Hub;
use yesgate_gateway::rest::RestFront;

use super::super::shadow;
use super::changeable;
use super::connecting::Connecting;
use super::servers::{Built, Workshop};
use crate::settings::{Settings, read_config};

/// Watches the configuration for as long as we serve.
pub(super) async fn watch(
    in_force: InForce,
    workshop: Workshop,
    hub: Arc<Hub>,
    rest: Arc<RestFront>,
    connecting: Connecting,
) {
    let Some(path) = in_force.borrow().config_path.clone() else { return };
    let Ok(mut hang_up) = signal(SignalKind::hangup()) else {
        tracing::error!("SIGHUP cannot be listened to, so the configuration is not read again");
        return;
    };
    let mut running = Running { in_force, workshop, hub, rest, connecting };
    let mut seen = look(&path);
    loop {
        // A look at the file is cheap, and works where a change is a new link to another file.
        let asked = tokio::select! {
            _ = hang_up.recv() => true,
            () = tokio::time::sleep(LOOK) => false,
        };
        let now = look(&path);
        if asked || now != seen {
            seen = now;
            running.reload(&path).await;
        }
    }
}

/// The settings that are in force, for everybody who is to see the same.
pub(super) type InForce = watch::Sender<Arc<Settings>>;

struct Running {
    in_force: InForce,
    workshop: Workshop,
    hub: Arc<Hub>,
    rest: Arc<RestFront>,
    connecting: Connecting,
}

impl Running {
    async fn reload(&mut self, path: &Path) {
        let config = match read_config(path) {
            Ok(config) => config,
            Err(error) => {
                tracing::error!("the configuration is not sound, and the old one stays in force: {error:#}");
                return;
            }
        };
        let before = Arc::clone(&self.in_force.borrow());
        if config == before.config {
            tracing::info!("the configuration was read again and says the same");
            return;
        }
        let old: Vec<Built> = self
            .hub
            .servers()
            .iter()
            .filter_map(|server| {
                Some((before.config.servers.get(server.gate.name())?.clone(), Arc::clone(server)))
            })
            .collect();
        let servers = match self.workshop.build(&config, &old).await {
            Ok(servers) => servers,
            Err(error) => {
                tracing::error!(
                    "the configuration cannot be used, and the old one stays in force: {error:#}"
                );
                return;
            }
        };
        let settled = |config: &Config| {
            let told = (
                config.checkpoints.clone(),
                config.notices.clone(),
                config.mail.clone(),
                config.oidc.clone(),
            );
            let oauth = (config.oauth.is_on(&config.serve), config.oauth.external.clone());
            (config.serve.clone(), config.ledger.clone(), told, oauth, config.telemetry.clone())
        };
        if settled(&config) != settled(&before.config) {
            tracing::warn!(
                "changes in [serve], [ledger], [checkpoints], [notices], [mail], [sign_in] and [telemetry], and of `enabled` and `external` in \
                 [oauth], count from the next start on"
            );
        }
        self.hub.replace(servers);
        self.rest.change(changeable(&config));
        self.connecting.govern(&config);
        self.hub.govern(&Arc::new(config.policy.clone())).await;
        shadow::shout(&config.policy);
        tracing::info!(servers = config.servers.len(), "the configuration was read again and is in force");
        let (home, config_path) = (before.home.clone(), before.config_path.clone());
        self.in_force.send_replace(Arc::new(Settings { home, config, config_path }));
    }
}

/// What tells one state of the file from another.
fn look(path: &Path) -> Option<(u64, i64, i64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

/// How often the file is looked at.
const LOOK: Duration = Duration::from_secs(1);
