//! Billing as an MCP server. It knows nothing of tokens: whatever reaches it, is billed.

use std::sync::{Mutex, PoisonError};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{tool, tool_router};
use serde::Deserialize;
use serde_json::json;
use yesgate_examples::Journal;

#[derive(Debug)]
struct Billing {
    plan: Mutex<Plan>,
    journal: Journal,
}

/// What can be paid for.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plan {
    Free,
    Pro,
    Scale,
    Business,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Change {
    /// The plan to change to.
    to: Plan,
}

impl Plan {
    const fn name(self) -> &'static str {
        match self {
            Self::Free => "Free",
            Self::Pro => "Pro",
            Self::Scale => "Scale",
            Self::Business => "Business",
        }
    }

    /// In dollars a month.
    const fn price(self) -> u64 {
        match self {
            Self::Free => 0,
            Self::Pro => 19,
            Self::Scale => 49,
            Self::Business => 199,
        }
    }

    const fn seats(self) -> u64 {
        match self {
            Self::Free => 2,
            Self::Pro => 10,
            Self::Scale => 25,
            Self::Business => 100,
        }
    }
}

#[tool_router(server_handler)]
impl Billing {
    #[tool(description = "Says which plan is paid for.", annotations(read_only_hint = true))]
    fn get_plan(&self) -> CallToolResult {
        let plan = self.plan();
        CallToolResult::structured(json!({"org": ORG, "plan": plan.name(), "price": plan.price()}))
    }

    #[tool(description = "Says what a change of the plan would mean.", annotations(read_only_hint = true))]
    fn quote(&self, Parameters(Change { to }): Parameters<Change>) -> CallToolResult {
        let from = self.plan();
        CallToolResult::structured(json!({
            "org": ORG,
            "from": from.name(),
            "from_price": from.price(),
            "to": to.name(),
            "to_price": to.price(),
            "next_charge": NEXT_CHARGE,
            "loses": format!("{} seats", from.seats().saturating_sub(to.seats())),
        }))
    }

    #[tool(description = "Changes to a larger plan.")]
    fn upgrade_plan(&self, Parameters(Change { to }): Parameters<Change>) -> CallToolResult {
        self.change(to)
    }

    #[tool(description = "Changes to a smaller plan.")]
    fn downgrade_plan(&self, Parameters(Change { to }): Parameters<Change>) -> CallToolResult {
        self.change(to)
    }
}

impl Billing {
    fn plan(&self) -> Plan {
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, to: Plan) -> CallToolResult {
        let from = std::mem::replace(&mut *self.plan.lock().unwrap_or_else(PoisonError::into_inner), to);
        self.journal.write(&format!("changed the plan from {} to {}", from.name(), to.name()));
        CallToolResult::structured(json!({
            "ok": true,
            "subscription": {"plan": to.name(), "currentPeriodEnd": NEXT_CHARGE},
        }))
    }
}

/// Serves one client over stdio until it goes.
pub(crate) async fn serve(journal: Journal) -> anyhow::Result<()> {
    let billing = Billing { plan: Mutex::new(Plan::Pro), journal };
    rmcp::serve_server(billing, rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

const ORG: &str = "vector-build";
const NEXT_CHARGE: &str = "May 30";
