//! Looking into answers. Each function fails the test, and shows the answer, where it is of another kind.

use serde_json::Value;

/// `result.structuredContent` of an answer.
///
/// # Panics
/// When there is none.
#[track_caller]
pub fn structured(answer: &Value) -> &Value {
    find(answer, "/result/structuredContent")
}

/// The first text of a tool's answer.
///
/// # Panics
/// When there is none.
#[track_caller]
pub fn text(answer: &Value) -> &str {
    as_text(find(answer, "/result/content/0/text"))
}

/// The token of a held answer.
///
/// # Panics
/// When the answer is not a held one, or is held without a token.
#[track_caller]
pub fn confirm_token(answer: &Value) -> String {
    as_text(find(answer, "/result/structuredContent/confirm_token")).to_owned()
}

/// The question that an answer, held or refused, belongs to.
///
/// # Panics
/// When it names none.
#[track_caller]
pub fn intent_id(answer: &Value) -> String {
    as_text(find(payload(answer), "/intent_id")).to_owned()
}

/// The code of a JSON-RPC error.
///
/// # Panics
/// When the answer is no error.
#[track_caller]
pub fn error_code(answer: &Value) -> i64 {
    find(answer, "/error/code").as_i64().unwrap_or_else(|| panic!("no number: {answer:#}"))
}

/// The code of a refusal, such as `consent_token_invalid`, whether it came as a JSON-RPC error or as a
/// tool's answer. A tool's answer must say `isError`.
///
/// # Panics
/// When the answer is no refusal.
#[track_caller]
pub fn refusal(answer: &Value) -> &str {
    let is_refusal =
        answer.get("error").is_some() || answer.pointer("/result/isError") == Some(&Value::Bool(true));
    assert!(is_refusal, "not refused: {answer:#}");
    as_text(find(payload(answer), "/error"))
}

/// What the gateway has to say: in `error.data` or in `result.structuredContent`.
#[track_caller]
fn payload(answer: &Value) -> &Value {
    answer.pointer("/error/data").unwrap_or_else(|| structured(answer))
}

#[track_caller]
fn find<'a>(answer: &'a Value, pointer: &str) -> &'a Value {
    answer.pointer(pointer).unwrap_or_else(|| panic!("no `{pointer}` in {answer:#}"))
}

#[track_caller]
fn as_text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:#}"))
}
