//! The gate: from a `tools/call` to an answer. Read [`Gate::handle`] first; the rest serves it.
//!
//! INVARIANT: a call leaves only as a `PermittedCall`: made by the policy for what needs no
//! question, or by redeeming an intent whose redemption is durable.

mod judging;

use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::time::Instant;
use yesgate_core::assurance::Assurance;
use yesgate_core::audit::AuditEvent;
use yesgate_core::call::{CallRequest, Untouched};
use yesgate_core::caller::Caller;
use yesgate_core::class::Trust;
use yesgate_core::clock::Entropy;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::held::held_payload;
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::{Asked, Asker, Awaited, Claim, Fresh, Ground, Runner, SlotKey};
use yesgate_core::permit::PermittedCall;
use yesgate_core::policy::Policy;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::switch::OperatorSwitch;
use yesgate_core::token::ConfirmToken;
use yesgate_core::verdict::{Channel, Question, Verdict};
use yesgate_ledger::{Ledger, LedgerError};

use self::judging::{Reviewed, no_state, unreadable_list};
use crate::book::{ToolBook, Unreadable};
use crate::cancel::Cancel;
use crate::era::{Era, client_name};
use crate::look_up::NoState;
use crate::own_tools::OwnTool;
use crate::reply::{IsError, Reply};
use crate::upstream::{Form, RequestKey, Upstream};

