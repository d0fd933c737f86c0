//! A newsletter as an MCP server on rmcp, which asks before it does what cannot be taken back.
//!
//! - `send_newsletter` is a handshake in the chat: `mint` a question, `consume` the yes that the token stands for.
//! - `delete_list` asks away from the agent: `ask_with` waits until somebody runs `yesgate approve`.
//!
//! INVARIANT: neither does anything but by a `Permit`, and with the parameters that are in it.

use std::path::PathBuf;

use anyhow::Context as _;
use rmcp::ErrorData;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{tool, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};
use yesgate::{Assurance, Consent, ConsentError, Operation, Permit};
use yesgate_examples::Journal;

#[derive(Debug)]
struct Newsletter {
    consent: Consent,
    journal: Journal,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Letter {
    /// What stands above it.
    subject: String,
    /// What came with the question, once the user has agreed.
    confirm_token: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// The list of subscribers.
    name: String,
}

#[tool_router(server_handler)]
impl Newsletter {
    #[tool(description = "Says how many subscribers there are.", annotations(read_only_hint = true))]
    fn count_subscribers(&self) -> CallToolResult {
        CallToolResult::structured(json!({"list": "readers", "subscribers": SUBSCRIBERS}))
    }

    #[tool(description = "Sends the newsletter. Call it again with the token once the user has agreed.")]
    async fn send_newsletter(
        &self,
        Parameters(Letter { subject, confirm_token }): Parameters<Letter>,
    ) -> Result<CallToolResult, ErrorData> {
        self.handshake(&subject, confirm_token.as_deref()).await.or_else(refused)
    }

    #[tool(
        description = "Deletes a list of subscribers for good. Waits until the owner of the list has agreed."
    )]
    async fn delete_list(
        &self,
        Parameters(List { name }): Parameters<List>,
    ) -> Result<CallToolResult, ErrorData> {
        self.away_from_the_agent(&name).await.or_else(refused)
    }
}

impl Newsletter {
    /// The first call puts the question; the second, with its token, spends the yes and sends.
    async fn handshake(&self, subject: &str, token: Option<&str>) -> Result<CallToolResult, ConsentError> {
        let send = operation("send_newsletter").params(&json!({ "subject": subject }))?.summary(&format!(
            "Send {subject:?} to {SUBSCRIBERS} subscribers; a sent mail cannot be called back"
        ));
        let Some(token) = token else {
            let minted = self.consent.mint(send).await?;
            return Ok(CallToolResult::structured(Value::Object(minted.payload().clone())));
        };
        let permit = self.consent.consume(token, &send).await?;
        let subject = permit.params().get("subject").cloned().unwrap_or_default();
        self.journal.write(&format!("sent {subject} to {SUBSCRIBERS} subscribers"));
        done(permit, json!({"sent": SUBSCRIBERS, "subject": subject})).await
    }

    /// The call stays open until a human has answered at the command line, or the time is over.
    async fn away_from_the_agent(&self, name: &str) -> Result<CallToolResult, ConsentError> {
        let delete = operation("delete_list")
            .params(&json!({ "name": name }))?
            .summary(&format!("Delete the list {name:?} and its {SUBSCRIBERS} subscribers for good"))
            .assurance(Assurance::Local);
        // Nobody is asked here: standard input and output belong to the agent.
        let permit = self.consent.ask_with(&delete, async |_| std::future::pending().await).await?;
        let name = permit.params().get("name").cloned().unwrap_or_default();
        self.journal.write(&format!("deleted the list {name}"));
        done(permit, json!({"deleted": name})).await
    }
}

/// One of our operations. Over stdio the caller is whoever started us; over HTTP put here what you verified.
fn operation(name: &str) -> Operation {
    Operation::new("local", "owner", "stdio", name)
}

/// Keeps the result with the consent, and gives it to the agent.
async fn done(permit: Permit, result: Value) -> Result<CallToolResult, ConsentError> {
    permit.done(&result).await?;
    Ok(CallToolResult::structured(result))
}

/// A refusal is for the agent, with its code and what to do next; any other failure is ours, and nothing ran.
fn refused(error: ConsentError) -> Result<CallToolResult, ErrorData> {
    match error {
        ConsentError::Refused(refusal) => {
            Ok(CallToolResult::structured_error(Value::Object(refusal.payload())))
        }
        ConsentError::Name(_) | ConsentError::Params(_) => {
            Err(ErrorData::invalid_params("this cannot be asked about", None))
        }
        ConsentError::Ledger(_) | ConsentError::Key(_) | ConsentError::Entropy(_) => {
            Err(ErrorData::internal_error("nobody can be asked now", None))
        }
    }
}

/// Serves one client over stdio until it goes.
pub(crate) async fn serve(journal: Journal) -> anyhow::Result<()> {
    let home = std::env::var_os("YESGATE_HOME").context("YESGATE_HOME does not say where the ledger is")?;
    let ledger = PathBuf::from(home).join("ledger.db");
    let consent = Consent::open("newsletter", &ledger).await?;
    let newsletter = Newsletter { consent, journal };
    rmcp::serve_server(newsletter, rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}

const SUBSCRIBERS: u64 = 1240;
