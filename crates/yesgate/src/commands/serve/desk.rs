//! What the pages ask of the operator's side: the same as the commands do, under the settings that are in force.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use yesgate_core::intent::Intent;
use yesgate_gateway::gate::Strongest;
use yesgate_ledger::Ledger;
use yesgate_web::desk::{self, DeskError, Revised};

use super::super::edit;
use crate::settings::Settings;

/// The operator's side of a gateway that runs.
#[derive(Debug)]
pub(super) struct Desk {
    settings: watch::Receiver<Arc<Settings>>,
    ledger: Ledger,
    /// The strongest yes that somebody could give, at every moment.
    reach: Strongest,
}

impl Desk {
    pub(super) const fn new(
        settings: watch::Receiver<Arc<Settings>>,
        ledger: Ledger,
        reach: Strongest,
    ) -> Self {
        Self { settings, ledger, reach }
    }

    /// The settings that are in force now.
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }
}

#[async_trait]
impl desk::Desk for Desk {
    async fn revise(&self, intent: &Intent, arguments: &str) -> Result<Revised, DeskError> {
        let settings = self.settings();
        edit::revised(&settings, &self.ledger, intent, arguments, self.reach.get()).await.map_err(failed)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` has")]
fn failed(error: anyhow::Error) -> DeskError {
    DeskError::new(format!("{error:#}"))
}
