//! The conformance fixture: a server that has everything the MCP conformance suite asks a server for.
//!
//! The suite tests servers; the gateway is none by itself. So it is put in front of this one, and what the
//! suite says about both together must equal what it says about this one alone. It speaks both protocol
//! eras, over HTTP (`conformance-server --http 127.0.0.1:0`) and over stdio (`conformance-server --stdio`).
//!
//! INVARIANT: what it offers and answers is the same on every connection and in every process, so that two
//! runs can be compared check by check. What the suite wants is in the descriptions of its scenarios.
#![expect(deprecated, reason = "the suite of 2025-11-25 asks for what 2026-07-28 deprecates")]

use std::collections::VecDeque;
use std::fmt;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CompletionInfo, GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::transport::stdio;
use serde_json::Value;
use tokio::sync::broadcast;

mod asking;
mod catalogue;
mod http;
mod jobs;
mod plain;
mod rounds;
mod seal;
mod sessions;

/// Runs the fixture as its command line says.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let served = match words.as_slice() {
        ["--stdio"] => runtime.block_on(serve_stdio()),
        ["--http", address] => runtime.block_on(http::serve(address, World::default())),
        _ => {
            eprintln!("Usage: conformance-server --stdio | --http <address>");
            return ExitCode::from(2);
        }
    };
    // A call that is still running, such as a slow job, does not keep the process alive.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Serves one client over stdin and stdout until stdin ends.
async fn serve_stdio() -> Result<(), Failure> {
    let running = Fixture::new(World::default()).serve(stdio()).await?;
    running.waiting().await?;
    Ok(())
}

/// What ends the fixture early.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What all sessions and all stateless requests of one process share.
#[derive(Clone)]
struct World {
    tasks: TaskManager,
    changes: broadcast::Sender<Change>,
}

impl Default for World {
    fn default() -> Self {
        Self { tasks: TaskManager::new(), changes: broadcast::channel(64).0 }
    }
}

/// A list that is said to have changed.
#[derive(Clone, Copy, Debug)]
enum Change {
    Tools,
    Prompts,
}

/// One session of the legacy era, one request of the modern era, or one stdio connection.
struct Fixture {
    world: World,
    /// Streams of changes that were opened before their subscription was acknowledged.
    opened: Mutex<VecDeque<broadcast::Receiver<Change>>>,
    logging: Arc<plain::Logging>,
}

impl Fixture {
    fn new(world: World) -> Self {
        Self { world, opened: Mutex::default(), logging: Arc::default() }
    }

    /// One round of a tool.
    async fn run_tool(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(answer) = plain::call(request, context, &self.world, &self.logging).await {
            return answer.map(CallToolResponse::from);
        }
        if let Some(answer) = asking::call(request) {
            return Ok(answer);
        }
        if let Some(answer) = rounds::call(request, context) {
            return answer;
        }
        if let Some(answer) = jobs::call(request, context, &self.world.tasks).await {
            return answer;
        }
        Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None))
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").finish_non_exhaustive()
    }
}

/// Reads a value of the protocol that is written down as JSON here.
fn model<T: serde::de::DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).expect("what the fixture says fits the protocol's model")
}

impl rmcp::ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .enable_tasks()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("conformance-fixture", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(catalogue::tools()))
    }

    /// The transport asks for it to compare `Mcp-Param-*` headers with the arguments.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        catalogue::tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        for _ in 0..sessions::MOST_ROUNDS {
            let answer = self.run_tool(&request, &context).await?;
            let CallToolResponse::InputRequired(asked) = answer else { return Ok(answer) };
            if sessions::is_modern(&context) {
                return Ok(asked.into());
            }
            match sessions::answers(&context, asked.input_requests).await {
                Ok(answers) => request.input_responses = Some(answers),
                Err(error) => {
                    return Ok(plain::failure(&format!("the client did not answer: {error}")).into());
                }
            }
            request.request_state = asked.request_state;
        }
        Err(ErrorData::internal_error("there is no end to the questions", None))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(catalogue::prompts()))
    }

    async fn get_prompt(
        &self,
        mut request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        for _ in 0..sessions::MOST_ROUNDS {
            let Some(answer) = rounds::prompt(&request) else {
                return catalogue::prompt(&request).map(GetPromptResponse::from);
            };
            let GetPromptResponse::InputRequired(asked) = answer else { return Ok(answer) };
            if sessions::is_modern(&context) {
                return Ok(asked.into());
            }
            let answers = sessions::answers(&context, asked.input_requests).await;
            let answers = answers.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            request.input_responses = Some(answers);
        }
        Err(ErrorData::internal_error("there is no end to the questions", None))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let begun = request.argument.value;
        let values = ["paris", "park", "party", "test", "testing"];
        let fitting = values.iter().filter(|value| value.starts_with(&begun)).map(ToString::to_string);
        let completion =
            CompletionInfo::with_all_values(fitting.collect()).expect("five values are not too many");
        Ok(CompleteResult::new(completion))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(catalogue::resources()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(catalogue::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        catalogue::read(&request.uri).map(ReadResourceResponse::from)
    }

    /// Accepts; no resource of the fixture ever changes, so there is nothing to remember.
    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.logging.set(request.level);
        Ok(())
    }

    /// Accepts all of it; the library drops what `get_info` does not announce.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // The acknowledgement is sent before `listen` runs; a change in between must not be lost.
        let stream = self.world.changes.subscribe();
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).push_back(stream);
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let mut changes = opened.unwrap_or_else(|| self.world.changes.subscribe());
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let sink = context.sink();
            // A refusal of the sink means that this client did not ask for this kind of change.
            match change {
                Ok(Change::Tools) => drop(sink.notify_tool_list_changed().await),
                Ok(Change::Prompts) => drop(sink.notify_prompt_list_changed().await),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.world.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.world.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.world.tasks.cancel_task(&request.task_id)
    }
}
