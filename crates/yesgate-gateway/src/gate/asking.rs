//! A call that needs a yes: asking for it, by one way after the other, and taking what the agent brings back.
//!
//! INVARIANT: whatever way a question takes, it is open at the command line too, and the first decision holds.

use std::sync::Arc;

use tracing::Instrument as _;
use yesgate_core::call::{CallRequest, ToolCall};
use yesgate_core::definition::ToolDefinition;
use yesgate_core::held::held_payload;
use yesgate_core::id::{IntentId, ToolName};
use yesgate_core::intent::{Asked, Awaited, Claim, Fresh, Ground, Intent, Runner};
use yesgate_core::refusal::Why;
use yesgate_core::token::ConfirmToken;
use yesgate_core::verdict::{Channel, Question, Verdict};

use super::judging::unreadable_list;
use super::modes::SET_MODE;
use super::remembered::Memory;
use super::{Gate, forgotten};
use crate::channel::elicitation::Elicited;
use crate::channel::late::LeftOpen;
use crate::errand::Errand;
use crate::look_up::Circumstances;
use crate::reply::{Own, Reply};
use crate::run::own_words;
use crate::upstream::Form;

/// What a question came from, to judge the call again should the way to ask turn out to be none.
#[derive(Debug)]
pub(crate) struct Held {
    pub(super) question: Question,
    pub(super) request: CallRequest,
    pub(super) definition: Arc<ToolDefinition>,
    pub(super) known: Circumstances,
}

/// What came of one way to ask.
enum Way {
    /// The call is answered.
    Answered(Reply),
    /// Nobody is there; the question is open all the same, and so may be its form.
    Nobody(Box<Intent>, Option<Box<LeftOpen>>),
}

impl Gate {
    /// Deals with a call that needs a yes.
    pub(super) async fn held(self: &Arc<Self>, held: Held, errand: &Errand) -> Reply {
        let gate = Arc::clone(self);
        match (&held.request.presented.token, held.question.standing) {
            (Some(token), None) => {
                let (token, errand) = (token.clone(), errand.clone());
                to_its_end(async move { gate.redeem(held, &token, &errand).await }).await
            }
            (Some(_) | None, _) => match self.as_task(errand) {
                Some(task) => gate.ask_as_task(held, task, errand.cancel.clone()).await,
                None => {
                    let errand = errand.clone();
                    to_its_end(async move { gate.ask_every_way(held, &errand).await }).await
                }
            },
        }
    }

    /// Puts a question to a human, by the best way first. A way that leads to nobody is not taken again, and
    /// the call is judged anew without it.
    pub(crate) async fn ask_every_way(&self, mut held: Held, errand: &Errand) -> Reply {
        let tool = held.question.binding.tool.clone();
        // The next way is one that needs nobody at the client, however it is thought of by then.
        let alone = Errand { person: None, ..errand.clone() };
        loop {
            let Held { question, request, definition, known } = held;
            let call = question.call();
            let (open, form) = match self.ask(question, &request, errand).await {
                Way::Answered(reply) => return reply,
                Way::Nobody(open, form) => (open, form),
            };
            let verdict = self.decide_again(&alone, call, &request, &definition, &known).await;
            let question = match self.previewed(&errand.way, verdict).await {
                Ok(Verdict::Ask(question)) => *question,
                Ok(Verdict::Refuse(refusal)) | Err(refusal) => {
                    self.withdraw(open.id()).await;
                    return self.refused(&errand.caller, Some(&tool), &refusal).await;
                }
                // It needs no question any more: the one that is open stays so.
                Ok(_) => return self.still_open(open.id()).await,
            };
            // The agent is told at once, and a no that is on its way overrules what it brings back.
            if let (Channel::Chat, Some(form)) = (question.channel, form) {
                form.heed_a_no();
            }
            held = Held { question, request, definition, known };
        }
    }

    /// Judges a call again, after a way to ask turned out to be none.
    async fn decide_again(
        &self,
        errand: &Errand,
        call: ToolCall,
        request: &CallRequest,
        definition: &ToolDefinition,
        known: &Circumstances,
    ) -> Verdict {
        if call.binding.method != SET_MODE {
            return self.decide(errand, call, &request.presented, definition, known).await;
        }
        match self.decide_mode(errand, call, &request.presented, definition).await {
            Ok(verdict) => verdict,
            Err(error) => Verdict::Refuse(Why::ConsentUnavailable { reason: error.public_reason() }.into()),
        }
    }

    /// Puts a question to a human.
    async fn ask(&self, question: Question, request: &CallRequest, errand: &Errand) -> Way {
        let caller = question.binding.caller.clone();
        let tool = question.binding.tool.clone();
        let channel = question.channel;
        let (fresh, token) = match self.draw(channel) {
            Ok(drawn) => drawn,
            Err(why) => return Way::Answered(self.refused(&caller, Some(&tool), &why.into()).await),
        };
        let memory = self.memory_for(&question, errand).await;
        if errand.cancel.is_fired() {
            return Way::Answered(Reply::Silent);
        }
        let (boot, awaited) = (self.setting.boot.clone(), errand.awaited());
        let witness = Arc::clone(&self.setting.witness);
        let asked = self
            .ledger
            .ask(&question.binding.clone(), self.policy().pace(), question.windows(), move |slot, now| {
                match memory {
                    Memory::Counts => {}
                    Memory::DoesNot => slot.forget_grants(),
                }
                let runner = Runner { boot: &boot, ground: Ground::Holds, awaited, witness: &*witness };
                slot.ask(question, fresh, &runner, now)
            })
            .await;
        Way::Answered(match asked {
            Ok(Asked::Open(intent)) => {
                self.opened.notify_one();
                return self.say(intent, channel, token.as_ref(), request, errand).await;
            }
            Ok(Asked::Claimed(id, claim)) => self.claimed(&tool, &id, *claim, request, errand).await,
            Ok(Asked::Refused(refusal)) => self.refused(&caller, Some(&tool), &refusal).await,
            Err(error) => self.unavailable(&caller, &tool, &error).await,
        })
    }

