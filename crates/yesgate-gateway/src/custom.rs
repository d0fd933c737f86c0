//! The gate for operations that are no MCP tools (H10): an application asks before it does something of its own,
//! and spends the yes right before it does it. The same questions, ledger and audit as for tools; what is
//! missing is only the sending, which is the application's.
//!
//! - INVARIANT: a yes becomes a [`PermittedCall`] by [`yesgate_core::intent::Intent::redeem`] and nowhere else, in
//!   one transaction that is durable before the application hears of it.
//! - INVARIANT: what bounds the asking of agents bounds it here: a freeze, the stop of everything, and the pace of
//!   each caller, looked at in the transaction that asks. Whatever is refused is written down (X7).

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Map, Value};
use yesgate_core::assurance::Assurance;
use yesgate_core::audit::AuditEvent;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::clock::{Entropy, EntropyError};
use yesgate_core::digest::{Binding, DefinitionDigest, Hasher, ServerIdentity};
use yesgate_core::held::held_payload;
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::{
    Approver, Asked, Asker, Awaited, Claim, DoneKind, Fresh, Ground, Intent, Runner, State, StoredResult,
};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::pace::Pace;
use yesgate_core::permit::PermittedCall;
use yesgate_core::policy::OwnNames;
use yesgate_core::proof::NoWitness;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::render::{Sanitized, render_value};
use yesgate_core::token::{ConfirmToken, TokenPrefix};
use yesgate_core::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times};
use yesgate_ledger::{Ledger, LedgerError};

/// What tells these operations from calls of tools.
pub const METHOD: &str = "custom";

/// The gate for operations of applications.
#[derive(Clone, Debug)]
pub struct CustomGate {
    ledger: Ledger,
    boot: BootId,
    asker: Asker,
    entropy: Arc<dyn Entropy>,
}

/// One operation of an application, by one caller, with its parameters.
#[derive(Clone, Debug)]
pub struct CustomOperation {
    /// The application: it stands where a server's name stands for tools.
    pub application: ServerName,
    /// On whose behalf; the application verified that.
    pub caller: Caller,
    /// What it is called.
    pub name: ToolName,
    /// What the yes is bound to.
    pub params: CanonicalJson,
    /// What the human reads first, where the application has words for it.
    pub summary: Option<String>,
    /// How long the token lives, and how long a human may take.
    pub lifetime: SignedDuration,
    /// The least proof of a human that will do.
    pub least: Assurance,
}

/// What the operator set for all questions of applications.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// What tokens begin with.
    pub prefix: TokenPrefix,
    /// How often each caller may ask.
    pub pace: Pace,
}

/// A question that was put, and the agent's handle on it.
#[derive(Clone, Debug)]
pub struct Put {
    /// The question.
    pub intent: IntentId,
    /// The handle.
    pub token: ConfirmToken,
    /// The whole answer for the agent.
    pub payload: Map<String, Value>,
}

/// What a human answers to a question that a program puts to them by itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Said {
    /// Yes.
    Yes(Approver),
    /// No, perhaps with a reason.
    No(Approver, Option<String>),
    /// Nothing: nobody was there, or nobody cared to answer.
    Nothing,
}

/// Why an operation must not run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CustomError {
    /// It was refused; the refusal says why and what to do next.
    #[error("{}", .0.why.message())]
    Refused(Box<Refusal>),
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There are no random bytes.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl From<Refusal> for CustomError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl CustomError {
    /// The same in the vocabulary of refusals.
    pub fn refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) => (**refusal).clone(),
            Self::Ledger(error) => Why::ConsentUnavailable { reason: error.public_reason() }.into(),
            Self::Entropy(_) => Why::ConsentUnavailable { reason: "no random bytes could be had" }.into(),
        }
    }
}

impl CustomGate {
    /// A gate on this ledger, for this start of the process.
    pub fn new(ledger: Ledger, boot: BootId, entropy: Arc<dyn Entropy>) -> Self {
        let asker = Asker { uid: Some(rustix::process::getuid().as_raw()), boot: Some(boot.clone()) };
        Self { ledger, boot, asker, entropy }
    }

    /// The ledger behind it.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Puts the question, and gives the agent a token for it. Nothing runs.
    ///
    /// # Errors
    /// When a human said no to the same operation a moment ago, its outcome is unknown, nobody could read all of
    /// it, the caller asks too often, a human froze it or stopped everything, or the ledger fails.
    pub async fn mint(&self, operation: &CustomOperation, terms: &Terms) -> Result<Put, CustomError> {
        let token = ConfirmToken::from_entropy(&terms.prefix, self.entropy.draw()?);
        let intent = self.put(operation, Some(&token), terms.pace).await?;
        let payload = held_payload(&intent, Some(&token), &OwnNames::default(), self.ledger.now());
        Ok(Put { intent: intent.id().clone(), token, payload })
    }

