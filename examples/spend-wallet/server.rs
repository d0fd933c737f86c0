//! The wallet as an MCP server. It knows nothing of limits, budgets or the gate: whatever reaches it, is paid.

use std::sync::{Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{tool, tool_router};
use serde::Deserialize;
use serde_json::json;
use yesgate_examples::Journal;

#[derive(Debug)]
struct Wallet {
    /// In hundredths of a USDC.
    balance: Mutex<u64>,
    journal: Journal,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Payment {
    /// In USDC, such as `2.50`.
    amount: String,
    /// Who gets it.
    to: String,
}

#[tool_router(server_handler)]
impl Wallet {
    #[tool(description = "Says how much is left.", annotations(read_only_hint = true))]
    fn balance(&self) -> CallToolResult {
        let balance = self.balance.lock().unwrap_or_else(PoisonError::into_inner);
        CallToolResult::structured(json!({"balance": words(*balance), "currency": "USDC"}))
    }

    #[tool(description = "Pays from the wallet.")]
    fn pay(&self, Parameters(payment): Parameters<Payment>) -> Result<CallToolResult, ErrorData> {
        let Payment { amount, to } = payment;
        let Some(cents) = cents(&amount) else {
            return Err(ErrorData::invalid_params("the amount cannot be read", None));
        };
        let mut balance = self.balance.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(left) = balance.checked_sub(cents) else {
            return Ok(CallToolResult::structured_error(
                json!({"error": "there is not enough in the wallet"}),
            ));
        };
        *balance = left;
        self.journal.write(&format!("paid {} USDC to {to}", words(cents)));
        Ok(CallToolResult::structured(json!({"paid": words(cents), "to": to, "balance": words(left)})))
    }
}

/// Serves one client over stdio until it goes.
pub(crate) async fn serve(journal: Journal) -> anyhow::Result<()> {
    let wallet = Wallet { balance: Mutex::new(10_000), journal };
    rmcp::serve_server(wallet, rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

fn cents(amount: &str) -> Option<u64> {
    let (whole, rest) = amount.split_once('.').unwrap_or((amount, ""));
    let rest = match rest.len() {
        0 => 0,
        1 => rest.parse::<u64>().ok()?.checked_mul(10)?,
        2 => rest.parse::<u64>().ok()?,
        _ => return None,
    };
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(rest)
}

fn words(cents: u64) -> String {
    format!("{}.{:02}", cents / 100, cents % 100)
}
