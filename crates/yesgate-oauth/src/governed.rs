//! What the operator decides, made ready for use. It is made anew as a whole when the configuration changes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret as _;
use yesgate_core::digest::Hasher;
use yesgate_core::oauth::{
    ClientKind, ClientSecret, GrantType, OAuthClient, OAuthClientId, Presentation, Scopes,
};
use yesgate_core::policy::{KnownClient, OAuthConfig, Registration, Template};
use yesgate_core::secret::SecretHash;

use crate::documents::{self, Documents};
use crate::endpoints::Endpoints;
use crate::fault::{Fault, Word};
use crate::redirect::RedirectPolicy;

/// What the operator decides.
#[derive(Debug)]
pub(crate) struct Governed {
    pub(crate) config: OAuthConfig,
    pub(crate) endpoints: Endpoints,
    pub(crate) redirects: RedirectPolicy,
    pub(crate) registering: Registering,
    /// The documents of clients; `None`: nobody's can be fetched.
    pub(crate) documents: Option<Documents>,
    /// The clients that the operator wrote down, and which of them may ask about every token.
    known: BTreeMap<OAuthClientId, (OAuthClient, Introspects)>,
}

/// Who may register.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Registering {
    /// Anybody.
    Open,
    /// Whoever has the token with this hash.
    WithToken(SecretHash),
    /// Nobody.
    Off,
}

/// Whether a client may ask about tokens of others.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Introspects {
    /// About every token.
    All,
    /// About its own.
    Own,
}

/// Knows what the variables hold that a configuration speaks of.
#[derive(Clone)]
pub(crate) struct Variables(pub(crate) Arc<Lookup>);

/// What a variable holds, by its name.
pub(crate) type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Variables {
    /// Knows none.
    pub(crate) fn none() -> Self {
        Self(Arc::new(|_| None))
    }

    /// What a template stands for. Without it whoever would need it is not let in.
    fn expand(&self, template: &Template, whose: &str) -> Option<String> {
        match template.expand(|name| (self.0)(name)) {
            Ok(secret) => Some(secret.expose_secret().to_owned()),
            Err(error) => {
                tracing::warn!(%error, whose, "a secret for OAuth is not known, and nobody can come with it");
                None
            }
        }
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Variables")
    }
}

impl Governed {
    /// Makes the operator's decisions ready. What was fetched before stays, where nothing changed about it.
    pub(crate) fn new(
        config: OAuthConfig,
        endpoints: Endpoints,
        variables: &Variables,
        before: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let documents = kept_or_new(&config, before);
        let known = config.clients.iter().filter_map(|(id, known)| {
            let id: OAuthClientId = id.parse().ok()?;
            let secret = known.secret.as_ref().and_then(|secret| variables.expand(secret, id.as_str()));
            let introspects = if known.introspects { Introspects::All } else { Introspects::Own };
            Some((id.clone(), (client(id, known, secret.as_deref(), now), introspects)))
        });
        let known = known.collect();
        let registering = match &config.registration {
            Registration::Open => Registering::Open,
            Registration::Off => Registering::Off,
            Registration::WithToken(token) => variables
                .expand(token, "registration")
                .map_or(Registering::Off, |token| Registering::WithToken(registration_token(&token))),
        };
        let redirects = RedirectPolicy::new(&config.schemes);
        Self { config, endpoints, redirects, registering, documents, known }
    }

    /// A client that the operator wrote down.
    pub(crate) fn known(&self, id: &OAuthClientId) -> Option<&OAuthClient> {
        self.known.get(id).map(|(client, _)| client)
    }

    /// O-F7: how long a used refresh token of a client brings the same answer again. Processes that share one store of tokens
    /// may need longer than others.
    pub(crate) fn retry_of(&self, id: &OAuthClientId) -> SignedDuration {
        let known = self.config.clients.get(id.as_str());
        known.and_then(|known| known.retry).unwrap_or(self.config.times.retry)
    }

    /// Whether the operator has struck out a client that somebody let in: they wrote it down once and do not any more, or its
    /// document is at a host whose documents they do not take any more. One that registered is struck out by its end.
    pub(crate) fn is_struck_out(&self, id: &OAuthClientId) -> bool {
        if self.known(id).is_some() {
            return false;
        }
        if id.is_document() {
            return documents::is_refused(id, &self.config.documents);
        }
        !id.as_str().starts_with(OAuthClientId::PREFIX)
    }

    /// About whose tokens a client may ask.
    pub(crate) fn introspects(&self, id: &OAuthClientId) -> Introspects {
        self.known.get(id).map_or(Introspects::Own, |(_, introspects)| *introspects)
    }

    /// Those of the scopes that there are. O-A5: `offline_access` is none, and asking for it gives nothing.
    pub(crate) fn scopes(&self, text: &str) -> Scopes {
        Scopes::read(text).within(&self.config.scopes.known())
    }

    /// O-A5: what a client asks for: those that there are of what it names, or the usual ones if it names none. What it
    /// registered with is no limit.
    ///
    /// # Errors
    /// When there is none of what it names.
    pub(crate) fn asked_scopes(&self, named: Option<&str>) -> Result<Scopes, Fault> {
        let usual = || self.config.scopes.usual();
        let Some(named) = named else { return Ok(usual()) };
        let asked = self.scopes(named);
        // Only to stay signed in is to ask for nothing in particular.
        let is_inert = named.split(' ').all(|word| word.is_empty() || word == INERT);
        match (asked.is_empty(), is_inert) {
            (false, _) => Ok(asked),
            (true, true) => Ok(usual()),
            (true, false) => Err(Fault::new(Word::InvalidScope, "there is none of these scopes")),
        }
    }
}

/// What OpenID has for staying signed in, which every client is here.
const INERT: &str = "offline_access";

/// The documents of clients: those from before, with all that is kept of them, or new ones.
fn kept_or_new(config: &OAuthConfig, before: Option<&Governed>) -> Option<Documents> {
    let is_same = |before: &&Governed| {
        before.config.documents == config.documents && before.config.schemes == config.schemes
    };
    if let Some(documents) = before.filter(is_same).and_then(|before| before.documents.clone()) {
        return Some(documents);
    }
    match Documents::new(config.documents.clone(), &config.schemes) {
        Ok(documents) => Some(documents),
        Err(error) => {
            tracing::error!(%error, "documents of clients cannot be fetched, such clients are not let in");
            None
        }
    }
}

/// What a registration token is compared by.
pub(crate) fn registration_token(presented: &str) -> SecretHash {
    let mut hasher = Hasher::new("yesgate/registration-token/1");
    hasher.field(presented.as_bytes());
    SecretHash(hasher.finish())
}

/// A client as the operator wrote it down. It is as old as the configuration, which makes no difference: nobody ends it.
fn client(id: OAuthClientId, known: &KnownClient, secret: Option<&str>, now: Timestamp) -> OAuthClient {
    OAuthClient {
        id,
        kind: ClientKind::Operator,
        presentation: Presentation { name: Some(known.name.clone()), ..Presentation::default() },
        redirect_uris: known.redirect_uris.clone(),
        method: known.method,
        method_was_chosen: true,
        grants: GrantType::ALL.into(),
        scope: None,
        secret: secret.map(|secret| ClientSecret::presented(secret).hash()),
        management: None,
        created_at: now,
        used_at: now,
        is_bound: true,
        ended_at: None,
    }
}