    /// Puts the question without a token: whoever asks has a human at hand.
    ///
    /// # Errors
    /// As for [`Self::mint`].
    pub async fn ask(&self, operation: &CustomOperation, terms: &Terms) -> Result<Intent, CustomError> {
        self.put(operation, None, terms.pace).await
    }

    async fn put(
        &self,
        operation: &CustomOperation,
        token: Option<&ConfirmToken>,
        pace: Pace,
    ) -> Result<Intent, CustomError> {
        self.refuse_if_held_back(operation).await?;
        let question = match operation.question() {
            Ok(question) => question,
            Err(refusal) => return Err(self.refused(operation, refusal).await),
        };
        let fresh = Fresh {
            id: IntentId::from_entropy(self.entropy.draw()?),
            token: token.map(ConfirmToken::hash),
            asked_by: self.asker.clone(),
        };
        let boot = self.boot.clone();
        let asked = self
            .ledger
            .ask(&question.binding.clone(), pace, question.windows(), move |slot, now| {
                let runner = runner(&boot);
                slot.ask(question, fresh, &runner, now)
            })
            .await;
        match asked {
            Ok(Asked::Open(intent)) => Ok(*intent),
            // Somebody said yes elsewhere: the earlier token is still the handle on it.
            Ok(Asked::Claimed(id, _)) => {
                let refusal =
                    Refusal::from(Why::AlreadyDecided { state: State::Approved.as_str() }).about(&id);
                Err(self.refused(operation, refusal).await)
            }
            Ok(Asked::Refused(refusal)) => Err(self.refused(operation, *refusal).await),
            Err(error) => Err(self.failed(operation, error).await),
        }
    }

    /// Spends the yes that a token stands for. After this the operation may run, once.
    ///
    /// # Errors
    /// When the token is unknown, used, too old, or was minted for another operation.
    pub async fn consume(
        &self,
        token: &ConfirmToken,
        operation: &CustomOperation,
    ) -> Result<(IntentId, PermittedCall), CustomError> {
        self.refuse_if_held_back(operation).await?;
        let binding = operation.binding();
        let boot = self.boot.clone();
        let claimed = self
            .ledger
            .update_by_token(&token.hash(), move |intent, now| {
                let runner = runner(&boot);
                (intent.id().clone(), intent.claim_with_token(&binding, None, &runner, now))
            })
            .await;
        self.claimed(operation, claimed).await
    }

    /// Takes a human's answer to exactly this question, and with a yes the operation may run, once. Where somebody
    /// answered elsewhere meanwhile, that answer counts.
    ///
    /// # Errors
    /// When the answer is no yes, or comes too late, or does not prove enough.
    pub async fn answer(
        &self,
        operation: &CustomOperation,
        asked: &Intent,
        said: Said,
    ) -> Result<(IntentId, PermittedCall), CustomError> {
        let (id, seen, boot) = (asked.id().clone(), asked.digest(), self.boot.clone());
        let claimed = self
            .ledger
            .update(asked.id(), move |intent, now| {
                let runner = runner(&boot);
                intent.notice_expiry(now);
                if intent.state() != State::Pending {
                    return (id, intent.claim(&runner, now));
                }
                let yes = match said {
                    Said::Yes(by) => intent.approve(&by, seen, now),
                    Said::No(by, reason) => intent.deny(&by, reason, now).and_then(|()| Err(intent.ending())),
                    Said::Nothing => intent
                        .cancel("the application", now)
                        .map_err(Refusal::from)
                        .and_then(|()| Err(intent.ending())),
                };
                let claim = match yes {
                    Ok(()) => intent.claim(&runner, now),
                    Err(refusal) => Claim::Refused(refusal),
                };
                (id, claim)
            })
            .await;
        self.claimed(operation, claimed).await
    }

    async fn claimed(
        &self,
        operation: &CustomOperation,
        claimed: Result<Option<(IntentId, Claim)>, LedgerError>,
    ) -> Result<(IntentId, PermittedCall), CustomError> {
        let refusal = match claimed {
            Ok(Some((id, Claim::Run(permitted)))) => return Ok((id, permitted)),
            Ok(Some((_, Claim::Refused(refusal)))) => refusal,
            Ok(Some((id, Claim::Replay(_) | Claim::Wait))) => Refusal::from(Why::TokenInvalid).about(&id),
            Ok(None) => Why::TokenInvalid.into(),
            Err(error) => return Err(self.failed(operation, error).await),
        };
        Err(self.refused(operation, refusal).await)
    }

