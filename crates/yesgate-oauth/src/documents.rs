//! Clients that have a document at their address (Client ID Metadata Documents): it is fetched, judged and kept for a while.
//!
//! INVARIANTS:
//! - A document is fetched over TLS from a public address, whole within ten seconds and five kilobytes, without following
//!   anything; nothing else that it names is ever fetched, no picture and no keys.
//! - A failure is never kept. What is said of it repeats nothing of what was fetched, and does not tell a host that does not
//!   exist from one that is out of reach.
//! - What strangers can make us fetch and keep is bounded: by host, by document, in all, and at a time. What they spend where
//!   no person is about to be asked is not taken from what is there for people.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;
use yesgate_core::oauth::{OAuthClient, OAuthClientId};
use yesgate_core::policy;
use yesgate_http::fetch::HttpClient;
use yesgate_http::fetch::error::TrustError;
use yesgate_http::fetch::place::Reach;
use yesgate_http::fetch::trust::{Authorities, NoAuthorities};

use self::address::DocumentUrl;
use self::budget::{Budget, MINUTE};
use self::fault::DocumentFault;
use self::kept::Kept;
use crate::redirect::RedirectPolicy;

mod address;
mod budget;
mod document;
pub(crate) mod fault;
mod fetching;
mod kept;

/// Whether a document at this address is not taken, whatever it says.
pub(crate) fn is_refused(id: &OAuthClientId, policy: &policy::Documents) -> bool {
    DocumentUrl::read(id, policy).is_err()
}

/// The documents of clients. Clones share what is kept.
#[derive(Clone, Debug)]
pub struct Documents(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    policy: policy::Documents,
    redirects: RedirectPolicy,
    client: HttpClient,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    kept: Kept,
    /// The fetches that are under way: everybody who wants the same document waits for the same one.
    flights: HashMap<OAuthClientId, Flight>,
    /// What is spent on documents that were never seen to be good, by host, where somebody is about to be asked.
    on_strangers: Budget,
    /// The same where a client only says who it is, which it may do far more often.
    on_names: Budget,
    /// What is spent on those that are kept, by document: strangers who spend their host's budget spend none of this.
    on_known: Budget,
}

/// A fetch that is under way, and what it is for.
#[derive(Debug)]
struct Flight {
    outcome: watch::Receiver<Option<Outcome>>,
    freshness: Freshness,
}

type Outcome = Result<OAuthClient, DocumentFault>;

/// How new a document has to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Freshness {
    /// Fetched anew, unless its server said that it stays as it is: somebody is about to be asked about the client.
    Anew,
    /// The one that somebody was asked about, where it is still there.
    Kept,
}

