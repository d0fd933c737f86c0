//! Consent for operations that are no MCP tools (H10): the same engine, the same ledger, the same
//! audit. There is no second mechanism.

use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Map, Value};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::clock::{Entropy as _, EntropyError};
use yesgate_core::digest::{Binding, DefinitionDigest, Hasher, ServerIdentity};
use yesgate_core::held::held_payload;
use yesgate_core::id::{BootId, IntentId, ParseIdError, ServerName};
use yesgate_core::intent::{
    Asked, Asker, Awaited, Claim, DoneKind, Fresh, Ground, ResultKind, Runner, SlotKey, StoredResult,
};
use yesgate_core::json::{CanonicalJson, JsonError};
use yesgate_core::mode::Mode;
use yesgate_core::permit::PermittedCall;
use yesgate_core::policy::OwnNames;
use yesgate_core::refusal::{Refusal, Why};
use yesgate_core::render::Sanitized;
use yesgate_core::token::{ConfirmToken, TokenPrefix};
use yesgate_core::verdict::{Channel, ConfirmType, Question, Times};
use yesgate_ledger::{Ledger, LedgerError};

use crate::{SystemClock, SystemEntropy};

/// The gate of one application.
#[derive(Clone, Debug)]
pub struct Consent {
    application: ServerName,
    ledger: Ledger,
    boot: BootId,
    prefix: TokenPrefix,
}

/// One operation by one caller, with its parameters.
#[derive(Clone, Debug)]
pub struct Operation {
    org: String,
    principal: String,
    client: String,
    name: String,
    params: CanonicalJson,
    summary: Option<String>,
    lifetime: SignedDuration,
}

/// A question that was put, and the agent's handle on it.
#[derive(Clone, Debug)]
pub struct Minted {
    intent: IntentId,
    token: ConfirmToken,
    payload: Map<String, Value>,
}

/// A yes that was spent: run the operation now, once, and say how it ended.
///
/// Dropped without a word, the outcome is `unknown`, and a human has to settle it.
#[derive(Debug)]
#[must_use = "the yes is spent: run the operation and call `done` or `failed`"]
pub struct Permit {
    ledger: Ledger,
    intent: IntentId,
    permitted: PermittedCall,
    settled: bool,
}

