//! What a client's token allows, before the policy is asked anything (O-D8).
//!
//! - INVARIANT: scopes only take away. What they allow is judged by the policy as every other call is, and waits for a person
//!   where it would anyway.
//! - INVARIANT: keys of machines have no scopes, and nothing changes for them.

use std::sync::Arc;

use yesgate_core::definition::ToolDefinition;
use yesgate_core::intent::Intent;
use yesgate_core::oauth::Scopes;
use yesgate_core::refusal::Why;

use super::Gate;
use super::modes::SET_MODE;
use crate::book::Unreadable;
use crate::errand::Errand;
use crate::reply::{Own, Reply};

impl Gate {
    /// The answer to a call that its token does not allow; `None`: it does.
    pub(super) async fn unscoped(&self, errand: &Errand, definition: &ToolDefinition) -> Option<Reply> {
        let given = errand.scopes.as_ref()?;
        let (policy, pins) = (self.policy(), self.pins());
        let (server, tool) = (&self.server.name, &definition.name);
        let class = policy.classify(server, definition, self.server.trust, pins.known(tool)).class;
        let scopes = policy.scopes();
        if scopes.allows(given, server, tool, class) {
            return None;
        }
        let Some(needed) = scopes.needed(server, tool, class) else {
            // Nothing that anybody could give would do: a challenge would send the client round in circles.
            let reason = "no scope covers this tool, so no connected client can call it".to_owned();
            let why = Why::PolicyDenied { reason }.into();
            return Some(Box::pin(self.refused(&errand.caller, Some(tool), &why)).await);
        };
        Box::pin(self.record_refusal(&errand.caller, Some(tool), "insufficient_scope")).await;
        // What it holds is named again, or the next token would have less.
        let held = given.within(&scopes.known());
        let all: Scopes = held.and(&[needed.clone()].into_iter().collect());
        Some(Own::Unscoped(all).into())
    }

    /// The same for a held call that is to run now: the token may be another one than it was asked with.
    pub(crate) async fn unscoped_now(&self, errand: &Errand, intent: &Intent) -> Option<Reply> {
        errand.scopes.as_ref()?;
        let binding = &intent.question().binding;
        if binding.method == SET_MODE {
            return None;
        }
        let definition: Result<Option<Arc<ToolDefinition>>, Unreadable> =
            self.definition(&errand.way, binding.tool.as_str()).await;
        match definition {
            Ok(Some(definition)) => self.unscoped(errand, &definition).await,
            Ok(None) => {
                Some(self.refused(&errand.caller, Some(&binding.tool), &Why::ToolChanged.into()).await)
            }
            Err(_) => {
                let why = Why::ConsentUnavailable { reason: "the server's list of tools could not be read" };
                Some(self.refused(&errand.caller, Some(&binding.tool), &why.into()).await)
            }
        }
    }
}
