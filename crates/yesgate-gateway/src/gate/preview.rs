//! Making the preview that a rule declares: to show it before a question, and in place of a call in plan mode.

use serde_json::{Map, Value, json};
use yesgate_core::digest::Binding;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::render::{Sanitized, render_value, reviewable};
use yesgate_core::verdict::{Plan, PreviewSource, Verdict};

use super::Gate;
use crate::cancel::Cancel;
use crate::errand::own_meta;
use crate::hearing::Hearing;
use crate::look_up;
use crate::reply::{Own, Reply};
use crate::upstream::{Execution, Form, Upstream};

impl Gate {
    /// Makes the preview where a question needs one. M6: a preview that fails blocks.
    pub(super) async fn previewed(&self, way: &Upstream, verdict: Verdict) -> Result<Verdict, Refusal> {
        match verdict {
            Verdict::AskWithPreview(question, source) => {
                let shown = Box::pin(self.preview(way, &question.binding, source)).await;
                let lines = shown.and_then(|shown| lines(&shown));
                let lines = lines.map_err(|refusal| refusal.with_next(&question.next))?;
                Ok(Verdict::Ask(Box::new(question.previewed(lines))))
            }
            verdict @ (Verdict::Forward(_)
            | Verdict::Explain(_)
            | Verdict::Preview(_)
            | Verdict::Unneeded(_)
            | Verdict::Ask(_)
            | Verdict::Refuse(_)) => Ok(verdict),
        }
    }

    /// What plan mode answers: what the call would do, and how to have it done.
    pub(super) async fn plan(&self, way: &Upstream, plan: Plan) -> Result<Reply, Refusal> {
        let Plan { explanation, source } = plan;
        let preview = self.preview(way, &explanation.call.binding, source).await;
        let preview = preview.map_err(|refusal| refusal.with_next(&explanation.next))?;
        let summary = explanation.summary.as_str();
        let mode = explanation.mode;
        let call = &explanation.call.binding;
        let (next, hint) = match self.names_in(mode, &call.caller).set_mode {
            Some(set_mode) => (
                format!(
                    "switch with `{set_mode}` to `execute` (a human is asked), and make the same call again"
                ),
                json!({"tool": set_mode, "arguments": {"mode": "execute"}}),
            ),
            None => (
                "make the same call without `__mode`".to_owned(),
                json!({"tool": call.tool.as_str(), "arguments": call.arguments.to_value()}),
            ),
        };
        let message =
            format!("In {mode} mode this is a preview of: {summary}. Nothing ran. To run it, {next}.");
        let mut payload = object(json!({
            "ok": false,
            "status": "preview",
            "mode": mode.as_str(),
            "tool": call.tool.as_str(),
            "summary": summary,
            "preview": preview,
            "execute_hint": hint,
            "message": message,
        }));
        if let Some(reason) = &explanation.reason {
            payload.insert("reason".into(), reason.as_str().into());
        }
        if !explanation.next.is_empty() {
            payload.insert("details".into(), explanation.next.into());
        }
        Ok(Own::Told(payload).into())
    }

    async fn preview(&self, way: &Upstream, call: &Binding, source: PreviewSource) -> Result<Value, Refusal> {
        let made = match source {
            PreviewSource::Text(text) => Some(Value::from(text.as_str())),
            PreviewSource::Tool(lookup) => self.look_up(way, call, &lookup).await.ok(),
            PreviewSource::Call(permitted) => {
                let mirrored = way.mirrored(&permitted.call().binding);
                let form = Form::Canonical { meta: own_meta(way), mirrored };
                match way.execute(permitted, form, &Hearing::deaf(), &Cancel::new()).await {
                    Execution::Answered(answer) => look_up::read(&answer.to_stored()),
                    Execution::Relayed
                    | Execution::NotSent(_)
                    | Execution::TurnedAway(_)
                    | Execution::TooLong
                    | Execution::Lost(_) => None,
                }
            }
        };
        made.ok_or_else(|| {
            let reason = "the preview, which the rule wants to show, could not be made";
            Why::ConsentUnavailable { reason }.into()
        })
    }
}

/// A preview as a human reads it, all of it.
fn lines(preview: &Value) -> Result<Vec<Sanitized>, Refusal> {
    // A tool that answers in words is shown in its words, line by line.
    let words = match preview {
        Value::String(words) => Some(words.as_str()),
        Value::Object(fields) if fields.len() == 1 => fields.get("text").and_then(Value::as_str),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let lines = match words {
        Some(words) => reviewable(words.lines().map(Sanitized::line).collect()),
        None => render_value(preview),
    };
    lines.map_err(|too_large| Why::TooLargeToReview { bytes: too_large.bytes }.into())
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
