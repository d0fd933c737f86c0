//! The scripted agent: an MCP client that calls tools, shows what it sent and what came back, and relays what its user
//! says. It is an ordinary client of the Rust SDK, and knows nothing of the gate that other clients could not know.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation,
};
use rmcp::service::{RequestContext, RoleClient, RunningService, ServiceError};
use rmcp::{ErrorData, ServiceExt as _};
use serde_json::{Map, Value, json};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::screen::{Screen, Who, call_in_words, members_in_words};
use crate::stage::{Gate, Stage};

/// What the agent's host program can do.
#[derive(Clone, Copy, Debug)]
pub enum Host {
    /// It shows what the agent writes, and nothing else.
    Plain,
    /// It can show its user a form, and this user ticks the box.
    WithDialog,
}

/// An agent with an open session.
#[derive(Debug)]
pub struct Agent<'a> {
    stage: &'a Stage,
    session: RunningService<RoleClient, Host>,
    process: Child,
}

/// A call that has no answer yet.
#[derive(Debug)]
pub struct Waiting(JoinHandle<Result<CallToolResult, ServiceError>>);

/// What came back for a call.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The server's answer.
    Ran(Map<String, Value>),
    /// A human is asked first; nothing ran.
    Held(Map<String, Value>),
    /// The gate itself has the answer; nothing ran.
    Told(Map<String, Value>),
    /// It is refused; nothing ran.
    Refused(Map<String, Value>),
}

impl<'a> Agent<'a> {
    /// Starts the server behind its gate, as a host does, and opens a session.
    ///
    /// # Errors
    /// When that fails.
    pub async fn start(stage: &'a Stage, gate: Gate<'_>, host: Host) -> anyhow::Result<Self> {
        let mut command = stage.server(gate)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().context("the server cannot be started")?;
        let pipes = process.stdout.take().zip(process.stdin.take()).context("the server has no pipes")?;
        let session = timeout(PATIENCE, host.serve(pipes)).await;
        let session = session.context("no session is opened")?.context("no session can be opened")?;
        Ok(Self { stage, session, process })
    }

    /// The tools that the agent is offered.
    ///
    /// # Errors
    /// When there is no list.
    pub async fn tools(&self) -> anyhow::Result<Vec<String>> {
        let tools = timeout(PATIENCE, self.session.list_all_tools()).await.context("there is no list")??;
        Ok(tools.into_iter().map(|tool| tool.name.into_owned()).collect())
    }

    /// Calls a tool, and shows the call and what comes back, with some fields of it.
    ///
    /// # Errors
    /// When there is no answer, or one that is no answer to a call.
    pub async fn call(&self, tool: &str, arguments: Value, shown: &[&str]) -> anyhow::Result<Answer> {
        self.begin(tool, arguments)?.answer(self, shown).await
    }

    /// Calls a tool, and does not wait for the answer.
    ///
    /// # Errors
    /// When nothing can be printed, or the arguments are no object.
    pub fn begin(&self, tool: &str, arguments: Value) -> anyhow::Result<Waiting> {
        self.stage.screen.says(Who::Agent, call_in_words(tool, &arguments))?;
        let Value::Object(arguments) = arguments else {
            anyhow::bail!("the arguments of a call are an object")
        };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let peer = self.session.peer().clone();
        Ok(Waiting(tokio::spawn(async move { peer.call_tool(params).await })))
    }

    /// Ends the session, and with it the gate and the server.
    ///
    /// # Errors
    /// When they do not end well.
    pub async fn leave(mut self) -> anyhow::Result<()> {
        self.session.cancel().await.context("the session does not end")?;
        let status = timeout(PATIENCE, self.process.wait()).await.context("the gate does not end")??;
        anyhow::ensure!(status.success(), "the gate did not end well: {status}");
        Ok(())
    }
}

