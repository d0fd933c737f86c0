//! Setting one's own mode (M2): lowering it is free, raising it is asked about like a dangerous call (M6).

use std::sync::Arc;

use serde_json::{Value, json};
use yesgate_core::call::{CallRequest, ToolCall};
use yesgate_core::caller::Caller;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::Binding;
use yesgate_core::intent::ResultKind;
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::permit::PermittedCall;
use yesgate_core::verdict::Verdict;

use super::Gate;
use super::asking::Held;
use super::edited::Changed;
use super::judging::unreadable_list;
use crate::cancel::Cancel;
use crate::errand::Errand;
use crate::hearing::Hearing;
use crate::look_up::Circumstances;
use crate::own_tools::OwnTool;
use crate::reply::Reply;
use crate::run::own_words;
use crate::upstream::{Answer, Execution, Form, NotSent, Upstream};

/// The method of a question about a mode: no server ever hears of it.
pub(crate) const SET_MODE: &str = "yesgate/set_mode";

impl Gate {
    /// Answers the tool with which a caller sets its own mode.
    pub(crate) async fn ask_to_set_mode(self: &Arc<Self>, errand: &Errand, request: &CallRequest) -> Reply {
        let arguments = request.arguments.value();
        let mode = arguments.get("mode").and_then(Value::as_str).and_then(|mode| mode.parse().ok());
        self.put_mode(errand, request, mode).await
    }

    /// M6: a call that raises its own mode without running is answered with the question about the mode: the one that
    /// `yesgate_set_mode` puts. A yes to it sets the mode and does nothing else; the call is then made again.
    pub(super) async fn ask_to_raise(
        self: &Arc<Self>,
        errand: &Errand,
        request: &CallRequest,
        wished: Mode,
    ) -> Reply {
        self.put_mode(errand, request, Some(wished)).await
    }

    async fn put_mode(self: &Arc<Self>, errand: &Errand, request: &CallRequest, mode: Option<Mode>) -> Reply {
        let caller = &errand.caller;
        let definition = ToolDefinition::parse(&json!({"name": OwnTool::SetMode.name()})).ok();
        let call = match (mode, &definition) {
            (Some(mode), Some(definition)) => self.call_to_set(caller, definition, mode),
            (Some(_) | None, _) => None,
        };
        let (Some(call), Some(definition)) = (call, definition) else {
            return self.unreadable(caller, -32602, "`mode` must be `ask`, `plan` or `execute`").await;
        };
        let verdict = match self.decide_mode(errand, call, &request.presented, &definition).await {
            Ok(verdict) => verdict,
            Err(error) => return self.unavailable(caller, &definition.name, &error).await,
        };
        match verdict {
            Verdict::Forward(permitted) => {
                let execution = self.set_mode(&permitted, "the caller itself").await;
                own_words(self.outcome(execution, None, &errand.cancel), &definition.name)
            }
            Verdict::Ask(question) => {
                let definition = Arc::new(definition);
                self.held(
                    Held {
                        question: *question,
                        request: request.clone(),
                        definition,
                        known: Circumstances::default(),
                    },
                    errand,
                )
                .await
            }
            Verdict::Refuse(refusal) => self.refused(caller, Some(&definition.name), &refusal).await,
            Verdict::Explain(_)
            | Verdict::Preview(_)
            | Verdict::Unneeded(_)
            | Verdict::AskWithPreview(..) => {
                self.refused(caller, Some(&definition.name), &unreadable_list()).await
            }
        }
    }

    /// The call that sets a caller's mode, to be judged. `None`: it cannot be put together.
    fn call_to_set(&self, caller: &Caller, definition: &ToolDefinition, mode: Mode) -> Option<ToolCall> {
        Some(ToolCall {
            binding: Binding {
                caller: caller.clone(),
                server: self.server.name.clone(),
                identity: self.server.identity,
                method: SET_MODE.into(),
                tool: definition.name.clone(),
                definition: definition.digest,
                arguments: CanonicalJson::of(&json!({"mode": mode.as_str()})).ok()?,
                meta: CanonicalJson::empty_object(),
                mode,
                preview: None,
            },
        })
    }

    /// Runs what is permitted: at the server, or here where it is about a mode.
    pub(crate) async fn execute(
        &self,
        permitted: PermittedCall,
        form: Form<'_>,
        way: &Upstream,
        hearing: &Hearing,
        cancel: &Cancel,
    ) -> Execution {
        if permitted.call().binding.method == SET_MODE {
            return self.set_mode(&permitted, "a human's yes").await;
        }
        let changed = Changed::of(&permitted);
        let execution = way.execute(permitted, form, hearing, cancel).await;
        match changed {
            Some(changed) => changed.tell(execution),
            None => execution,
        }
    }

    /// Sets a mode that was permitted.
    pub(crate) async fn set_mode(&self, permitted: &PermittedCall, by: &str) -> Execution {
        let Binding { caller, mode, .. } = &permitted.call().binding;
        match self.ledger.set_mode(caller, *mode, by).await {
            Ok(()) => {
                // What is set holds for the next call.
                if let Err(error) = self.review_again().await {
                    tracing::error!(%error, "a mode that was set cannot be read again: {error}");
                }
                let json = json!({"content": [], "structuredContent": told(*mode)});
                Execution::Answered(Answer { kind: ResultKind::Result, json: json.to_string().into() })
            }
            Err(error) => {
                tracing::error!(%error, "a mode could not be set: {error}");
                Execution::NotSent(NotSent::Down)
            }
        }
    }
}

/// What the caller is told about its new mode.
fn told(mode: Mode) -> Value {
    let message = match mode {
        Mode::Ask => "From now on reads run; writes are explained and do not run.",
        Mode::Plan => "From now on reads run; writes are previewed where a preview exists, and do not run.",
        Mode::Execute => "From now on reads and writes run, dangerous ones after a human's yes.",
    };
    json!({"ok": true, "status": "mode_set", "mode": mode.as_str(), "message": message})
}
