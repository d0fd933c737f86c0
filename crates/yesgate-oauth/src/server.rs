//! The authorization server of one gateway.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use jiff::{SignedDuration, Timestamp};
use yesgate_core::clock::Entropy;
use yesgate_core::id::PersonId;
use yesgate_core::oauth::OAuthClientId;
use yesgate_core::policy::OAuthConfig;
use yesgate_ledger::{Ledger, LedgerError};

use crate::endpoints::{self, Endpoints};
use crate::governed::{Governed, Variables};
use crate::limits::Limiter;
use crate::standing::Standings;

/// The authorization server of one gateway.
pub struct AuthServer {
    pub(crate) ledger: Ledger,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) limits: Limits,
    pub(crate) standings: Arc<Standings>,
    issuer: String,
    variables: Variables,
    governed: RwLock<Arc<Governed>>,
    swept_at: Mutex<Timestamp>,
}

/// What the operator decides about it.
#[derive(Clone, Debug)]
pub struct OAuthSettings {
    /// The origin that clients know us by, without a slash at its end: the issuer, word for word.
    pub issuer: String,
    /// What stands in `[oauth]`.
    pub config: OAuthConfig,
    /// The names of the servers that have an endpoint of their own, `/mcp/NAME`.
    pub servers: Vec<String>,
}

/// O-S8: how often strangers have come.
#[derive(Debug)]
pub(crate) struct Limits {
    /// Registrations of an address.
    pub(crate) register: Limiter<IpAddr>,
    /// Requests for tokens of an address.
    pub(crate) address: Limiter<IpAddr>,
    /// Requests for tokens of a client. From one address: whoever knows the id of a client cannot use up what others have.
    pub(crate) client: Limiter<(OAuthClientId, IpAddr)>,
    /// Requests for authorization of an address.
    pub(crate) authorize: Limiter<IpAddr>,
    /// Wrong codes that were typed at an address.
    pub(crate) typed_at: Limiter<IpAddr>,
    /// Wrong codes that somebody typed.
    pub(crate) typed_by: Limiter<PersonId>,
    /// Rows about somebody who did not prove to be a client.
    pub(crate) unproven: Limiter<Option<OAuthClientId>>,
}

impl AuthServer {
    /// A server over this ledger. What variables of the environment hold is not known to it before
    /// [`Self::with_variables`].
    pub fn new(ledger: Ledger, entropy: Arc<dyn Entropy>, settings: OAuthSettings) -> Self {
        let OAuthSettings { issuer, config, servers } = settings;
        let variables = Variables::none();
        let endpoints = Endpoints::new(issuer.clone(), servers);
        let governed = Governed::new(config, endpoints, &variables, None, ledger.now());
        let standings = Standings::new(ledger.clone());
        let governed = RwLock::new(Arc::new(governed));
        let swept_at = Mutex::new(ledger.now());
        let limits = Limits::new();
        Self { ledger, entropy, limits, standings, issuer, variables, governed, swept_at }
    }

    /// The same, with the values of the variables that `[oauth]` speaks of: secrets of clients that the operator wrote down,
    /// and the token to register with. Who has none of these is not let in.
    #[must_use]
    pub fn with_variables(
        mut self,
        variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.variables = Variables(Arc::new(variables));
        let before = self.governed();
        let (config, endpoints) = (before.config.clone(), before.endpoints.clone());
        self.replace(config, endpoints);
        self
    }

    /// Goes by another configuration from here on. What was issued counts as before.
    pub fn govern(&self, config: OAuthConfig, servers: Vec<String>) {
        self.replace(config, Endpoints::new(self.issuer.clone(), servers));
    }

    /// The issuer, word for word.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Where browsers are sent by clients: a page.
    pub fn authorization_endpoint(&self) -> String {
        format!("{}{}", self.issuer, endpoints::AUTHORIZE)
    }

    /// Where people type the code of a client without a browser: a page.
    pub fn verification_uri(&self) -> String {
        format!("{}{}", self.issuer, endpoints::VERIFICATION)
    }

    /// O-S9: removes what is too old to matter, and says how much. The server does so by itself while it is in use.
    ///
    /// # Errors
    /// When the ledger cannot be used.
    pub async fn sweep(&self) -> Result<u64, LedgerError> {
        let times = self.governed().config.times;
        self.ledger.sweep_oauth(times.unbound, times.unused).await
    }

    /// O-S9: sweeps beside a request of a stranger, now and then: only such requests make anything grow.
    pub(crate) fn sweep_now_and_then(&self) {
        let now = self.ledger.now();
        {
            let mut swept_at = self.swept_at.lock().unwrap_or_else(PoisonError::into_inner);
            if now.duration_since(*swept_at) < SWEEP_STEP {
                return;
            }
            *swept_at = now;
        }
        let (ledger, times) = (self.ledger.clone(), self.governed().config.times);
        drop(tokio::spawn(async move {
            match ledger.sweep_oauth(times.unbound, times.unused).await {
                Ok(removed) => tracing::debug!(removed, "what clients left behind was swept"),
                Err(error) => tracing::warn!(%error, "what clients left behind could not be swept"),
            }
        }));
    }

    /// What the operator decides at the moment.
    pub(crate) fn governed(&self) -> Arc<Governed> {
        Arc::clone(&self.governed.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace(&self, config: OAuthConfig, endpoints: Endpoints) {
        let before = self.governed();
        let governed = Governed::new(config, endpoints, &self.variables, Some(&before), self.ledger.now());
        let governed = Arc::new(governed);
        *self.governed.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&governed);
        self.standings.end_those_of(|client| governed.is_struck_out(client));
    }
}

impl Limits {
    fn new() -> Self {
        let minute = SignedDuration::from_mins(1);
        Self {
            register: Limiter::new(minute),
            address: Limiter::new(minute),
            client: Limiter::new(minute),
            authorize: Limiter::new(SignedDuration::from_mins(15)),
            typed_at: Limiter::new(minute),
            typed_by: Limiter::new(minute),
            unproven: Limiter::new(minute),
        }
    }
}

impl fmt::Debug for AuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthServer").finish_non_exhaustive()
    }
}

/// How often what is too old is looked for.
const SWEEP_STEP: SignedDuration = SignedDuration::from_mins(10);
