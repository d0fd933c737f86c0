//! Questions of a tool or a prompt in a session: the legacy era has no `input_required`, so what a round asks for goes
//! to the client as requests on the call's own stream, and the answers into the next round.

use rmcp::model::{InputRequest, InputRequests, InputResponses};
use rmcp::service::{RequestContext, RoleServer, ServiceError};
use serde_json::Value;

/// How many rounds there may be.
pub(super) const MOST_ROUNDS: usize = 10;

/// Whether the request is of the modern era, whose clients answer in rounds.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= "2026-07-28")
}

/// Asks the client for all of it, one after the other.
pub(super) async fn answers(
    context: &RequestContext<RoleServer>,
    requests: Option<InputRequests>,
) -> Result<InputResponses, ServiceError> {
    let mut answers = InputResponses::new();
    for (key, request) in requests.unwrap_or_default() {
        let answer = match request {
            InputRequest::CreateMessage(request) => {
                in_json(&context.peer.create_message(request.params).await?)
            }
            InputRequest::Elicitation(request) => {
                in_json(&context.peer.create_elicitation(request.params).await?)
            }
            InputRequest::ListRoots(_) => in_json(&context.peer.list_roots().await?),
            _ => Value::Null,
        };
        answers.insert(key, answer);
    }
    Ok(answers)
}

fn in_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).expect("what was read as JSON can be written as JSON")
}
