//! Judging one call: by the tool as the server describes it, by what is pinned of it, by the policy.
//!
//! INVARIANT: the ledger has been told of the whole list of tools before a call is judged by it, once
//! for each list that differs from the last. So the first use is written down, what came later is
//! known to be new or changed, and questions about a tool that changed are void (X5).

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use yesgate_core::call::{CallRequest, Presented, ToolCall};
use yesgate_core::caller::Caller;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, Digest};
use yesgate_core::id::ToolName;
use yesgate_core::intent::Ground;
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::policy::{Facts, Needs, Pins};
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::verdict::{Question, Verdict};
use yesgate_ledger::{LedgerError, Sighted};

use super::Gate;
use crate::book::Unreadable;
use crate::look_up::NoState;
use crate::metrics::labels::Judged;
use crate::offer::Offer;
use crate::upstream::Upstream;

/// What is pinned of the server's tools, and when that was last read.
#[derive(Debug)]
pub(super) struct Reviewed {
    pins: Arc<Pins>,
    read: Instant,
    /// The list of tools that the ledger was last told of.
    sighted: Option<Digest>,
}

impl Reviewed {
    /// Nothing has been read yet.
    pub(super) fn unread() -> Self {
        Self { pins: Arc::default(), read: Instant::now(), sighted: None }
    }
}

impl Gate {
    /// What the policy says of a call. What was reviewed a moment ago counts: pins are read again
    /// before a human is asked in vain, and, where they are not quite fresh, before a call passes that
    /// a human may have become stricter about.
    pub(super) async fn decide(
        &self,
        call: ToolCall,
        presented: &Presented,
        definition: &ToolDefinition,
        state: Option<&Value>,
    ) -> Verdict {
        let verdict = self.judge(call.clone(), presented, definition, &self.pins(), state);
        let may_change = match &verdict {
            Verdict::Ask(_) => true,
            Verdict::Forward(_) => self.reviewed().read.elapsed() > FRESH,
            Verdict::Explain(_) | Verdict::Refuse(_) => false,
        };
        let verdict = if may_change && self.reload_pins().await.unwrap_or(false) {
            self.judge(call, presented, definition, &self.pins(), state)
        } else {
            verdict
        };
        self.metrics.call(Judged::from(&verdict));
        verdict
    }

    pub(crate) fn judge(
        &self,
        call: ToolCall,
        presented: &Presented,
        definition: &ToolDefinition,
        pins: &Pins,
        state: Option<&Value>,
    ) -> Verdict {
        let facts = Facts {
            definition,
            trust: self.server.trust,
            known: pins.known(&definition.name),
            mode: None,
            switch: self.setting.switch,
            reach: self.setting.reach,
            state,
            now: self.ledger.now(),
        };
        self.policy().decide(call, presented, &facts)
    }

    /// The tool as the server last described it; asks the server where that is not known.
    pub(super) async fn definition(
        &self,
        way: &Upstream,
        name: &str,
    ) -> Result<Option<Arc<ToolDefinition>>, Unreadable> {
        let Ok(name) = name.parse::<ToolName>() else { return Ok(None) };
        if !way.book.is_complete() {
            way.book.refresh(way).await?;
        }
        let definition = way.book.definition(&name);
        self.sight(way).await;
        Ok(definition)
    }

    /// The tool as the server describes it right now.
    pub(super) async fn definition_now(
        &self,
        way: &Upstream,
        name: &ToolName,
    ) -> Result<Option<Arc<ToolDefinition>>, Unreadable> {
        way.book.refresh(way).await?;
        let definition = way.book.definition(name);
        self.sight(way).await;
        Ok(definition)
    }

    /// Tells the ledger which tools the server has, unless it knows.
    ///
    /// Where that fails, it is tried again with the next call. Until then nothing passes that would
    /// not pass otherwise: calls are judged by what was pinned before, and a yes to a tool that
    /// changed is found out when it is spent.
    pub(crate) async fn sight(&self, way: &Upstream) {
        let Some(listing) = way.book.listing() else { return };
        if self.reviewed().sighted == Some(listing.digest) {
            return;
        }
        let told = self.ledger.sight(&self.server.name, &self.server.identity, listing.tools.to_vec()).await;
        match told {
            Ok(sighted) => self.report(&sighted),
            Err(error) => {
                tracing::error!(server.name = %self.server.name, %error, "the tools could not be written down: {error}");
                return;
            }
        }
        if let Some(observer) = &self.observer {
            observer.tools_seen(&way.book.all());
        }
        // Without fresh pins it has to be looked at again.
        if self.reload_pins().await.is_ok() {
            self.reviewed().sighted = Some(listing.digest);
        }
    }

