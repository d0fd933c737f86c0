//! Deployments as an MCP server. It knows nothing of modes: whatever reaches it, is done, dry runs excepted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{tool, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};
use yesgate_examples::Journal;

#[derive(Debug)]
struct Spin {
    /// What there is, and what was merged into it.
    ecosystems: Mutex<BTreeMap<String, Vec<String>>>,
    journal: Journal,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Named {
    /// The ecosystem.
    name: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Merge {
    /// The ecosystem.
    name: String,
    /// What is merged into it.
    branch: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Deployment {
    /// The ecosystem.
    name: String,
    /// Only says what would happen.
    #[serde(default)]
    dry_run: bool,
}

#[tool_router(server_handler)]
impl Spin {
    #[tool(description = "Lists the ecosystems.", annotations(read_only_hint = true))]
    fn list_ecosystems(&self) -> CallToolResult {
        let names: Vec<String> = self.ecosystems().keys().cloned().collect();
        CallToolResult::structured(json!({ "ecosystems": names }))
    }

    #[tool(description = "Says what belongs to an ecosystem.", annotations(read_only_hint = true))]
    fn contents(&self, Parameters(Named { name }): Parameters<Named>) -> Result<CallToolResult, ErrorData> {
        let branches = self.branches(&name)?;
        Ok(CallToolResult::structured(json!({"branches": branches, "directories": [format!("eco/{name}")]})))
    }

    #[tool(description = "Merges a branch.")]
    fn merge(
        &self,
        Parameters(Merge { name, branch }): Parameters<Merge>,
    ) -> Result<CallToolResult, ErrorData> {
        self.branches(&name)?;
        self.journal.write(&format!("merged {branch} into {name}"));
        let merged = json!({"merged": branch});
        self.ecosystems().entry(name).or_default().push(branch);
        Ok(CallToolResult::structured(merged))
    }

    #[tool(description = "Pushes an ecosystem.", annotations(destructive_hint = true))]
    fn push(&self, Parameters(Named { name }): Parameters<Named>) -> Result<CallToolResult, ErrorData> {
        self.branches(&name)?;
        self.journal.write(&format!("pushed {name}"));
        Ok(CallToolResult::structured(json!({"pushed": name})))
    }

    #[tool(description = "Deploys an ecosystem.", annotations(destructive_hint = true))]
    fn deploy(
        &self,
        Parameters(Deployment { name, dry_run }): Parameters<Deployment>,
    ) -> Result<CallToolResult, ErrorData> {
        let branches = self.branches(&name)?;
        if dry_run {
            return Ok(CallToolResult::structured(json!({
                "provisioner": "terraform",
                "script": format!("deploy-{name}.sh"),
                "estimated_duration": "4 minutes",
                "branches": branches,
            })));
        }
        self.journal.write(&format!("deployed {name} with {}", branches.join(", ")));
        Ok(CallToolResult::structured(json!({"deployed": name, "run_id": "run-1"})))
    }

    #[tool(description = "Discards an ecosystem for good.", annotations(destructive_hint = true))]
    fn discard(&self, Parameters(Named { name }): Parameters<Named>) -> Result<CallToolResult, ErrorData> {
        self.branches(&name)?;
        self.ecosystems().remove(&name);
        self.journal.write(&format!("discarded {name}"));
        Ok(CallToolResult::structured(json!({"discarded": name})))
    }
}

impl Spin {
    fn ecosystems(&self) -> MutexGuard<'_, BTreeMap<String, Vec<String>>> {
        self.ecosystems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn branches(&self, name: &str) -> Result<Vec<String>, ErrorData> {
        let branches = self.ecosystems().get(name).cloned();
        branches
            .ok_or_else(|| ErrorData::invalid_params("there is no such ecosystem", Some(Value::from(name))))
    }
}

/// Serves one client over stdio until it goes.
pub(crate) async fn serve(journal: Journal) -> anyhow::Result<()> {
    let ecosystems = [("shop", "checkout-2"), ("shop-old", "checkout-1")]
        .map(|(name, branch)| (name.to_owned(), vec!["main".to_owned(), branch.to_owned()]));
    let spin = Spin { ecosystems: Mutex::new(ecosystems.into()), journal };
    rmcp::serve_server(spin, rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
