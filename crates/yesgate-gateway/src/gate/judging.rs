//! Judging one call: by the tool as the server describes it, by what is pinned of it, by the policy.
//!
//! INVARIANT: the ledger has been told of the whole list of tools before a call is judged by it, once
//! for each list that differs from the last. So the first use is written down, what came later is
//! known to be new or changed, and questions about a tool that changed are void (X5).

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use yesgate_core::budget::Sums;
use yesgate_core::call::{CallRequest, Presented, ToolCall};
use yesgate_core::caller::Caller;
use yesgate_core::class::Class;
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, Digest};
use yesgate_core::id::ToolName;
use yesgate_core::intent::Ground;
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::permit::Permit;
use yesgate_core::policy::{Belief, ClientWays, Facts, HostWay, Known, Pins};
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::regime::Regimes;
use yesgate_core::render::Sanitized;
use yesgate_core::verdict::{Channel, Question, Verdict};
use yesgate_ledger::{LedgerError, Sighted};

use super::Gate;
use super::modes::SET_MODE;
use crate::book::{Listing, Unreadable};
use crate::errand::Errand;
use crate::look_up::{Circumstances, NoState};
use crate::metrics::labels::Judged;
use crate::raw::RawObject;
use crate::talk::{Elicitation, Party};
use crate::upstream::Upstream;

/// What is pinned of the server's tools, and when that was last read.
#[derive(Debug)]
pub(super) struct Reviewed {
    pins: Arc<Pins>,
    regimes: Arc<Regimes>,
    read: Instant,
    /// The list of tools that the ledger was last told of.
    sighted: Option<Digest>,
}

impl Reviewed {
    /// Nothing has been read yet.
    pub(super) fn unread() -> Self {
        Self { pins: Arc::default(), regimes: Arc::default(), read: Instant::now(), sighted: None }
    }
}

