//! Looking up what rules want to know before a call is judged: the present state, from the server (H1), and
//! what was spent, from the ledger (I1).
//!
//! A lookup is itself a call: it is judged like any other, and only one that may run unasked runs.

use serde_json::{Value, json};
use yesgate_core::budget::Sums;
use yesgate_core::call::{Presented, ToolCall};
use yesgate_core::class::Class;
use yesgate_core::digest::Binding;
use yesgate_core::intent::{ResultKind, StoredResult};
use yesgate_core::json::{CanonicalJson, Limits, parse_lenient};
use yesgate_core::mode::Mode;
use yesgate_core::permit::Permit;
use yesgate_core::policy::{ClientWays, Lookup};
use yesgate_core::verdict::Verdict;

use crate::cancel::Cancel;
use crate::errand::own_meta;
use crate::gate::Gate;
use crate::hearing::Hearing;
use crate::upstream::{Execution, Form, Upstream};

/// The present state could not be looked up, so nobody can be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NoState;

/// What has to be looked up before a call is judged.
#[derive(Debug, Default)]
pub(crate) struct Circumstances {
    /// What the rule's read tool says; `None` where no rule asks one.
    pub(crate) state: Option<Value>,
    /// What was spent in the budgets that rules look at or count in. What could not be read is not there,
    /// and nothing that needs it is let through.
    pub(crate) spent: Sums,
}

impl Gate {
    /// Everything that rules want to know before this call is judged in this mode.
    pub(crate) async fn circumstances(
        &self,
        way: &Upstream,
        call: &Binding,
        mode: Mode,
    ) -> Result<Circumstances, NoState> {
        let state = self.state_for(way, call).await?;
        Ok(Circumstances { state, spent: self.spent_for(call, mode).await })
    }

    async fn spent_for(&self, call: &Binding, mode: Mode) -> Sums {
        let windows = self.policy().windows(call);
        if windows.is_empty() {
            return Sums::default();
        }
        let mut bound = call.clone();
        bound.mode = mode;
        Box::pin(self.ledger.spent(windows, bound.digest())).await.unwrap_or_else(|error| {
            tracing::error!(%error, "what was spent could not be read: {error}");
            Sums::default()
        })
    }

    /// The state that a rule wants to know before a call is judged; `None` where no rule does.
    async fn state_for(&self, way: &Upstream, call: &Binding) -> Result<Option<Value>, NoState> {
        let policy = self.policy();
        match policy.lookup(&call.server, &call.tool) {
            Some(lookup) => Box::pin(self.look_up(way, call, lookup)).await.map(Some),
            None => Ok(None),
        }
    }

    /// What a read tool says about a call.
    pub(crate) async fn look_up(
        &self,
        way: &Upstream,
        call: &Binding,
        lookup: &Lookup,
    ) -> Result<Value, NoState> {
        if *lookup.server() != self.server.name {
            return Err(NoState);
        }
        let definition = way.book.definition(lookup.tool()).ok_or(NoState)?;
        let arguments = Value::Object(lookup.arguments(&call.arguments.to_value()));
        let mut binding = call.clone();
        binding.tool = definition.name.clone();
        binding.definition = definition.digest;
        binding.preview = None;
        binding.arguments = CanonicalJson::of(&arguments).map_err(|_| NoState)?;
        let call = ToolCall { binding };
        let unknown = Circumstances::default();
        let verdict = self.judge(call, &Presented::default(), &definition, ClientWays::default(), &unknown);
        let Verdict::Forward(permitted) = verdict else { return Err(NoState) };
        match permitted.permit() {
            Permit::Class(Class::ReadOnly) => {}
            // What may change something is not run for the sake of a summary.
            Permit::Class(Class::SafeWrite | Class::Dangerous)
            | Permit::Rule(_)
            | Permit::Preview(_)
            | Permit::Intent(_)
            | Permit::Edited(_) => return Err(NoState),
        }
        let form = Form::Canonical { meta: own_meta(way), mirrored: way.mirrored(&permitted.call().binding) };
        match way.execute(permitted, form, &Hearing::deaf(), &Cancel::new()).await {
            Execution::Answered(answer) => read(&answer.to_stored()).ok_or(NoState),
            Execution::Relayed
            | Execution::NotSent(_)
            | Execution::TurnedAway(_)
            | Execution::TooLong
            | Execution::Lost(_) => Err(NoState),
        }
    }
}

/// The state in a tool's answer: its structure, else the object in its first text, else that text as
/// `text`.
pub(crate) fn read(answer: &StoredResult) -> Option<Value> {
    match answer.kind {
        ResultKind::Error => return None,
        ResultKind::Result => {}
    }
    let result = parse_lenient(answer.json.as_bytes(), Limits::SERVER).ok()?;
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    if let Some(structured) = result.get("structuredContent").filter(|state| state.is_object()) {
        return Some(structured.clone());
    }
    let text = result.get("content")?.as_array()?.first()?.get("text")?.as_str()?;
    let state = parse_lenient(text.as_bytes(), Limits::SERVER).ok().filter(Value::is_object);
    Some(state.unwrap_or_else(|| json!({ "text": text })))
}
