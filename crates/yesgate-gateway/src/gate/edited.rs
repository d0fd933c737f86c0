//! Telling the agent that a human changed its call before saying yes (X6): what came back is the answer to other
//! arguments than it sent.

use serde_json::{Value, json};
use yesgate_core::id::IntentId;
use yesgate_core::intent::ResultKind;
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::permit::{Permit, PermittedCall};

use super::Gate;
use crate::errand::Errand;
use crate::reply::Reply;
use crate::upstream::{Answer, Execution};

/// The arguments that a human put in place of the agent's.
#[derive(Debug)]
pub(super) struct Changed {
    intent: IntentId,
    arguments: Value,
}

impl Changed {
    /// What was changed, where anything was.
    pub(super) fn of(permitted: &PermittedCall) -> Option<Self> {
        match permitted.permit() {
            Permit::Edited(intent) => {
                let arguments = permitted.call().binding.arguments.to_value();
                Some(Self { intent: intent.clone(), arguments })
            }
            Permit::Class(_) | Permit::Rule(_) | Permit::Preview(_) | Permit::Intent(_) => None,
        }
    }

    /// Says so in the result: for programs in `_meta`, for the model in words.
    pub(super) fn tell(&self, execution: Execution) -> Execution {
        match execution {
            Execution::Answered(Answer { kind: ResultKind::Result, json }) => {
                let json = self.told(&json).map_or(json, Into::into);
                Execution::Answered(Answer { kind: ResultKind::Result, json })
            }
            execution @ (Execution::Answered(_)
            | Execution::NotSent(_)
            | Execution::TurnedAway(_)
            | Execution::TooLong
            | Execution::Lost(_)
            | Execution::Relayed) => execution,
        }
    }

    fn told(&self, json: &[u8]) -> Option<String> {
        let mut result = parse_lenient(json, Limits::SERVER).ok()?;
        let members = result.as_object_mut()?;
        let words = format!(
            "A human changed the arguments before saying yes. What ran, and what this is the result of: {}",
            self.arguments
        );
        if let Some(content) = members.entry("content").or_insert_with(|| json!([])).as_array_mut() {
            content.push(json!({"type": "text", "text": words}));
        }
        if let Some(meta) = members.entry("_meta").or_insert_with(|| json!({})).as_object_mut() {
            let told = json!({"edited": true, "arguments": self.arguments, "intent_id": self.intent});
            meta.insert(KEY.into(), told);
        }
        Some(result.to_string())
    }
}

impl Gate {
    /// Goes on with what a human made of a question. `None`: nobody made anything of it.
    pub(super) async fn go_on_with_edited(&self, id: &IntentId, errand: &Errand) -> Option<Reply> {
        match self.present(id).await {
            Ok(Some(intent)) if intent.id() != id => Some(self.wait_elsewhere(intent.id(), errand).await),
            Ok(Some(_) | None) | Err(_) => None,
        }
    }
}

const KEY: &str = "dev.yesgate/edited";
