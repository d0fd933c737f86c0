//! Tools that become tasks (SEP-2663), for a client that says it can have one.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::Value;
use tokio::time::sleep;

use super::model;
use super::plain::{argument, failure, text};
use super::rounds::{form, given_name, name_question};

/// Answers a call of one of these tools; `None` if the tool is none of them.
pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    tasks: &TaskManager,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let can_have_tasks = context.client_capabilities().is_some_and(|declared| declared.supports_tasks());
    if &*request.name == "slow_compute" && !can_have_tasks {
        sleep(seconds(request)).await;
        return Some(Ok(computed(argument(request, "label")).into()));
    }
    let job = Job::of(request)?;
    if !can_have_tasks {
        let required = ClientCapabilities::builder().enable_tasks().build();
        return Some(Err(ErrorData::missing_required_client_capability(required)));
    }
    let job = match job {
        Job::Named(None) => return Some(Ok(name_question())),
        Job::Slow { .. }
        | Job::Failing
        | Job::Broken
        | Job::Confirmed { .. }
        | Job::TwiceAsked
        | Job::Named(Some(_)) => job,
    };
    let options = TaskOptions::new().with_poll_interval_ms(100);
    let task = tasks.spawn(options, |context| Box::pin(job.run(context)));
    Some(Ok(CreateTaskResult::new(task).into()))
}

/// What a task does.
enum Job {
    Slow {
        time: Duration,
        label: String,
    },
    Failing,
    Broken,
    Confirmed {
        filename: String,
    },
    TwiceAsked,
    /// Runs once the user's name is known.
    Named(Option<String>),
}

impl Job {
    fn of(request: &CallToolRequestParams) -> Option<Self> {
        Some(match &*request.name {
            "slow_compute" => {
                Self::Slow { time: seconds(request), label: argument(request, "label").to_owned() }
            }
            "failing_job" => Self::Failing,
            "protocol_error_job" => Self::Broken,
            "confirm_delete" => Self::Confirmed { filename: argument(request, "filename").to_owned() },
            "multi_input" => Self::TwiceAsked,
            "test_tool_with_task" => Self::Named(given_name(request.input_responses.as_ref())),
            _ => return None,
        })
    }

    async fn run(self, context: TaskContext) -> Result<CallToolResult, TaskExit> {
        match self {
            Self::Slow { time, label } => tokio::select! {
                () = sleep(time) => Ok(computed(&label)),
                () = context.cancelled() => Err(TaskExit::Cancelled),
            },
            Self::Failing => {
                sleep(Duration::from_millis(500)).await;
                Ok(failure("This job intentionally fails"))
            }
            Self::Broken => {
                Err(ErrorData::internal_error("This job intentionally breaks the protocol", None).into())
            }
            Self::Confirmed { filename } => {
                let question = form(&format!("Delete {filename}?"), "confirm", "boolean");
                let answer = context.request_input("confirm", model(question)).await?;
                Ok(text(&format!("Asked about {filename}: {answer}")))
            }
            Self::TwiceAsked => {
                let first = form("What is the first name?", "name", "string");
                let second = form("What is the second name?", "name", "string");
                let (first, second) = tokio::try_join!(
                    context.request_input("first", model(first)),
                    context.request_input("second", model(second)),
                )?;
                Ok(text(&format!("Two answers: {first} {second}")))
            }
            Self::Named(name) => Ok(text(&format!("Hello, {}!", name.unwrap_or_default()))),
        }
    }
}

fn computed(label: &str) -> CallToolResult {
    text(&format!("Computed {label}"))
}

fn seconds(request: &CallToolRequestParams) -> Duration {
    let value = request.arguments.as_ref().and_then(|arguments| arguments.get("seconds"));
    let seconds = value.and_then(Value::as_f64).unwrap_or_default();
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
