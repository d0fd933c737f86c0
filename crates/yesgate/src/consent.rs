//! Consent for operations that are no MCP tools (H10): the same engine, the same ledger, the same
//! audit. There is no second mechanism.

mod asking;

use std::path::Path;
use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Map, Value};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::clock::{Entropy as _, EntropyError};
use yesgate_core::id::{BootId, IntentId, ParseIdError, ServerName};
use yesgate_core::intent::{DoneKind, ResultKind, StoredResult};
use yesgate_core::json::{CanonicalJson, JsonError};
use yesgate_core::pace::Pace;
use yesgate_core::permit::PermittedCall;
use yesgate_core::refusal::Refusal;
use yesgate_core::token::ConfirmToken;
use yesgate_gateway::custom::{CustomError, CustomGate, CustomOperation, Terms};
use yesgate_ledger::{KeyError, Ledger, LedgerError};

pub use self::asking::{Answer, Asking, console};
use crate::{SystemClock, SystemEntropy, secret_key};

/// The gate of one application.
#[derive(Clone, Debug)]
pub struct Consent {
    application: ServerName,
    gate: CustomGate,
    terms: Terms,
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
    least: Assurance,
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
    gate: CustomGate,
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
    /// The ledger's key cannot be used: nothing may run.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// There are no random bytes: nothing may be asked.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl From<CustomError> for ConsentError {
    fn from(error: CustomError) -> Self {
        match error {
            CustomError::Refused(refusal) => Self::Refused(refusal),
            CustomError::Ledger(error) => Self::Ledger(error),
            CustomError::Entropy(error) => Self::Entropy(error),
        }
    }
}

impl Consent {
    /// Opens the gate of an application on a ledger file.
    ///
    /// What the ledger holds is sealed under the key in `secret.key` beside it, which is made with it, or under
    /// the one in the variable `YESGATE_SECRET_KEY`. Whoever backs up the one has to back up the other.
    ///
    /// # Errors
    /// When the name is not usable, or the ledger or its key cannot be used.
    pub async fn open(application: &str, ledger: &Path) -> Result<Self, ConsentError> {
        let boot = BootId::from_entropy(SystemEntropy.draw()?);
        let home = ledger.parent().unwrap_or(Path::new(""));
        let (key, _) = secret_key(home, ledger)?;
        let ledger = Ledger::open(ledger, &key, Arc::new(SystemClock), boot.clone()).await?;
        ledger.sweep().await?;
        Self::on(application, ledger, boot)
    }

    /// Opens a gate that forgets everything when it is dropped.
    ///
    /// # Errors
    /// When the name is not usable.
    pub async fn in_memory(application: &str) -> Result<Self, ConsentError> {
        let boot = BootId::from_entropy(SystemEntropy.draw()?);
        let ledger = Ledger::in_memory(Arc::new(SystemClock), boot.clone()).await?;
        Self::on(application, ledger, boot)
    }

    fn on(application: &str, ledger: Ledger, boot: BootId) -> Result<Self, ConsentError> {
        let gate = CustomGate::new(ledger, boot, Arc::new(SystemEntropy));
        Ok(Self { application: application.parse()?, gate, terms: Terms::default() })
    }

    /// The ledger behind it: to list, show and audit what was asked.
    pub const fn ledger(&self) -> &Ledger {
        self.gate.ledger()
    }

    /// Bounds how often each caller may ask; as [`Pace::default`] where nothing is said.
    #[must_use]
    pub const fn at_pace(mut self, pace: Pace) -> Self {
        self.terms.pace = pace;
        self
    }

    /// Puts the question. Nothing runs.
    ///
    /// # Errors
    /// When a human said no to the same operation a moment ago, its outcome is unknown, nobody could
    /// read all of it, the caller asks too often, a human froze it or stopped everything, or the ledger fails.
    pub async fn mint(&self, operation: Operation) -> Result<Minted, ConsentError> {
        let put = self.gate.mint(&self.named(&operation)?, &self.terms).await?;
        Ok(Minted { intent: put.intent, token: put.token, payload: put.payload })
    }

    /// Spends the yes that a token stands for. After this the operation may run, once.
    ///
    /// # Errors
    /// When the token is unknown, used, too old, or was minted for another operation.
    pub async fn consume(&self, token: &str, operation: &Operation) -> Result<Permit, ConsentError> {
        let (gate, operation) = (self.gate.clone(), self.named(operation)?);
        let token = ConfirmToken::presented(token);
        self.permit(async move { gate.consume(&token, &operation).await }).await
    }

    /// Spends a yes in a task of its own: it goes to its end even if whoever waits for it vanishes. The permit
    /// that nobody takes is then dropped, and the outcome is `unknown`.
    async fn permit(
        &self,
        spending: impl Future<Output = Result<(IntentId, PermittedCall), CustomError>> + Send + 'static,
    ) -> Result<Permit, ConsentError> {
        let gate = self.gate.clone();
        let permit = async move {
            let (intent, permitted) = spending.await?;
            Ok(Permit { gate, intent, permitted, settled: false })
        };
        tokio::spawn(permit).await.unwrap_or(Err(ConsentError::Ledger(LedgerError::Closed)))
    }

    fn named(&self, operation: &Operation) -> Result<CustomOperation, ConsentError> {
        Ok(CustomOperation {
            application: self.application.clone(),
            caller: Caller {
                org: operation.org.parse()?,
                principal: operation.principal.parse()?,
                client: operation.client.parse()?,
            },
            name: operation.name.parse()?,
            params: operation.params.clone(),
            summary: operation.summary.clone(),
            lifetime: operation.lifetime,
            least: operation.least,
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
            least: Assurance::Relayed,
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

    /// The least proof of a human that will do; `relayed`, the agent's word, where nothing is said. Nothing
    /// gives more than `local` here.
    #[must_use]
    pub const fn assurance(mut self, least: Assurance) -> Self {
        self.least = least;
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
        let settled = self.gate.settle(&self.intent, done, Some(stored)).await;
        self.settled = settled.is_ok();
        Ok(settled?)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // Nobody will ever say how it ended: that is what `unknown` means.
        let (gate, id) = (self.gate.clone(), self.intent.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { gate.lose(&id).await });
        }
    }
}
