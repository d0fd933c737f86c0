//! Tools that answer by themselves, some after log messages or progress.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::catalogue::{PNG, WAV};
use super::{Change, World, model};

/// Answers a call of one of these tools; `None` if the tool is none of them.
pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    world: &World,
    logging: &Logging,
) -> Option<Result<CallToolResult, ErrorData>> {
    let answer = match &*request.name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => contents(json!([{"type": "image", "data": PNG, "mimeType": "image/png"}])),
        "test_audio_content" => contents(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}])),
        "test_embedded_resource" => contents(json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource",
            "mimeType": "text/plain",
            "text": "This is an embedded resource content.",
        }}])),
        "test_multiple_content_types" => contents(json!([
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": r#"{"test":"data","value":123}"#,
            }},
        ])),
        "test_error_handling" => failure("This tool intentionally returns an error for testing"),
        "test_tool_with_logging" => {
            for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                logging.say(context, step).await;
                sleep(STEP).await;
            }
            text("Tool with logging executed successfully")
        }
        "test_logging_tool" => {
            logging.say(context, "Logging tool executed").await;
            text("Logging tool executed successfully")
        }
        "test_tool_with_progress" => {
            for progress in [0.0, 50.0, 100.0] {
                report(context, progress).await;
                sleep(STEP).await;
            }
            text("Tool with progress executed successfully")
        }
        "test_reconnection" => {
            sleep(STEP).await;
            text("Reconnection tool executed successfully")
        }
        "test_missing_capability" => {
            if context.client_capabilities().is_none_or(|declared| declared.sampling.is_none()) {
                let required = ClientCapabilities::builder().enable_sampling().build();
                return Some(Err(ErrorData::missing_required_client_capability(required)));
            }
            text("The client declares sampling")
        }
        "test_trigger_tool_change" => {
            announce(context, world, Change::Tools).await;
            text("Tool change triggered")
        }
        "test_trigger_prompt_change" => {
            announce(context, world, Change::Prompts).await;
            text("Prompt change triggered")
        }
        "greet" => text(&format!("Hello, {}!", argument(request, "name"))),
        "test_header_parameter" => text(&format!("Region: {}", argument(request, "region"))),
        "json_schema_2020_12_tool" => text("The schema is what matters here"),
        _ => return None,
    };
    Some(Ok(answer))
}

/// The pause between two messages of one call, long enough to be two writes.
const STEP: Duration = Duration::from_millis(50);

/// Makes an answer of one text.
pub(super) fn text(text: &str) -> CallToolResult {
    contents(json!([{"type": "text", "text": text}]))
}

/// Makes an answer that says in band that the tool failed.
pub(super) fn failure(text: &str) -> CallToolResult {
    CallToolResult::error(model(json!([{"type": "text", "text": text}])))
}

fn contents(contents: Value) -> CallToolResult {
    CallToolResult::success(model(contents))
}

/// Reads an argument that is a text; an absent one is empty.
pub(super) fn argument<'a>(request: &'a CallToolRequestParams, name: &str) -> &'a str {
    let value = request.arguments.as_ref().and_then(|arguments| arguments.get(name));
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Tells whether the request speaks the modern era.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Reports progress, if the caller gave a token for it.
async fn report(context: &RequestContext<RoleServer>, progress: f64) {
    if let Some(token) = context.meta.get_progress_token() {
        let report = ProgressNotificationParam::new(token, progress).with_total(100.0);
        // A caller that is gone does not hear it.
        drop(context.peer.notify_progress(report).await);
    }
}

/// Tells the subscribers of the modern era and, in the legacy era, the caller.
async fn announce(context: &RequestContext<RoleServer>, world: &World, change: Change) {
    // Without any subscriber there is nobody to tell.
    drop(world.changes.send(change));
    if !is_modern(context) {
        drop(match change {
            Change::Tools => context.peer.notify_tool_list_changed().await,
            Change::Prompts => context.peer.notify_prompt_list_changed().await,
        });
    }
}

/// Which log messages a session of the legacy era wants.
#[derive(Debug)]
pub(super) struct Logging {
    least: Mutex<LoggingLevel>,
}

impl Default for Logging {
    fn default() -> Self {
        Self { least: Mutex::new(LoggingLevel::Info) }
    }
}

impl Logging {
    /// Keeps what `logging/setLevel` asked for.
    pub(super) fn set(&self, least: LoggingLevel) {
        *self.least.lock().unwrap_or_else(PoisonError::into_inner) = least;
    }

    /// Sends a log message; a request of the modern era gets one only if it asks for it itself.
    async fn say(&self, context: &RequestContext<RoleServer>, message: &str) {
        let wanted = if is_modern(context) {
            context.meta.log_level()
        } else {
            Some(*self.least.lock().unwrap_or_else(PoisonError::into_inner))
        };
        if wanted.is_some_and(|least| least as u8 <= LoggingLevel::Info as u8) {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
            // A caller that is gone does not hear it.
            drop(context.peer.notify_logging_message(message).await);
        }
    }
}
