//! The gate: from a `tools/call` to an answer. Read [`Gate::handle`] first; the rest serves it.
//!
//! INVARIANT: a call leaves only as a `PermittedCall`: made by the policy for what needs no
//! question, or by redeeming an intent whose redemption is durable.

pub(crate) mod asking;
mod edited;
mod fitting;
mod judging;
pub(crate) mod modes;
mod preview;
mod refusing;
mod remembered;
mod scoped;
mod shared_reach;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;
use tokio::time::Instant;
use yesgate_core::call::{CallRequest, Untouched};
use yesgate_core::caller::Caller;
use yesgate_core::class::Trust;
use yesgate_core::clock::Entropy;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::id::{BootId, ServerName};
use yesgate_core::intent::Asker;
use yesgate_core::permit::PermittedCall;
use yesgate_core::policy::Policy;
use yesgate_core::proof::Witness;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::switch::OperatorSwitch;
use yesgate_core::verdict::Verdict;
use yesgate_ledger::{Ledger, LedgerError};

use self::asking::Held;
use self::judging::{Reviewed, no_state, unreadable_list};
pub(crate) use self::refusing::forgotten;
use self::refusing::{gateable, unneeded};
pub use self::shared_reach::SharedReach;
use crate::base::{Base, Whereabouts};
use crate::book::{ToolsObserver, Unreadable};
use crate::era::{Era, client_name};
use crate::errand::{Errand, Incoming, Pass};
use crate::job::Jobs;
use crate::look_up::NoState;
use crate::manners::Manners;
use crate::metrics::{Metrics, ServerMetrics};
use crate::mirror::Mismatch;
use crate::own_tools::OwnTool;
use crate::reply::Reply;
use crate::runs::Runs;
use crate::talk::client_id;
use crate::upstream::{Execution, Form, TurnedAway};

/// One server behind the gate.
#[derive(Debug)]
pub struct Gate {
    pub(crate) server: GatedServer,
    policy: RwLock<Arc<Policy>>,
    pub(crate) ledger: Ledger,
    pub(crate) setting: Setting,
    pub(crate) entropy: Arc<dyn Entropy>,
    pins: Mutex<Reviewed>,
    pub(crate) metrics: ServerMetrics,
    /// Who else wants to know what tools there are.
    observer: Option<Arc<dyn ToolsObserver>>,
    /// A question was opened: somebody may soon say yes to it.
    pub(crate) opened: Notify,
    pub(crate) runs: Runs,
    /// The forms that are open at clients.
    pub(crate) forms: Runs,
    /// The calls that wait as tasks.
    pub(crate) jobs: Jobs,
}

/// The server that is gated.
#[derive(Clone, Debug)]
pub struct GatedServer {
    /// The operator's name for it.
    pub name: ServerName,
    /// What it is.
    pub identity: ServerIdentity,
    /// How far its own words are believed.
    pub trust: Trust,
}

/// Where and under whom this gate runs.
#[derive(Clone, Debug)]
pub struct Setting {
    /// This start of the gateway.
    pub boot: BootId,
    /// The process that asks.
    pub asker: Asker,
    /// The operator's key of the two.
    pub switch: OperatorSwitch,
    /// The strongest yes that this set-up can get.
    pub reach: SharedReach,
    /// How far a client's own name counts.
    pub naming: Naming,
    /// How long things may take.
    pub patience: Patience,
    /// Where calls are counted.
    pub metrics: Metrics,
    /// How clients behave when their human is asked.
    pub manners: Arc<Manners>,
    /// Who verifies the signatures behind a yes, where it lets something run.
    pub witness: Arc<dyn Witness>,
    /// Where people find our pages, for hosts that came another way than by their address.
    pub pages: Arc<dyn Whereabouts>,
}

/// How long things may take; `None`: as long as they do.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Patience {
    /// The most that a caller can be kept waiting for a human.
    pub caller: Option<Duration>,
    /// The most that the answer to an approved call is waited for.
    pub outcome: Option<Duration>,
}

/// How a client gets its name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Naming {
    /// Nothing was proven, so its own words are all there is.
    BySelf,
    /// Whoever let it in named it.
    ByKey,
}