    /// Writes down how the one run ended.
    ///
    /// # Errors
    /// When it does not run, or the ledger fails; what has run has run all the same.
    pub async fn settle(
        &self,
        id: &IntentId,
        done: DoneKind,
        result: Option<StoredResult>,
    ) -> Result<(), CustomError> {
        match self.ledger.update(id, move |intent, now| intent.finish(done, result, now)).await? {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Refusal::from(error).about(id).into()),
            None => Err(Refusal::from(Why::NoSuchIntent).into()),
        }
    }

    /// Admits that nobody will say how the run ended. What has ended before stays as it is.
    pub async fn lose(&self, id: &IntentId) {
        let lost =
            self.ledger.update(id, |intent, now| intent.lose("the application said nothing", now)).await;
        if let Err(error) = lost {
            tracing::error!(intent.id = %id, %error, "a lost outcome could not be written: {error}");
        }
    }

    /// X6: nothing of a frozen caller is asked or let go, and nothing at all once everything is stopped.
    async fn refuse_if_held_back(&self, operation: &CustomOperation) -> Result<(), CustomError> {
        match self.ledger.regimes().await?.of(&operation.caller).held_back() {
            Some(why) => Err(self.refused(operation, why.into()).await),
            None => Ok(()),
        }
    }

    /// Refuses because the ledger would not do it: what a human stopped meanwhile is said to be just that.
    async fn failed(&self, operation: &CustomOperation, error: LedgerError) -> CustomError {
        if error == LedgerError::HeldBack
            && let Err(refused) = self.refuse_if_held_back(operation).await
        {
            return refused;
        }
        let error = CustomError::Ledger(error);
        self.record(operation, &error.refusal()).await;
        error
    }

    /// Refuses, and writes that down (X7).
    async fn refused(&self, operation: &CustomOperation, refusal: Refusal) -> CustomError {
        self.record(operation, &refusal).await;
        refusal.into()
    }

    async fn record(&self, operation: &CustomOperation, refusal: &Refusal) {
        let event = AuditEvent::Refused {
            caller: operation.caller.clone(),
            server: operation.application.clone(),
            tool: Some(operation.name.clone()),
            code: refusal.why.code().to_owned(),
        };
        if let Err(error) = self.ledger.record(event).await {
            tracing::error!(%error, "a refusal could not be written down: {error}");
        }
    }
}

impl CustomOperation {
    fn binding(&self) -> Binding {
        Binding {
            caller: self.caller.clone(),
            server: self.application.clone(),
            identity: ServerIdentity::of_application(&self.application),
            method: METHOD.into(),
            tool: self.name.clone(),
            definition: DefinitionDigest(Hasher::new("yesgate/definition/custom/1").finish()),
            arguments: self.params.clone(),
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
        }
    }

    fn question(&self) -> Result<Question, Refusal> {
        if self.least > STRONGEST {
            return Err(Why::NoApproverReachable { need: self.least }.into());
        }
        if let Err(too_large) = render_value(&self.params.value()) {
            return Err(Why::TooLargeToReview { bytes: too_large.bytes }.into());
        }
        let summary = match &self.summary {
            Some(summary) => Sanitized::line(summary),
            None => Sanitized::line(&format!("{} on {}", self.name, self.application)),
        };
        Ok(Question {
            binding: self.binding(),
            classified: Classified {
                class: Class::Dangerous,
                source: ClassSource::Rule("the application".into()),
            },
            rule: None,
            reason: None,
            summary,
            confirm: ConfirmType::Simple,
            channel: Channel::Chat,
            least: self.least,
            typed: None,
            preview: None,
            quorum: Quorum::ONE,
            approvers: None,
            claim: None,
            remember: Remember::Never,
            next: Map::new(),
            spend: None,
            standing: None,
            times: Times {
                token: self.lifetime,
                decide: self.lifetime,
                run: SignedDuration::from_secs(60),
                cool_off: SignedDuration::from_mins(10),
            },
        })
    }
}

/// The strongest yes that can be had for an operation of an application.
pub const STRONGEST: Assurance = Assurance::Local;

/// Whoever runs an operation: the application itself, which has no witness for more than [`STRONGEST`].
const fn runner(boot: &BootId) -> Runner<'_> {
    Runner { boot, ground: Ground::Holds, awaited: Awaited::Yes, witness: &NoWitness }
}