/// Why documents cannot be fetched at all.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    /// The file with the authorities cannot be read.
    #[error("the file with the authorities of documents, `{0}`, cannot be read: {1}")]
    File(PathBuf, io::Error),
    /// It is not what it should be.
    #[error("the file with the authorities of documents, `{0}`, cannot be used: {1}")]
    Authorities(PathBuf, NoAuthorities),
    /// Nobody can be trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl Documents {
    /// Those that this policy lets in, with redirects to these schemes besides the usual ones. Reads the file with the
    /// authorities; nothing is fetched.
    ///
    /// # Errors
    /// When the authorities cannot be read.
    pub fn new(policy: policy::Documents, schemes: &[String]) -> Result<Self, DocumentsError> {
        let authorities = match &policy.authorities {
            None => Authorities::default(),
            Some(file) => {
                let text = fs::read(file).map_err(|error| DocumentsError::File(file.clone(), error))?;
                Authorities::from_pem(&text)
                    .map_err(|error| DocumentsError::Authorities(file.clone(), error))?
            }
        };
        let reach = if policy.on_this_machine { Reach::PublicAndThisMachine } else { Reach::Public };
        let client = HttpClient::reaching(reach, authorities, fetching::LIMITS)?;
        let state = State {
            kept: Kept::default(),
            flights: HashMap::new(),
            on_strangers: Budget::new(STRANGERS_PER_HOST, STRANGERS),
            on_names: Budget::new(STRANGERS_PER_HOST, STRANGERS),
            on_known: Budget::new(KNOWN_EACH, KNOWN),
        };
        let redirects = RedirectPolicy::new(schemes);
        Ok(Self(Arc::new(Shared { policy, redirects, client, state: Mutex::new(state) })))
    }

    /// The client whose document is at this address.
    ///
    /// # Errors
    /// When there is no document that makes one, or it cannot be had at present.
    pub async fn client(
        &self,
        id: &OAuthClientId,
        freshness: Freshness,
        now: Timestamp,
    ) -> Result<OAuthClient, DocumentFault> {
        // Looked at each time: a host that is not let in any more is not let in by what is kept either.
        let url = DocumentUrl::read(id, &self.0.policy)?;
        let (known, flight) = {
            let mut state = self.0.lock();
            let known = state.kept.find(id, now);
            let is_good = known.as_ref().is_some_and(|known| match freshness {
                Freshness::Anew => now < known.good_until,
                Freshness::Kept => now < known.kept_until,
            });
            match known {
                Some(known) if is_good => return Ok(known.client),
                known => {
                    let is_known = known.is_some();
                    let flight = self.flight(&mut state, (id, url, freshness), is_known, now);
                    (known, flight)
                }
            }
        };
        let outcome = match flight {
            Ok(flight) => landed(flight).await,
            Err(fault) => Err(fault),
        };
        match (outcome, known, freshness) {
            // The client's server is away for a while. That logs nobody out.
            (Err(fault), Some(known), Freshness::Kept) if fault.is_passing() => Ok(known.client),
            // Somebody has it fetched over and over. What came a moment ago is as new as it can be then.
            (Err(DocumentFault::TooOften), Some(known), Freshness::Anew)
                if now.duration_since(known.fetched_at) < MINUTE =>
            {
                Ok(known.client)
            }
            (outcome, _, Freshness::Kept | Freshness::Anew) => outcome,
        }
    }

    /// The fetch that is under way, or a new one, which goes on even if nobody waits for it any more.
    fn flight(
        &self,
        state: &mut State,
        (id, url, freshness): (&OAuthClientId, DocumentUrl, Freshness),
        is_known: bool,
        now: Timestamp,
    ) -> Result<watch::Receiver<Option<Outcome>>, DocumentFault> {
        if let Some(flight) = state.flights.get(id) {
            return Ok(flight.outcome.clone());
        }
        let alike = state.flights.values().filter(|flight| flight.freshness == freshness).count();
        if alike >= AT_A_TIME {
            return Err(DocumentFault::TooOften);
        }
        match (is_known, freshness) {
            (true, Freshness::Anew | Freshness::Kept) => state.on_known.take(id.as_str(), now)?,
            (false, Freshness::Anew) => state.on_strangers.take(url.host(), now)?,
            (false, Freshness::Kept) => state.on_names.take(url.host(), now)?,
        }
        let (landing, outcome) = watch::channel(None);
        state.flights.insert(id.clone(), Flight { outcome: outcome.clone(), freshness });
        let (shared, id) = (Arc::clone(&self.0), id.clone());
        tokio::spawn(async move {
            let outcome = fetching::fetch(&shared.client, &url, &shared.redirects, now).await;
            let mut state = shared.lock();
            state.flights.remove(&id);
            let outcome = match outcome {
                Ok(known) => {
                    let client = known.client.clone();
                    state.kept.keep(known, now);
                    Ok(client)
                }
                Err(fault) => {
                    if !fault.is_passing() {
                        state.kept.drop(&id);
                    }
                    Err(fault)
                }
            };
            drop(state);
            landing.send_replace(Some(outcome));
        });
        Ok(outcome)
    }
}

/// What became of a fetch.
async fn landed(mut flight: watch::Receiver<Option<Outcome>>) -> Outcome {
    match flight.wait_for(Option::is_some).await {
        Ok(outcome) => outcome.clone().unwrap_or(Err(DocumentFault::Unreachable)),
        Err(_) => Err(DocumentFault::Unreachable),
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many fetches are under way at most where somebody is about to be asked, and as many where nobody is.
const AT_A_TIME: usize = 16;
/// How many documents that are not kept are fetched from one host in a minute, and from all.
const STRANGERS_PER_HOST: u32 = 20;
const STRANGERS: u32 = 200;
/// How often a document that is kept is fetched anew in a minute, and all of them.
const KNOWN_EACH: u32 = 60;
const KNOWN: u32 = 600;

#[cfg(test)]
mod tests;