impl Gate {
    /// Puts a gate in front of a server.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn new(
        server: GatedServer,
        policy: Arc<Policy>,
        ledger: Ledger,
        setting: Setting,
        entropy: Arc<dyn Entropy>,
        observer: Option<Arc<dyn ToolsObserver>>,
    ) -> Result<Self, LedgerError> {
        let gate = Self {
            pins: Mutex::new(Reviewed::unread()),
            metrics: setting.metrics.server(&server.name),
            observer,
            opened: Notify::new(),
            runs: Runs::none(),
            forms: Runs::none(),
            jobs: Jobs::default(),
            server,
            policy: RwLock::new(policy),
            ledger,
            setting,
            entropy,
        };
        gate.review_again().await?;
        Ok(gate)
    }

    /// The operator's name of the server.
    pub const fn name(&self) -> &ServerName {
        &self.server.name
    }

    /// Where the human behind an errand finds our pages.
    pub(crate) fn pages_for(&self, errand: &Errand) -> Option<Base> {
        let told = errand.person.as_ref().and_then(|person| person.base.clone());
        told.or_else(|| self.setting.pages.base())
    }

    /// Whether a call here may come to be asked about.
    pub(crate) fn may_ask(&self) -> bool {
        self.policy().may_ask(&self.server.name)
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another policy in force, for every call from here on.
    pub fn govern(&self, policy: Arc<Policy>) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// Answers one `tools/call`; a host that has no front before the gate, in the words of its era.
    pub async fn handle(self: &Arc<Self>, errand: &Errand, incoming: Incoming<'_>) -> Reply {
        let mut request = match incoming.call {
            Some(call) => Cow::Borrowed(call),
            None => match CallRequest::parse(incoming.message) {
                Ok(request) => Cow::Owned(request),
                Err(error) => {
                    return Box::pin(self.unreadable(&errand.caller, error.code(), &error.to_string())).await;
                }
            },
        };
        if let Some(name) = incoming.tool {
            name.clone_into(&mut request.to_mut().name);
        }
        // The front that a call came by puts what we say into words; a host of `wrap` has none.
        let era = errand.party.is_none().then(|| Era::of_meta(request.meta.transport()));
        let tool = request.name.clone();
        let reply = self.answer(errand, request, incoming).await;
        let reply = self.fitted(reply, &tool, &errand.way);
        match era {
            Some(era) => reply.linked_by(&*self.setting.pages).in_era(era),
            None => reply,
        }
    }

    /// The spine. Only what a call needs that passes has its room here; the rest is put into boxes when it comes to that.
    async fn answer(
        self: &Arc<Self>,
        errand: &Errand,
        request: Cow<'_, CallRequest>,
        incoming: Incoming<'_>,
    ) -> Reply {
        let errand = &*self.named_by_meta(errand, &request);
        let caller = &errand.caller;
        if errand.party.is_none() && Era::of_meta(request.meta.transport()) == Era::Modern {
            errand.way.speaks(Era::Modern);
        }
        if let Some(tool) = OwnTool::named(&request.name, &self.policy(), &self.server.name) {
            return Box::pin(self.own_tool(tool, errand, &request)).await;
        }
        let definition = match self.definition(&errand.way, &request.name).await {
            Ok(Some(definition)) => definition,
            Ok(None) => return Box::pin(self.no_such_tool(caller)).await,
            Err(Unreadable::Down) if errand.way.is_forgotten() => return forgotten(errand),
            Err(Unreadable::Down) => {
                let words =
                    "The server is not running; it is started again when it is next needed. Nothing ran.";
                return Reply::error(-32603, words, None);
            }
            Err(Unreadable::NoList) => return Box::pin(self.refused(caller, None, &unreadable_list())).await,
        };
        let mirrored = errand.way.book.mirrored(&definition.name);
        if let Some(headers) = incoming.headers
            && !mirrored.is_empty()
            && let Err(mismatch) = mirrored.check(headers, &request.arguments.value())
        {
            return Box::pin(self.unreadable(caller, Mismatch::CODE, &mismatch.to_string())).await;
        }
        if let Some(reply) = self.unscoped(errand, &definition).await {
            return reply;
        }
        let call = self.call(caller, &definition, &request);
        let presented = &request.presented;
        let mode = presented.mode.unwrap_or_else(|| self.mode_in_force(caller));
        let known = match self.circumstances(&errand.way, &call.binding, mode).await {
            Ok(known) => known,
            Err(NoState) if errand.way.is_forgotten() => return forgotten(errand),
            Err(NoState) => return Box::pin(self.refused(caller, Some(&definition.name), &no_state())).await,
        };
        let verdict = self.decide(errand, call, presented, &definition, &known).await;
        let verdict = match self.previewed(&errand.way, verdict).await {
            Ok(verdict) => verdict,
            Err(_) if errand.way.is_forgotten() => return forgotten(errand),
            Err(refusal) => Verdict::Refuse(refusal),
        };
        match verdict {
            Verdict::Forward(permitted) => self.forward(permitted, &request, incoming.pass, errand).await,
            Verdict::Explain(explanation) => {
                let why = Why::ModeForbids {
                    tool: definition.name.clone(),
                    class: explanation.classified.class,
                    mode: explanation.mode,
                    summary: explanation.summary,
                };
                let names = self.names_in(explanation.mode, caller);
                let refusal = Refusal::from(why).with_next(&explanation.next).naming(names);
                let refusal = match &explanation.reason {
                    Some(reason) => refusal.because(reason.as_str()),
                    None => refusal,
                };
                Box::pin(self.refused(caller, Some(&definition.name), &refusal)).await
            }
            Verdict::Preview(plan) => match Box::pin(self.plan(&errand.way, *plan)).await {
                Ok(reply) => reply,
                Err(refusal) => Box::pin(self.refused(caller, Some(&definition.name), &refusal)).await,
            },
            Verdict::Unneeded(explanation) => unneeded(&explanation),
            Verdict::Refuse(Refusal { why: Why::ModeRaise { wished, .. }, .. }) if self.policy().asks() => {
                Box::pin(self.ask_to_raise(errand, &request, wished)).await
            }
            Verdict::Refuse(refusal) => {
                Box::pin(self.refused(caller, Some(&definition.name), &refusal)).await
            }
            Verdict::Ask(question) | Verdict::AskWithPreview(question, _) => match gateable(&request) {
                Err(problem) => Box::pin(self.unreadable(caller, -32602, problem)).await,
                Ok(()) => {
                    let request = request.into_owned();
                    Box::pin(self.held(Held { question: *question, request, definition, known }, errand))
                        .await
                }
            },
        }
    }

    /// Lets a call pass that needs no question: in the caller's own bytes where nothing was taken
    /// out of them.
    async fn forward(
        &self,
        permitted: PermittedCall,
        request: &CallRequest,
        pass: Pass<'_>,
        errand: &Errand,
    ) -> Reply {
        if errand.cancel.is_fired() {
            return Reply::Silent;
        }
        let form = match (request.untouched, gateable(request)) {
            (Untouched::Yes, _) => match pass {
                Pass::Line { line, id } => Form::AsItCame { line, id },
                Pass::Params { params, mirrored: Some(mirrored) } => Form::Params { params, mirrored },
                Pass::Params { params, mirrored: None } => {
                    Form::Params { params, mirrored: errand.way.mirrored(&permitted.call().binding) }
                }
            },
            (Untouched::No, Ok(())) => {
                let mut meta = errand.meta(request.meta.transport());
                meta.extend(request.meta.vendor().clone());
                let mirrored = errand.way.mirrored(&permitted.call().binding);
                Form::Canonical { meta, mirrored }
            }
            // Without our own argument it would pass as it is; with it, it cannot be put together again.
            (Untouched::No, Err(problem)) => return Reply::error(-32602, problem, None),
        };
        let begun = Instant::now();
        let execution = errand.way.execute(permitted, form, &errand.hearing, &errand.cancel).await;
        self.metrics.took(begun.elapsed());
        if let Execution::TurnedAway(TurnedAway::Refused(StatusCode::NOT_FOUND)) = &execution
            && errand.way.is_forgotten()
        {
            return forgotten(errand);
        }
        self.outcome(execution, None, &errand.cancel)
    }

    /// A modern client names itself with each request; where nobody else did, that name counts.
    fn named_by_meta<'a>(&self, errand: &'a Errand, request: &CallRequest) -> Cow<'a, Errand> {
        let name = match (self.setting.naming, &errand.party) {
            (Naming::ByKey, _) => None,
            (Naming::BySelf, Some((party, _))) => party.client.clone(),
            (Naming::BySelf, None) => client_name(request.meta.transport()).and_then(client_id),
        };
        match name.filter(|client| *client != errand.caller.client) {
            Some(client) => {
                let caller = Caller { client, ..errand.caller.clone() };
                Cow::Owned(Errand { caller, ..errand.clone() })
            }
            None => Cow::Borrowed(errand),
        }
    }
}
