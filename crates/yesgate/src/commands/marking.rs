//! Starts what writes checkpoints of the audit trail, as `[checkpoints]` says.

use tokio::task::JoinSet;
use yesgate_gateway::metrics::Metrics;
use yesgate_ledger::Ledger;
use yesgate_notice::Link;

use super::notices::open_webhook;
use crate::checkpoints::Marker;
use crate::settings::Settings;

/// Whoever writes checkpoints. Dropped, they stop.
#[derive(Debug)]
pub(super) struct Marking(#[expect(dead_code, reason = "it is there to be dropped")] JoinSet<()>);

impl Marking {
    /// Starts them where they are wanted.
    pub(super) fn start(settings: &Settings, ledger: &Ledger, metrics: &Metrics) -> anyhow::Result<Self> {
        let mut markers = JoinSet::new();
        if let Some(config) = &settings.config.checkpoints {
            let webhook = config.webhook.as_ref();
            let webhook = webhook
                .map(|webhook| open_webhook(webhook, Link::CommandLine, "[checkpoints]"))
                .transpose()?;
            let key = settings.home.receipt_key()?;
            let marker = Marker::new(ledger.clone(), key, config.clone(), webhook, metrics.clone());
            markers.spawn(marker.run());
        }
        Ok(Self(markers))
    }
}
