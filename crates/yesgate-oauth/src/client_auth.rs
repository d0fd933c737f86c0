//! O-T2: which client sends a request, and whether it proves it.
//!
//! INVARIANTS:
//! - Who is unknown, who was ended and who has a wrong secret hear the same words, after the same work.
//! - A secret counts only when it is sent in the way that was registered, if the client itself chose one.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq as _;
use yesgate_core::audit::AuditEvent;
use yesgate_core::oauth::{AuthMethod, ClientSecret, OAuthClient, OAuthClientId, OAuthEvent};
use yesgate_core::secret::SecretHash;

use crate::clients::Lookup;
use crate::documents::Freshness;
use crate::endpoints::Endpoint;
use crate::fault::{Fault, Word};
use crate::form::{Form, decode};
use crate::limits::{TooOften, neighbour};
use crate::server::AuthServer;

/// What a client shows of itself.
#[derive(Debug)]
struct Shown {
    /// Who it says it is; more than one where its words can be read in two ways.
    ids: Vec<(OAuthClientId, Option<ClientSecret>)>,
    way: AuthMethod,
    place: Place,
}

/// Where a client shows who it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    Header,
    Body,
}

impl AuthServer {
    /// The client that sends a form, which has proven itself as far as it can.
    ///
    /// # Errors
    /// When it has not, or comes too often.
    pub(crate) async fn client_of(
        &self,
        headers: &HeaderMap,
        form: &Form,
        from: IpAddr,
        at: &Endpoint,
    ) -> Result<OAuthClient, Fault> {
        let shown = Shown::read(headers, form)?;
        let (limits, now) = (self.governed().config.limits, self.ledger.now());
        let mut met = None;
        for (id, secret) in shown.ids {
            let key = (id.clone(), neighbour(from));
            let turn = self.limits.client.take(key, limits.token_per_minute, now);
            turn.map_err(|TooOften(after)| Fault::too_often(after))?;
            let found = match self.look_up(&id, Freshness::Kept).await? {
                Lookup::Known(client) => Some(*client),
                Lookup::Refused(fault) if fault.is_passing() => {
                    // To be told that it is unknown would have the client forget its tokens.
                    return Err(Fault::new(Word::TemporarilyUnavailable, fault.to_string()));
                }
                Lookup::Ended | Lookup::Unknown | Lookup::Refused(_) => None,
            };
            let proof = prove(found.as_ref(), secret.as_ref(), shown.way);
            match (found, proof) {
                (Some(client), Proof::Given) => return Ok(client),
                (Some(client), Proof::OtherWay) => {
                    // Whoever holds the secret may know what is wrong with the way in which it came.
                    let says =
                        format!("this client registered to authenticate with {}", client.method.as_str());
                    return Err(challenged(Fault::new(Word::InvalidClient, says), shown.place));
                }
                (found, Proof::OtherWay | Proof::Given | Proof::Missing) => {
                    met = met.or(found.map(|client| client.id));
                }
            }
        }
        self.note_unproven(met, at);
        let fault = Fault::new(
            Word::InvalidClient,
            "the client is unknown, was removed, or did not prove itself; register anew",
        );
        Err(challenged(fault, shown.place))
    }

    /// Writes down now and then, and beside the request, that somebody did not prove to be a client.
    fn note_unproven(&self, client: Option<OAuthClientId>, at: &Endpoint) {
        if self.limits.unproven.take(client.clone(), UNPROVEN_ROWS, self.ledger.now()).is_err() {
            return;
        }
        let at = match at {
            Endpoint::Token => "token",
            Endpoint::Revoke => "revoke",
            Endpoint::Introspect => "introspect",
            Endpoint::Device => "device",
            Endpoint::Register
            | Endpoint::Registration(_)
            | Endpoint::ServerMetadata
            | Endpoint::ResourceMetadata(_)
            | Endpoint::Nothing => "register",
        };
        let event = AuditEvent::OAuth(OAuthEvent::Unproven { client, at: at.to_owned() });
        let ledger = self.ledger.clone();
        drop(tokio::spawn(async move {
            if let Err(error) = ledger.record(event).await {
                tracing::warn!(%error, "a failed proof of a client could not be written down");
            }
        }));
    }
}

