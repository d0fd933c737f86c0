//! What is known about a call where no gate runs it: the tool as it was last seen, its pin, what humans set for the
//! caller, and what was spent. From that the policy can be asked about it.

use serde_json::Value;
use yesgate_core::approvers::Reach;
use yesgate_core::assurance::Assurance;
use yesgate_core::budget::Sums;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::Binding;
use yesgate_core::id::ServerName;
use yesgate_core::policy::{ClientWays, Config, Facts, Pins};
use yesgate_core::regime::Regime;
use yesgate_core::switch::OperatorSwitch;
use yesgate_gateway::book::definition;
use yesgate_ledger::{Ledger, LedgerError};

use super::people::origin;
use super::wrap::trust;
use crate::catalogue::Seen;
use crate::settings::{Settings, now};
use crate::witness::{Witnesses, reach};

/// A tool as it was last seen, or as far as anything is known of it.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) definition: ToolDefinition,
    /// Whether its server is not to be believed.
    pub(super) untrusted: bool,
}

/// Finds a tool of a server among those that were seen.
pub(super) fn find(
    seen: &[Seen],
    server: &ServerName,
    is_meant: impl Fn(&ToolDefinition) -> bool,
) -> Option<Tool> {
    let seen = seen.iter().find(|seen| seen.server == *server)?;
    let mut definitions = seen.tools.iter().filter_map(|tool| definition(tool).ok());
    Some(Tool { definition: definitions.find(is_meant)?, untrusted: seen.untrusted })
}

/// What is known about one call.
#[derive(Debug)]
pub(super) struct Outlook {
    tool: Tool,
    pins: Pins,
    regime: Regime,
    spent: Sums,
}

impl Outlook {
    /// Looks everything up.
    pub(super) async fn of(
        config: &Config,
        ledger: &Ledger,
        binding: &Binding,
        tool: Tool,
    ) -> Result<Self, LedgerError> {
        Ok(Self {
            tool,
            pins: ledger.pins(&binding.server).await?,
            regime: ledger.regimes().await?.of(&binding.caller),
            spent: ledger.spent(config.policy.windows(binding), binding.digest()).await?,
        })
    }

    /// The same under what humans have set for another caller.
    pub(super) fn under(self, regime: Regime) -> Self {
        Self { regime, ..self }
    }

    /// The facts that the policy is asked with.
    pub(super) fn facts<'a>(
        &'a self,
        config: &Config,
        binding: &Binding,
        reach: &'a Reach,
        state: Option<&'a Value>,
    ) -> Facts<'a> {
        Facts {
            definition: &self.tool.definition,
            trust: trust(config, &binding.server, self.tool.untrusted),
            known: self.pins.known(&binding.tool),
            regime: &self.regime,
            ways: ClientWays::default(),
            switch: OperatorSwitch::parse(std::env::var("MCP_DRY_RUN").ok().as_deref()),
            reach,
            state,
            spent: &self.spent,
            now: now(),
        }
    }
}

/// Who could say yes to what the gateways of this home ask, for commands that run none.
pub(super) async fn reach_here(settings: &Settings, ledger: &Ledger) -> anyhow::Result<Reach> {
    let origin = origin(&settings.config.serve);
    let Witnesses { registry, .. } = Witnesses::of(&settings.home, ledger, &origin).await?;
    let has_keys = !ledger.live_keys().await?.is_empty();
    let signed_in = if has_keys { Assurance::SignedIn } else { Assurance::Local };
    Ok(reach(ledger, &registry, signed_in).await?)
}
