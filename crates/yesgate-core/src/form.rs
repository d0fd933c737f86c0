//! The form in which a client asks its own human, and what counts as an answer to it.
//!
//! INVARIANT: an answer is a yes only if it says so in the one field that must be filled. There is no default,
//! and an empty answer is none: clients fill in defaults, and accept empty forms, with nobody there.

use serde_json::{Map, Value, json};

use crate::intent::Intent;
use crate::render::{Sanitized, TooLargeToReview, render_value};

/// What a human answered in a form.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FormAnswer {
    /// Yes, and what they typed where something had to be typed.
    Yes {
        /// What they typed.
        typed: Option<String>,
    },
    /// No.
    No,
    /// Nothing that a human who read the form would have sent.
    Nothing,
}

/// The parameters of `elicitation/create`.
///
/// # Errors
/// When it is too much for a human to read.
pub fn form(intent: &Intent) -> Result<Map<String, Value>, TooLargeToReview> {
    let mut properties = Map::new();
    let tool = Sanitized::line(intent.question().binding.tool.as_str());
    properties.insert(
        APPROVE.into(),
        json!({"type": "boolean", "title": format!("Run {tool} once"), "description": "Exactly as shown above."}),
    );
    let mut required = vec![APPROVE];
    if let Some(text) = intent.text_to_type() {
        let title = format!("Type {} to confirm", Sanitized::quoted(text));
        properties.insert(TYPED.into(), json!({"type": "string", "title": title}));
        required.push(TYPED);
    }
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let mut params = Map::new();
    params.insert("mode".into(), "form".into());
    params.insert("message".into(), message(intent)?.into());
    params.insert("requestedSchema".into(), schema);
    Ok(params)
}

/// Reads the result of an `elicitation/create` that was accepted.
pub fn read(content: Option<&Value>) -> FormAnswer {
    let field = |name| content.and_then(|content| content.get(name));
    match field(APPROVE).and_then(Value::as_bool) {
        Some(true) => FormAnswer::Yes { typed: field(TYPED).and_then(Value::as_str).map(str::to_owned) },
        Some(false) => FormAnswer::No,
        None => FormAnswer::Nothing,
    }
}

/// All that the human decides on, as text.
fn message(intent: &Intent) -> Result<String, TooLargeToReview> {
    let question = intent.question();
    let binding = &question.binding;
    let mut lines = vec![question.summary.to_string(), String::new()];
    let tool = Sanitized::line(binding.tool.as_str());
    lines.push(format!("{tool} on {} ({})", binding.server, question.classified.class));
    if let Some(reason) = &question.reason {
        lines.push(format!("Because: {reason}"));
    }
    if let Some(preview) = &question.preview {
        lines.push("Preview:".into());
        lines.extend(preview.iter().map(|line| format!("  {line}")));
    }
    lines.push("Arguments, exactly as they will run:".into());
    lines.extend(render_value(&binding.arguments.value())?.iter().map(|line| format!("  {line}")));
    lines.push(format!("Code: {}", intent.digest().match_code()));
    Ok(lines.join("\n"))
}

const APPROVE: &str = "approve";
const TYPED: &str = "typed";

#[cfg(test)]
mod tests;