    fn report(&self, sighted: &Sighted) {
        let server = &self.server.name;
        let names = |tools: &[ToolName]| tools.iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ");
        for (what, tools) in [("new", &sighted.new), ("changed", &sighted.changed)] {
            if !tools.is_empty() {
                let names = names(tools);
                tracing::warn!(
                    server.name = %server,
                    "{what} tools count as dangerous until `yesgate tools accept {server}`: {names}"
                );
            }
        }
        for id in &sighted.voided {
            tracing::warn!(server.name = %server, intent.id = %id, "a question is void: its tool changed");
        }
    }

    pub(super) fn call(
        &self,
        caller: &Caller,
        definition: &ToolDefinition,
        request: &CallRequest,
    ) -> ToolCall {
        ToolCall {
            binding: Binding {
                caller: caller.clone(),
                server: self.server.name.clone(),
                identity: self.server.identity,
                method: "tools/call".into(),
                tool: definition.name.clone(),
                definition: definition.digest,
                arguments: request.arguments.clone(),
                meta: CanonicalJson::empty_object(),
                mode: Mode::Execute,
                preview: None,
            },
        }
    }

    /// Whether a stored question would still be asked as it was, by the tool and the state as they
    /// are right now.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub(crate) async fn ground(&self, way: &Upstream, question: &Question) -> Result<Ground, Refusal> {
        let Some(definition) =
            self.definition_now(way, &question.binding.tool).await.map_err(|_| unreadable_list())?
        else {
            return Ok(Ground::ToolChanged);
        };
        let state = self.state_for(way, &question.binding).await.map_err(|NoState| no_state())?;
        let mut binding = question.binding.clone();
        binding.definition = definition.digest;
        let call = ToolCall { binding };
        Ok(match self.judge(call, &Presented::default(), &definition, &self.pins(), state.as_ref()) {
            Verdict::Ask(now_asked) => question.ground_under(&now_asked),
            Verdict::Forward(_) => Ground::Holds,
            Verdict::Explain(_) | Verdict::Refuse(_) => Ground::PolicyStricter,
        })
    }

    /// How a tool is offered to the agent.
    pub(crate) fn offer_of(&self, definition: &ToolDefinition) -> Offer {
        let policy = self.policy();
        let classified = policy.classify(
            &self.server.name,
            definition,
            self.server.trust,
            self.pins().known(&definition.name),
        );
        match policy.needs(&self.server.name, definition, self.server.trust, classified.class) {
            Needs::Nothing => Offer::Plain,
            Needs::Yes => Offer::HeldOnly,
            Needs::RelayedYes => Offer::ConfirmToken,
            Needs::CallKey => Offer::CallKey,
        }
    }

    pub(crate) fn pins(&self) -> Arc<Pins> {
        Arc::clone(&self.reviewed().pins)
    }

    fn reviewed(&self) -> MutexGuard<'_, Reviewed> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the pins again, and says whether they changed.
    pub(super) async fn reload_pins(&self) -> Result<bool, LedgerError> {
        let fresh = self.ledger.pins(&self.server.name).await?;
        let mut reviewed = self.reviewed();
        let changed = *reviewed.pins != fresh;
        reviewed.pins = Arc::new(fresh);
        reviewed.read = Instant::now();
        Ok(changed)
    }
}

/// How long pins pass for fresh: a human who became stricter is heard within this time.
const FRESH: Duration = Duration::from_secs(1);

pub(super) fn no_state() -> Refusal {
    Why::ConsentUnavailable {
        reason: "the present state, which the rule wants to show, could not be looked up",
    }
    .into()
}

pub(super) fn unreadable_list() -> Refusal {
    Why::ConsentUnavailable { reason: "the server's list of tools could not be read" }.into()
}