/// One server behind the gate.
#[derive(Debug)]
pub struct Gate {
    pub(crate) server: GatedServer,
    pub(crate) policy: Arc<Policy>,
    pub(crate) ledger: Ledger,
    pub(crate) upstream: Upstream,
    pub(crate) book: ToolBook,
    pub(crate) setting: Setting,
    pub(crate) entropy: Arc<dyn Entropy>,
    pins: Mutex<Reviewed>,
    /// A question was opened: somebody may soon say yes to it.
    pub(crate) opened: Notify,
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
    ) -> Result<Self, LedgerError> {
        let gate = Self {
            upstream: Upstream::new(&setting.boot),
            book: ToolBook::default(),
            pins: Mutex::new(Reviewed { pins: Arc::default(), read: Instant::now() }),
            opened: Notify::new(),
            server,
            policy,
            ledger,
            setting,
            entropy,
        };
        gate.reload_pins().await?;
        Ok(gate)
    }

    /// Answers one `tools/call`: the spine.
    pub async fn handle(&self, caller: &Caller, message: &[u8], id: RequestKey, cancel: &Cancel) -> Reply {
        let request = match CallRequest::parse(message) {
            Ok(request) => request,
            Err(error) => return self.unreadable(caller, error.code(), &error.to_string()).await,
        };
        let caller = named_by_meta(caller, &request);
        if Era::of_meta(&request.transport_meta) == Era::Modern {
            self.upstream.speaks(Era::Modern);
        }
        if let Some(tool) = OwnTool::named(&request.name, &self.policy) {
            return self.own_tool(tool, &caller, &request, cancel).await;
        }
        let definition = match self.definition(&request.name).await {
            Ok(Some(definition)) => definition,
            Ok(None) => return self.unreadable(&caller, -32602, "the server has no such tool").await,
            Err(Unreadable::Down) => {
                let words =
                    "The server is not running; it is started again when it is next needed. Nothing ran.";
                return Reply::error(-32603, words, None);
            }
            Err(Unreadable::NoList) => return self.refused(&caller, None, &unreadable_list()).await,
        };
        let call = self.call(&caller, &definition, &request);
        let presented = &request.presented;
        let state = match self.state_for(&call.binding).await {
            Ok(state) => state,
            Err(NoState) => return self.refused(&caller, Some(&definition.name), &no_state()).await,
        };
        match self.decide(call, presented, &definition, state.as_ref()).await {
            Verdict::Forward(permitted) => self.forward(permitted, &request, message, id, cancel).await,
            Verdict::Explain(explanation) => {
                let why = Why::ModeForbids {
                    tool: definition.name.clone(),
                    class: explanation.classified.class,
                    mode: explanation.mode,
                    summary: explanation.summary,
                };
                self.refused(&caller, Some(&definition.name), &why.into()).await
            }
            Verdict::Refuse(refusal) => self.refused(&caller, Some(&definition.name), &refusal).await,
            Verdict::Ask(question) => match gateable(&request) {
                Err(problem) => self.unreadable(&caller, -32602, problem).await,
                Ok(()) => match (&presented.token, question.standing) {
                    (Some(token), None) => self.redeem(*question, token, &request, cancel).await,
                    (Some(_) | None, _) => self.ask(*question, &request, cancel).await,
                },
            },
        }
    }

    /// Lets a call pass that needs no question: in the caller's own bytes where nothing was taken
    /// out of them.
    async fn forward(
        &self,
        permitted: PermittedCall,
        request: &CallRequest,
        message: &[u8],
        id: RequestKey,
        cancel: &Cancel,
    ) -> Reply {
        if cancel.is_fired() {
            return Reply::Silent;
        }
        let form = match (request.untouched, gateable(request)) {
            (Untouched::Yes, _) => Form::AsItCame { line: message, id },
            (Untouched::No, Ok(())) => {
                let mut meta = request.transport_meta.clone();
                meta.extend(request.vendor_meta.clone());
                Form::Canonical { meta }
            }
            // Without our own argument it would pass as it is; with it, it cannot be put together again.
            (Untouched::No, Err(problem)) => return Reply::error(-32602, problem, None),
        };
        self.outcome(self.upstream.execute(permitted, form, cancel).await, None, cancel)
    }

    /// Puts a question to a human.
    async fn ask(&self, question: Question, request: &CallRequest, cancel: &Cancel) -> Reply {
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
                    Channel::OutOfBand => self.wait(intent.id(), cancel).await,
                }
            }
            Ok(Asked::Claimed(id, claim)) => self.claimed(&caller, &tool, &id, *claim, request, cancel).await,
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
        cancel: &Cancel,
    ) -> Reply {
        let caller = question.binding.caller.clone();
        let tool = question.binding.tool.clone();
        // A server may change a tool without saying so: look again before anything runs.
        match self.definition_now(&tool).await {
            Ok(Some(definition)) => question.binding.definition = definition.digest,
            Ok(None) => return self.refused(&caller, Some(&tool), &Why::ToolChanged.into()).await,
            Err(_) => return self.refused(&caller, Some(&tool), &unreadable_list()).await,
        }
        if cancel.is_fired() {
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
            Ok(Some((id, claim))) => self.claimed(&caller, &tool, &id, claim, request, cancel).await,
            Ok(None) => self.refused(&caller, Some(&tool), &Why::TokenInvalid.into()).await,
            Err(error) => self.unavailable(&caller, &tool, &error).await,
        }
    }

    /// Goes on with what was claimed.
    pub(crate) async fn claimed(
        &self,
        caller: &Caller,
        tool: &ToolName,
        id: &IntentId,
        claim: Claim,
        request: &CallRequest,
        cancel: &Cancel,
    ) -> Reply {
        match claim {
            Claim::Run(permitted) => {
                let form = Form::Canonical { meta: request.transport_meta.clone() };
                let execution = self.upstream.execute(permitted, form, cancel).await;
                self.settle(id, &execution, cancel).await;
                self.outcome(execution, Some(id), cancel)
            }
            Claim::Replay(stored) => Reply::stored(stored),
            Claim::Wait => self.wait(id, cancel).await,
            Claim::Refused(refusal) => self.refused(caller, Some(tool), &refusal).await,
        }
    }

    fn draw(&self, channel: Channel) -> Result<(Fresh, Option<ConfirmToken>), Why> {
        let no_dice = |_| Why::ConsentUnavailable { reason: "no random bytes could be had" };
        let id = IntentId::from_entropy(self.entropy.draw().map_err(no_dice)?);
        let token = match channel {
            Channel::Chat => Some(ConfirmToken::from_entropy(
                self.policy.token_prefix(),
                self.entropy.draw().map_err(no_dice)?,
            )),
            Channel::OutOfBand => None,
        };
        let hash = token.as_ref().map(ConfirmToken::hash);
        Ok((Fresh { id, token: hash, asked_by: self.setting.asker.clone() }, token))
    }

    /// A refusal as this policy puts it on the wire.
    pub(crate) fn refusal(&self, refusal: &Refusal) -> Reply {
        Reply::refuse(refusal, self.policy.wire_form(&refusal.why))
    }

    /// Refuses a call, on the wire and in the ledger.
    pub(crate) async fn refused(&self, caller: &Caller, tool: Option<&ToolName>, refusal: &Refusal) -> Reply {
        self.record_refusal(caller, tool, refusal.why.code()).await;
        self.refusal(refusal)
    }

    /// Refuses a message that is no call we can judge.
    async fn unreadable(&self, caller: &Caller, code: i64, problem: &str) -> Reply {
        self.record_refusal(caller, None, "unreadable_call").await;
        Reply::error(code, &format!("The call was refused and nothing ran: {problem}."), None)
    }

    /// Refuses because the ledger cannot be used: nothing runs that cannot be written down.
    pub(crate) async fn unavailable(&self, caller: &Caller, tool: &ToolName, error: &LedgerError) -> Reply {
        tracing::error!(%error, "a call was refused because the ledger failed: {error}");
        let why = Why::ConsentUnavailable { reason: error.public_reason() };
        self.refused(caller, Some(tool), &why.into()).await
    }

    async fn record_refusal(&self, caller: &Caller, tool: Option<&ToolName>, code: &str) {
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

/// A modern client names itself with each request; over stdio that is all we know of it.
fn named_by_meta(caller: &Caller, request: &CallRequest) -> Caller {
    let mut caller = caller.clone();
    if let Some(client) = client_name(&request.transport_meta).and_then(crate::session::client_id) {
        caller.client = client;
    }
    caller
}

/// Whether a gated call has only parts that a human is shown and a yes is bound to.
fn gateable(request: &CallRequest) -> Result<(), &'static str> {
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