impl Waiting {
    /// Waits for the answer, and shows it with some of its fields.
    ///
    /// # Errors
    /// When there is none, or one that is no answer to a call.
    pub async fn answer(self, agent: &Agent<'_>, shown: &[&str]) -> anyhow::Result<Answer> {
        let answer = timeout(PATIENCE, self.0).await.context("there is no answer")??;
        let answer = Answer::read(answer)?;
        answer.show(agent.stage, shown)?;
        Ok(answer)
    }
}

impl Answer {
    fn read(answer: Result<CallToolResult, ServiceError>) -> anyhow::Result<Self> {
        let result = match answer {
            Ok(result) => result,
            Err(ServiceError::McpError(ErrorData { data: Some(Value::Object(payload)), .. })) => {
                return Ok(Self::Refused(payload));
            }
            Err(error) => return Err(error).context("the call failed"),
        };
        let Some(Value::Object(payload)) = result.structured_content else {
            anyhow::bail!("an answer without structure: {:?}", result.content);
        };
        Ok(if result.is_error == Some(true) {
            Self::Refused(payload)
        } else if payload.get("confirm_required") == Some(&json!(true)) {
            Self::Held(payload)
        } else if payload.contains_key("status") {
            Self::Told(payload)
        } else {
            Self::Ran(payload)
        })
    }

    /// A text that the answer must have for the story to go on.
    ///
    /// # Errors
    /// When it has no such text: then the policy has been changed.
    pub fn text(&self, key: &str) -> anyhow::Result<String> {
        let found = self.payload().get(key).and_then(Value::as_str);
        let text = found.with_context(|| {
            format!(
                "the story goes no further: this answer has no `{key}`. Does yesgate.toml still ask here?"
            )
        })?;
        Ok(text.to_owned())
    }

    const fn payload(&self) -> &Map<String, Value> {
        match self {
            Self::Ran(payload) | Self::Held(payload) | Self::Told(payload) | Self::Refused(payload) => {
                payload
            }
        }
    }

    fn show(&self, stage: &Stage, shown: &[&str]) -> anyhow::Result<()> {
        let screen = &stage.screen;
        let text = |key: &str| self.payload().get(key).and_then(Value::as_str);
        match self {
            Self::Ran(payload) => return screen.says(Who::Server, members_in_words(payload)),
            Self::Held(_) => screen.says(Who::Gate, "holds it back: nothing ran")?,
            Self::Told(_) => screen.says(Who::Gate, "answers by itself")?,
            Self::Refused(_) => {
                let code = text("error").or_else(|| text("code")).unwrap_or("no code");
                let message = first_words(text("message").unwrap_or_default());
                screen.says(Who::Gate, format_args!("refuses: {code}. {message}").to_string().trim_end())?;
            }
        }
        screen.fields(self.payload(), shown)
    }
}

/// The words that say what happened; what follows tells the agent what to do next.
fn first_words(message: &str) -> String {
    match message.split_once(NOTHING_RAN) {
        Some((what, _)) => format!("{what}{NOTHING_RAN}"),
        None => message.to_owned(),
    }
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        match self {
            Self::Plain => {}
            Self::WithDialog => {
                let form = FormElicitationCapability::default();
                capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
            }
        }
        ClientConfig::new(capabilities, Implementation::new("story-agent", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match (self, request) {
            (Self::WithDialog, ElicitRequestParams::FormElicitationParams { message, .. }) => {
                let (screen, question) = (Screen::new(), message.lines().next().unwrap_or_default());
                let shown = screen
                    .says(Who::Gate, format_args!("asks in the host's dialog: {question}"))
                    .and_then(|()| screen.says(Who::Human, "ticks the box"));
                // Who was not shown a question has not answered it.
                shown.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"approve": true})))
            }
            (Self::Plain | Self::WithDialog, _) => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }
}

const NOTHING_RAN: &str = "Nothing ran.";

/// How long an answer may take: longer than the gate holds a call open, which is at most 45 seconds.
const PATIENCE: Duration = Duration::from_secs(60);
