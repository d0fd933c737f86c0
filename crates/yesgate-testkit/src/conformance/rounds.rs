//! Tools and the prompt that need input first: the rounds of `input_required` of the modern era (SEP-2322).
//!
//! INVARIANT: nothing is remembered between two rounds; what a later round needs is in its `requestState`,
//! which counts only with our seal.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequests, InputRequiredResult, InputResponses,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

use super::plain::text;
use super::{model, seal};

/// Answers a call of one of these tools; `None` if the tool is none of them.
pub(super) fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let answers = request.input_responses.as_ref();
    Some(match &*request.name {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => Ok(name_round(answers)),
        "test_input_required_result_sampling" => {
            let key = "capital_question";
            Ok(match object(answers, key) {
                Some(answer) => {
                    done(&format!("The model says: {}", answer.get("content").unwrap_or(&Value::Null)))
                }
                None => ask([(key, sampling("What is the capital of France?", 100))], None),
            })
        }
        "test_input_required_result_list_roots" => {
            let key = "client_roots";
            Ok(match object(answers, key) {
                Some(answer) => {
                    done(&format!("The client's roots: {}", answer.get("roots").unwrap_or(&Value::Null)))
                }
                None => ask([(key, roots())], None),
            })
        }
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            confirm_round(request)
        }
        "test_input_required_result_multiple_inputs" => several_round(request),
        "test_input_required_result_multi_round" => step_round(request),
        "test_input_required_result_capabilities" => {
            let declared = context.client_capabilities().unwrap_or_default();
            Ok(capability_round(&declared, answers))
        }
        _ => return None,
    })
}

/// Answers `prompts/get` of the prompt that needs an answer first; `None` for any other.
pub(super) fn prompt(request: &GetPromptRequestParams) -> Option<GetPromptResponse> {
    if request.name != "test_input_required_result_prompt" {
        return None;
    }
    let key = "user_context";
    Some(match accepted(request.input_responses.as_ref(), key, "context") {
        Some(context) => {
            let text = format!("Use this context: {context}");
            let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
            GetPromptResult::new(model(messages)).into()
        }
        None => {
            let question = form("What context should the prompt use?", "context", "string");
            InputRequiredResult::from_input_requests(requests([(key, question)])).into()
        }
    })
}

/// Asks for the user's name; also the first round of a tool that then becomes a task.
pub(super) fn name_question() -> CallToolResponse {
    ask([("user_name", form("What is your name?", "name", "string"))], None)
}

/// Reads the answer to [`name_question`].
pub(super) fn given_name(answers: Option<&InputResponses>) -> Option<String> {
    accepted(answers, "user_name", "name")
}

fn name_round(answers: Option<&InputResponses>) -> CallToolResponse {
    match given_name(answers) {
        Some(name) => done(&format!("Hello, {name}!")),
        None => name_question(),
    }
}

fn confirm_round(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    let Some(state) = &request.request_state else {
        let question = form("Please confirm", "ok", "boolean");
        return Ok(ask([("confirm", question)], Some(seal::close(&request.name, "asked"))));
    };
    match seal::open(&request.name, state)? {
        "asked" if object(request.input_responses.as_ref(), "confirm").is_some() => {
            Ok(done("state-ok: confirmed"))
        }
        _ => Err(seal::refusal()),
    }
}

fn several_round(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    if let Some(state) = &request.request_state {
        let _asked = seal::open(&request.name, state)?;
        let answers = request.input_responses.as_ref();
        if ["user_name", "greeting", "client_roots"].iter().all(|key| object(answers, key).is_some()) {
            return Ok(done("All three answers are here"));
        }
    }
    let questions = [
        ("user_name", form("What is your name?", "name", "string")),
        ("greeting", sampling("Generate a greeting", 50)),
        ("client_roots", roots()),
    ];
    Ok(ask(questions, Some(seal::close(&request.name, "asked"))))
}

fn step_round(request: &CallToolRequestParams) -> Result<CallToolResponse, ErrorData> {
    let first = form("Step 1: What is your name?", "name", "string");
    let Some(state) = &request.request_state else {
        return Ok(ask([("step1", first)], Some(seal::close(&request.name, "step1"))));
    };
    let answers = request.input_responses.as_ref();
    match seal::open(&request.name, state)? {
        "step1" if object(answers, "step1").is_some() => {
            let second = form("Step 2: What is your favorite color?", "color", "string");
            Ok(ask([("step2", second)], Some(seal::close(&request.name, "step2"))))
        }
        "step1" => Ok(ask([("step1", first)], Some(state.clone()))),
        "step2" if object(answers, "step2").is_some() => Ok(done("Both steps are done")),
        _ => Err(seal::refusal()),
    }
}

fn capability_round(declared: &ClientCapabilities, answers: Option<&InputResponses>) -> CallToolResponse {
    let possible = [
        declared.sampling.is_some().then(|| ("greeting", sampling("Generate a greeting", 50))),
        declared.elicitation.is_some().then(|| ("user_name", form("What is your name?", "name", "string"))),
        declared.roots.is_some().then(|| ("client_roots", roots())),
    ];
    let open: Vec<_> =
        possible.into_iter().flatten().filter(|(key, _)| object(answers, key).is_none()).collect();
    if open.is_empty() { done("Nothing is left to ask") } else { ask(open, None) }
}

fn done(sentence: &str) -> CallToolResponse {
    text(sentence).into()
}

pub(super) fn ask(
    questions: impl IntoIterator<Item = (&'static str, Value)>,
    state: Option<String>,
) -> CallToolResponse {
    InputRequiredResult::new(Some(requests(questions)), state).into()
}

fn requests(questions: impl IntoIterator<Item = (&'static str, Value)>) -> InputRequests {
    questions.into_iter().map(|(key, question)| (key.to_owned(), model(question))).collect()
}

/// A question to the user with one field.
pub(super) fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({"method": "elicitation/create", "params": {
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": {field: {"type": kind}}, "required": [field]},
    }})
}

pub(super) fn sampling(prompt: &str, max_tokens: u32) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": prompt}}],
        "maxTokens": max_tokens,
    }})
}

fn roots() -> Value {
    json!({"method": "roots/list"})
}

/// Reads one answer; one that is no object is no answer.
pub(super) fn object<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Map<String, Value>> {
    answers?.get(key)?.as_object()
}

/// Reads a text out of a form that the user accepted.
fn accepted(answers: Option<&InputResponses>, key: &str, field: &str) -> Option<String> {
    let answer = object(answers, key).filter(|answer| answer.get("action") == Some(&json!("accept")))?;
    Some(answer.get("content")?.get(field)?.as_str()?.to_owned())
}
