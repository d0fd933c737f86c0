//! The gate: from a `tools/call` to an answer. Read [`Gate::handle`] first; the rest serves it.
//!
//! INVARIANT: a call leaves only as a `PermittedCall`: made by the policy for what needs no
//! question, or by redeeming an intent whose redemption is durable.

mod judging;
mod refusing;

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::Instrument as _;
use yesgate_core::assurance::Assurance;
use yesgate_core::call::{CallRequest, Untouched};
use yesgate_core::class::Trust;
use yesgate_core::clock::Entropy;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::held::held_payload;
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::{Asked, Asker, Awaited, Claim, Fresh, Ground, Runner, SlotKey};
use yesgate_core::permit::PermittedCall;
use yesgate_core::policy::Policy;
use yesgate_core::refusal::Why;
use yesgate_core::switch::OperatorSwitch;
use yesgate_core::token::ConfirmToken;
use yesgate_core::verdict::{Channel, Question, Verdict};
use yesgate_ledger::{Ledger, LedgerError};

use self::judging::{Reviewed, no_state, unreadable_list};
pub(crate) use self::refusing::forgotten;
use self::refusing::gateable;
use crate::book::{ToolsObserver, Unreadable};
use crate::era::{Era, client_name};
use crate::errand::{Errand, Incoming, Pass};
use crate::look_up::NoState;
use crate::metrics::{Metrics, ServerMetrics};
use crate::mirror::Mismatch;
use crate::own_tools::OwnTool;
use crate::reply::{IsError, Reply};
use crate::runs::Runs;
use crate::talk::client_id;
use crate::upstream::{Execution, Form, NotSent};

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
    pub reach: Assurance,
    /// How far a client's own name counts.
    pub naming: Naming,
    /// How long things may take.
    pub patience: Patience,
    /// Where calls are counted.
    pub metrics: Metrics,
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
            server,
            policy: RwLock::new(policy),
            ledger,
            setting,
            entropy,
        };
        gate.reload_pins().await?;
        Ok(gate)
    }

    /// The operator's name of the server.
    pub const fn name(&self) -> &ServerName {
        &self.server.name
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another policy in force, for every call from here on.
    pub fn govern(&self, policy: Arc<Policy>) {
        *self.policy.write().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// Answers one `tools/call`, in the words of the caller's era.
    pub async fn handle(self: &Arc<Self>, errand: &Errand, incoming: Incoming<'_>) -> Reply {
        let mut request = match CallRequest::parse(incoming.message) {
            Ok(request) => request,
            Err(error) => return self.unreadable(&errand.caller, error.code(), &error.to_string()).await,
        };
        if let Some(name) = incoming.tool {
            name.clone_into(&mut request.name);
        }
        let era = match &errand.party {
            Some((party, _)) => party.era,
            None => Era::of_meta(request.meta.transport()),
        };
        self.answer(errand, request, incoming).await.in_era(era)
    }

    /// The spine.
    async fn answer(
        self: &Arc<Self>,
        errand: &Errand,
        request: CallRequest,
        incoming: Incoming<'_>,
    ) -> Reply {
        let errand = &self.named_by_meta(errand, &request);
        let caller = &errand.caller;
        if errand.party.is_none() && Era::of_meta(request.meta.transport()) == Era::Modern {
            errand.way.speaks(Era::Modern);
        }
        if let Some(tool) = OwnTool::named(&request.name, &self.policy()) {
            return self.own_tool(tool, errand, &request).await;
        }
        let definition = match self.definition(&errand.way, &request.name).await {
            Ok(Some(definition)) => definition,
            Ok(None) => return self.unreadable(caller, -32602, "the server has no such tool").await,
            Err(Unreadable::Down) if errand.way.is_forgotten() => return forgotten(errand),
            Err(Unreadable::Down) => {
                let words =
                    "The server is not running; it is started again when it is next needed. Nothing ran.";
                return Reply::error(-32603, words, None);
            }
            Err(Unreadable::NoList) => return self.refused(caller, None, &unreadable_list()).await,
        };
        let mirrored = errand.way.book.mirrored(&definition.name);
        if let Some(headers) = incoming.headers
            && !mirrored.is_empty()
            && let Err(mismatch) = mirrored.check(headers, &request.arguments.value())
        {
            return self.unreadable(caller, Mismatch::CODE, &mismatch.to_string()).await;
        }
        let call = self.call(caller, &definition, &request);
        let presented = &request.presented;
        let state = match self.state_for(&errand.way, &call.binding).await {
            Ok(state) => state,
            Err(NoState) if errand.way.is_forgotten() => return forgotten(errand),
            Err(NoState) => return self.refused(caller, Some(&definition.name), &no_state()).await,
        };
        match self.decide(call, presented, &definition, state.as_ref()).await {
            Verdict::Forward(permitted) => self.forward(permitted, &request, incoming.pass, errand).await,
            Verdict::Explain(explanation) => {
                let why = Why::ModeForbids {
                    tool: definition.name.clone(),
                    class: explanation.classified.class,
                    mode: explanation.mode,
                    summary: explanation.summary,
                };
                self.refused(caller, Some(&definition.name), &why.into()).await
            }
            Verdict::Refuse(refusal) => self.refused(caller, Some(&definition.name), &refusal).await,
            Verdict::Ask(question) => match gateable(&request) {
                Err(problem) => self.unreadable(caller, -32602, problem).await,
                Ok(()) => self.held(*question, request, errand).await,
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
        if let Execution::NotSent(NotSent::Refused(StatusCode::NOT_FOUND)) = &execution
            && errand.way.is_forgotten()
        {
            return forgotten(errand);
        }
        self.outcome(execution, None, &errand.cancel)
    }

    /// Deals with a call that needs a yes, in a task of its own: what is redeemed runs to its end and is
    /// written down, even if whoever waits for it vanishes.
    async fn held(self: &Arc<Self>, question: Question, request: CallRequest, errand: &Errand) -> Reply {
        let (gate, errand) = (Arc::clone(self), errand.clone());
        let holding = async move {
            match (&request.presented.token, question.standing) {
                (Some(token), None) => gate.redeem(question, token, &request, &errand).await,
                (Some(_) | None, _) => gate.ask(question, &request, &errand).await,
            }
        };
        tokio::spawn(holding.in_current_span())
            .await
            .unwrap_or_else(|_| Reply::error(-32603, "The gateway was stopped before it could answer.", None))
    }

    /// Puts a question to a human.
    async fn ask(&self, question: Question, request: &CallRequest, errand: &Errand) -> Reply {
        let caller = question.binding.caller.clone();
        let tool = question.binding.tool.clone();
        let (fresh, token) = match self.draw(question.channel) {
            Ok(drawn) => drawn,
            Err(why) => return self.refused(&caller, Some(&tool), &why.into()).await,
        };
        let boot = self.setting.boot.clone();
        let asked = self
            .ledger
            .update_slot(SlotKey::of(&question.binding), move |slot, now| {
                let runner = Runner { boot: &boot, ground: Ground::Holds, awaited: Awaited::Yes };
                slot.ask(question, fresh, &runner, now)
            })
            .await;
        match asked {
            Ok(Asked::Open(intent)) => {
                self.opened.notify_one();
                match intent.question().channel {
                    Channel::Chat => Reply::tool_result(
                        held_payload(&intent, token.as_ref(), self.ledger.now()),
                        IsError::No,
                    ),
                    Channel::OutOfBand => self.wait(intent.id(), &errand.cancel).await,
                }
            }
            Ok(Asked::Claimed(id, claim)) => self.claimed(&tool, &id, *claim, request, errand).await,
            Ok(Asked::Refused(refusal)) => self.refused(&caller, Some(&tool), &refusal).await,
            Err(error) => self.unavailable(&caller, &tool, &error).await,
        }
    }

    /// Takes the token that the agent brought back.
    async fn redeem(
        &self,
        mut question: Question,
        token: &ConfirmToken,
        request: &CallRequest,
        errand: &Errand,
    ) -> Reply {
        let caller = question.binding.caller.clone();
        let tool = question.binding.tool.clone();
        // A server may change a tool without saying so: look again before anything runs.
        match self.definition_now(&errand.way, &tool).await {
            Ok(Some(definition)) => question.binding.definition = definition.digest,
            Ok(None) => return self.refused(&caller, Some(&tool), &Why::ToolChanged.into()).await,
            Err(_) if errand.way.is_forgotten() => return forgotten(errand),
            Err(_) => return self.refused(&caller, Some(&tool), &unreadable_list()).await,
        }
        if errand.cancel.is_fired() {
            return Reply::Silent;
        }
        let boot = self.setting.boot.clone();
        let claimed = self
            .ledger
            .update_by_token(&token.hash(), move |intent, now| {
                let ground = intent.question().ground_under(&question);
                let runner = Runner { boot: &boot, ground, awaited: Awaited::Yes };
                (intent.id().clone(), intent.claim_with_token(&question.binding, &runner, now))
            })
            .await;
        match claimed {
            Ok(Some((id, claim))) => self.claimed(&tool, &id, claim, request, errand).await,
            Ok(None) => self.refused(&caller, Some(&tool), &Why::TokenInvalid.into()).await,
            Err(error) => self.unavailable(&caller, &tool, &error).await,
        }
    }

    /// Goes on with what was claimed.
    pub(crate) async fn claimed(
        &self,
        tool: &ToolName,
        id: &IntentId,
        claim: Claim,
        request: &CallRequest,
        errand: &Errand,
    ) -> Reply {
        match claim {
            Claim::Run(permitted) => {
                let mirrored = errand.way.mirrored(&permitted.call().binding);
                let form = Form::Canonical { meta: errand.meta(request.meta.transport()), mirrored };
                errand.begun.note(id);
                let _running = self.runs.begin();
                let running = errand.way.execute(permitted, form, &errand.hearing, &errand.cancel);
                let execution = self.in_time(running).await;
                self.settle(id, &execution, &errand.cancel).await;
                self.outcome(execution, Some(id), &errand.cancel)
            }
            Claim::Replay(stored) => Reply::stored(stored),
            Claim::Wait => self.wait(id, &errand.cancel).await,
            Claim::Refused(refusal) => self.refused(&errand.caller, Some(tool), &refusal).await,
        }
    }

    /// A modern client names itself with each request; where nobody else did, that name counts.
    fn named_by_meta(&self, errand: &Errand, request: &CallRequest) -> Errand {
        let mut errand = errand.clone();
        match self.setting.naming {
            Naming::BySelf => {
                let name = match &errand.party {
                    Some((party, _)) => party.client.clone(),
                    None => client_name(request.meta.transport()).and_then(client_id),
                };
                if let Some(client) = name {
                    errand.caller.client = client;
                }
            }
            Naming::ByKey => {}
        }
        errand
    }

    fn draw(&self, channel: Channel) -> Result<(Fresh, Option<ConfirmToken>), Why> {
        let no_dice = |_| Why::ConsentUnavailable { reason: "no random bytes could be had" };
        let id = IntentId::from_entropy(self.entropy.draw().map_err(no_dice)?);
        let token = match channel {
            Channel::Chat => Some(ConfirmToken::from_entropy(
                self.policy().token_prefix(),
                self.entropy.draw().map_err(no_dice)?,
            )),
            Channel::OutOfBand => None,
        };
        let hash = token.as_ref().map(ConfirmToken::hash);
        Ok((Fresh { id, token: hash, asked_by: self.setting.asker.clone() }, token))
    }
}