impl Shown {
    fn read(headers: &HeaderMap, form: &Form) -> Result<Self, Fault> {
        let named = form.value("client_id");
        let secret = form.value("client_secret");
        if form.value("client_assertion").is_some() {
            return Err(Fault::new(Word::InvalidClient, "assertions of clients are not supported"));
        }
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let Some(header) = sent.next() else {
            let way = if secret.is_some() { AuthMethod::ClientSecretPost } else { AuthMethod::None };
            let id = named.ok_or_else(unnamed)?.parse().map_err(|_| unnamed())?;
            let ids = vec![(id, secret.map(ClientSecret::presented))];
            return Ok(Self { ids, way, place: Place::Body });
        };
        if sent.next().is_some() {
            return Err(Fault::new(Word::InvalidRequest, "there is more than one Authorization header"));
        }
        let header = header.to_str().unwrap_or_default();
        let (scheme, credentials) = header.split_once(' ').unwrap_or((header, ""));
        if !scheme.eq_ignore_ascii_case("basic") {
            return Err(Fault::new(Word::InvalidClient, "clients authenticate with Basic or in the body"));
        }
        let pairs = basic(credentials.trim()).ok_or_else(|| {
            challenged(Fault::new(Word::InvalidClient, "the header is not Basic"), Place::Header)
        })?;
        if secret.is_some() && pairs.iter().any(|(_, secret)| !secret.is_empty()) {
            return Err(Fault::new(Word::InvalidRequest, "the client sent two secrets"));
        }
        if named.is_some_and(|named| pairs.iter().all(|(id, _)| id != named)) {
            return Err(Fault::new(Word::InvalidRequest, "client_id is not the client of the header"));
        }
        let is_empty = pairs.iter().all(|(_, secret)| secret.is_empty());
        let way = match (is_empty, secret) {
            (false, _) => AuthMethod::ClientSecretBasic,
            (true, Some(_)) => AuthMethod::ClientSecretPost,
            (true, None) => AuthMethod::None,
        };
        let ids = pairs.into_iter().filter(|(id, _)| named.is_none_or(|named| id == named));
        let ids = ids.filter_map(|(id, in_header)| {
            let in_header = Some(in_header).filter(|secret| !secret.is_empty());
            let secret = in_header.as_deref().or(secret).map(ClientSecret::presented);
            Some((id.parse().ok()?, secret))
        });
        let ids: Vec<_> = ids.collect();
        if ids.is_empty() {
            Err(challenged(unnamed(), Place::Header))
        } else {
            Ok(Self { ids, way, place: Place::Header })
        }
    }
}

/// The ways in which the credentials of the header can be read. RFC 6749 §2.3.1 wants both parts encoded as in a form;
/// some clients do that, and some send them as they are.
fn basic(credentials: &str) -> Option<Vec<(String, String)>> {
    let engine = if credentials.ends_with('=') { STANDARD } else { STANDARD_NO_PAD };
    let decoded = engine.decode(credentials).or_else(|_| STANDARD.decode(credentials)).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (id, secret) = text.split_once(':')?;
    let raw = (id.to_owned(), secret.to_owned());
    let read = decode(id.as_bytes()).zip(decode(secret.as_bytes()));
    Some(match read {
        Some(read) if read != raw => vec![read, raw],
        Some(_) | None => vec![raw],
    })
}

/// What a client has proven.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Proof {
    /// That it is the one, as far as it can.
    Given,
    /// The same, in a way that it did not register.
    OtherWay,
    /// Nothing.
    Missing,
}

/// O-S6: compares what was shown with what is known, or with nothing in as much time.
fn prove(client: Option<&OAuthClient>, shown: Option<&ClientSecret>, way: AuthMethod) -> Proof {
    let nobody = SecretHash(yesgate_core::digest::Hasher::new("yesgate/nobody/1").finish());
    let known = client.and_then(|client| client.secret);
    let presented = shown.map_or(nobody, ClientSecret::hash);
    let is_same: bool = known.unwrap_or(nobody).0.as_bytes().ct_eq(presented.0.as_bytes()).into();
    let Some(client) = client else { return Proof::Missing };
    match client.method {
        AuthMethod::None if shown.is_none() => Proof::Given,
        AuthMethod::None => Proof::Missing,
        AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => {
            let is_proven = is_same && known.is_some() && shown.is_some();
            match is_proven {
                true if way == client.method || !client.method_was_chosen => Proof::Given,
                true => Proof::OtherWay,
                false => Proof::Missing,
            }
        }
    }
}

fn unnamed() -> Fault {
    Fault::new(Word::InvalidClient, "client_id is missing or is none")
}

/// RFC 6749 §5.2: whoever tried the header hears which scheme it takes.
fn challenged(fault: Fault, place: Place) -> Fault {
    match place {
        Place::Header => fault.with_challenge("Basic realm=\"yesgate\""),
        Place::Body => fault,
    }
}

/// How many rows a minute there are about one client, or about all that are unknown.
const UNPROVEN_ROWS: u32 = 2;