    /// Says an open question to the human, or to the agent for the human.
    async fn say(
        &self,
        intent: Box<Intent>,
        channel: Channel,
        token: Option<&ConfirmToken>,
        request: &CallRequest,
        errand: &Errand,
    ) -> Way {
        if channel != Channel::Chat
            && let Some(task) = self.begin_task(&intent, errand)
        {
            return Way::Answered(task);
        }
        match (channel, &errand.person) {
            (Channel::Chat, _) => {
                // An earlier question that may not be relayed has no token, whatever is wished now.
                let token = token.filter(|_| intent.token().is_some());
                let payload = held_payload(&intent, token, &self.own_names(), self.ledger.now());
                Way::Answered(Own::Held(payload).into())
            }
            (Channel::Elicitation, Some(person)) => match self.elicit(&intent, person, request, errand).await
            {
                Elicited::Answered(reply) => Way::Answered(reply),
                Elicited::Nobody(form) => Way::Nobody(intent, form),
            },
            (Channel::Elicitation, None) => Way::Nobody(intent, None),
            (Channel::Web, _) => Way::Answered(self.send_to_page(&intent, errand).await),
            (Channel::OutOfBand, _) => Way::Answered(self.wait_elsewhere(intent.id(), errand).await),
        }
    }

    /// Takes the token that the agent brought back.
    async fn redeem(&self, held: Held, token: &ConfirmToken, errand: &Errand) -> Reply {
        let Held { mut question, request, definition, .. } = held;
        let caller = question.binding.caller.clone();
        let tool = question.binding.tool.clone();
        // A server may change a tool without saying so: look again before anything runs.
        let now = if question.binding.method == SET_MODE {
            Ok(Some(definition))
        } else {
            self.definition_now(&errand.way, &tool).await
        };
        match now {
            Ok(Some(definition)) => question.binding.definition = definition.digest,
            Ok(None) => return self.refused(&caller, Some(&tool), &Why::ToolChanged.into()).await,
            Err(_) if errand.way.is_forgotten() => return forgotten(errand),
            Err(_) => return self.refused(&caller, Some(&tool), &unreadable_list()).await,
        }
        if errand.cancel.is_fired() {
            return Reply::Silent;
        }
        let boot = self.setting.boot.clone();
        let witness = Arc::clone(&self.setting.witness);
        let typed = request.presented.text.clone();
        let preview = question.preview.clone();
        let claimed = self
            .ledger
            .update_by_token(&token.hash(), move |intent, now| {
                let ground = intent.question().ground_under(&question);
                let runner = Runner { boot: &boot, ground, awaited: Awaited::Yes, witness: &*witness };
                let claim = intent.claim_previewed(preview.as_deref(), |intent| {
                    intent.claim_with_token(&question.binding, typed, &runner, now)
                });
                (intent.id().clone(), claim)
            })
            .await;
        match claimed {
            Ok(Some((id, claim))) => self.claimed(&tool, &id, claim, &request, errand).await,
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
                let running = self.execute(permitted, form, &errand.way, &errand.hearing, &errand.cancel);
                let execution = self.in_time(running).await;
                self.settle(id, &execution, &errand.cancel).await;
                own_words(self.outcome(execution, Some(id), &errand.cancel), tool)
            }
            Claim::Replay(stored) => own_words(Reply::stored(stored), tool),
            Claim::Wait => {
                if let Ok(Some(intent)) = self.ledger.intent(id).await
                    && let Some(task) = self.begin_task(&intent, errand)
                {
                    return task;
                }
                self.wait_elsewhere(id, errand).await
            }
            Claim::Refused(refusal) => {
                if refusal.why == Why::Superseded
                    && let Some(reply) = self.go_on_with_edited(id, errand).await
                {
                    return reply;
                }
                self.refused(&errand.caller, Some(tool), &refusal).await
            }
        }
    }

    pub(super) fn draw(&self, channel: Channel) -> Result<(Fresh, Option<ConfirmToken>), Why> {
        let no_dice = |_| Why::ConsentUnavailable { reason: "no random bytes could be had" };
        let id = IntentId::from_entropy(self.entropy.draw().map_err(no_dice)?);
        let token = match channel {
            Channel::Chat => Some(ConfirmToken::from_entropy(
                self.policy().token_prefix(),
                self.entropy.draw().map_err(no_dice)?,
            )),
            Channel::Elicitation | Channel::Web | Channel::OutOfBand => None,
        };
        let hash = token.as_ref().map(ConfirmToken::hash);
        Ok((Fresh { id, token: hash, asked_by: self.setting.asker.clone() }, token))
    }
}

/// Runs in a task of its own: what is redeemed runs to its end and is written down, even if whoever waits for it
/// vanishes.
pub(crate) async fn to_its_end(holding: impl Future<Output = Reply> + Send + 'static) -> Reply {
    tokio::spawn(holding.in_current_span())
        .await
        .unwrap_or_else(|_| Reply::error(-32603, "The gateway was stopped before it could answer.", None))
}