/// Why a consent was not given or could not be asked for.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConsentError {
    /// The operation must not run; the refusal says why and what to do next.
    #[error("{}", .0.why.message())]
    Refused(Box<Refusal>),
    /// A name is not usable.
    #[error(transparent)]
    Name(#[from] ParseIdError),
    /// The parameters have no canonical form.
    #[error(transparent)]
    Params(#[from] JsonError),
    /// The ledger failed: nothing may run.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// There are no random bytes: nothing may be asked.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl From<Refusal> for ConsentError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Consent {
    /// Opens the gate of an application on a ledger file.
    ///
    /// # Errors
    /// When the name is not usable or the ledger cannot be opened.
    pub async fn open(application: &str, ledger: &Path) -> Result<Self, ConsentError> {
        let boot = BootId::from_entropy(SystemEntropy.draw()?);
        let ledger = Ledger::open(ledger, Arc::new(SystemClock), boot.clone()).await?;
        ledger.sweep().await?;
        Ok(Self { application: application.parse()?, ledger, boot, prefix: TokenPrefix::default() })
    }

    /// Opens a gate that forgets everything when it is dropped.
    ///
    /// # Errors
    /// When the name is not usable.
    pub async fn in_memory(application: &str) -> Result<Self, ConsentError> {
        let boot = BootId::from_entropy(SystemEntropy.draw()?);
        let ledger = Ledger::in_memory(Arc::new(SystemClock), boot.clone()).await?;
        Ok(Self { application: application.parse()?, ledger, boot, prefix: TokenPrefix::default() })
    }

    /// The ledger behind it: to list, show and audit what was asked.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Puts the question. Nothing runs.
    ///
    /// # Errors
    /// When a human said no to the same operation a moment ago, its outcome is unknown, or the
    /// ledger fails.
    pub async fn mint(&self, operation: Operation) -> Result<Minted, ConsentError> {
        let question = self.question(&operation)?;
        let token = ConfirmToken::from_entropy(&self.prefix, SystemEntropy.draw()?);
        let fresh = Fresh {
            id: IntentId::from_entropy(SystemEntropy.draw()?),
            token: Some(token.hash()),
            asked_by: Asker { uid: Some(rustix::process::getuid().as_raw()), boot: Some(self.boot.clone()) },
        };
        let boot = self.boot.clone();
        let asked = self
            .ledger
            .update_slot(SlotKey::of(&question.binding), move |slot, now| {
                let runner = Runner { boot: &boot, ground: Ground::Holds, awaited: Awaited::Yes };
                (slot.ask(question, fresh, &runner, now), now)
            })
            .await?;
        match asked {
            (Asked::Open(intent), now) => Ok(Minted {
                intent: intent.id().clone(),
                payload: held_payload(&intent, Some(&token), &OwnNames::default(), now),
                token,
            }),
            // Somebody said yes elsewhere: the earlier token is still the handle on it.
            (Asked::Claimed(id, _), _) => {
                Err(Refusal::from(Why::AlreadyDecided { state: "approved" }).about(&id).into())
            }
            (Asked::Refused(refusal), _) => Err(ConsentError::Refused(refusal)),
        }
    }

    /// Spends the yes that a token stands for. After this the operation may run, once.
    ///
    /// # Errors
    /// When the token is unknown, used, too old, or was minted for another operation.
    pub async fn consume(&self, token: &str, operation: &Operation) -> Result<Permit, ConsentError> {
        let binding = self.question(operation)?.binding;
        let boot = self.boot.clone();
        let claimed = self
            .ledger
            .update_by_token(&ConfirmToken::presented(token).hash(), move |intent, now| {
                let runner = Runner { boot: &boot, ground: Ground::Holds, awaited: Awaited::Yes };
                (intent.id().clone(), intent.claim_with_token(&binding, None, &runner, now))
            })
            .await?;
        match claimed {
            Some((intent, Claim::Run(permitted))) => {
                Ok(Permit { ledger: self.ledger.clone(), intent, permitted, settled: false })
            }
            Some((_, Claim::Refused(refusal))) => Err(refusal.into()),
            Some((id, Claim::Replay(_) | Claim::Wait)) => {
                Err(Refusal::from(Why::TokenInvalid).about(&id).into())
            }
            None => Err(Refusal::from(Why::TokenInvalid).into()),
        }
    }

    fn question(&self, operation: &Operation) -> Result<Question, ConsentError> {
        let tool = operation.name.parse()?;
        let binding = Binding {
            caller: Caller {
                org: operation.org.parse()?,
                principal: operation.principal.parse()?,
                client: operation.client.parse()?,
            },
            server: self.application.clone(),
            identity: ServerIdentity::of_application(&self.application),
            method: "custom".into(),
            definition: DefinitionDigest(Hasher::new("yesgate/definition/custom/1").finish()),
            arguments: operation.params.clone(),
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
            tool,
        };
        let summary = operation.summary.as_deref().map_or_else(
            || Sanitized::line(&format!("{} on {}", operation.name, self.application)),
            Sanitized::line,
        );
        Ok(Question {
            binding,
            classified: Classified {
                class: Class::Dangerous,
                source: ClassSource::Rule("the application".into()),
            },
            rule: None,
            reason: None,
            summary,
            confirm: ConfirmType::Simple,
            channel: Channel::Chat,
            least: Assurance::Relayed,
            typed: None,
            preview: None,
            next: Map::new(),
            spend: None,
            standing: None,
            times: Times {
                token: operation.lifetime,
                decide: operation.lifetime,
                run: SignedDuration::from_secs(60),
                cool_off: SignedDuration::from_mins(10),
            },
        })
    }
}

impl Operation {
    /// An operation of a caller. The three names are what the application verified.
    pub fn new(org: &str, principal: &str, client: &str, name: &str) -> Self {
        Self {
            org: org.into(),
            principal: principal.into(),
            client: client.into(),
            name: name.into(),
            params: CanonicalJson::empty_object(),
            summary: None,
            lifetime: SignedDuration::from_secs(60),
        }
    }

    /// The parameters that the yes is bound to.
    ///
    /// # Errors
    /// When they have no canonical form.
    pub fn params(mut self, params: &Value) -> Result<Self, ConsentError> {
        self.params = CanonicalJson::of(params)?;
        Ok(self)
    }

    /// What the human reads.
    #[must_use]
    pub fn summary(mut self, summary: &str) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// How long the token lives; 60 seconds where nothing is said.
    #[must_use]
    pub const fn lifetime(mut self, lifetime: SignedDuration) -> Self {
        self.lifetime = lifetime;
        self
    }
}

impl Minted {
    /// The question's id.
    pub const fn intent(&self) -> &IntentId {
        &self.intent
    }

    /// The token for the agent to bring back.
    pub fn token(&self) -> &str {
        self.token.expose()
    }

    /// The whole answer for the agent: token, summary, times.
    pub const fn payload(&self) -> &Map<String, Value> {
        &self.payload
    }
}

impl Permit {
    /// The parameters that were agreed to: run with these, not with what the second call brought.
    pub fn params(&self) -> Value {
        self.permitted.call().binding.arguments.to_value()
    }

    /// The operation ran; its result is kept with the consent.
    ///
    /// # Errors
    /// When the ledger fails; the operation has run all the same.
    pub async fn done(self, result: &Value) -> Result<(), ConsentError> {
        self.settle(DoneKind::Ok, ResultKind::Result, result).await
    }

    /// The operation failed; its error is kept with the consent.
    ///
    /// # Errors
    /// When the ledger fails.
    pub async fn failed(self, error: &Value) -> Result<(), ConsentError> {
        self.settle(DoneKind::ToolError, ResultKind::Error, error).await
    }

    async fn settle(mut self, done: DoneKind, kind: ResultKind, value: &Value) -> Result<(), ConsentError> {
        let stored = StoredResult { kind, json: value.to_string() };
        let settled = self
            .ledger
            .update(&self.intent, move |intent, now| intent.finish(done, Some(stored), now))
            .await?;
        self.settled = true;
        match settled {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(Refusal::from(error).into()),
            None => Err(Refusal::from(Why::NoSuchIntent).into()),
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // Nobody will ever say how it ended: that is what `unknown` means.
        let (ledger, id) = (self.ledger.clone(), self.intent.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let lost =
                    ledger.update(&id, |intent, now| intent.lose("the application said nothing", now)).await;
                if let Err(error) = lost {
                    tracing::error!(intent.id = %id, %error, "a lost outcome could not be written: {error}");
                }
            });
        }
    }
}