impl Gate {
    /// What the policy says of a call. What was reviewed a moment ago counts: pins are read again
    /// before a human is asked in vain, and, where they are not quite fresh, before a call passes that
    /// a human may have become stricter about. Where they cannot be read, it does not pass.
    pub(super) async fn decide(
        &self,
        errand: &Errand,
        call: ToolCall,
        presented: &Presented,
        definition: &ToolDefinition,
        known: &Circumstances,
    ) -> Verdict {
        let ways = self.ways(errand);
        let verdict = self.judge(call.clone(), presented, definition, ways, known);
        let may_change = match &verdict {
            Verdict::Forward(permitted) => match permitted.permit() {
                Permit::Class(Class::ReadOnly) => self.reviewed().read.elapsed() > FRESH,
                // A mode that was lowered a moment ago, by whomever, holds for the next write.
                Permit::Class(Class::SafeWrite | Class::Dangerous)
                | Permit::Rule(_)
                | Permit::Preview(_)
                | Permit::Intent(_)
                | Permit::Edited(_) => true,
            },
            Verdict::Ask(_)
            | Verdict::AskWithPreview(..)
            | Verdict::Explain(_)
            | Verdict::Preview(_)
            | Verdict::Unneeded(_)
            | Verdict::Refuse(_) => true,
        };
        let verdict = if may_change {
            match Box::pin(self.review_again()).await {
                Ok(true) => self.judge(call, presented, definition, ways, known),
                Ok(false) => verdict,
                Err(error) => unreviewed(verdict, &error),
            }
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
        ways: ClientWays,
        known: &Circumstances,
    ) -> Verdict {
        let (pins, regimes) = self.known();
        let regime = regimes.of(&call.binding.caller);
        let reach = self.setting.reach.get();
        let facts = Facts {
            definition,
            trust: self.server.trust,
            known: pins.known(&definition.name),
            regime: &regime,
            ways,
            switch: self.setting.switch,
            reach: &reach,
            state: known.state.as_ref(),
            spent: &known.spent,
            now: self.ledger.now(),
        };
        self.policy().decide(call, presented, &facts)
    }

    /// What the policy says of a caller that sets its own mode.
    pub(super) async fn decide_mode(
        &self,
        errand: &Errand,
        call: ToolCall,
        presented: &Presented,
        definition: &ToolDefinition,
    ) -> Result<Verdict, LedgerError> {
        self.review_again().await?;
        let (_, regimes) = self.known();
        let regime = regimes.of(&call.binding.caller);
        let reach = self.setting.reach.get();
        let facts = Facts {
            definition,
            trust: self.server.trust,
            known: Known::FirstUse,
            regime: &regime,
            ways: self.ways(errand),
            switch: self.setting.switch,
            reach: &reach,
            state: None,
            spent: &Sums::default(),
            now: self.ledger.now(),
        };
        Ok(self.policy().decide_mode(call, presented, &facts))
    }

    /// The mode that a caller is in, as far as that was read.
    pub(crate) fn mode_in_force(&self, caller: &Caller) -> Mode {
        let (_, regimes) = self.known();
        regimes.of(caller).mode.unwrap_or_else(|| self.policy().mode())
    }

    /// What the client of a call can do for the human behind it, as far as it declared and was seen.
    pub(super) fn ways(&self, errand: &Errand) -> ClientWays {
        let forms = errand.person.as_ref().is_some_and(|person| {
            person.party.can_elicit(Elicitation::Form)
                && match self.belief(HostWay::Form, &person.party) {
                    Belief::Sworn => true,
                    Belief::Usual => self.setting.manners.may_be_asked(&errand.caller),
                    Belief::None => false,
                }
        });
        ClientWays { forms }
    }

    /// How far a way that a client declares is believed.
    pub(crate) fn belief(&self, way: HostWay, party: &Party) -> Belief {
        let info = party.info.as_deref().and_then(RawObject::parse).unwrap_or_default();
        let said = |key| info.text(key).unwrap_or_default();
        self.policy().belief(way, &said("name"), &said("version"))
    }

    /// The tool as the server last described it; asks the server where that is not known.
    pub(super) async fn definition(
        &self,
        way: &Upstream,
        name: &str,
    ) -> Result<Option<Arc<ToolDefinition>>, Unreadable> {
        let Ok(name) = name.parse::<ToolName>() else { return Ok(None) };
        if !way.book.is_complete() {
            Box::pin(way.book.refresh(way)).await?;
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
        if self.reviewed().sighted != Some(listing.digest) {
            Box::pin(self.sight_anew(way, listing)).await;
        }
    }

    async fn sight_anew(&self, way: &Upstream, listing: Listing) {
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
        if self.review_again().await.is_ok() {
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
    /// are right now; and what its preview says now.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub(crate) async fn ground(
        &self,
        way: &Upstream,
        question: &Question,
    ) -> Result<(Ground, Option<Vec<Sanitized>>), Refusal> {
        Ok(match self.asked_now(way, question).await? {
            Ok(now_asked) => (question.ground_under(&now_asked), now_asked.preview),
            Err(ground) => (ground, None),
        })
    }

    /// The question as it would be asked right now, or what else has become of its ground.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub(crate) async fn asked_now(
        &self,
        way: &Upstream,
        question: &Question,
    ) -> Result<Result<Box<Question>, Ground>, Refusal> {
        if question.binding.method == SET_MODE {
            return Ok(Err(Ground::Holds));
        }
        let Some(definition) =
            self.definition_now(way, &question.binding.tool).await.map_err(|_| unreadable_list())?
        else {
            return Ok(Err(Ground::ToolChanged));
        };
        let mode = question.binding.mode;
        let known = self.circumstances(way, &question.binding, mode).await.map_err(|NoState| no_state())?;
        let mut binding = question.binding.clone();
        binding.definition = definition.digest;
        binding.preview = None;
        // The yes was to a call in this mode, whatever mode the caller is in by now.
        let presented = Presented { mode: Some(binding.mode), ..Presented::default() };
        let ways = ClientWays { forms: question.channel == Channel::Elicitation };
        let verdict = self.judge(ToolCall { binding }, &presented, &definition, ways, &known);
        match self.previewed(way, verdict).await? {
            Verdict::Ask(now_asked) | Verdict::AskWithPreview(now_asked, _) => Ok(Ok(now_asked)),
            Verdict::Forward(_) | Verdict::Unneeded(_) => Ok(Err(Ground::Holds)),
            // The same policy may judge otherwise a while later.
            Verdict::Refuse(refusal) if PASSING.contains(&refusal.why.code()) => Err(refusal),
            Verdict::Explain(_) | Verdict::Preview(_) | Verdict::Refuse(_) => Ok(Err(Ground::PolicyStricter)),
        }
    }

    pub(crate) fn pins(&self) -> Arc<Pins> {
        Arc::clone(&self.reviewed().pins)
    }

    fn reviewed(&self) -> MutexGuard<'_, Reviewed> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is pinned, and what humans have set for callers.
    fn known(&self) -> (Arc<Pins>, Arc<Regimes>) {
        let reviewed = self.reviewed();
        (Arc::clone(&reviewed.pins), Arc::clone(&reviewed.regimes))
    }

    /// Reads what humans said of tools and callers again, and says whether that changed.
    pub(super) async fn review_again(&self) -> Result<bool, LedgerError> {
        let (pins, regimes) = tokio::try_join!(self.ledger.pins(&self.server.name), self.ledger.regimes())?;
        let mut reviewed = self.reviewed();
        let changed = *reviewed.pins != pins || *reviewed.regimes != regimes;
        reviewed.pins = Arc::new(pins);
        reviewed.regimes = Arc::new(regimes);
        reviewed.read = Instant::now();
        Ok(changed)
    }
}

/// FC-1: where nobody can tell what humans have stopped or frozen meanwhile, nothing leaves for a server, reads included.
fn unreviewed(verdict: Verdict, error: &LedgerError) -> Verdict {
    match verdict {
        Verdict::Forward(_) | Verdict::AskWithPreview(..) | Verdict::Preview(_) | Verdict::Unneeded(_) => {
            tracing::error!(%error, "a call was refused because the ledger cannot be read: {error}");
            Verdict::Refuse(Why::ConsentUnavailable { reason: error.public_reason() }.into())
        }
        // To ask is to write: the ledger itself has the last word there.
        Verdict::Ask(_) | Verdict::Explain(_) | Verdict::Refuse(_) => verdict,
    }
}

/// Refusals that say nothing about the question itself.
const PASSING: [&str; 2] = ["budget_exceeded", "consent_unavailable"];

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
