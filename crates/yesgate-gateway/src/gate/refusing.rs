//! Saying no: on the wire, in the ledger and in the numbers.

use serde_json::json;
use yesgate_core::audit::AuditEvent;
use yesgate_core::call::CallRequest;
use yesgate_core::caller::Caller;
use yesgate_core::id::ToolName;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::verdict::Explanation;
use yesgate_ledger::LedgerError;

use super::Gate;
use super::preview::object;
use crate::errand::Errand;
use crate::reply::{Own, Reply};

impl Gate {
    /// A refusal as this policy puts it on the wire.
    pub(crate) fn refusal(&self, refusal: &Refusal) -> Reply {
        Reply::refuse(&refusal.clone().naming(self.own_names()), self.policy().wire_form(&refusal.why))
    }

    /// Refuses a call, on the wire and in the ledger.
    pub(crate) async fn refused(&self, caller: &Caller, tool: Option<&ToolName>, refusal: &Refusal) -> Reply {
        self.setting.metrics.refusal(&refusal.why);
        self.record_refusal(caller, tool, refusal.why.code()).await;
        self.refusal(refusal)
    }

    /// Refuses a message that is no call we can judge.
    pub(super) async fn unreadable(&self, caller: &Caller, code: i64, problem: &str) -> Reply {
        self.record_refusal(caller, None, "unreadable_call").await;
        Own::Unreadable { code, words: problem.to_owned() }.into()
    }

    /// Refuses a call of a tool that the server does not have.
    pub(super) async fn no_such_tool(&self, caller: &Caller) -> Reply {
        self.record_refusal(caller, None, "unreadable_call").await;
        Own::NoSuchTool.into()
    }

    /// Refuses because the ledger cannot be used: nothing runs that cannot be written down.
    pub(crate) async fn unavailable(&self, caller: &Caller, tool: &ToolName, error: &LedgerError) -> Reply {
        if *error == LedgerError::HeldBack
            && let Some(why) = self.held_back(caller).await
        {
            return self.refused(caller, Some(tool), &why.into()).await;
        }
        tracing::error!(%error, "a call was refused because the ledger failed: {error}");
        let why = Why::ConsentUnavailable { reason: error.public_reason() };
        self.refused(caller, Some(tool), &why.into()).await
    }

    /// What a human has stopped or frozen by now.
    async fn held_back(&self, caller: &Caller) -> Option<Why> {
        self.ledger.regimes().await.ok()?.of(caller).held_back()
    }

    pub(super) async fn record_refusal(&self, caller: &Caller, tool: Option<&ToolName>, code: &str) {
        let event = AuditEvent::Refused {
            caller: caller.clone(),
            server: self.server.name.clone(),
            tool: tool.cloned(),
            code: code.to_owned(),
        };
        if let Err(error) = self.ledger.record(event).await {
            tracing::error!(%error, "a refusal could not be written down: {error}");
        }
    }
}

/// The server knows the session no more, and said so before anything ran and before a yes was spent: whoever
/// gave us the call may make it again in a new session.
pub(crate) fn forgotten(errand: &Errand) -> Reply {
    errand.begun.forget();
    let words = "The server has forgotten the session. Nothing ran, and no yes is spent. Try again.";
    Reply::error(-32603, words, Some(json!({"outcome": "not_sent", "retryable": true})))
}

/// H9: the call would change nothing, so it is answered at once.
pub(super) fn unneeded(explanation: &Explanation) -> Reply {
    let summary = explanation.summary.as_str();
    let payload = json!({
        "ok": true,
        "status": "unchanged",
        "changed": false,
        "summary": summary,
        "message": format!("This would change nothing: {summary}. So nobody was asked, and nothing ran."),
    });
    Own::Told(object(payload)).into()
}

/// Whether a gated call has only parts that a human is shown and a yes is bound to.
pub(super) fn gateable(request: &CallRequest) -> Result<(), &'static str> {
    if !request.extras.unknown_keys.is_empty() {
        Err("it has parameters that the protocol does not know, and a gated call may not")
    } else if request.extras.task {
        Err("a gated tool cannot be called as a task; call it without `task`")
    } else if request.extras.continuation {
        Err("a gated call cannot continue an earlier one (`requestState`, `inputResponses`)")
    } else {
        Ok(())
    }
}
